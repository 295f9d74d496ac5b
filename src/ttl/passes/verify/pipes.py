"""Check that both ends of every pipe match, every pipe is used, and every block is read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, repeat
from typing import Any

from xdsl.ir import Attribute, SSAValue

from ttl.diagnostics import Diagnostic, Label, codes
from ttl.dialects import ttl
from ttl.dialects.locations import span_of
from ttl.dialects.ttcore import block_type
from ttl.semantics.block_protocol import Event as BlockEvent
from ttl.semantics.block_protocol import State, illegal
from ttl.semantics.tensors import type_mismatch

from ..module_pass import users_of
from .events import Event, Node, NumberedPipe, WalkEventKind, events_of
from .reserved import Blocks, HeldBlock
from .statements import Items, Repeat
from .walk import WalkedModule

MOST_COMPARED = 10_000  # most compared transfers of one pipe


def check_pipe_types(walked: WalkedModule) -> list[Diagnostic]:
    """Check that the n-th send and the n-th post of a pipe have blocks of one type."""
    if not walked.is_complete or not walked.names.pipes:
        return []
    types = _types(walked)
    return [
        found
        for number, pipe in enumerate(walked.names.pipes)
        if len(types.get(number, ())) > 1  # if all are alike, there is nothing to compare
        for found in islice(_mismatches(walked, number, pipe), 1)
    ]


def _types(walked: WalkedModule) -> dict[int, set[Attribute]]:
    """Return the types of the blocks that go through each pipe."""
    found: dict[int, set[Attribute]] = {}
    for _, _, event in walked.events(WalkEventKind.SEND, WalkEventKind.POST):
        found.setdefault(event[1], set()).add(_block(event).type)
    return found


def _mismatches(walked: WalkedModule, number: int, pipe: NumberedPipe) -> Iterator[Diagnostic]:
    sends = list(islice(_events(walked, pipe.source, WalkEventKind.SEND, number), MOST_COMPARED))
    for node in pipe.receivers:
        for send, post in zip(
            sends, _events(walked, node, WalkEventKind.POST, number), strict=False
        ):
            if _block(send).type != _block(post).type:
                yield _mismatch(pipe, node, send, post)
                break


def _mismatch(pipe: NumberedPipe, node: Node, send: Event, post: Event) -> Diagnostic:
    where, acquire = span_of(send[2].location), _block(send).owner
    what = "a block"
    if isinstance(acquire, ttl.AcquireOp):
        what = f"the block of `{ttl.buffer_name(acquire.buffer)}`"
    text = f"node {pipe.source} sends {what} here"
    broken = type_mismatch(
        block_type(_block(send).type),
        block_type(_block(post).type),
        f"pipe {pipe.name} connects",
        () if where is None else (Label(where, text),),
    )
    return broken.at(span_of(post[2].location), notes=(f"on node {node}",))


def _events(walked: WalkedModule, node: Node, kind: WalkEventKind, pipe: int) -> Iterator[Event]:
    """Return a node's events on a pipe in order; none if two kernels share an end."""
    traces = walked.traces[walked.names.node_numbers[node]]
    using = [items for items in traces if any(True for _ in events_of(items, kind, pipe))]
    if len(using) == 1:
        yield from (e for e in _flat(using[0]) if e[0] is kind and e[1] == pipe)


def _flat(items: Items, most: int | None = None) -> Iterator[Event]:
    """Return all events in order, with at most so many iterations of a loop."""
    for item in items:
        if isinstance(item, Repeat):
            times = item.times if most is None else min(item.times, most)
            yield from chain.from_iterable(_flat(each, most) for each in repeat(item.items, times))
        else:
            yield item


def _block(event: Event) -> SSAValue:
    op: ttl.CopyOp = event[2]
    return op.source if event[0] is WalkEventKind.SEND else op.destination


# Blocks posted again ------------------------------------------------------------------------------


def check_posted_again(walked: WalkedModule) -> list[Diagnostic]:
    """Find a second receive into a block that no kernel has read since the first."""
    if not walked.is_complete or not walked.names.pipes:
        return []
    for node, traces in walked.distinct():
        for items in traces:
            for found in _posted_again(items, node):
                return [found]
    return []


def _posted_again(items: Items, node: Node) -> Iterator[Diagnostic]:
    blocks = Blocks()
    posted: dict[HeldBlock | None, State] = {}
    slots: dict[object, HeldBlock | None] = {}
    groups: dict[Any, list[Any]] = {}

    def finish(slot: object) -> None:
        if slot in slots and slots[slot] in posted:
            posted[slots[slot]] = State.MUST_READ

    for kind, what, op, *more in _flat(items, most=2):
        if blocks.follow((kind, what, op)):
            continue
        if kind is WalkEventKind.SEND:
            posted.pop(blocks.names.get(op.source), None)
        elif kind is WalkEventKind.ADD:
            groups.setdefault(what, []).append(more[0])
        elif kind is WalkEventKind.FINISH:
            finish(what)
        elif kind is WalkEventKind.FINISH_GROUP:
            for slot in groups.get(what, ()):
                finish(slot)
        elif kind is WalkEventKind.POST and not _is_read_by_copies(op.destination):
            block = blocks.names.get(op.destination)
            if block in posted:
                named = f"the block of `{ttl.buffer_name_of(op.destination)}`"
                broken = illegal(posted[block], BlockEvent.COPY_INTO, named)
                yield broken.at(span_of(op.location), notes=(f"on node {node}",))
            posted[block] = State.WRITTEN_BY_TRANSFER
            slots[more[0]] = block


def _is_read_by_copies(block: SSAValue) -> bool:
    """Is it read by copies to tensors or blocks? These are no events, so their order is unknown."""
    copies = users_of(block, ttl.CopyOp)
    return any(copy.source is block and copy.pipe is None for copy in copies)


# Unused pipes -------------------------------------------------------------------------------------


def check_unused_pipes(walked: WalkedModule) -> list[Diagnostic]:
    """Warn once for each net with unused pipes."""
    if not walked.is_complete:
        return []
    used = {event[1] for _, _, event in walked.events(WalkEventKind.SEND, WalkEventKind.POST)}
    found = []
    for net, numbers in walked.names.nets.items():
        unused = [walked.names.pipes[number] for number in numbers if number not in used]
        if unused:
            found.append(_unused(net, unused, len(numbers)))
    return found


def _unused(net: str, unused: list[NumberedPipe], count: int) -> Diagnostic:
    first = unused[0]
    which = f"pipe {first.name}" if len(unused) == 1 else f"{len(unused)} of {count} pipes"
    notes = () if len(unused) == 1 else (f"the first is pipe {first.name}",)
    return codes.PIPE_UNUSED.broken(
        f"{which} of `{net}` {'is' if len(unused) == 1 else 'are'} never used",
        "send through it, or take it out of the net",
        notes=notes,
    ).at(first.span, "declared here")
