"""ttl-verify-tensor-slices: check that slices are inside their tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation

from ttl.diagnostics import Diagnostic, RuleBroken
from ttl.dialects.locations import span_of
from ttl.dialects.ttcore import block_type
from ttl.semantics.tensors import out_of_range, with_tensor_name

from ..module_pass import called_from
from .statements import FAILURES
from .symbolic import UNKNOWN, LoopExpression, Number, extremes_of
from .touches import tensor_of
from .walk import WalkedModule

# Most enumerated values of one slice, if its extremes are not enough.
MOST_VALUES = 200_000


def check_slices(walked: WalkedModule) -> list[Diagnostic]:
    """Report each slice that leaves its tensor on some node."""
    found: dict[Operation, Diagnostic] = {}
    for node, of_kernels in zip(walked.nodes, walked.slices, strict=False):
        for kernel, slices in zip(walked.kernels, of_kernels, strict=False):
            for op, starts in slices:
                if op not in found and (problem := _out_of_range(op, starts)):
                    problem = with_tensor_name(problem, tensor_of(kernel.function, op)[1])
                    notes = (f"on node {node}",)
                    found[op] = called_from(problem, op).at(span_of(op.location), notes=notes)
    for node, op, broken in walked.faults:
        if op not in found:
            found[op] = broken.at(span_of(op.location), notes=(f"on node {node}",))
    return list(found.values())


def _out_of_range(op: Any, starts: Sequence[Number]) -> RuleBroken | None:
    whole, part = block_type(op.tensor.type), block_type(op.result.type)
    assert whole.shape is not None and part.shape is not None
    for dimension, start in enumerate(starts):
        size, extent = whole.shape[dimension], part.shape[dimension]
        if (ends := extremes(start)) is None:
            continue
        low, high = ends
        if low < 0 or high + extent > size:
            wrong = low if low < 0 else high
            text = f"{wrong}" if extent == 1 else f"{wrong}:{wrong + extent}"
            return out_of_range(text, dimension, size, whole.layout)
    return None


def extremes(start: Number) -> tuple[int, int] | None:
    """Return the smallest and the largest start of a slice, if known."""
    if start is UNKNOWN or _is_long(start):
        return None
    try:
        return extremes_of(start)
    except FAILURES:  # another mistake makes an iteration fail
        return None


def _is_long(number: Number) -> bool:
    return (
        isinstance(number, LoopExpression) and number.factors is None and number.count > MOST_VALUES
    )
