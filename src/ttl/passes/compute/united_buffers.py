"""Unite several dataflow buffers, and query buffers at the end of the compute passes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from ttl.dialects import ttl
from ttl.dialects.building import around, walk
from ttl.semantics.layout import TILE_LAYOUT

from ..module_pass import erase, kernels, replace_by

Kind = Callable[[ttl.DeclareBufferOp], Hashable]  # equal for buffers that may share
Blocks = Callable[[Sequence[int]], int]  # the block count of the united buffer, given the counts
PRODUCER: tuple[type[Operation], ...] = (ttl.ReserveOp, ttl.PushOp)
CONSUMER: tuple[type[Operation], ...] = (ttl.WaitOp, ttl.PopOp)


def declarations_of(module: ModuleOp) -> dict[str, ttl.DeclareBufferOp]:
    return {op.sym_name.data: op for op in module.ops if isinstance(op, ttl.DeclareBufferOp)}


def type_of(declaration: ttl.DeclareBufferOp) -> Hashable:
    return declaration.type, declaration.unpack_to_dest_fp32, _place_of(declaration)


def format_of(declaration: ttl.DeclareBufferOp) -> Hashable:
    return declaration.type.tile, declaration.unpack_to_dest_fp32, _place_of(declaration)


def _place_of(declaration: ttl.DeclareBufferOp) -> Hashable:
    """Return a key that differs for every buffer in a tensor: these cannot be united."""
    return None if declaration.tensor is None else declaration.sym_name


def bindings(kernel: func.FuncOp) -> list[ttl.BindBufferOp]:
    return [op for op in kernel.body.block.ops if isinstance(op, ttl.BindBufferOp)]


def unite(module: ModuleOp, names: Sequence[str], blocks: Blocks) -> None:
    """Replace these buffers by the first, with the largest blocks."""
    declared = declarations_of(module)
    types = [declared[name].type for name in names]
    largest = max(types, key=lambda type: type.block_tiles)
    count = blocks([type.block_count.value.data for type in types])
    tile = largest.tile
    type = ttl.DataflowBufferType.of(largest.sizes, tile.dtype, count, tile.layout)
    declared[names[0]].properties["type"] = type
    for kernel in kernels(module):
        bound = [op for op in bindings(kernel) if ttl.buffer_name(op.result) in names]
        for other in bound[1:]:
            replace_by(other, bound[0].result)
        for kept in bound[:1]:
            kept.properties["buffer"] = SymbolRefAttr(names[0])
            Rewriter.replace_value_with_new_type(kept.result, type)
    for name in names[1:]:
        erase(declared[name])


def lives_of(kernel: func.FuncOp) -> list[tuple[int, int, str, ttl.BindBufferOp]]:
    """Return the first and last use of each buffer, in order."""
    position = {op: number for number, op in enumerate(walk(kernel))}
    found = []
    for bind in bindings(kernel):
        uses = [position[op] for op in users_in_kernel(bind.result)] or [0]
        found.append((min(uses), max(uses), ttl.buffer_name(bind.result), bind))
    return sorted(found, key=lambda life: life[:2])


def users_in_kernel(value: SSAValue) -> list[Operation]:
    """Return the users without operations that sections replaced, which are in no kernel."""
    users = [use.operation for use in value.uses]
    return [op for op in users if any(isinstance(outer, func.FuncOp) for outer in around(op))]


def acquires_of(bind: ttl.BindBufferOp) -> list[ttl.AcquireOp]:
    return [op for op in users_in_kernel(bind.result) if isinstance(op, ttl.AcquireOp)]


def uses_are(bind: ttl.BindBufferOp, *kinds: type[Operation]) -> bool:
    uses = users_in_kernel(bind.result)
    return bool(uses) and all(isinstance(op, kinds) for op in uses)


def is_plain(bind: ttl.BindBufferOp) -> bool:
    """Are its blocks tiled, and only computed with or copied from and to tensors?"""
    is_tiled = bind.result.type.tile.layout is TILE_LAYOUT
    if not is_tiled or not uses_are(bind, *PRODUCER, *CONSUMER):
        return False
    acquires = acquires_of(bind)
    users = [user for op in acquires for user in users_in_kernel(op.block)]
    return not any(ttl.is_resumed(op) for op in acquires) and all(
        isinstance(user, ttl.TileCallOp)
        or any(isinstance(end.owner, ttl.TensorSliceOp) for end in user.operands)
        for user in users
    )
