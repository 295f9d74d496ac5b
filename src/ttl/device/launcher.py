"""Hands a compiled operation to ttnn.

ttnn is never imported here: it is the module that the tensors come from.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ttl.artifact import CompiledOperation
from ttl.diagnostics import Diagnostic, UsageError, codes

from .descriptors import pipe_scratch, program_descriptor
from .plan import TensorPlace, plan_program

FEWEST_TENSORS = 2  # of ttnn.generic_op


def launch(compiled: CompiledOperation, tensors: Sequence[Any]) -> None:
    """Run the kernels on the device of these real ttnn tensors, one for each operand.

    UsageError, with what ttnn said, if it refuses the program.
    """
    ttnn = _module_of(tensors[0])
    try:
        # Addresses are taken at every call: tensors move between calls, kernels do not change.
        places = [_place(ttnn, tensor) for tensor in tensors]
        scratch = pipe_scratch(ttnn, compiled, tensors[0].device())
        address = None if scratch is None else scratch.buffer_address()
        program = program_descriptor(ttnn, plan_program(compiled, places, address))
        repeated = FEWEST_TENSORS if len(tensors) < FEWEST_TENSORS else 1
        ttnn.generic_op(list(tensors) * repeated, program)
    except RuntimeError as error:
        raise UsageError(_refused(compiled, error)) from error


def _module_of(tensor: Any) -> Any:
    return sys.modules[type(tensor).__module__.partition(".")[0]]


def _place(ttnn: Any, tensor: Any) -> TensorPlace:
    words = ttnn.TensorAccessorArgs(tensor).get_compile_time_args()
    return TensorPlace(tensor.buffer_address(), tuple(words))


def _refused(compiled: CompiledOperation, error: RuntimeError) -> Diagnostic:
    return Diagnostic(
        codes.DEVICE_REFUSED,
        f"ttnn does not run `{compiled.name}`: {_first_words(str(error))}",
        helps=("set TTL_DEBUG=1 to see all that ttnn said",),
    )


def _first_words(text: str) -> str:
    """What tt-metal says, without where it says it and without its backtrace."""
    reason, _, _ = text.partition("backtrace:")
    _, found, said = reason.partition("info:")
    lines = (said if found else reason).strip().splitlines()
    return lines[0].strip() if lines else "no reason given"
