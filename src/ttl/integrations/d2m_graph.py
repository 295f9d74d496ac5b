"""Running a ttir graph as threads of cores: each of its operations is a launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue

from ttl import host, ttnn
from ttl.artifact import CompiledOperation, Operand
from ttl.codegen import assemble
from ttl.config import Config
from ttl.dialects import d2m
from ttl.dialects.graph import MathOp
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
    (main,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    found = (op for op in module.ops if isinstance(op, ModuleOp))
    programs = {op.sym_name.data: op for op in found if op.sym_name is not None}
    values: dict[SSAValue, Array] = {}
    for argument, array in zip(main.body.block.args, arrays, strict=True):
        values[argument] = np.asarray(array)
    for op in main.body.block.ops:
        if isinstance(op, d2m.CallOp):
            inputs = [values[operand] for operand in op.arguments[:-1]]
            program = programs[op.program.root_reference.data]
            values[op.result] = _run(program, inputs, op.result.type)
        elif isinstance(op, MathOp):  # what ttir-to-d2m leaves to the host
            inputs = [values[operand] for operand in op.inputs]
            values[op.result] = _ON_HOST[op.ENTRY.name](inputs, op.values())
    last = main.body.block.last_op
    assert last is not None
    return [values[value] for value in last.operands]


# What only moves elements.
_ON_HOST: dict[str, Callable[[Sequence[Array], dict[str, Any]], Array]] = {
    "reshape": lambda given, named: given[0].reshape(named["shape"]),
    "expand": lambda given, named: np.broadcast_to(given[0], named["shape"]),
    "permute": lambda given, named: given[0].transpose(named["permutation"]),
    "concat": lambda given, named: np.concatenate(given, named["dim"]),
    "slice": lambda given, named: given[0][
        tuple(map(slice, named["begins"], named["ends"], named["step"]))
    ],
}


def _run(program: ModuleOp, inputs: Sequence[Array], result: Any) -> Array:
    """From the host and back, as the program has it: what tensors are padded with stays zero."""
    (function,) = (op for op in program.ops if isinstance(op, func.FuncOp))
    types = [argument.type for argument in function.body.block.args]
    room = np.zeros(result.get_shape(), np.float32)
    pairs = zip([*inputs, room], types, strict=True)
    tensors = [_to_device(array, type) for array, type in pairs]
    compiled = compile_program(program)
    storages = [tensor.storage for tensor in tensors]
    host.launch(compiled, storages, cache_dir=Config.current().cache_dir)
    return _to_host(tensors[-1], result)


def compile_program(program: ModuleOp) -> CompiledOperation:
    """The artifact of one of the programs that ttir-to-d2m has made."""
    assert program.sym_name is not None
    copy = program.clone()
    (function,) = (op for op in copy.ops if isinstance(op, func.FuncOp))
    generic = next(op for op in function.body.block.ops if isinstance(op, d2m.GenericOp))
    pairs = zip(function.body.block.args, _device(generic), strict=True)
    operands = tuple(_operand(*pair) for pair in pairs)
    run_pipeline(copy)
    return assemble(program.sym_name.data, copy, operands)


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
