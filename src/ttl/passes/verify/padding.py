"""Reductions that take the padding of ragged tensors into account, as far as it is known.

rule JOIN    a buffer or a net holds padding if any block that goes through it does
rule BRANCH  what loops and branches carry is not followed, and reductions under a condition are
             not mentioned: the condition may be about the padding
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from ttl.diagnostics import Diagnostic
from ttl.dialects import ttl
from ttl.dialects.locations import span_of
from ttl.dialects.ttcore import block_type
from ttl.dialects.ttkernel import name_of
from ttl.semantics.padding import ANY, ZERO, after, is_reduced, padding_reduced

from ..buffer_ends import buffer_name
from ..module_pass import around
from .outputs import tensor_of
from .slices import extremes
from .symbolic import Number
from .walk import WalkedModule


def check_padding(walked: WalkedModule) -> list[Diagnostic]:
    ragged = set(_slices(walked))
    if not ragged:
        return []
    padding = _Padding(ragged)
    kernels = [kernel.function for kernel in walked.kernels]
    while padding.is_growing:
        padding.is_growing = False
        for op in (op for kernel in kernels for op in kernel.walk()):
            padding.follow(op)
    found = [
        padding_reduced(op.ENTRY.spelling).at(span_of(op.location), notes=(f"in kernel `{name}`",))
        for name, kernel in ((name_of(kernel), kernel) for kernel in kernels)
        for op in kernel.walk()
        if isinstance(op, ttl.BlockMathOp)
        and is_reduced(op.ENTRY.name, padding.of_inputs(op))
        and not any(isinstance(outer, scf.IfOp) for outer in around(op))
    ]
    return list({each.primary: each for each in found}.values())


def _slices(walked: WalkedModule) -> Iterator[Operation]:
    """The slices that reach into the padding of their tensors, on any node."""
    for of_kernels in walked.slices:
        for kernel, slices in zip(walked.kernels, of_kernels, strict=True):
            ragged: Any = kernel.function.attributes.get("ttl.ragged")
            for op, starts in slices if ragged is not None else ():
                dimensions = ragged.data[tensor_of(kernel, op)[0]]
                if any(_reaches_end(op, starts, dim.value.data) for dim in dimensions):
                    yield op


def _reaches_end(op: Any, starts: tuple[Number, ...], dimension: int) -> bool:
    whole, part = block_type(op.tensor.type), block_type(op.result.type)
    assert whole.shape is not None and part.shape is not None
    ends = extremes(starts[dimension])
    return ends is not None and ends[1] + part.shape[dimension] == whole.shape[dimension]


class _Padding:
    """What the blocks of each buffer and the values of each kernel hold."""

    def __init__(self, slices: set[Operation]):
        self.slices = slices
        self.held: dict[str, str] = {}  # by the name of a buffer or a net
        self.is_growing = True

    def follow(self, op: Operation) -> None:
        if isinstance(op, ttl.CopyOp):
            self._add(op.destination, self.of(op.source))
        elif isinstance(op, ttl.StoreOp):
            self._add(op.view, self.of(op.value))

    def _add(self, place: SSAValue, padding: str | None) -> None:
        name = _name(place)
        if name is None or padding is None or self.held.get(name) in (padding, ANY):
            return
        self.held[name] = padding
        self.is_growing = True

    def of(self, value: SSAValue) -> str | None:
        if value.owner in self.slices:
            return ZERO
        if isinstance(value.owner, ttl.BlockMathOp):
            return after(value.owner.ENTRY.name, self.of_inputs(value.owner))
        name = _name(value)
        return None if name is None else self.held.get(name)

    def of_inputs(self, op: ttl.BlockMathOp) -> list[str]:
        return [padding for value in op.inputs if (padding := self.of(value)) is not None]


def _name(value: SSAValue) -> str | None:
    if isinstance(value.owner, ttl.AcquireOp):
        return buffer_name(value.owner.buffer)
    if isinstance(value.type, ttl.PipeType):
        name: str = value.type.net.root_reference.data
        return name
    return None
