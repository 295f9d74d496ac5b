"""Checks that a program's dataflow buffers, L1 tensors and semaphores fit on a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ttl.diagnostics import RuleBroken, Span, UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.target import Target

from .dtypes import DType
from .tensor_like import TensorLike
from .types import Shape


class Declared(Protocol):
    """A dataflow buffer or a semaphore at its declaration."""

    @property
    def name(self) -> str: ...
    @property
    def span(self) -> Span | None: ...


class DeclaredBuffer(Declared, Protocol):
    @property
    def shape(self) -> Shape: ...
    @property
    def block_count(self) -> int: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def size_bytes(self) -> int: ...


class L1Tensor(NamedTuple):
    """A tensor in L1; `size_bytes` is the part on the core that holds most of it."""

    name: str
    shape: Shape
    dtype: DType
    size_bytes: int


def l1_tensors(tensors: Mapping[str, TensorLike]) -> list[L1Tensor]:
    """Return the tensors in L1, each once."""
    found: dict[int, L1Tensor] = {}
    for name, tensor in tensors.items():
        size_bytes = getattr(tensor, "l1_bytes", 0)
        if size_bytes and id(tensor) not in found:
            found[id(tensor)] = L1Tensor(name, tuple(tensor.shape), tensor.dtype, size_bytes)
    return list(found.values())


def check_limits(
    buffers: Sequence[DeclaredBuffer],
    target: Target,
    l1_budget: int | None = None,
    tensors: Sequence[L1Tensor] = (),
) -> None:
    """Raise UsageError with a table of the buffers and L1 tensors if they do not fit.

    `l1_budget`, in bytes, replaces the chip's budget for dataflow buffers.
    """
    budget = l1_budget or target.dataflow_buffer_budget_bytes
    if len(buffers) > target.dataflow_buffers:
        first_too_many = buffers[target.dataflow_buffers]
        raise UsageError(_too_many(buffers, target).at(first_too_many.span))
    if _total_bytes(buffers) + _total_bytes(tensors) > budget:
        broken = _too_large(buffers, tensors, target.name, budget)
        if not buffers:
            raise UsageError(broken.at(calling_span()))
        largest = max(buffers, key=lambda buffer: buffer.size_bytes)
        raise UsageError(broken.at(largest.span, "the largest buffer"))


class DeclaredSemaphore(Declared, Protocol):
    @property
    def initial(self) -> int: ...


def check_semaphores(semaphores: Sequence[DeclaredSemaphore], target: Target) -> None:
    """Raise UsageError with a list of the semaphores if a node has fewer."""
    if len(semaphores) <= target.semaphores:
        return
    names = ", ".join(f"{semaphore.name}({semaphore.initial})" for semaphore in semaphores)
    broken = codes.TOO_MANY_SEMAPHORES.broken(
        f"{len(semaphores)} semaphores; a node of {target.name} has {target.semaphores}",
        "use one semaphore with increasing values for several steps",
        notes=(f"semaphores and their initial values: {names}",),
        semaphores=len(semaphores),
        limit=target.semaphores,
    )
    raise UsageError(broken.at(semaphores[target.semaphores].span, "the first too many"))


def _total_bytes(held: Sequence[DeclaredBuffer] | Sequence[L1Tensor]) -> int:
    return sum(one.size_bytes for one in held)


def _too_many(buffers: Sequence[DeclaredBuffer], target: Target) -> RuleBroken:
    return codes.TOO_MANY_BUFFERS.broken(
        f"{len(buffers)} dataflow buffers; a node of {target.name} has {target.dataflow_buffers}",
        "use one dataflow buffer for several values that have the same block shape",
        notes=_table(buffers),
        buffers=len(buffers),
        limit=target.dataflow_buffers,
    )


def _too_large(
    buffers: Sequence[DeclaredBuffer], tensors: Sequence[L1Tensor], chip: str, budget: int
) -> RuleBroken:
    total = _total_bytes(buffers) + _total_bytes(tensors)
    held = "the dataflow buffers and the tensors in L1" if tensors else "the dataflow buffers"
    moved = ("move a tensor to ttnn.DRAM_MEMORY_CONFIG, or shard it over more cores",)
    return codes.L1_BUDGET.broken(
        f"{held} need {total} bytes of L1; a node of {chip} has {budget} for them",
        "use smaller blocks, or a smaller block_count",
        *(moved if tensors else ()),
        notes=_table(buffers, tensors),
        needed_bytes=total,
        budget_bytes=budget,
    )


def _table(buffers: Sequence[DeclaredBuffer], tensors: Sequence[L1Tensor] = ()) -> tuple[str, ...]:
    """Return one note per row: name, block shape in tiles, block count, element type, bytes.

    Tensors show their shape in elements and the bytes on the core that holds most of them.
    """
    rows = [("buffer", "shape", "block_count", "dtype", "bytes")]
    for buffer in buffers:
        numbers = (str(buffer.shape), str(buffer.block_count), f"{buffer.dtype}")
        rows.append((buffer.name, *numbers, str(buffer.size_bytes)))
    for tensor in tensors:
        place = (f"{tensor.shape}", "L1 tensor", f"{tensor.dtype}")
        rows.append((tensor.name, *place, str(tensor.size_bytes)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return tuple(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
