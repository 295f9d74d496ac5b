"""A program's calls of ttnn as plain values, for a page."""

from __future__ import annotations

from .program import (
    AnyStep,
    CallStep,
    ControlStep,
    FreeStep,
    GenericStep,
    GraphProgram,
    SemaphoreStep,
)
from .schema import Table


def graph_values(program: GraphProgram) -> Table:
    """Return the calls in order, and the tensors that they use, by id."""
    calls = [_call(each) for each in program.steps if not isinstance(each, FreeStep)]
    tensors = {
        number: {"shape": each.shape, "dtype": each.dtype.spelling}
        for number, each in program.tensors.items()
    }
    return {
        "name": program.name,
        "inputs": _name_tensors(program, program.input_names, program.inputs),
        "outputs": _name_tensors(program, program.output_names, program.outputs),
        "calls": calls,
        "tensors": tensors,
    }


def _name_tensors(
    program: GraphProgram, names: tuple[str, ...], ids: tuple[int, ...]
) -> list[tuple[int, str]]:
    return list(zip(ids, program.named(names, ids), strict=True))


def _call(step: AnyStep) -> Table:
    if isinstance(step, CallStep):
        return {"name": step.operation, "uses": step.inputs, "gives": [step.output]}
    if isinstance(step, GenericStep):  # only its kernels know which tensors it writes
        return {"name": "generic", "uses": step.tensors[:-1], "gives": step.tensors[-1:]}
    if isinstance(step, ControlStep):
        name = "loop" if step.is_loop else "branch"
        return {"name": name, "uses": step.inputs, "gives": step.outputs}
    assert isinstance(step, SemaphoreStep)
    return {"name": "semaphore", "uses": (), "gives": ()}
