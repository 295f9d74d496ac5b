"""Dataflow buffers that share a circular buffer.

rule REUSE     compiler buffers of one type that never hold values at the same time are one.
Where there are still more buffers than the chip has, or more memory is needed, because of those
that the compiler added:
rule FORMAT    buffers of one format that only the compute kernel uses, the user's too, and that
               never hold blocks at the same time are one, which is as large as the largest.
rule LOCKSTEP  buffers between the same two kernels, of which both use one block of each in turn,
               are one, in which their blocks take turns. It has room for as many rounds as any of
               them had blocks.
rule ROUND     So are buffers of which the consumer uses one block of each in any order. It waits
               for those that were pushed before the one it needs, too, and pops each only after
               them: that takes room for one more round.
rule AFTER     buffers between the same two kernels, of which both use one only when they are done
               with the other, are one. It has the blocks of both.
By these rules nobody waits who did not wait before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, pairwise

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ttl.dialects import ttl
from ttl.dialects.building import walk

from ..buffer_ends import buffer_name
from ..module_pass import (
    LOOPS,
    around,
    erase,
    kernel_of,
    kernels,
    not_yet,
    target_of,
    thread_of,
)
from ..verify.ttl_validate_cb_budget import budget_bytes

Kind = Callable[[ttl.DeclareBufferOp], Hashable]  # what buffers that may share have in common
Blocks = Callable[[Sequence[int]], int]  # of several buffers: how many the one has
Declarations = dict[str, ttl.DeclareBufferOp]
ENDS: tuple[tuple[type[Operation], ...], ...] = (
    (ttl.ReserveOp, ttl.PushOp),
    (ttl.WaitOp, ttl.PopOp),
)


def share_buffers(module: ModuleOp) -> None:
    declared = _declarations(module)
    compilers = [name for name, op in declared.items() if op.compiler_allocated is not None]
    _share_in_time(module, compilers, _type_of)
    if _is_too_large(module):
        _share_in_time(module, [*compilers, *_private(module)], _ring_of)
    most = target_of(module).dataflow_buffers
    if len(_declarations(module)) <= most or len(declared) - len(compilers) > most:
        return
    _share_in_time(module, [*compilers, *_private(module)], _format_of)
    for kind in (_type_of, _format_of):
        for way in (LOCKSTEP, ROUND, AFTER):
            _share_links(module, kind, way, most)
    _check_count(module, most)


def _check_count(module: ModuleOp, most: int) -> None:
    declared = _declarations(module)
    if len(declared) <= most:
        return
    added = [
        bind
        for kernel in kernels(module, "compute")
        for _, _, name, bind in _lives(kernel)
        if declared[name].compiler_allocated is not None
    ]
    raise not_yet(
        f"expressions whose values need {len(added)} buffers, beside the declared ones, where a "
        f"node has {most - len(declared) + len(added)} left",
        min((use.operation for use in added[-1].result.uses), key=list(walk(module)).index),
        "use one dataflow buffer for several tensors that have the same block shape",
    )


def _is_too_large(module: ModuleOp) -> bool:
    sizes = [op.size_bytes for op in _declarations(module).values()]
    return sum(sizes) > budget_bytes(module)


def _declarations(module: ModuleOp) -> Declarations:
    return {op.sym_name.data: op for op in module.ops if isinstance(op, ttl.DeclareBufferOp)}


def _type_of(declaration: ttl.DeclareBufferOp) -> Hashable:
    return declaration.type, declaration.unpack_to_dest_fp32


def _ring_of(declaration: ttl.DeclareBufferOp) -> Hashable:
    """Of a format and as many blocks: together they need no more memory than each for itself."""
    return _format_of(declaration), declaration.type.block_count


def _format_of(declaration: ttl.DeclareBufferOp) -> Hashable:
    return declaration.type.tile, declaration.unpack_to_dest_fp32


def _bindings(kernel: func.FuncOp) -> list[ttl.BindBufferOp]:
    return [op for op in kernel.body.block.ops if isinstance(op, ttl.BindBufferOp)]


def _unite(module: ModuleOp, names: Sequence[str], blocks: Blocks) -> None:
    """All of these become the first, with the largest of their blocks."""
    declared = _declarations(module)
    types = [declared[name].type for name in names]
    largest = max(types, key=lambda type: type.block_tiles)
    count = blocks([type.block_count.value.data for type in types])
    tile = largest.tile
    type = ttl.DataflowBufferType.of(largest.sizes, tile.dtype, count, tile.layout)
    declared[names[0]].properties["type"] = type
    for kernel in kernels(module):
        bound = [op for op in _bindings(kernel) if buffer_name(op.result) in names]
        for other in bound[1:]:
            other.result.replace_all_uses_with(bound[0].result)
            erase(other)
        for kept in bound[:1]:
            kept.properties["buffer"] = SymbolRefAttr(names[0])
            Rewriter.replace_value_with_new_type(kept.result, type)
    for name in names[1:]:
        erase(declared[name])


# rule REUSE and rule FORMAT -----------------------------------------------------------------------


def _share_in_time(module: ModuleOp, names: Iterable[str], kind: Kind) -> None:
    """In order of their first use, each takes the first buffer that is free by then."""
    declared = _declarations(module)
    names = [name for name in names if name in declared]
    for kernel in kernels(module, "compute") if len(names) > 1 else ():
        shared: list[tuple[int, list[str]]] = []  # where the last use is, and the buffers
        for first, last, name, _ in _lives(kernel):
            if name not in names:
                continue
            for number, (end, group) in enumerate(shared):
                if end < first and kind(declared[name]) == kind(declared[group[0]]):
                    shared[number] = (last, [*group, name])
                    break
            else:
                shared.append((last, [name]))
        for _, group in shared:
            if len(group) > 1:
                _unite(module, group, max)


def _lives(kernel: func.FuncOp) -> list[tuple[int, int, str, ttl.BindBufferOp]]:
    """Where each buffer is used first and last, in order."""
    position = {op: number for number, op in enumerate(walk(kernel))}
    lives = []
    for bind in _bindings(kernel):
        uses = [position[use.operation] for use in bind.result.uses]
        lives.append(
            (min(uses, default=0), max(uses, default=0), buffer_name(bind.result), bind)
        )
    return sorted(lives, key=lambda life: life[:2])


def _private(module: ModuleOp) -> list[str]:
    """The user's buffers that only the compute kernel uses, for a block at a time: they are empty
    wherever it is not between the reserve and the pop of one.
    """
    users = Counter(buffer_name(op.result) for k in kernels(module) for op in _bindings(k))
    return [
        name
        for kernel in kernels(module, "compute")
        for _, _, name, bind in _lives(kernel)
        if users[name] == 1 and _is_plain(bind) and _has_a_block_at_a_time(bind)
    ]


def _has_a_block_at_a_time(bind: ttl.BindBufferOp) -> bool:
    uses = {use.operation for use in bind.result.uses}
    for block in {op.parent for op in uses if op.parent is not None}:
        inside = [op for op in block.ops if op in uses]
        steps = (kind for end in ENDS for kind in end)
        if not all(isinstance(op, kind) for op, kind in zip(inside, cycle(steps), strict=False)):
            return False
        if len(inside) % 4:
            return False
    return True


# rule LOCKSTEP, rule ROUND, rule AFTER ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Way:
    """One for bindings of a kernel to share: may they, what is done first, how many blocks?"""

    fits: Callable[[Sequence[ttl.BindBufferOp]], bool]
    prepare: Callable[[Sequence[ttl.BindBufferOp]], None]
    blocks: Blocks


@dataclass(frozen=True, slots=True)
class _Link:
    """A buffer between two kernels, by their bindings."""

    name: str
    producer: ttl.BindBufferOp
    consumer: ttl.BindBufferOp


def _share_links(module: ModuleOp, kind: Kind, way: _Way, most: int) -> None:
    declared = _declarations(module)
    groups: list[list[_Link]] = []
    for link in _links(module) if len(declared) > most else ():
        for group in groups:
            is_alike = kind(declared[link.name]) == kind(declared[group[0].name])
            if is_alike and all(way.fits(binds) for binds in _ends([*group, link])):
                group.append(link)
                break
        else:
            groups.append([link])
    for group in sorted(groups, key=len, reverse=True):
        shared = group[: len(_declarations(module)) - most + 1]
        if len(shared) > 1:
            for binds in _ends(shared):
                way.prepare(binds)
            _unite(module, [link.name for link in shared], way.blocks)


def _links(module: ModuleOp) -> list[_Link]:
    """In the order in which they are used first."""
    bound: dict[str, list[ttl.BindBufferOp]] = {}
    for kernel in kernels(module):
        for _, _, name, bind in _lives(kernel):
            bound.setdefault(name, []).append(bind)
    found = []
    for name, binds in bound.items():
        producers, consumers = ([bind for bind in binds if _uses_are(bind, *end)] for end in ENDS)
        if len(producers) == len(consumers) == 1 and all(map(_is_plain, binds)):
            found.append(_Link(name, producers[0], consumers[0]))
    return found


def _uses_are(bind: ttl.BindBufferOp, *kinds: type[Operation]) -> bool:
    uses = [use.operation for use in bind.result.uses]
    return bool(uses) and all(isinstance(op, kinds) for op in uses)


def _is_plain(bind: ttl.BindBufferOp) -> bool:
    """Are its blocks only computed with, or copied from and to tensors?"""
    if not _uses_are(bind, *ENDS[0], *ENDS[1]):
        return False
    acquires = [use.operation for use in bind.result.uses if use.operation.results]
    users = [use.operation for op in acquires for use in op.results[0].uses]
    return not any(ttl.is_resumed(op) for op in acquires) and all(
        isinstance(user, ttl.TileCallOp)
        or any(isinstance(end.owner, ttl.TensorSliceOp) for end in user.operands)
        for user in users
    )


def _ends(links: Sequence[_Link]) -> list[list[ttl.BindBufferOp]]:
    return [[link.producer for link in links], [link.consumer for link in links]]


def _take_turns(binds: Sequence[ttl.BindBufferOp], any_order: bool = False) -> bool:
    kernel = kernel_of(binds[0])
    is_one = all(kernel_of(bind) is kernel for bind in binds)
    return is_one and _is_in_turn(kernel.body.block, _turns(binds), any_order)


def _take_rounds(binds: Sequence[ttl.BindBufferOp]) -> bool:
    return _take_turns(binds, any_order=_uses_are(binds[0], *ENDS[1]))


def _turns(binds: Sequence[ttl.BindBufferOp]) -> dict[SSAValue, int]:
    return {bind.result: number for number, bind in enumerate(binds)}


def _is_in_turn(block: Block, turns: dict[SSAValue, int], any_order: bool) -> bool:
    """Are blocks acquired in order, and released in order, before the next round and the end?

    Acquires between which nothing happens may be in any order in any case, and so may releases
    between which the kernel waits for no other.
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
    """Up to an operation, at which it may begin to matter."""
    if not isinstance(op, ttl.AcquireOp) and acquired != set(range(len(acquired))):
        return False
    return released == set(range(len(released))) or not _may_wait(op)


def _takes_turn(op: Operation, turn: int, acquired: set[int], released: set[int]) -> bool:
    """Notes an acquire, once a round, or the release of what is held."""
    if isinstance(op, ttl.AcquireOp):
        is_due = turn not in acquired
        acquired.add(turn)
    else:
        is_due = turn in acquired and turn not in released
        released.add(turn)
    return is_due


def _may_wait(op: Operation) -> bool:
    """For another kernel; one that computes does so at buffers of which it has one end."""
    if thread_of(kernel_of(op)) != "compute":
        return not isinstance(op, ttl.ReleaseOp)
    buffers = [each.buffer for each in op.walk() if isinstance(each, ttl.AcquireOp)]
    return any(
        _uses_are(buffer.owner, *end)
        for buffer in buffers
        if isinstance(buffer.owner, ttl.BindBufferOp)
        for end in ENDS
    )


def _acts_on(op: Operation, turns: dict[SSAValue, int]) -> bool:
    ends = (ttl.AcquireOp, ttl.ReleaseOp)
    return any(isinstance(each, ends) and each.operands[0] in turns for each in op.walk())


def _put_in_order(binds: Sequence[ttl.BindBufferOp]) -> None:
    turns = _turns(binds)
    uses = {use.operation for bind in binds for use in bind.result.uses}
    for block in {op.parent for op in uses if op.parent is not None}:
        inside = [op for op in block.ops if op in uses]
        acquires = [op for op in inside if isinstance(op, ttl.AcquireOp)]
        for start in range(0, len(acquires), len(turns)):
            _hoist(acquires[start : start + len(turns)], turns)
        _delay([op for op in inside if isinstance(op, ttl.ReleaseOp)], turns)


def _hoist(acquires: Sequence[ttl.AcquireOp], turns: dict[SSAValue, int]) -> None:
    """Those of a round to the first of those whose turn comes after them."""
    place = {op: number for number, op in enumerate(acquires)}
    in_order = sorted(acquires, key=lambda op: turns[op.buffer])
    for op, following in reversed(list(pairwise(in_order))):
        if place[op] > place[following]:
            place[op] = place[following]
            _move(op, InsertPoint.before(following))


def _delay(releases: Sequence[ttl.ReleaseOp], turns: dict[SSAValue, int]) -> None:
    """Each until those have been released whose turn comes before it."""
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


def _follow(binds: Sequence[ttl.BindBufferOp]) -> bool:
    """rule AFTER, for a block at a time: several may not stand side by side in the other ring."""
    kernel = kernel_of(binds[0])
    is_one = all(kernel_of(bind) is kernel for bind in binds)
    if not is_one or not all(_take_turns([bind]) for bind in binds):
        return False
    lives = {bind: (first, last) for first, last, _, bind in _lives(kernel)}
    loops = [_loops_around(bind) for bind in binds]
    return all(
        lives[one][1] < lives[other][0] and loops[number].isdisjoint(loops[number + 1])
        for number, (one, other) in enumerate(pairwise(binds))
    )


def _loops_around(bind: ttl.BindBufferOp) -> set[Operation]:
    uses = [use.operation for use in bind.result.uses]
    return {outer for op in uses for outer in around(op) if isinstance(outer, LOOPS)}


LOCKSTEP = _Way(_take_turns, _put_in_order, lambda counts: len(counts) * max(counts))
ROUND = _Way(_take_rounds, _put_in_order, lambda counts: len(counts) * (max(counts) + 1))
AFTER = _Way(_follow, lambda binds: None, sum)
