"""Checks that an operation fits a chip."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from ttl.target import Target

from .operation import CompiledOperation, Coordinate, Kernel, Rectangle, Rectangles


def check_fits(compiled: CompiledOperation, target: Target) -> None:
    """Raise ValueError if the chip lacks these cores, buffers, semaphores or kernels."""
    check_cores([compiled.core_range], target)
    check_cores((each for kernel in compiled.kernels for each in _cores_of(kernel)), target)
    _check_buffers(compiled, target)
    _check_tensors(compiled)
    _check_pipes(compiled)
    for kernel in compiled.kernels:
        _check_arguments(kernel, compiled.core_range)
    if any(not 0 <= each.index < target.semaphores for each in compiled.semaphores):
        raise ValueError(f"{target.name} has {target.semaphores} semaphores, counted from 0")
    if len({kernel.own is None for kernel in compiled.kernels}) > 1:
        raise ValueError("some of the kernels have arguments of their own, others have not")
    for one, other in combinations(compiled.kernels, 2):
        if one.thread is other.thread and overlap(_cores_of(one), _cores_of(other)):
            names = f"`{one.name}` and `{other.name}`"
            raise ValueError(f"two kernels for the same processor of a core, {names}")


def _check_tensors(compiled: CompiledOperation) -> None:
    count = len(compiled.operands)
    for kernel in compiled.kernels:
        if any(index >= count for index in kernel.tensor_indices):
            indices = f"tensors {list(kernel.tensor_indices)}"
            raise ValueError(f"`{kernel.name}` uses {indices} of {count}, counted from 0")


def _check_arguments(kernel: Kernel, grid: Rectangle) -> None:
    """Raise ValueError if a node lacks arguments; handwritten kernels are not checked."""
    nodes = [each.core for each in kernel.runtime_args]
    if len(set(nodes)) != len(nodes) or not all(_is_in(node, grid) for node in nodes):
        raise ValueError(f"`{kernel.name}` has arguments for other nodes than those of the grid")
    count, (first, last) = len(kernel.runtime_arg_names), grid
    if kernel.own is not None or not count:
        return
    if len(nodes) != (last[0] - first[0] + 1) * (last[1] - first[1] + 1):
        raise ValueError(f"`{kernel.name}` has no arguments for some of the nodes")
    if any(len(each.args) != count for each in kernel.runtime_args):
        raise ValueError(f"`{kernel.name}` has {count} arguments by name, and others in number")


def _is_in(node: Coordinate, grid: Rectangle) -> bool:
    (x0, y0), (x1, y1) = grid
    return x0 <= node[0] <= x1 and y0 <= node[1] <= y1


def _check_pipes(compiled: CompiledOperation) -> None:
    """Raise ValueError if a pipe leaves the grid, whose first node is its origin."""
    (x0, y0), (x1, y1) = compiled.core_range
    nodes = ((0, 0), (x1 - x0, y1 - y0))
    for pipe in compiled.pipes:
        if not all(_is_in(end, nodes) for end in (pipe.source, pipe.first, pipe.last)):
            raise ValueError(f"pipe `{pipe.name}` leaves the grid")


def check_cores(cores: Iterable[Rectangle], target: Target) -> None:
    """Raise ValueError for a core that the chip does not have."""
    for _, last in cores:
        if any(corner >= size for corner, size in zip(last, target.grid, strict=True)):
            raise ValueError(f"core {last} is not in the {target.grid} grid of {target.name}")


def _check_buffers(compiled: CompiledOperation, target: Target) -> None:
    indices = compiled.buffer_indices
    if any(not 0 <= index < target.dataflow_buffers for index in indices):
        raise ValueError(f"{list(indices)} are not numbers of circular buffers of {target.name}")
    check_cores((each for buffer in compiled.buffers for each in buffer.cores), target)
    for position, buffer in enumerate(compiled.buffers):
        if buffer.shares is not None and not 0 <= buffer.shares < position:
            raise ValueError(f"`{buffer.name}` has the memory of a buffer that is not before it")
        if buffer.tensor is not None and buffer.tensor >= len(compiled.operands):
            raise ValueError(f"`{buffer.name}` lies in a tensor that is not there")
    for one, other in combinations(compiled.buffers, 2):
        if one.index == other.index and overlap(one.cores, other.cores):
            raise ValueError(f"a core has two circular buffers with index {one.index}")


def _cores_of(kernel: Kernel) -> Rectangles:
    return () if kernel.own is None else kernel.own.cores


def overlap(one: Rectangles, other: Rectangles) -> bool:
    """Return whether a core is in both; no rectangles means all cores."""
    return (
        not one
        or not other
        or any(
            first[0] <= end[0]
            and begin[0] <= last[0]
            and first[1] <= end[1]
            and begin[1] <= last[1]
            for first, last in one
            for begin, end in other
        )
    )
