"""Find reductions that include padding of ragged tensors, and missing broadcasts, if known.

rule JOIN    a buffer or a net holds padding if any block that goes through it does; its blocks have
             as many rows and columns of data as any of them
rule BRANCH  values that loops and branches carry are not followed, and reductions under a condition
             are not reported: the condition may be about the padding
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from xdsl.dialects import func, scf
from xdsl.ir import Operation, SSAValue

from ttl.diagnostics import Diagnostic, RuleBroken
from ttl.dialects import ttl
from ttl.dialects.building import around
from ttl.dialects.locations import span_of
from ttl.dialects.ttcore import block_type
from ttl.dialects.ttkernel import name_of
from ttl.semantics.layout import TILE_LAYOUT
from ttl.semantics.padding import (
    NONE,
    UNKNOWN,
    ZERO,
    Held,
    Sizes,
    accumulated_left_out,
    broadcast_left_out,
    data_sizes,
    is_reduced,
    merge_paddings,
    merge_sizes,
    padding_after,
    padding_reduced,
    sizes_after,
)
from ttl.semantics.types import TILE_SIZE

from ..compute.arranged_tiles import is_reduction
from .slices import extremes
from .symbolic import Number
from .touches import tensor_of
from .walk import WalkedModule

Known = TypeVar("Known", Held, Sizes)


def check_padding(walked: WalkedModule) -> list[Diagnostic]:
    ragged = _slices(walked)
    kernels = [kernel.function for kernel in walked.kernels]
    if not ragged and not any(is_reduction(op) for kernel in kernels for op in kernel.walk()):
        return []
    padding = _Flow(ragged, NONE, merge_paddings, padding_after)
    sizes = _Flow(_data(walked), UNKNOWN, merge_sizes, sizes_after)
    padding.follow(kernels)
    sizes.follow(kernels)
    found = [
        broken.at(span_of(op.location), notes=(f"in kernel `{name_of(kernel)}`",))
        for kernel in kernels
        for op, broken in _wrong(kernel, padding, sizes)
        if not any(isinstance(outer, scf.IfOp) for outer in around(op))
    ]
    return list({(each.code.code, each.primary): each for each in found}.values())


def _wrong(
    kernel: func.FuncOp, padding: _Flow[Held], sizes: _Flow[Sizes]
) -> Iterator[tuple[Operation, RuleBroken]]:
    blocks: dict[SSAValue, Sizes] = {}  # of the data stored so far
    for op in kernel.walk():
        if isinstance(op, ttl.BlockMathOp):
            yield from ((op, broken) for broken in _wrong_math(op, padding, sizes))
        elif isinstance(op, ttl.StoreOp):
            before, stored = blocks.get(op.view), sizes.of(op.value)
            if op.accumulate is not None and before is not None:
                if (left_out := accumulated_left_out(before, stored)) is not None:
                    yield op, left_out
                stored = merge_sizes(before, stored)
            blocks[op.view] = stored


def _wrong_math(
    op: ttl.BlockMathOp, padding: _Flow[Held], sizes: _Flow[Sizes]
) -> Iterator[RuleBroken]:
    if is_reduced(op.ENTRY, [padding.of(value) for value in op.inputs], *_dims(op)):
        yield padding_reduced(op.ENTRY)
    left_out = broadcast_left_out(op.ENTRY, [sizes.of(value) for value in op.inputs])
    if left_out is not None:
        yield left_out


def _dims(op: ttl.BlockMathOp) -> tuple[Sequence[int], int]:
    """Return the dimensions that an operation names, and its result's rank."""
    return op.given_types().get("dims") or (), len(block_type(op.result.type).shape or ())


def _data(walked: WalkedModule) -> dict[Operation, Sizes]:
    """Return how many rows and columns that each slice reads are data, on any node."""
    found: dict[Operation, Sizes] = {}
    for op, starts, shape in _each_slice(walked, "ttl.logical_shapes"):
        sizes = _sizes(op, starts, shape)
        found[op] = merge_sizes(found[op], sizes) if op in found else sizes
    for of_kernels in walked.slices:
        for op in (op for slices in of_kernels for op, _ in slices):
            found.setdefault(op, _whole(op))  # without ragged tensors, kernels have no shapes
    return found


def _whole(op: Any) -> Sizes:
    part = block_type(op.result.type)
    if part.layout is not TILE_LAYOUT or part.shape is None:
        return UNKNOWN
    rows, columns = (frozenset({size * TILE_SIZE}) for size in (1, *part.shape)[-2:])
    return rows, columns


def _each_slice(
    walked: WalkedModule, name: str
) -> Iterator[tuple[Operation, tuple[Number, ...], list[int]]]:
    """Yield each slice with its tensor's numbers in an attribute of the kernel."""
    for of_kernels in walked.slices:
        for kernel, slices in zip(walked.kernels, of_kernels, strict=True):
            by_tensor: Any = kernel.function.attributes.get(name)
            for op, starts in slices if by_tensor is not None else ():
                numbers = by_tensor.data[tensor_of(kernel.function, op)[0]]
                yield op, starts, [number.value.data for number in numbers]


def _sizes(op: Any, starts: tuple[Number, ...], shape: list[int]) -> Sizes:
    ends = [extremes(start) for start in starts]
    part = block_type(op.result.type)
    if part.layout is not TILE_LAYOUT or part.shape is None or None in ends:
        return UNKNOWN
    units = part.shape
    first, last = (
        data_sizes(shape, [end[at] for end in ends if end is not None], units, TILE_SIZE)
        for at in (0, 1)
    )
    return merge_sizes(first, last)


def _slices(walked: WalkedModule) -> dict[Operation, Held]:
    """Return the slices that reach into the padding of their tensors, on any node."""
    found: dict[Operation, Held] = {}
    for op, starts, dimensions in _each_slice(walked, "ttl.ragged"):
        reached = {dim for dim in dimensions if _reaches_end(op, starts, dim)}
        rows, columns = (ZERO if dim in reached else None for dim in (-2, -1))
        found[op] = merge_paddings(found.get(op, NONE), (rows, columns))
    return {op: held for op, held in found.items() if held != NONE}


def _reaches_end(op: Any, starts: tuple[Number, ...], dimension: int) -> bool:
    whole, part = block_type(op.tensor.type), block_type(op.result.type)
    assert whole.shape is not None and part.shape is not None
    ends = extremes(starts[dimension])
    return ends is not None and ends[1] + part.shape[dimension] == whole.shape[dimension]


@dataclass(slots=True)
class _Flow(Generic[Known]):
    """Follows facts from slices through buffers, nets and block math."""

    slices: dict[Operation, Known]
    otherwise: Known
    join: Callable[[Known, Known], Known]  # rule JOIN
    after: Callable[..., Known]
    held: dict[str, Known] = field(default_factory=dict)  # by buffer or net
    is_growing: bool = True

    def follow(self, kernels: Sequence[func.FuncOp]) -> None:
        while self.is_growing:
            self.is_growing = False
            for op in (op for kernel in kernels for op in kernel.walk()):
                if isinstance(op, ttl.CopyOp):
                    self._add(op.destination, self.of(op.source))
                elif isinstance(op, ttl.StoreOp):
                    self._add(op.view, self.of(op.value))

    def _add(self, place: SSAValue, new: Known) -> None:
        name = _name(place)
        if name is None:
            return
        before = self.held.get(name)
        self.held[name] = new if before is None else self.join(before, new)
        self.is_growing |= self.held[name] != before

    def of(self, value: SSAValue) -> Known:
        op = value.owner
        if isinstance(op, ttl.BlockMathOp):
            return self.after(op.ENTRY, [self.of(each) for each in op.inputs], *_dims(op))
        if isinstance(op, Operation) and op in self.slices:
            return self.slices[op]
        return self.held.get(_name(value) or "", self.otherwise)


def _name(value: SSAValue) -> str | None:
    if isinstance(value.owner, ttl.AcquireOp):
        return ttl.buffer_name(value.owner.buffer)
    if isinstance(value.type, ttl.PipeType):
        name: str = value.type.net.root_reference.data
        return name
    return None
