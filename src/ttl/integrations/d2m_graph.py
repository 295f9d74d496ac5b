"""Running a ttir graph as threads of cores: each of its operations is a launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ttl.dialects import d2m
from ttl.dialects.graph import MathOp
from ttl.dialects.ttcore import dtype_of_element
from ttl.passes import find_pass, run_pipeline
from ttl.semantics.dtypes import Array

from .metal_program import run_metal


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
    copy = program.clone()
    run_pipeline(copy)
    room = np.zeros(result.get_shape(), dtype_of_element(result.element_type).storage)
    run_metal(copy, [*inputs, room])
    return room
