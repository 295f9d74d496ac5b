"""The report of a deadlock, for every engine.

rule ROOT     follow "waits for the kernel that could end the wait" from each waiting kernel of the
              first node: at a buffer the kernel at its other end, at a pipe or a semaphore a kernel
              of the node that has to act; a chain that ends (nobody there, or a kernel that has
              ended) gives a cause, a chain that returns gives a cycle
rule PRIMARY  among several causes, a wait to which nobody pushes comes first, then a reserve that
              nobody pops; in a cycle, the first waiting kernel
rule SWAPPED  one buffer that nobody pushes to and one that nobody pops: the names were mixed up
rule GUESS    any kernel could change a semaphore: follow it only if just one kernel still could
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from . import catalogue as codes
from .diagnostic import Diagnostic, Label
from .span import Span
from .waiting import AnyWaiting, Kernel, Waiting, WaitingForNodes

__all__ = ["Waiting", "WaitingForNodes", "deadlock_diagnostic"]


def _not_reordered(place: Span) -> str | None:
    return None


# Rewrites the kernel around a wait for a send in an order that works, or returns None. The launcher
# of an operation sets it, because it can read the kernel's text.
REORDERED: ContextVar[Callable[[Span], str | None]] = ContextVar(
    "REORDERED", default=_not_reordered
)

LONGEST_CHAIN = 4  # kernels of other nodes that a note lists


class _Cause(Enum):
    CYCLE = "cycle"
    NOBODY = "nobody"
    ENDED = "ended"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class _Root:
    cause: _Cause
    chain: tuple[AnyWaiting, ...]  # a cycle's members, or from the first kernel to the cause
    other_end: str | None = None  # the kernel that has ended, or the node whose kernels have

    @property
    def entry(self) -> AnyWaiting:
        return self.chain[0] if self.cause is _Cause.CYCLE else self.chain[-1]


@dataclass(frozen=True, slots=True)
class _Graph:
    """The waiting kernels, and the kernels at the ends of the buffers."""

    waiting: Mapping[Kernel, AnyWaiting]
    producers: Mapping[str, str | None]
    consumers: Mapping[str, str | None]

    def following(self, entry: AnyWaiting) -> AnyWaiting | tuple[_Cause, str | None]:
        """Return the kernel that `entry` waits for, or the cause if there is none."""
        return self._at_buffer(entry) if isinstance(entry, Waiting) else self._at_partners(entry)

    def _at_buffer(self, entry: Waiting) -> AnyWaiting | tuple[_Cause, str | None]:
        ends = self.producers if entry.action == "wait" else self.consumers
        if entry.buffer not in ends:
            return _Cause.UNKNOWN, None
        other = ends[entry.buffer]
        if other is None:
            return _Cause.NOBODY, None
        return self.waiting.get((other, entry.node)) or (_Cause.ENDED, other)

    def _at_partners(self, entry: WaitingForNodes) -> AnyWaiting | tuple[_Cause, str | None]:
        groups = [[self.waiting.get(kernel) for kernel in group] for group in entry.partners]
        still = [[found for found in group if found is not None] for group in groups]
        if [] in still:
            nodes = sorted({node for _, node in entry.partners[still.index([])]})
            return _Cause.ENDED, f"node {nodes[0]}" if len(nodes) == 1 else None
        if entry.action == "semaphore" and len(still[0]) > 1:  # rule GUESS
            return _Cause.UNKNOWN, None
        return still[0][0]


class _Sizes(NamedTuple):
    """The block counts that end the deadlock."""

    alone: Mapping[str, int | None]
    together: Mapping[str, int]


def deadlock_diagnostic(
    waiting: Sequence[AnyWaiting],
    *,
    producers: Mapping[str, str | None],
    consumers: Mapping[str, str | None],
    node_count: int,
    enough: Mapping[str, int | None] | None = None,
    together: Mapping[str, int] | None = None,
) -> Diagnostic:
    """Make one diagnostic for all waiting kernels, the first node first.

    `producers` and `consumers` name the kernels that push to and pop a buffer: None means no kernel
    does, a missing key that it is not known. `enough` is the smallest block_count of a full buffer
    that ends the deadlock, None if no count does; an engine that does not know it leaves the buffer
    out. `together` has the counts of several buffers that end it only together.
    """
    assert waiting
    on_nodes = {(entry.kernel, entry.node): entry for entry in reversed(waiting)}
    roots = _find_roots(waiting, _Graph(on_nodes, producers, consumers))
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
        helps=(
            *_swapped_help(roots),
            *_helps(root, waiting, _Sizes(enough or {}, together or {}), node_count),
        ),
        facts=_facts(waiting, root, node_count),
    )


def _find_roots(waiting: Sequence[AnyWaiting], graph: _Graph) -> list[_Root]:
    """Return the distinct causes on the first node, the most telling first."""
    roots: dict[frozenset[AnyWaiting], _Root] = {}
    for entry in waiting:
        key = (entry.kernel, entry.node)
        if entry.node == waiting[0].node and graph.waiting[key] is entry:
            root = _find_root(entry, graph)
            members = root.chain if root.cause is _Cause.CYCLE else (root.entry,)
            roots.setdefault(frozenset(members), root)
    return sorted(roots.values(), key=_rank)


def _rank(root: _Root) -> tuple[bool, bool]:  # rule PRIMARY
    return root.cause is not _Cause.NOBODY, root.entry.action != "wait"


def _find_root(first: AnyWaiting, graph: _Graph) -> _Root:
    chain = [first]
    while True:
        following = graph.following(chain[-1])
        if isinstance(following, tuple):
            return _Root(following[0], tuple(chain), following[1])
        if following in chain:
            return _Root(_Cause.CYCLE, tuple(chain[chain.index(following) :]))
        chain.append(following)


def _message(root: _Root, waiting: Sequence[AnyWaiting]) -> str:
    entry = root.entry
    if root.cause is _Cause.ENDED and isinstance(entry, WaitingForNodes):
        whose = "other kernel" if root.other_end is None else f"kernel of {root.other_end}"
        return f"deadlock: {entry.sentence}, but no {whose} is left to do it"
    if isinstance(entry, Waiting) and root.cause in (_Cause.NOBODY, _Cause.ENDED):
        return _buffer_message(root, entry)
    concerned = root.chain if _crosses_nodes(root) else waiting
    names = {entry.kernel for entry in concerned}
    nodes = _count(len({entry.node for entry in waiting if entry.kernel in names}), "node")
    kernels = len(names)
    if root.cause is _Cause.UNKNOWN and kernels == 1:
        what = f"`{entry.buffer}`" if isinstance(entry, Waiting) else entry.subject
        return f"deadlock: `{entry.kernel}` on {nodes} waits on {what} for ever"
    if kernels == 1 and len(root.chain) == 1:
        # On other nodes the kernel may wait for others.
        alike = {each.node for each in waiting if _place(each) == _place(entry)}
        return f"deadlock: `{entry.kernel}` on {_count(len(alike), 'node')} waits for itself"
    if kernels == 1:
        return f"deadlock: `{entry.kernel}` on {nodes} waits for `{entry.kernel}` on other nodes"
    return f"deadlock: {kernels} kernels on {nodes} wait for each other"


def _buffer_message(root: _Root, entry: Waiting) -> str:
    if root.cause is _Cause.NOBODY and entry.action == "wait":
        return f"deadlock: `{entry.kernel}` waits on `{entry.buffer}`, to which no kernel pushes"
    if root.cause is _Cause.NOBODY:
        return (
            f"deadlock: `{entry.kernel}` waits for space in `{entry.buffer}`, which no kernel pops"
        )
    verb = "waits on" if entry.action == "wait" else "waits for space in"
    done = "pushing to it" if entry.action == "wait" else "popping it"
    return (
        f"deadlock: `{entry.kernel}` {verb} `{entry.buffer}`, "
        f"but `{root.other_end}` has ended {done}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _label(entry: AnyWaiting) -> Label | None:
    return Label(entry.span, entry.sentence) if entry.span is not None else None


def _secondary(waiting: Sequence[AnyWaiting], primary: AnyWaiting) -> tuple[Label, ...]:
    """Label other kernels, once per source position; then the declarations they wait on."""
    labels: dict[tuple[Span, str], Label] = {}
    seen = {_place(primary)}
    for entry in waiting:
        label = _label(entry)
        if label is None or _place(entry) in seen:
            continue
        seen.add(_place(entry))
        labels[label.span, label.text] = label
    if isinstance(primary, WaitingForNodes) and primary.started is not None:
        started = Label(primary.started, "the transfer started here")
        labels[started.span, started.text] = started
    for entry in (primary, *waiting):
        span, text = entry.declared
        # A net makes the pipes of all nodes in one place: one label is enough.
        is_told = isinstance(entry, WaitingForNodes) and any(span == told for told, _ in labels)
        if span is not None and not is_told:
            labels.setdefault((span, text), Label(span, text))
    return tuple(labels.values())


def _place(entry: AnyWaiting) -> tuple[object, ...]:
    subject = entry.buffer if isinstance(entry, Waiting) else None
    return entry.kernel, entry.action, subject, entry.span


def _cause_notes(root: _Root) -> tuple[str, ...]:
    entry = root.entry
    if root.cause is _Cause.CYCLE:
        if _crosses_nodes(root):
            return ("cycle: " + _told_one_by_one(root),)
        steps = [part for member in root.chain for part in (member.kernel, member.subject)]
        return ("cycle: " + " -> ".join([*steps, root.chain[0].kernel]),)
    if root.cause is _Cause.NOBODY:
        done = "pushes to" if entry.action == "wait" else "pops"
        return (f"nobody {done} `{entry.subject}`", *_chain_note(root))
    if root.cause is _Cause.ENDED and isinstance(entry, Waiting):
        end = "fills" if entry.action == "wait" else "empties"
        return (f"`{root.other_end}`, which {end} `{entry.buffer}`, has ended", *_chain_note(root))
    return _chain_note(root)


def _chain_note(root: _Root) -> tuple[str, ...]:
    """Return the note that leads from the first kernel to the one at the cause."""
    if len(root.chain) == 1 or root.cause is _Cause.UNKNOWN:
        return ()
    if _crosses_nodes(root):
        return ("chain: " + _told_one_by_one(root),)
    steps = [part for member in root.chain for part in (member.kernel, member.subject)]
    return ("chain: " + " -> ".join(steps),)


def _crosses_nodes(root: _Root) -> bool:
    return any(isinstance(member, WaitingForNodes) for member in root.chain)


def _told_one_by_one(root: _Root) -> str:
    told = [
        member.sentence
        if isinstance(member, WaitingForNodes)
        else f"`{member.kernel}` on node {member.node} waits for {member.need}"
        for member in root.chain
    ]
    left_out = len(told) - LONGEST_CHAIN
    if left_out > 1:
        told[LONGEST_CHAIN - 1 : -1] = [f"{left_out} more in the same way"]
    return "; ".join(told)


def _seen_note(waiting: Sequence[AnyWaiting], node_count: int) -> str:
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
    return (f"should `{wait.kernel}` wait for `{reserve.subject}`, which no kernel pops?",)


def _helps(
    root: _Root, waiting: Sequence[AnyWaiting], enough: _Sizes, node_count: int
) -> tuple[str, ...]:
    entry = root.entry
    is_unserved = root.cause is _Cause.NOBODY and entry.action == "wait"
    if is_unserved and isinstance(entry, Waiting) and entry.in_tensor:
        return (f"call `{entry.buffer}.publish()` in a data movement kernel",)
    if is_unserved:
        return (
            f"push a block to `{entry.subject}` in another kernel, "
            f"or take the wait out of `{entry.kernel}`",
        )
    if root.cause is _Cause.NOBODY:
        return (
            f"pop `{entry.subject}` in the kernel that reads it, "
            f"or take the reserve out of `{entry.kernel}`",
        )
    if root.cause is _Cause.ENDED and isinstance(entry, Waiting):
        return (
            f"make `{entry.kernel}` and `{root.other_end}` agree on the number of blocks "
            f"that go through `{entry.buffer}`",
            *(_pipe_help(waiting) or _role_help(entry, waiting, node_count)),
        )
    if root.cause is _Cause.ENDED:
        return (_ended_help(entry),)
    if root.cause is _Cause.UNKNOWN and entry.action == "semaphore":
        return (_ended_help(entry), *_order_help(root))
    return _order_help(root) if _crosses_nodes(root) else _cycle_help(root, enough)


def _role_help(entry: Waiting, waiting: Sequence[AnyWaiting], node_count: int) -> tuple[str, ...]:
    """Return the help for nodes that get no block while other nodes do."""
    nodes = {each.node for each in waiting if _place(each) == _place(entry)}
    if entry.action != "wait" or len(nodes) == node_count:
        return ()
    return (
        f"if only receivers of a pipe net push to `{entry.buffer}`, wait for its blocks under "
        "`if net.is_dst():`",
    )


def _pipe_help(waiting: Sequence[AnyWaiting]) -> tuple[str, ...]:
    """Return the help for a pipe without a partner, which may keep the blocks away."""
    pipes = (entry for entry in waiting if entry.action in ("send", "receive"))
    return tuple(_ended_help(entry) for entry in pipes)[:1]


def _ended_help(entry: AnyWaiting) -> str:
    if entry.action == "semaphore":
        return f"let the changes of {entry.subject} add up to the value that is waited for"
    return (
        f"let the receivers of {entry.subject} post as often as its source sends, "
        "and every post and send be waited for"
    )


def _order_help(root: _Root) -> tuple[str, ...]:
    """Return the helps for a cycle through other nodes: start a step before waiting for it."""
    actions = {member.action for member in root.chain}
    if one_order := _one_order_help(root):
        return one_order
    if "send" in actions:
        program = _reordered_help(root)
        if _is_own_receiver(root.entry):
            return (*_OWN_RECEIVER, *program)
        return (
            "post before sending: start the receive, ttl.copy(pipe, block) in if_dst(), before the "
            "wait of the send",
            *(() if _is_split(root) else ("or send and receive in the two data movement kernels",)),
            *program,
        )
    if "receive" in actions:
        return (
            "start the send that completes a receive before the wait of the receive",
            *_left_out_help(root),
        )
    return ("change the semaphore that others wait for before waiting for them",)


def _is_split(root: _Root) -> bool:
    """Return whether one kernel sends and another one receives."""
    kernels = {each.action: each.kernel for each in root.chain}
    return "receive" in kernels and kernels["receive"] != kernels["send"]


def _one_order_help(root: _Root) -> tuple[str, ...]:
    """Return the helps if a node sends through one net while its receiver waits at another."""
    members = [member for member in root.chain if isinstance(member, WaitingForNodes)]
    send = next((member for member in members if member.action == "send"), None)
    receive = next((member for member in members if member.action == "receive"), None)
    if send is None or receive is None or len(root.chain) > 2 or send.net == receive.net:
        return ()
    return (
        f"use the nets in one order: in `{receive.kernel}`, receive through `{send.net}` before "
        f"`{receive.net}`",
        f"or start the receive through `{send.net}` there, with a block of its own, before the "
        f"wait of the one through `{receive.net}`",
    )


def _left_out_help(root: _Root) -> tuple[str, ...]:
    """Return the help for an implicit wait, which the user cannot move."""
    place = next((member.span for member in root.chain if member.action == "receive"), None)
    text = "" if place is None else linecache.getline(place.file, place.line)
    if not text or "wait" in text:
        return ()
    return (
        "its wait is left out: add the receive to a ttl.GroupTransfer() made before if_dst(), and "
        "call wait_all() of that after the send",
    )


_OWN_RECEIVER = (
    "the source has the data already: receive it into the very block that is sent, or leave the "
    "source out of the pipe's `dst`, for example dst=(slice(1, n), y) for src=(0, y)",
    "or post before sending: start the receive, ttl.copy(pipe, block) in if_dst() with another "
    "block, before the wait of the send",
)


def _is_own_receiver(entry: AnyWaiting) -> bool:
    """Return whether the source of a pipe waits only for its own post."""
    if not isinstance(entry, WaitingForNodes):
        return False
    return all({node for _, node in group} == {entry.node} for group in entry.partners)


def _reordered_help(root: _Root) -> tuple[str, ...]:
    place = next((member.span for member in root.chain if member.action == "send"), None)
    text = None if place is None else REORDERED.get()(place)
    return () if text is None else (f"this order works:\n{text}",)


def _cycle_help(root: _Root, enough: _Sizes) -> tuple[str, ...]:
    chain = [member for member in root.chain if isinstance(member, Waiting)]
    full = next((member for member in chain if member.action == "reserve"), None)
    empty = next((member for member in chain if member.action == "wait"), None)
    if full is not None and empty is not None and full.buffer == empty.buffer:
        first = f"push a block of `{full.buffer}` before reserving the next in `{full.kernel}`"
        if full.filled == full.capacity:  # the consumer holds all blocks
            held = f"pop a block of `{full.buffer}` before waiting for the next"
            first = f"{held} in `{empty.kernel}`"
        return (first + _larger(full, enough),)
    if full is not None and empty is not None and full.kernel != empty.kernel:
        first = f"fill `{empty.buffer}` before `{full.buffer}` in `{full.kernel}`"
        return (first + _larger(full, enough),)
    if empty is not None:
        return (f"push the first block to `{empty.buffer}` before waiting in its producer",)
    first = f"pop `{root.entry.subject}` before reserving more in its consumer"
    return (first + ("" if full is None else _larger(full, enough)),)


def _larger(full: Waiting, enough: _Sizes) -> str:
    """Return the help to enlarge the full buffer, or several if one alone does not help.

    Empty if it is not known whether that helps: a pop may be missing.
    """
    count = enough.alone.get(full.buffer)
    counts = enough.together if count is None else {full.buffer: count}
    declared = [f"`{name}` with block_count={each}" for name, each in counts.items()]
    return f", or declare {' and '.join(declared)}" if declared else ""


def _facts(waiting: Sequence[AnyWaiting], root: _Root, node_count: int) -> dict[str, Any]:
    return {
        "cause": root.cause.value,
        "node_count": node_count,
        "other_end": root.other_end,
        "chain": [[member.kernel, member.subject] for member in root.chain],
        "waiting": [
            {
                "kernel": entry.kernel,
                "node": list(entry.node),
                "action": entry.action,
                **entry.facts,
            }
            for entry in waiting
        ],
    }
