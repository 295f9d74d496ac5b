"""Passes a compiled operation to ttnn.

ttnn is never imported here: it is the module that the tensors come from.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ttl.artifact import CompiledOperation
from ttl.diagnostics import codes, usage_error
from ttl.target.data_formats import TILE_SIZE

from .descriptors import pipe_scratch, program_descriptor
from .plan import TTNN_DTYPES, TensorPlace, plan_program

FEWEST_TENSORS = 2  # of ttnn.generic_op


def launch(compiled: CompiledOperation, tensors: Sequence[Any]) -> None:
    """Run the kernels on the device of these real ttnn tensors, one for each operand.

    UsageError, with the reason that ttnn gives, if it refuses the program.
    """
    _check_formats(compiled)
    ttnn = _module_of(tensors[0])
    try:
        # Addresses are taken at every call: tensors move between calls, kernels do not change.
        places = [_place(ttnn, tensor) for tensor in tensors]
        scratch = pipe_scratch(ttnn, compiled, tensors[0].device())
        address = None if scratch is None else scratch.buffer_address()
        program = program_descriptor(ttnn, plan_program(compiled, places, address))
        repeated = FEWEST_TENSORS if len(tensors) < FEWEST_TENSORS else 1
        padded = _padded(compiled, tensors)
        _clear_padding(ttnn, padded)
        ttnn.generic_op(list(tensors) * repeated, program)
        _clear_padding(ttnn, padded)
    except RuntimeError as error:
        raise usage_error(
            codes.DEVICE_REFUSED,
            f"ttnn does not run `{compiled.name}`: {_first_words(str(error))}",
            "set TTL_DEBUG=1 to see the whole message of ttnn",
        ) from error


def _check_formats(compiled: CompiledOperation) -> None:
    """A value may be rounded to a format that no tensor of ttnn has."""
    for buffer in compiled.buffers:
        if buffer.data_format not in TTNN_DTYPES:
            raise usage_error(
                codes.DEVICE_REFUSED,
                f"ttnn does not run `{compiled.name}`: it has no {buffer.data_format.lower()}, "
                f"which `{buffer.name}` holds",
                "use bfloat16 or float32 instead",
            )


def _module_of(tensor: Any) -> Any:
    return sys.modules[type(tensor).__module__.partition(".")[0]]


def _place(ttnn: Any, tensor: Any) -> TensorPlace:
    words = ttnn.TensorAccessorArgs(tensor).get_compile_time_args()
    return TensorPlace(tensor.buffer_address(), tuple(words))


def _padded(compiled: CompiledOperation, tensors: Sequence[Any]) -> list[Any]:
    """The tensors whose last tiles are not full, each once."""
    found = {
        id(tensor): tensor
        for operand, tensor in zip(compiled.operands, tensors, strict=True)
        if operand.layout == "TILE" and any(size % TILE_SIZE for size in (1, *operand.shape)[-2:])
    }
    return list(found.values())


def _clear_padding(ttnn: Any, tensors: Sequence[Any]) -> None:
    """The padding of a tensor is zero when kernels read it, and when they have written it."""
    for tensor in tensors:
        cleared = ttnn.fill_implicit_tile_padding(tensor, 0.0)
        if cleared.buffer_address() != tensor.buffer_address():  # of block floats it makes another
            ttnn.copy(cleared, tensor)


def _first_words(text: str) -> str:
    """The reason that tt-metal gives, without the place in its source and without its backtrace."""
    reason, _, _ = text.partition("backtrace:")
    _, found, info = reason.partition("info:")
    lines = (info if found else reason).strip().splitlines()
    return lines[0].strip() if lines else "no reason given"
