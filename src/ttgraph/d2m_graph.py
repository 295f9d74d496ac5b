"""Running a ttir graph as threads of cores: each of its operations is a launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from pykernel.dialects import d2m
from pykernel.passes.pipelines import D2M, find_pass
from ttgraph.dialects import ttir
from ttgraph.dialects.graph import MathOp, Tensor, dense_values
from ttgraph.passes import run_passes
from ttgraph.passes.pipelines import TTIR_TO_D2M, make_passes
from ttl.config import Config
from ttl.diagnostics import CompileError, codes
from ttl.dialects.locations import span_of
from ttl.dialects.ttcore import dtype_of_element
from ttl.passes import run_pipeline
from ttl.passes.registered_device import SYSTEM_DESC
from ttl.semantics.dtypes import Array

from .flatbuffer.compile import verify_graph
from .flatbuffer.launching import Launching, launching
from .metal_program import modules_of, run_metal


def run_ttir(
    module: ModuleOp, arrays: Sequence[Array], config: Config | None = None
) -> list[Array]:
    """Run the graph's function on these arrays on the host executor.

    Changes the module. Raises CompileError if an operation cannot become threads.
    """
    how = launching(config)
    lower_ttir(module)
    (main,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    programs = modules_of(module)
    values: dict[SSAValue, Array] = {}
    for argument, array in zip(main.body.block.args, arrays, strict=True):
        values[argument] = np.asarray(array)
    for op in main.body.block.ops:
        if isinstance(op, d2m.CallOp):
            inputs = [values[operand] for operand in op.arguments[:-1]]
            program = programs[op.program.root_reference.data]
            values[op.result] = _run(program, inputs, op.result.type, how)
        elif isinstance(op, ttir.ConstantOp):
            kind = dtype_of_element(op.result.type.element_type).storage
            values[op.result] = dense_values(op.value).astype(kind)
        elif isinstance(op, MathOp):  # what ttir-to-d2m leaves to the host
            inputs = [values[operand] for operand in op.inputs]
            values[op.result] = run_on_host(op, inputs)
        elif not isinstance(op, (func.ReturnOp, d2m.EmptyOp)):
            raise _make_not_run(op)
    last = main.body.block.last_op
    assert last is not None
    return [values[value] for value in last.operands]


def lower_ttir(module: ModuleOp) -> None:
    """Lower a graph's operations to threads; raise CompileError if one cannot be lowered."""
    verify_graph(module)
    run_passes(make_passes(TTIR_TO_D2M), Context(), module)


def _make_not_run(op: Operation) -> CompileError:
    message = f"`{op.name}` is not run: neither threads nor the host compute it"
    return CompileError(codes.GRAPH_NOT_LOWERED.broken(message).at(span_of(op.location)))


def run_on_host(op: MathOp, inputs: Sequence[Array]) -> Array:
    """Compute an operation that only moves elements; raise CompileError for any other."""
    kind = dtype_of_element(op.result.type.element_type).storage
    name, named = op.ENTRY.name, op.values()
    if name == "full":
        return np.full(named["shape"], named["fill_value"], kind)
    if name == "typecast":
        return inputs[0].astype(kind)
    if name == "arange":
        sizes = [1] * len(named["shape"])
        sizes[named["dim"]] = -1
        numbers = np.arange(named["shape"][named["dim"]]).reshape(sizes)
        return np.broadcast_to(numbers, named["shape"]).astype(kind)
    if name not in _ON_HOST:
        raise _make_not_run(op)
    return _ON_HOST[name](inputs, named)


# Operations that only move elements.
_ON_HOST: dict[str, Callable[[Sequence[Array], dict[str, Any]], Array]] = {
    "reshape": lambda given, named: given[0].reshape(named["shape"]),
    "expand": lambda given, named: np.broadcast_to(given[0], named["shape"]),
    "permute": lambda given, named: given[0].transpose(named["permutation"]),
    "concat": lambda given, named: np.concatenate(given, named["dim"]),
    "slice": lambda given, named: given[0][
        tuple(map(slice, named["begins"], named["ends"], named["step"]))
    ],
}


def _run(program: ModuleOp, inputs: Sequence[Array], result: Tensor, how: Launching) -> Array:
    """From the host and back, as the program has it: what tensors are padded with stays zero."""
    copy = program.clone()
    around = program.parent_op()
    if around is not None and SYSTEM_DESC in around.attributes:
        copy.attributes[SYSTEM_DESC] = around.attributes[SYSTEM_DESC]
    run_pipeline(copy, first=[find_pass(name)() for name in D2M])
    room = np.zeros(result.get_shape(), dtype_of_element(result.element_type).storage)
    run_metal(copy, [*inputs, room], how)
    return room
