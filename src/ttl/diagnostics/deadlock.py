"""The report of a deadlock, the same for every engine.

rule ROOT     follow "waits for the kernel at the other end of the buffer" from each waiting kernel
              of the first node; where it ends (nobody at the other end, or a kernel that has
              ended) is a cause, where it returns is a cycle
rule PRIMARY  of several causes a wait to which nobody pushes comes first, then a reserve that
              nobody pops; in a cycle, the first waiting kernel
rule SWAPPED  one buffer that nobody pushes to and one that nobody pops: the names were mixed up
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

from . import catalogue as codes
from .diagnostic import Diagnostic, Label
from .span import Span


@dataclass(frozen=True, slots=True)
class Waiting:
    """A kernel that cannot go on; `filled` and `capacity` count blocks."""

    kernel: str
    node: tuple[int, ...]
    span: Span | None
    action: Literal["wait", "reserve"]
    buffer: str
    buffer_span: Span | None
    filled: int
    capacity: int


class _Cause(Enum):
    CYCLE = "cycle"
    NOBODY = "nobody"
    ENDED = "ended"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class _Root:
    cause: _Cause
    chain: tuple[Waiting, ...]  # of a cycle: its members; else from the first kernel to the cause
    other_end: str | None = None  # the kernel that has ended

    @property
    def entry(self) -> Waiting:
        return self.chain[0] if self.cause is _Cause.CYCLE else self.chain[-1]


def deadlock_diagnostic(
    waiting: Sequence[Waiting],
    *,
    producers: Mapping[str, str | None],
    consumers: Mapping[str, str | None],
    node_count: int,
) -> Diagnostic:
    """One diagnostic for all that wait, the first node first.

    `producers` and `consumers` say which kernel pushes to and pops a buffer: None means no kernel
    does, a missing key that it is not known.
    """
    assert waiting
    roots = _find_roots(waiting, producers, consumers)
    root = roots[0]
    primary = root.entry
    return Diagnostic(
        codes.DEADLOCK,
        _message(root, waiting),
        primary=_label(primary),
        secondary=_secondary(waiting, primary),
        notes=(
            *(note for found in roots for note in _cause_notes(found)),
            _seen_note(waiting, node_count),
        ),
        helps=(*_swapped_help(roots), *_helps(root)),
        facts=_facts(waiting, root, node_count),
    )


def _find_roots(
    waiting: Sequence[Waiting],
    producers: Mapping[str, str | None],
    consumers: Mapping[str, str | None],
) -> list[_Root]:
    """The distinct causes on the first node, the most telling first."""
    on_node = {e.kernel: e for e in reversed(waiting) if e.node == waiting[0].node}
    roots: dict[frozenset[Waiting], _Root] = {}
    for entry in waiting:
        if on_node.get(entry.kernel) is entry:
            root = _find_root(entry, on_node, producers, consumers)
            members = root.chain if root.cause is _Cause.CYCLE else (root.entry,)
            roots.setdefault(frozenset(members), root)
    return sorted(roots.values(), key=_rank)


def _rank(root: _Root) -> tuple[bool, bool]:  # rule PRIMARY
    return root.cause is not _Cause.NOBODY, root.entry.action != "wait"


def _find_root(
    first: Waiting,
    on_node: Mapping[str, Waiting],
    producers: Mapping[str, str | None],
    consumers: Mapping[str, str | None],
) -> _Root:
    chain = [first]
    while True:
        entry = chain[-1]
        ends = producers if entry.action == "wait" else consumers
        if entry.buffer not in ends:
            return _Root(_Cause.UNKNOWN, tuple(chain))
        other = ends[entry.buffer]
        if other is None:
            return _Root(_Cause.NOBODY, tuple(chain))
        if other not in on_node:
            return _Root(_Cause.ENDED, tuple(chain), other)
        following = on_node[other]
        if following in chain:
            return _Root(_Cause.CYCLE, tuple(chain[chain.index(following) :]))
        chain.append(following)


def _message(root: _Root, waiting: Sequence[Waiting]) -> str:
    entry = root.entry
    if root.cause is _Cause.NOBODY and entry.action == "wait":
        return f"deadlock: `{entry.kernel}` waits on `{entry.buffer}`, to which no kernel pushes"
    if root.cause is _Cause.NOBODY:
        return (
            f"deadlock: `{entry.kernel}` waits for space in `{entry.buffer}`, which no kernel pops"
        )
    if root.cause is _Cause.ENDED:
        verb = "waits on" if entry.action == "wait" else "waits for space in"
        done = "pushing to it" if entry.action == "wait" else "popping it"
        return (
            f"deadlock: `{entry.kernel}` {verb} `{entry.buffer}`, "
            f"but `{root.other_end}` has ended {done}"
        )
    kernels = len({entry.kernel for entry in waiting})
    nodes = _count(len({entry.node for entry in waiting}), "node")
    if root.cause is _Cause.UNKNOWN and kernels == 1:
        return f"deadlock: `{entry.kernel}` on {nodes} waits on `{entry.buffer}` for ever"
    if kernels == 1:
        return f"deadlock: `{entry.kernel}` on {nodes} waits for itself"
    return f"deadlock: {kernels} kernels on {nodes} wait for each other"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _label(entry: Waiting) -> Label | None:
    if entry.span is None:
        return None
    need = "a block" if entry.action == "wait" else "space"
    filled = f"{entry.filled} of {entry.capacity} filled"
    text = f"`{entry.kernel}` waits for {need} in `{entry.buffer}` ({filled})"
    return Label(entry.span, text)


def _secondary(waiting: Sequence[Waiting], primary: Waiting) -> tuple[Label, ...]:
    """Other kernels once each place, however many nodes; then the buffers they wait on."""
    labels: dict[tuple[Span, str], Label] = {}
    seen = {(primary.kernel, primary.action, primary.buffer, primary.span)}
    for entry in waiting:
        place = (entry.kernel, entry.action, entry.buffer, entry.span)
        label = _label(entry)
        if label is None or place in seen:
            continue
        seen.add(place)
        labels[label.span, label.text] = label
    for entry in (primary, *waiting):
        if entry.buffer_span is not None:
            label = Label(entry.buffer_span, f"`{entry.buffer}` declared here")
            labels.setdefault((label.span, label.text), label)
    return tuple(labels.values())


def _cause_notes(root: _Root) -> tuple[str, ...]:
    entry = root.entry
    if root.cause is _Cause.CYCLE:
        steps = [part for member in root.chain for part in (member.kernel, member.buffer)]
        return ("cycle: " + " -> ".join([*steps, root.chain[0].kernel]),)
    if root.cause is _Cause.NOBODY:
        done = "pushes to" if entry.action == "wait" else "pops"
        return (f"nobody {done} `{entry.buffer}`", *_chain_note(root))
    if root.cause is _Cause.ENDED:
        end = "fills" if entry.action == "wait" else "empties"
        return (f"`{root.other_end}`, which {end} `{entry.buffer}`, has ended", *_chain_note(root))
    return ()


def _chain_note(root: _Root) -> tuple[str, ...]:
    """How the other kernels come to wait for the one at the cause."""
    if len(root.chain) == 1:
        return ()
    steps = [part for member in root.chain for part in (member.kernel, member.buffer)]
    return ("chain: " + " -> ".join(steps),)


def _seen_note(waiting: Sequence[Waiting], node_count: int) -> str:
    nodes = {entry.node for entry in waiting}
    where = (
        "seen on all nodes"
        if len(nodes) == node_count
        else f"seen on {len(nodes)} of {node_count} nodes"
    )
    return f"{where}; first on node {waiting[0].node}"


def _swapped_help(roots: Sequence[_Root]) -> tuple[str, ...]:
    unserved = [root.entry for root in roots if root.cause is _Cause.NOBODY]
    if len(unserved) != 2 or unserved[0].action == unserved[1].action:
        return ()
    wait, reserve = unserved
    return (f"should `{wait.kernel}` wait for `{reserve.buffer}`, which no kernel pops?",)


def _helps(root: _Root) -> tuple[str, ...]:
    entry = root.entry
    if root.cause is _Cause.NOBODY and entry.action == "wait":
        return (
            f"push a block to `{entry.buffer}` in another kernel, "
            f"or take the wait out of `{entry.kernel}`",
        )
    if root.cause is _Cause.NOBODY:
        return (
            f"pop `{entry.buffer}` in the kernel that reads it, "
            f"or take the reserve out of `{entry.kernel}`",
        )
    if root.cause is _Cause.ENDED:
        return (
            f"make `{entry.kernel}` and `{root.other_end}` agree on the number of blocks "
            f"that go through `{entry.buffer}`",
        )
    return _cycle_help(root)


def _cycle_help(root: _Root) -> tuple[str, ...]:
    full = next((member for member in root.chain if member.action == "reserve"), None)
    empty = next((member for member in root.chain if member.action == "wait"), None)
    if full is not None and empty is not None and full.kernel != empty.kernel:
        return (
            f"fill `{empty.buffer}` before `{full.buffer}` in `{full.kernel}`, "
            f"or declare `{full.buffer}` with block_count={full.capacity + 1}",
        )
    if empty is not None:
        return (f"push the first block to `{empty.buffer}` before waiting in its producer",)
    return (f"pop `{root.entry.buffer}` before reserving more in its consumer",)


def _facts(waiting: Sequence[Waiting], root: _Root, node_count: int) -> dict[str, Any]:
    return {
        "cause": root.cause.value,
        "node_count": node_count,
        "other_end": root.other_end,
        "chain": [[member.kernel, member.buffer] for member in root.chain],
        "waiting": [
            {
                "kernel": entry.kernel,
                "node": list(entry.node),
                "action": entry.action,
                "buffer": entry.buffer,
                "filled": entry.filled,
                "capacity": entry.capacity,
            }
            for entry in waiting
        ],
    }
