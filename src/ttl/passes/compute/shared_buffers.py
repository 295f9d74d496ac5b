"""Dataflow buffers that share a circular buffer.

rule REUSE     compiler buffers of one type that never hold values at the same time are one.
Where there are still more buffers than the chip has, because of those that the compiler added:
rule FORMAT    buffers of one format that only the compute kernel uses, the user's too, and that
               never hold blocks at the same time are one, which is as large as the largest.
rule LOCKSTEP  buffers between the same two kernels, of which both use one block of each in turn, in
               one order, are one, in which their blocks take turns. It has room for as many rounds
               as any of them had blocks, so nobody waits who did not wait before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ttl.dialects import ttl
from ttl.dialects.building import walk

from ..buffer_ends import buffer_name
from ..module_pass import erase, kernel_of, kernels, not_yet, target_of

Kind = Callable[[ttl.DeclareBufferOp], Hashable]  # what buffers that may share have in common
Declarations = dict[str, ttl.DeclareBufferOp]


def share_buffers(module: ModuleOp) -> None:
    declared = _declarations(module)
    compilers = [name for name, op in declared.items() if op.compiler_allocated is not None]
    _share_in_time(module, compilers, _type_of)
    most = target_of(module).dataflow_buffers
    if len(_declarations(module)) <= most or len(declared) - len(compilers) > most:
        return
    _share_in_time(module, [*compilers, *_balanced(module)], _format_of)
    for kind in (_type_of, _format_of):
        _share_in_lockstep(module, kind, most)
    _check_count(module, most)


def _check_count(module: ModuleOp, most: int) -> None:
    declared = _declarations(module)
    compilers = [op for op in declared.values() if op.compiler_allocated is not None]
    if len(declared) > most:
        raise not_yet(
            f"expressions that need {len(compilers)} buffers beside the "
            f"{len(declared) - len(compilers)} declared ones, of the {most} that a node has,",
            next(kernels(module, "compute")),
            "use one dataflow buffer for several values that have the same block shape",
        )


def _declarations(module: ModuleOp) -> Declarations:
    return {op.sym_name.data: op for op in module.ops if isinstance(op, ttl.DeclareBufferOp)}


def _type_of(declaration: ttl.DeclareBufferOp) -> Hashable:
    return declaration.type, declaration.unpack_to_dest_fp32


def _format_of(declaration: ttl.DeclareBufferOp) -> Hashable:
    return declaration.type.tile, declaration.unpack_to_dest_fp32


def _bindings(kernel: func.FuncOp) -> list[ttl.BindBufferOp]:
    return [op for op in kernel.body.block.ops if isinstance(op, ttl.BindBufferOp)]


def _unite(module: ModuleOp, names: Sequence[str], rounds: int) -> None:
    """All of these become the first, with the largest of their blocks.

    In each of as many rounds as any of them has blocks, it has `rounds` blocks.
    """
    declared = _declarations(module)
    types = [declared[name].type for name in names]
    largest = max(types, key=lambda type: type.block_tiles)
    count = rounds * max(type.block_count.value.data for type in types)
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
                _unite(module, group, 1)


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


def _balanced(module: ModuleOp) -> list[str]:
    """The user's buffers that are empty wherever no part of the compute kernel that uses them is
    under way: only it uses them, and each of its blocks takes as much out as it puts in.
    """
    users = Counter(buffer_name(op.result) for k in kernels(module) for op in _bindings(k))
    found = []
    for kernel in kernels(module, "compute"):
        for bind in _bindings(kernel):
            uses = [use.operation for use in bind.result.uses]
            counts = Counter((op.parent, op.name) for op in uses)
            is_even = all(
                counts[block, kind.name] == counts[block, ttl.PushOp.name]
                for block, _ in counts
                for kind in (ttl.ReserveOp, ttl.WaitOp, ttl.PopOp)
            )
            name = buffer_name(bind.result)
            if is_even and users[name] == 1 and _is_plain(bind):
                found.append(name)
    return found


# rule LOCKSTEP ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Link:
    """A buffer between two kernels, by their bindings."""

    name: str
    producer: ttl.BindBufferOp
    consumer: ttl.BindBufferOp


def _share_in_lockstep(module: ModuleOp, kind: Kind, most: int) -> None:
    declared = _declarations(module)
    groups: list[list[_Link]] = []
    for link in _links(module) if len(declared) > most else ():
        for group in groups:
            is_alike = kind(declared[link.name]) == kind(declared[group[0].name])
            if is_alike and all(_take_turns(binds) for binds in _ends([*group, link])):
                group.append(link)
                break
        else:
            groups.append([link])
    for group in sorted(groups, key=len, reverse=True):
        shared = group[: len(_declarations(module)) - most + 1]
        if len(shared) > 1:
            for binds in _ends(shared):
                _acquire_in_order(binds)
            _unite(module, [link.name for link in shared], len(shared))


def _links(module: ModuleOp) -> list[_Link]:
    """In the order in which they are used first."""
    bound: dict[str, list[ttl.BindBufferOp]] = {}
    for kernel in kernels(module):
        for _, _, name, bind in _lives(kernel):
            bound.setdefault(name, []).append(bind)
    found = []
    for name, binds in bound.items():
        producers = [bind for bind in binds if _uses_are(bind, ttl.ReserveOp, ttl.PushOp)]
        consumers = [bind for bind in binds if _uses_are(bind, ttl.WaitOp, ttl.PopOp)]
        if len(producers) == len(consumers) == 1 and all(map(_is_plain, binds)):
            found.append(_Link(name, producers[0], consumers[0]))
    return found


def _uses_are(bind: ttl.BindBufferOp, *kinds: type[Operation]) -> bool:
    uses = [use.operation for use in bind.result.uses]
    return bool(uses) and all(isinstance(op, kinds) for op in uses)


def _is_plain(bind: ttl.BindBufferOp) -> bool:
    """Are its blocks only computed with, or copied from and to tensors?"""
    if not _uses_are(bind, ttl.ReserveOp, ttl.PushOp, ttl.WaitOp, ttl.PopOp):
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


def _take_turns(binds: Sequence[ttl.BindBufferOp]) -> bool:
    kernel = kernel_of(binds[0])
    is_one = all(kernel_of(bind) is kernel for bind in binds)
    return is_one and _is_in_turn(kernel.body.block, _turns(binds))


def _turns(binds: Sequence[ttl.BindBufferOp]) -> dict[SSAValue, int]:
    return {bind.result: number for number, bind in enumerate(binds)}


def _is_in_turn(block: Block, turns: dict[SSAValue, int]) -> bool:
    """Are blocks acquired in order, and released in order, before the next round and the end?

    Acquires between which nothing happens may be in any order, and so may releases.
    """
    acquired: set[int] = set()
    released: set[int] = set()
    for op in block.ops:
        is_acquire, is_release = isinstance(op, ttl.AcquireOp), isinstance(op, ttl.ReleaseOp)
        if not is_acquire and acquired != set(range(len(acquired))):
            return False
        if not is_release and released != set(range(len(released))):
            return False
        if not is_release and len(released) == len(turns):
            acquired, released = set(), set()
        if op.regions and _acts_on(op, turns):
            inner = [each for region in op.regions for each in region.blocks]
            if acquired or not all(_is_in_turn(each, turns) for each in inner):
                return False
        elif (is_acquire or is_release) and op.operands[0] in turns:
            turn, held = turns[op.operands[0]], acquired - released
            if is_release is not (turn in held) or (is_acquire and turn in acquired):
                return False
            (acquired if is_acquire else released).add(turn)
    return not acquired


def _acts_on(op: Operation, turns: dict[SSAValue, int]) -> bool:
    ends = (ttl.AcquireOp, ttl.ReleaseOp)
    return any(isinstance(each, ends) and each.operands[0] in turns for each in op.walk())


def _acquire_in_order(binds: Sequence[ttl.BindBufferOp]) -> None:
    """Among acquires between which nothing happens."""
    turns = _turns(binds)
    acquires = [use.operation for bind in binds for use in bind.result.uses if use.operation.results]
    for op in acquires:
        later, before = None, op.prev_op
        while isinstance(before, ttl.AcquireOp):
            if turns.get(before.buffer, -1) > turns[op.operands[0]]:
                later = before
            before = before.prev_op
        if later is not None and (block := op.parent) is not None:
            op.detach()
            block.insert_op_before(op, later)
