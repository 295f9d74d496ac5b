"""A call of a pykernel program as a file: a flatbuffer with one GenericOp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ttl.diagnostics import file_not_usable
from ttl.semantics.dtypes import dtype_of

from .program import Operand


def write_flatbuffer(
    function: Callable[..., object], operands: Sequence[Operand], file: str
) -> None:
    """The function is called again, with tensors that are only described."""
    from ttl.driver import TensorSpec
    from ttl.integrations.flatbuffer import compile_operation

    specs = [
        TensorSpec(operand.layout.collapsed_shape, dtype_of(operand.tensor)) for operand in operands
    ]
    try:
        Path(file).write_bytes(compile_operation(function, specs))
    except OSError as error:
        raise file_not_usable(file, error) from None
