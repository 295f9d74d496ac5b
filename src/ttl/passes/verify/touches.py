"""Find copies that touch tensors which kernels both read and write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttl

from ..module_pass import users_of


def tensor_of(function: func.FuncOp, op: Any) -> tuple[int, str]:
    """Return number and name of the operation's argument that is sliced."""
    attributes: Any = function.attributes
    tensor: SSAValue = op.tensor
    position: int = op.tensor.index
    indices, names = attributes.get("ttl.crta_indices"), attributes.get("ttl.tensor_names")
    if indices is not None and position < len(indices):
        position = indices.data[position].value.data
    if names is not None and position < len(names):
        return position, names.data[position].data
    return position, tensor.name_hint or f"argument {position}"


def copy_at(op: Operation, end: str) -> ttl.CopyOp | None:
    """Return the copy that has the slice at this end."""
    result = op.results[0]
    copies = users_of(result, ttl.CopyOp)
    return next((copy for copy in copies if getattr(copy, end) is result), None)


def touching_copies(functions: Iterable[func.FuncOp]) -> dict[Operation, int]:
    """Return copies from and to tensors that are read and written, with the tensors' numbers."""
    found: dict[str, dict[Operation, int]] = {"source": {}, "destination": {}}
    for function in functions:
        for op in function.walk():
            if isinstance(op, ttl.TensorSliceOp):
                position, _ = tensor_of(function, op)
                for end, copies in found.items():
                    if (copy := copy_at(op, end)) is not None:
                        copies[copy] = position
    read, written = (set(copies.values()) for copies in found.values())
    both = {**found["source"], **found["destination"]}
    return {copy: number for copy, number in both.items() if number in read & written}
