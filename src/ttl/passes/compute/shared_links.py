"""Let dataflow buffers between two kernels share a circular buffer.

rule LOCKSTEP  buffers between the same two kernels are one if both use one block of each in turn.
               Their blocks take turns in it. It has room for as many rounds as the largest has
               blocks.
rule ROUND     buffers are also one if the consumer uses one block of each in any order. It waits
               for blocks that were pushed before the one it needs, and pops each only after them:
               that takes room for one more round.
rule AFTER     buffers between the same two kernels are one if both use one only after they are done
               with the other, with equal numbers of blocks in each iteration of a loop. It has the
               blocks of both.

With these rules no kernel waits that did not wait before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ttl.dialects import ttl
from ttl.dialects.building import around
from ttl.dialects.ttkernel import processor_of

from ..module_pass import kernel_of, kernels, steps_of
from .united_buffers import (
    CONSUMER,
    PRODUCER,
    Blocks,
    Kind,
    acquires_of,
    declarations_of,
    is_plain,
    lives_of,
    unite,
    users_in_kernel,
    uses_are,
)

LOOPS = (scf.ForOp, scf.WhileOp, ttl.ForEachPipeOp)


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to share: its condition, changes at both ends before, and the number of blocks."""

    fits: Callable[[Sequence[_Link]], bool]
    prepare: Callable[[Sequence[ttl.BindBufferOp]], None]
    blocks: Blocks


@dataclass(frozen=True, slots=True)
class _Link:
    """A buffer between two kernels, with their bindings."""

    name: str
    producer: ttl.BindBufferOp
    consumer: ttl.BindBufferOp


def share_links(module: ModuleOp, kind: Kind, way: _Way, most: int) -> None:
    declared = declarations_of(module)
    groups: list[list[_Link]] = []
    for link in _links(module) if len(declared) > most else ():
        for group in groups:
            is_alike = kind(declared[link.name]) == kind(declared[group[0].name])
            if is_alike and way.fits([*group, link]):
                group.append(link)
                break
        else:
            groups.append([link])
    for group in sorted(groups, key=len, reverse=True):
        shared = group[: len(declarations_of(module)) - most + 1]
        if len(shared) > 1:
            for binds in _ends(shared):
                way.prepare(binds)
            unite(module, [link.name for link in shared], way.blocks)


def _links(module: ModuleOp) -> list[_Link]:
    """List the links, in the order in which their producers use them first."""
    producers: dict[str, ttl.BindBufferOp] = {}
    consumers: dict[str, ttl.BindBufferOp] = {}
    others: set[str] = set()
    for kernel in kernels(module):
        for _, _, name, bind in lives_of(kernel):
            if not is_plain(bind):
                others.add(name)
            elif uses_are(bind, *PRODUCER):
                producers[name] = bind
            elif uses_are(bind, *CONSUMER):
                consumers[name] = bind
    return [
        _Link(name, bind, consumers[name])
        for name, bind in producers.items()
        if name in consumers and name not in others
    ]


def _ends(links: Sequence[_Link]) -> list[list[ttl.BindBufferOp]]:
    return [[link.producer for link in links], [link.consumer for link in links]]


def _are_in_lockstep(links: Sequence[_Link]) -> bool:
    return all(_take_turns(binds) for binds in _ends(links))


def _are_in_rounds(links: Sequence[_Link]) -> bool:
    producer, consumer = _ends(links)
    return _take_turns(producer) and _take_turns(consumer, any_order=True)


def _take_turns(binds: Sequence[ttl.BindBufferOp], any_order: bool = False) -> bool:
    kernel = kernel_of(binds[0])
    is_one = all(kernel_of(bind) is kernel for bind in binds)
    return is_one and _is_in_turn(kernel.body.block, _turns(binds), any_order)


def _turns(binds: Sequence[ttl.BindBufferOp]) -> dict[SSAValue, int]:
    return {bind.result: number for number, bind in enumerate(binds)}


def _is_in_turn(block: Block, turns: dict[SSAValue, int], any_order: bool) -> bool:
    """Are blocks acquired and released in order, before the next round and the end?

    Acquires with nothing between them may be in any order, and so may releases between which the
    kernel waits for no other.
    """
    acquired: set[int] = set()
    released: set[int] = set()
    for op in block.ops:
        if not isinstance(op, ttl.ReleaseOp) and len(released) == len(turns):
            acquired, released = set(), set()  # the next round
        if not any_order and not _are_in_order(op, acquired, released):
            return False
        if op.regions and _acts_on(op, turns):
            inner = [each for region in op.regions for each in region.blocks]
            if acquired or not all(_is_in_turn(each, turns, any_order) for each in inner):
                return False
        elif _acts_on(op, turns) and not _takes_turn(op, turns[op.operands[0]], acquired, released):
            return False
    return not acquired


def _are_in_order(op: Operation, acquired: set[int], released: set[int]) -> bool:
    """Are rounds in order up to this operation? From here on the order may matter."""
    if not isinstance(op, ttl.AcquireOp) and acquired != set(range(len(acquired))):
        return False
    return released == set(range(len(released))) or not _may_wait(op)


def _takes_turn(op: Operation, turn: int, acquired: set[int], released: set[int]) -> bool:
    """Note an acquire, once a round, or the release of a held block; return whether it is due."""
    if isinstance(op, ttl.AcquireOp):
        is_due = turn not in acquired
        acquired.add(turn)
    else:
        is_due = turn in acquired and turn not in released
        released.add(turn)
    return is_due


def _may_wait(op: Operation) -> bool:
    """May it wait for another kernel? A compute kernel does so at buffers with one end in it."""
    if processor_of(kernel_of(op)) != "compute":
        return not isinstance(op, ttl.ReleaseOp)
    buffers = [each.buffer for each in op.walk() if isinstance(each, ttl.AcquireOp)]
    return any(
        uses_are(buffer.owner, *end)
        for buffer in buffers
        if isinstance(buffer.owner, ttl.BindBufferOp)
        for end in (PRODUCER, CONSUMER)
    )


def _acts_on(op: Operation, turns: dict[SSAValue, int]) -> bool:
    ends = (ttl.AcquireOp, ttl.ReleaseOp)
    return any(isinstance(each, ends) and each.operands[0] in turns for each in op.walk())


def _put_in_order(binds: Sequence[ttl.BindBufferOp]) -> None:
    turns = _turns(binds)
    uses = {op for bind in binds for op in users_in_kernel(bind.result)}
    for block in {op.parent for op in uses if op.parent is not None}:
        inside = [op for op in block.ops if op in uses]
        acquires = [op for op in inside if isinstance(op, ttl.AcquireOp)]
        for start in range(0, len(acquires), len(turns)):
            _hoist(acquires[start : start + len(turns)], turns)
        _delay([op for op in inside if isinstance(op, ttl.ReleaseOp)], turns)


def _hoist(acquires: Sequence[ttl.AcquireOp], turns: dict[SSAValue, int]) -> None:
    """Move acquires of a round that come too late in front of the first one with a later turn."""
    place = {op: number for number, op in enumerate(acquires)}
    in_order = sorted(acquires, key=lambda op: turns[op.buffer])
    for op, following in reversed(list(pairwise(in_order))):
        if place[op] > place[following]:
            place[op] = place[following]
            _move(op, InsertPoint.before(following))


def _delay(releases: Sequence[ttl.ReleaseOp], turns: dict[SSAValue, int]) -> None:
    """Move each release after the releases whose turn comes before it."""
    due: dict[int, ttl.ReleaseOp] = {}
    following = 0
    for release in releases:
        due[turns[release.buffer]] = release
        last = release
        while following in due:
            if (op := due.pop(following)) is not release:
                _move(op, InsertPoint.after(last))
                last = op
            following = (following + 1) % len(turns)


def _move(op: Operation, place: InsertPoint) -> None:
    op.detach()
    Rewriter.insert_op(op, place)


def _are_one_after_the_other(links: Sequence[_Link]) -> bool:
    counts = [_blocks_one_after_the_other(binds) for binds in _ends(links)]
    return None not in counts and counts[0] == counts[1]


def _blocks_one_after_the_other(binds: Sequence[ttl.BindBufferOp]) -> list[int] | None:
    """Return how many blocks of each an iteration of their common loops has, [] without common
    loops. Return None if they are not used one after the other, a block at a time: several blocks
    might not be adjacent in the ring.
    """
    if len({kernel_of(bind) for bind in binds}) > 1 or not all(_take_turns([b]) for b in binds):
        return None
    lives = {bind: (first, last) for first, last, _, bind in lives_of(kernel_of(binds[0]))}
    if any(lives[one][1] > lives[other][0] for one, other in pairwise(binds)):
        return None
    around_each = [_loops_around(bind) for bind in binds]
    common = set.intersection(*(loops for many in around_each for loops in many))
    inner = Counter(loop for many in around_each for loop in set.union(*many) - common)
    if any(number > 1 for number in inner.values()):
        return None
    counts = [_blocks_in_iteration(bind, common) for bind in binds] if common else []
    return [count for count in counts if count] if all(counts) else None


def _loops_around(bind: ttl.BindBufferOp) -> list[set[Operation]]:
    """Return the loops around each use."""
    uses = users_in_kernel(bind.result)
    return [{outer for outer in around(op) if isinstance(outer, LOOPS)} for op in uses]


def _blocks_in_iteration(bind: ttl.BindBufferOp, common: set[Operation]) -> int:
    """Return how many blocks an iteration acquires; 0 if unknown."""
    total = 0
    for acquire in acquires_of(bind):
        inside = list(takewhile(lambda op: op not in common, around(acquire)))
        steps = [steps_of(outer) if isinstance(outer, scf.ForOp) else None for outer in inside]
        if None in steps:
            return 0
        total += prod(len(each) for each in steps if each is not None)
    return total


LOCKSTEP = _Way(_are_in_lockstep, _put_in_order, lambda counts: len(counts) * max(counts))
ROUND = _Way(_are_in_rounds, _put_in_order, lambda counts: len(counts) * (max(counts) + 1))
AFTER = _Way(_are_one_after_the_other, lambda binds: None, sum)
