"""Widens a program's integers to the 64 bits that they had before lowering, to run on the host.

The chip and the file have 32 bits. A widened program gives the results of the model's own types.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ttl.semantics.dtypes import DType, int32

from .program import AnyStep, CallStep, FreeStep, GraphProgram

_INT64 = DType("int64", int32.data_format, int32.mlir, np.dtype(np.int64), np.dtype(np.int64))
_OF_32_BITS = ("bitcast", "random_bits", "logical_right_shift")  # need 32 bits


def widen_program(program: GraphProgram) -> GraphProgram | None:
    """Widen a program; None if a step needs 32 bits: kernels, other programs, bits of floats."""
    if not all(_has_any_width(each) for each in program.steps):
        return None
    narrow = {number for number, each in program.tensors.items() if each.dtype is int32}
    tensors = {
        number: replace(each, dtype=_INT64) if number in narrow else each
        for number, each in program.tensors.items()
    }
    steps = tuple(_widen_step(each, narrow) for each in program.steps)
    return replace(program, tensors=tensors, steps=steps)


def _has_any_width(step: object) -> bool:
    if isinstance(step, CallStep):
        return step.operation not in _OF_32_BITS
    return isinstance(step, FreeStep)


def _widen_step(step: AnyStep, narrow: set[int]) -> AnyStep:
    """Widen a step; constants get 64 bits, too."""
    if not isinstance(step, CallStep) or not step.data or step.output not in narrow:
        return step
    return replace(step, data=np.frombuffer(step.data, np.int32).astype(np.int64).tobytes())
