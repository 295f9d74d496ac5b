"""one-shot-bufferize: tensors and blocks of circular buffers become memory.

rule VIEW    a tensor whose layout has an index map is `#ttcore.view`, all others `#ttcore.shard`
rule STORAGE a stream's storage has two buffers
rule STRIP   function arguments lose their layout; d2m-bufferize-function-args restores it
rule VALUE   calculated blocks stay values: the allocation of DST registers decides later whether
             they are ever in memory
"""

from __future__ import annotations

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.linalg.ops import GenericOp as LinalgOp
from xdsl.ir import Attribute, BlockArgument, SSAValue, Use
from xdsl.rewriter import Rewriter

from pykernel.dialects import d2m
from ttl.dialects.metal import MemorySpaceAttr, MetalLayoutAttr, ShardAttr, ViewAttr
from ttl.dialects.ttcore import TileType
from ttl.passes.module_pass import Maker, replace_by, set_function_type, terminator

LAYOUT = "d2m.layout"
STREAM_BUFFERS = 2


def apply(op: ModuleOp) -> None:
    for function in [o for o in op.ops if isinstance(o, func.FuncOp)]:
        _function(function)


def _function(function: func.FuncOp) -> None:
    storages = {
        op.output for op in function.walk() if isinstance(op, d2m.StreamLayoutOp)
    }  # rule STORAGE
    for op in list(function.walk()):
        for region in op.regions:
            for block in region.blocks:
                for argument in list(block.args):
                    _retype(argument, _argument_type(argument, op is function))
        is_outside_threads = isinstance(op.parent_op(), func.FuncOp)
        if isinstance(op, d2m.AcquireOp) or is_outside_threads:
            for result in list(op.results):
                buffers = STREAM_BUFFERS if result in storages else 1
                _retype(result, memory_type(result.type, buffers))
    for acquire in [o for o in function.walk() if isinstance(o, d2m.AcquireOp)]:
        _read_as_value(acquire)
    _keep_layouts(function)
    for empty in [o for o in function.walk() if isinstance(o, d2m.EmptyOp)]:
        if isinstance(type := empty.result.type, MemRefType):
            new = memref.AllocOp([], [], type)
            replace_by(empty, Maker.before(empty).value(new, empty.result.name_hint))
    end = terminator(function.body.block)
    set_function_type(function, [value.type for value in end.operands])


def _read_as_value(acquire: d2m.AcquireOp) -> None:
    """Let math read the block's memory as a value (rule VALUE)."""
    readers = [use for use in list(acquire.block.uses) if _is_read(use)]
    if readers:
        make = Maker.after(acquire)
        value = make.value(d2m.ToTensorOp.of(acquire.block), acquire.block.name_hint)
        for use in readers:
            use.operation.operands[use.index] = value


def _is_read(use: Use) -> bool:
    is_stored = isinstance(use.operation, d2m.StoreOp) and use.index == 0
    is_yielded = isinstance(use.operation, scf.YieldOp)
    return is_stored or is_yielded or isinstance(use.operation, (LinalgOp, scf.ForOp))


def _retype(value: SSAValue, type: Attribute) -> None:
    if value.type != type:
        new = Rewriter.replace_value_with_new_type(value, type)
        if isinstance(value, BlockArgument) and isinstance(new, BlockArgument):
            new.location = value.location


def _argument_type(argument: SSAValue, is_of_function: bool) -> Attribute:
    type = argument.type
    if isinstance(type, d2m.CBType):
        return d2m.CBType(block_memory(type.underlying))
    if is_of_function and isinstance(type, TensorType):  # rule STRIP
        return MemRefType(type.element_type, type.get_shape())
    return type


def block_memory(type: Attribute) -> Attribute:
    """Return the memory of a circular buffer's block, in L1."""
    assert isinstance(type, TensorType)
    space = MemorySpaceAttr(StringAttr("l1"))
    return MemRefType(type.element_type, type.get_shape(), memory_space=space)


def memory_type(type: Attribute, buffers: int = 1) -> Attribute:
    if not isinstance(type, TensorType):
        return type
    layout = d2m.layout_of(type)
    if layout is None:
        is_block = isinstance(type.element_type, TileType)
        return block_memory(type) if is_block else MemRefType(type.element_type, type.get_shape())
    return device_memory(type, layout, buffers)


def device_memory(
    type: TensorType | MemRefType, layout: MetalLayoutAttr, buffers: int = 1
) -> MemRefType:
    """Return the memory of a tensor on the device, by rule VIEW."""
    shape = tuple(type.get_shape())
    space = MemorySpaceAttr(layout.memory_space)
    if layout.is_view:
        return MemRefType(type.element_type, shape, ViewAttr(IntAttr(len(shape))), space)
    assert isinstance(type.element_type, TileType)
    shard = ShardAttr.of(shape[len(shape) // 2 :], type.element_type.dtype.tile_bytes, buffers)
    return MemRefType(type.element_type, shape, shard, space)


def _keep_layouts(function: func.FuncOp) -> None:
    """Keep the layouts for d2m-bufferize-function-args."""
    types = function.function_type.inputs
    layouts = [d2m.layout_of(type) for type in types]
    if not any(layouts):
        return
    known = function.properties.get("arg_attrs")
    given = known.data if isinstance(known, ArrayAttr) else (DictionaryAttr({}),) * len(layouts)
    kept = []
    for attributes, layout in zip(given, layouts, strict=True):
        assert isinstance(attributes, DictionaryAttr)
        data = dict(attributes.data) | ({} if layout is None else {LAYOUT: layout})
        kept.append(DictionaryAttr(data))
    function.properties["arg_attrs"] = ArrayAttr(kept)
