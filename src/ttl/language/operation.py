"""Operations, their kernels, and what running an operation's body collects."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from types import FunctionType
from typing import Any

from ttl.diagnostics import RuleBroken, Span, UsageError, codes
from ttl.diagnostics.frames import calling_span, traceback_spans
from ttl.semantics.dtypes import DType
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.tensors import TensorLike
from ttl.semantics.types import Shape

from .buffer import DataflowBuffer
from .engine import ENGINE, LAUNCH_HOOK, SCOPE, engine, scope

Grid = Shape | str | Callable[..., Shape]


@dataclass(frozen=True, slots=True)
class KernelFunction:
    kind: KernelKind
    function: Callable[[], None]

    @property
    def name(self) -> str:
        return self.function.__name__

    def captures(self) -> dict[str, Any]:
        """The captured variables by name, those that have a value."""
        captured = {}
        names, cells = self.function.__code__.co_freevars, self.function.__closure__ or ()
        for name, cell in zip(names, cells, strict=True):
            with suppress(ValueError):  # the name has no value yet
                captured[name] = cell.cell_contents
        return captured


@dataclass(slots=True)
class OperationScope:
    """What the body of an operation declares while it runs."""

    grid: Shape
    kernels: list[KernelFunction] = field(default_factory=list)
    buffers: list[DataflowBuffer] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Program:
    """An operation called with particular arguments: what an engine runs or compiles."""

    operation: Operation
    grid: Shape
    arguments: dict[str, Any]
    kernels: tuple[KernelFunction, ...]
    buffers: tuple[DataflowBuffer, ...]

    @property
    def tensors(self) -> dict[str, Any]:
        return {name: value for name, value in self.arguments.items() if is_tensor(value)}


def is_tensor(value: object) -> bool:
    return isinstance(value, TensorLike) and isinstance(value.dtype, DType)


@dataclass(frozen=True, slots=True)
class Operation:
    """A function of tensors that runs as kernels on a grid of nodes. Call it with tensors."""

    function: Callable[..., None]
    grid: Grid
    fp32_dest_acc_en: bool | None
    dst_full_sync_en: bool | None

    @property
    def __name__(self) -> str:
        return self.function.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        LAUNCH_HOOK.launch(self, args, kwargs)

    def program(self, args: tuple[Any, ...], kwargs: dict[str, Any], full_grid: Shape) -> Program:
        """Run the body with these arguments; `full_grid` is the grid of the device."""
        arguments = self._bind(args, kwargs)
        collected = OperationScope(self._resolve_grid(arguments, full_grid))
        token = SCOPE.set(collected)
        try:
            self.function(**arguments)
        except RuleBroken as broken:
            spans = traceback_spans(broken.__traceback__)
            raise UsageError(broken.at(spans[0] if spans else None)) from None
        finally:
            SCOPE.reset(token)
        _name_buffers(collected)
        self._check_kernels(collected)
        return Program(
            self,
            collected.grid,
            arguments,
            tuple(collected.kernels),
            tuple(collected.buffers),
        )

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = inspect.signature(self.function).bind(*args, **kwargs)
        except TypeError as error:
            broken = RuleBroken(codes.WRONG_ARGUMENT, f"{self.__name__}: {error}")
            raise UsageError(broken.at(calling_span())) from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if not is_tensor(value) and not isinstance(value, (int, float, bool, str)):
                raise UsageError(_not_a_tensor(self.__name__, name, value).at(calling_span()))
        return dict(bound.arguments)

    def _resolve_grid(self, arguments: dict[str, Any], full_grid: Shape) -> Shape:
        grid = self.grid(**arguments) if callable(self.grid) else self.grid
        if grid in ("auto", "full"):
            return full_grid
        assert isinstance(grid, tuple)
        if any(size > limit for size, limit in zip(grid, full_grid, strict=False)):
            broken = RuleBroken(
                codes.GRID_TOO_LARGE,
                f"{self.__name__} asks for a grid of {grid}, the device has {full_grid} (x, y)",
                helps=('use a smaller grid, or grid="auto"',),
            )
            raise UsageError(broken.at(_definition_span(self.function)))
        return grid

    def _check_kernels(self, collected: OperationScope) -> None:
        kinds = [kernel.kind for kernel in collected.kernels]
        compute, movement = kinds.count(KernelKind.COMPUTE), kinds.count(KernelKind.DATAMOVEMENT)
        if compute > 1 or movement > 2 or not kinds:
            broken = RuleBroken(
                codes.KERNEL_COUNT,
                f"{self.__name__} declares {compute} compute and {movement} data movement kernels",
                helps=("declare at most one compute and two data movement kernels",),
            )
            raise UsageError(broken.at(_definition_span(self.function)))


def _not_a_tensor(operation: str, name: str, value: object) -> RuleBroken:
    return RuleBroken(
        codes.NOT_A_TENSOR,
        f"argument `{name}` of {operation} is a {type(value).__name__}, not a ttnn tensor",
        helps=("make one: ttnn.from_numpy(array, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)",),
    )


def _definition_span(function: Callable[..., Any]) -> Span:
    code = function.__code__
    return Span(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 1 << 10)


def _name_buffers(collected: OperationScope) -> None:
    """Buffers take the names of the variables through which kernels see them."""
    named: dict[str, DataflowBuffer] = {}
    for kernel in collected.kernels:
        for name, value in kernel.captures().items():
            if isinstance(value, DataflowBuffer) and value not in named.values():
                value.name = name if name not in named else f"{name}_{value.index}"
                named[value.name] = value


def operation(
    grid: Grid = "auto",
    *,
    fp32_dest_acc_en: bool | None = None,
    dst_full_sync_en: bool | None = None,
) -> Callable[[Callable[..., None]], Operation]:
    """Make a function of tensors an operation that runs on `grid`, columns first."""
    if not _is_grid(grid):
        broken = RuleBroken(
            codes.WRONG_ARGUMENT,
            f"grid={grid!r}: not a grid",
            helps=('write grid=(columns, rows), grid="auto" or a function of the arguments',),
        )
        raise UsageError(broken.at(calling_span()))

    def decorate(*function: Callable[..., None]) -> Operation:
        if len(function) != 1 or not isinstance(function[0], FunctionType):
            raise _no_parentheses("operation")
        return Operation(function[0], grid, fp32_dest_acc_en, dst_full_sync_en)

    return decorate


def _no_parentheses(decorator: str) -> UsageError:
    broken = RuleBroken(
        codes.WRONG_ARGUMENT,
        f"@ttl.{decorator} needs its parentheses",
        helps=(f"write @ttl.{decorator}() above the function",),
    )
    return UsageError(broken.at(calling_span()))


def _is_grid(grid: Any) -> bool:
    if isinstance(grid, tuple):
        return len(grid) >= 1 and all(isinstance(size, int) and size > 0 for size in grid)
    return grid in ("auto", "full") or callable(grid)


Kernel = Callable[[], None]


def compute(*misplaced: Kernel) -> Callable[[Kernel], Kernel]:
    """Declare the compute kernel of an operation."""
    return _register(KernelKind.COMPUTE, misplaced)


def datamovement(*misplaced: Kernel) -> Callable[[Kernel], Kernel]:
    """Declare a data movement kernel of an operation."""
    return _register(KernelKind.DATAMOVEMENT, misplaced)


def _register(kind: KernelKind, misplaced: tuple[Kernel, ...]) -> Callable[[Kernel], Kernel]:
    if misplaced:
        raise _no_parentheses(kind.value)
    collected = scope(f"@ttl.{kind.value}()")

    def decorate(function: Kernel) -> Kernel:
        collected.kernels.append(KernelFunction(kind, function))
        return function

    return decorate


def grid_size(dims: int = 2) -> int | Shape:
    """The grid's size in `dims` dimensions: the highest are flattened, or ones added."""
    running = ENGINE.get(None)
    grid = running.grid if running is not None else scope("ttl.grid_size()").grid
    return flatten_size(grid, dims)


def node(dims: int = 2) -> int | Shape:
    """The coordinates of this node, x first, in `dims` dimensions as grid_size has them."""
    running = engine("ttl.node()")
    return flatten_coordinate(running.node(), running.grid, dims)


def flatten_size(grid: Shape, dims: int) -> int | Shape:
    sizes = (*grid[: dims - 1], prod(grid[dims - 1 :])) + (1,) * (dims - len(grid))
    return sizes[0] if dims == 1 else sizes[:dims]


def flatten_coordinate(coordinate: Shape, grid: Shape, dims: int) -> int | Shape:
    """c[dims-1] + s[dims-1] * (c[dims] + s[dims] * (...)) in the last place."""
    last = 0
    for dimension in reversed(range(dims - 1, len(grid))):
        last = coordinate[dimension] + grid[dimension] * last
    head = coordinate[: dims - 1]
    head += (0,) * (dims - 1 - len(head))
    return last if dims == 1 else (*head, last)
