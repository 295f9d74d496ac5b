"""Running a ttir graph as threads of cores: each of its operations is a launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, TensorType, i64
from xdsl.ir import SSAValue

from ttl import host, ttnn
from ttl.artifact import CompiledOperation, Operand
from ttl.codegen import assemble
from ttl.config import Config
from ttl.dialects import d2m
from ttl.dialects.metal import MetalLayoutAttr
from ttl.dialects.ttcore import dtype_of_element
from ttl.passes import find_pass, run_pipeline
from ttl.semantics.dtypes import Array, DType
from ttl.semantics.metal_layout import MetalLayout


def run_ttir(module: ModuleOp, arrays: Sequence[Array]) -> list[Array]:
    """What the graph's function gives for these arrays, computed by the host executor.

    The module is changed. CompileError for what does not become threads.
    """
    find_pass("ttir-to-d2m")().apply(Context(), module)
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    main = next(each for each in functions.values() if not _is_generic(each))
    values: dict[SSAValue, Any] = {}
    for argument, array in zip(main.body.block.args, arrays, strict=True):
        values[argument] = _to_device(np.asarray(array), argument.type)
    for op in main.body.block.ops:
        if isinstance(op, d2m.EmptyOp):
            shape = op.result.type.get_shape()  # type: ignore[attr-defined]
            values[op.result] = _to_device(np.zeros(shape, np.float32), op.result.type)
        elif isinstance(op, func.CallOp):
            tensors = [values[operand] for operand in op.arguments]
            compiled = compile_generic(module, functions[op.callee.string_value()])
            storages = [tensor.storage for tensor in tensors]
            host.launch(compiled, storages, cache_dir=Config.from_environment().cache_dir)
            values[op.results[0]] = tensors[-1]
    last = main.body.block.last_op
    assert last is not None
    return [_to_host(values[value], value.type) for value in last.operands]


def _is_generic(function: func.FuncOp) -> bool:
    return any(isinstance(op, d2m.GenericOp) for op in function.body.block.ops)


def compile_generic(module: ModuleOp, function: func.FuncOp) -> CompiledOperation:
    """The artifact of one of the functions that ttir-to-d2m has made."""
    copy = function.clone()
    generic = next(op for op in copy.body.block.ops if isinstance(op, d2m.GenericOp))
    rows, columns = generic.grid.shape
    grid = ArrayAttr([IntegerAttr(size, i64) for size in (columns, rows)])
    alone = ModuleOp([copy], {**module.attributes, "ttl.launch_grid": grid})
    pairs = zip(copy.body.block.args, _device(generic), strict=True)
    operands = tuple(_operand(*pair) for pair in pairs)
    run_pipeline(alone)
    return assemble(function.sym_name.data, alone, operands)


def _device(generic: d2m.GenericOp) -> list[MetalLayoutAttr]:
    found = [d2m.layout_of(value.type) for value in generic.operands]
    return [layout for layout in found if layout is not None]


def _operand(argument: SSAValue, layout: MetalLayoutAttr) -> Operand:
    name = argument.name_hint or ""
    return Operand(name, layout.layout.collapsed_shape, _dtype(argument.type).name, "TILE")


def _dtype(type: Any) -> DType:
    assert isinstance(type, TensorType)
    return dtype_of_element(type.element_type)


def _to_device(array: Array, type: Any) -> Any:
    rows = MetalLayout(tuple(type.get_shape())).collapse(array)
    return ttnn.from_numpy(rows, dtype=_dtype(type), device=ttnn.open_device(device_id=0))


def _to_host(tensor: Any, type: Any) -> Array:
    return MetalLayout(tuple(type.get_shape())).restore(ttnn.to_numpy(tensor))
