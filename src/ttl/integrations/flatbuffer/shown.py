"""The calls of ttnn in a program as plain values, for a page."""

from __future__ import annotations

from typing import Any

from .program import AnyStep, ControlStep, FreeStep, GenericStep, Program, SemaphoreStep, Step


def graph_values(program: Program) -> dict[str, Any]:
    """Calls in their order, and the tensors that they use by their ids."""
    calls = [_call(each) for each in program.steps if not isinstance(each, FreeStep)]
    tensors = {
        number: {"shape": each.shape, "dtype": each.dtype.spelling}
        for number, each in program.tensors.items()
    }
    return {
        "name": program.name,
        "inputs": list(zip(program.inputs, _names(program, "input"), strict=True)),
        "outputs": list(zip(program.outputs, _names(program, "output"), strict=True)),
        "calls": calls,
        "tensors": tensors,
    }


def _names(program: Program, side: str) -> list[str]:
    if side == "input":
        return program.named(program.input_names, program.inputs)
    return program.named(program.output_names, program.outputs)


def _call(step: AnyStep) -> dict[str, Any]:
    if isinstance(step, Step):
        return {"name": step.operation, "uses": step.inputs, "gives": [step.output]}
    if isinstance(step, GenericStep):  # which tensors it writes stands in its kernels alone
        return {"name": "generic", "uses": step.tensors[:-1], "gives": step.tensors[-1:]}
    if isinstance(step, ControlStep):
        name = "loop" if step.is_loop else "branch"
        return {"name": name, "uses": step.inputs, "gives": step.outputs}
    assert isinstance(step, SemaphoreStep)
    return {"name": "semaphore", "uses": (), "gives": ()}
