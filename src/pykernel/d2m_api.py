"""pykernel: the decorators, and everything else that `from pykernel.d2m_api import *` gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttl.config import Config
from ttl.diagnostics import (
    InternalError,
    RuleBroken,
    Span,
    TTLError,
    UsageError,
    WrongValue,
    codes,
    writing,
)
from ttl.diagnostics.frames import calling_span
from ttl.language import Operation
from ttl.language.operation import definition_span
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.tensor_like import TensorLike
from ttl.semantics.types import Shape

from .functions import (
    bcast,
    core_index,
    dma,
    exp,
    fill,
    maximum,
    recip,
    rowmax,
    rowsum,
    rsqrt,
    sqrt,
    transpose,
)
from .iteration import (
    Iteration,
    eltwise_fused_template,
    eltwise_template,
    explicit_template,
    iter_index,
    make_iteration,
    matmul_fused_template,
    matmul_template,
)
from .memory import check_memory, read_system_text
from .mistakes import NotImplementedYet, diagnostic, in_words_of_pykernel, wrong_type, wrong_value
from .objects import ARGUMENTS, STREAMS, CircularBuffer, MemTx, Semaphore, Stream, TensorBlock
from .operands import Argument, array_of, copy_back, is_tensor, make_operands, write_array
from .padding import padding_warnings
from .program import BoundProgram, Call, Program, check_call, check_written, make_operation
from .threads import ThreadFunction, make_thread

if TYPE_CHECKING:
    from ttl.driver import Driver

__all__ = [
    "CircularBuffer",
    "MemTx",
    "Program",
    "Semaphore",
    "Stream",
    "TensorBlock",
    "bcast",
    "compute",
    "core_index",
    "datamovement",
    "dma",
    "eltwise_fused_template",
    "eltwise_template",
    "exp",
    "explicit_template",
    "fill",
    "iter_index",
    "matmul_fused_template",
    "matmul_template",
    "maximum",
    "pykernel_gen",
    "recip",
    "rowmax",
    "rowsum",
    "rsqrt",
    "sqrt",
    "transpose",
]

Maker = Callable[[Callable[..., object]], ThreadFunction]


def compute(verbose: bool = False) -> Maker:
    """A thread that calculates; `verbose` shows its IR when it is compiled."""
    span = calling_span()
    return lambda function: make_thread(KernelKind.COMPUTE, function, verbose, span)


def datamovement(verbose: bool = False) -> Maker:
    """A thread that moves data; `verbose` shows its IR when it is compiled."""
    span = calling_span()
    return lambda function: make_thread(KernelKind.DATAMOVEMENT, function, verbose, span)


@dataclass(frozen=True, slots=True)
class PykernelFunction:
    """A function of tensors that runs as threads on a grid of cores. Call it with tensors."""

    function: Callable[..., object]
    grid: Any
    block_factors: object
    memory_space: str
    kernel_folder: str | None
    loads_kernels: bool
    use_tile_matmul: bool
    iteration: Iteration | None

    @property
    def __name__(self) -> str:
        return str(self.function.__name__)

    def __call__(self, *args: object, **kwargs: object) -> None:
        """Run on these tensors; the last one is written."""
        arguments = self._bind(args, kwargs)
        grid, factors = self._grid(args), self._factors(args)
        self._inject(arguments, grid, factors)
        tensors = {name: value for name, value in arguments.items() if is_tensor(value)}
        known = list(tensors)
        config = Config.current()
        bound = self._threads(arguments, tensors, config)
        if not isinstance(bound, BoundProgram):
            self._write_result(bound, known[-1], tensors[known[-1]])
            return
        iteration = self.iteration
        if iteration is not None:
            iteration = iteration.with_factors(factors, len(bound.tensors), self._span())
        self._run(bound, arguments | tensors, grid, iteration, config)

    def _write_result(self, result: TensorLike, name: str, output: TensorLike) -> None:
        """Write the result of ttnn's calls to the last tensor, as a program's output."""
        if tuple(output.shape) != tuple(result.shape):
            text = f"`{name}`, the output, has shape {tuple(output.shape)}"
            help_text = f"give it the shape of the result, {tuple(result.shape)}"
            raise wrong_value(text, help_text, self._span(), codes.SHAPE_MISMATCH)
        write_array(output, array_of(result))

    def _bind(self, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
        try:
            bound = inspect.signature(self.function).bind_partial(*args, **kwargs)
        except TypeError as error:
            text = f"{self.__name__}: {error}"
            raise wrong_type(text, "call it with its tensors", calling_span()) from None
        bound.apply_defaults()
        return dict(bound.arguments)

    def _grid(self, args: Sequence[object]) -> Shape:
        grid = self.grid(*args) if callable(self.grid) else self.grid
        is_pair = isinstance(grid, (tuple, list)) and len(grid) == 2
        if not is_pair or not all(type(size) is int and size > 0 for size in grid):
            raise wrong_value(f"grid={grid!r}", "write grid=(rows, columns)", self._span())
        return tuple(grid)

    def _inject(self, arguments: dict[str, object], grid: Shape, factors: object) -> None:
        """Give values to parameters named like options; WrongType if others have none."""
        rank = len(grid) if self.iteration is None else len(self.iteration.iterators)
        values = {
            "block_factors": [1] * rank if factors is None else factors,
            "grid": grid,
            "memory_space": self.memory_space,
            "tiled": True,
        }
        parameters = inspect.signature(self.function).parameters
        for name in parameters:
            if name in values and arguments.get(name) is None:
                arguments[name] = values[name]
        missing = [f"`{name}`" for name in parameters if name not in arguments]
        if missing:
            text = f"{self.__name__} is called without {' and '.join(missing)}"
            raise wrong_type(text, "call it with its tensors", calling_span())

    def _factors(self, args: Sequence[object]) -> object:
        return self.block_factors(*args) if callable(self.block_factors) else self.block_factors

    def _threads(
        self, arguments: dict[str, object], tensors: Mapping[str, object], config: Config
    ) -> Any:
        """Return the program, or a tensor computed by ttnn's calls without a program."""
        of_ttnn = import_module("ttgraph.pykernel_calls")  # graphs import this package
        calls = of_ttnn.Calls(tensors, config)
        token, streams = ARGUMENTS.set(tensors), STREAMS.set([])
        try:
            with of_ttnn.made_by(calls):
                bound = self.function(**arguments)
        finally:
            ARGUMENTS.reset(token)
            STREAMS.reset(streams)
        if isinstance(bound, BoundProgram) or any(bound is each for each in calls.results):
            return bound
        help_text = "end the function with: return Program(thread, ...)(lhs, rhs, out)"
        if isinstance(bound, Program):
            help_text = "call the program with the tensors: return Program(...)(lhs, rhs, out)"
        text = f"{self.__name__} returns {type(bound).__name__}, not a program"
        raise wrong_type(text, help_text, self._span())

    def _run(
        self,
        bound: BoundProgram,
        named: dict[str, object],
        grid: Shape,
        iteration: Iteration | None,
        config: Config,
    ) -> None:
        count = len(bound.tensors)
        grids = [iteration.grid_of(n, grid) if iteration else grid for n in range(count)]
        system = read_system_text(config)
        try:
            operands = make_operands(bound.tensors, named, grids, self.memory_space, self.__name__)
            call = Call(
                self.__name__, bound, operands, grid, self.use_tile_matmul, iteration, system
            )
            call.bind_streams()
            check_call(call)
            check_memory(call, config)
        except RuleBroken as broken:
            raise WrongValue(broken.at(self._span())) from None
        from ttl.driver import PROCESS_DRIVER  # not before a program is called

        PROCESS_DRIVER.remarks.warn(padding_warnings(call), config, UsageError)
        operation = make_operation(call, self.function)
        tensors = [operand.tensor for operand in operands]
        try:
            self._launch(operation, tensors, PROCESS_DRIVER)
        except InternalError:
            raise
        except TTLError as error:
            raise in_words_of_pykernel(error) from error.__cause__
        if not config.compile_only:
            check_written(call)
        copy_back(call.output)
        if config.flatbuffer is not None and not config.compile_only:
            self._write_flatbuffer(operands, config.flatbuffer)

    def _launch(self, operation: Operation, tensors: Sequence[object], driver: Driver) -> None:
        folder = None if self.kernel_folder is None else Path(self.kernel_folder)
        if folder is None:
            operation(*tensors)
        elif self.loads_kernels:
            driver.launch(operation, tuple(tensors), {}, folder)
        else:
            from ttl.artifact import write_folder

            operation(*tensors)
            write_folder(operation.compile(*tensors), folder)

    def _write_flatbuffer(self, operands: Sequence[Argument], file: str) -> None:
        """Write one GenericOp by calling the function again with tensor specs."""
        from ttl.driver.specs import TensorSpec

        compile_operation = import_module("ttgraph.flatbuffer").compile_operation  # above this
        specs = [TensorSpec(each.layout.collapsed_shape, each.dtype) for each in operands]
        with writing(file):
            Path(file).write_bytes(compile_operation(self, specs))

    def _span(self) -> Span:
        return definition_span(self.function)


def pykernel_gen(
    grid: object = None,
    block_factors: object = None,
    indexing_maps: object = None,
    iterator_types: object = None,
    num_outs: int = 1,
    memory_space: str = "L1",
    tiled: bool = True,
    kernel_source_dir: str | None = None,
    kernel_source_mode: str | None = None,
    use_tile_matmul: bool = True,
) -> Callable[[Callable[..., object]], PykernelFunction]:
    """Make a function that returns a called Program a kernel on `grid` rows and columns of cores.

    With `indexing_maps`, a lambda for each tensor, the program has one compute thread, whose blocks
    the maps move: its body runs for each of `block_factors` steps.

    `kernel_source_mode="store"` writes the C++ of each call into `kernel_source_dir`; "load" runs
    the files there, which you may edit, on the host executor or a device.
    """
    span = calling_span()
    wrong: list[tuple[bool, Callable[..., Exception], str, str]] = [
        (grid is None, wrong_value, "@pykernel_gen() needs a grid", "write grid=(rows, columns)"),
        (
            num_outs != 1,
            wrong_value,
            f"num_outs={num_outs!r}: a program has one output",
            "write one kernel for each output",
        ),
        (
            memory_space not in ("L1", "DRAM"),
            wrong_value,
            f"memory_space={memory_space!r}",
            'write "L1" or "DRAM"',
        ),
        (not isinstance(tiled, bool), wrong_type, f"tiled={tiled!r}", "write True or False"),
        (
            iterator_types is not None and indexing_maps is None,
            wrong_value,
            "iterator_types without indexing_maps",
            "give both or none",
        ),
        (
            kernel_source_mode not in (None, "store", "load"),
            wrong_value,
            f"kernel_source_mode={kernel_source_mode!r}",
            'write "store" or "load"',
        ),
    ]
    for is_wrong, mistake, text, help_text in wrong:
        if is_wrong:
            raise mistake(text, help_text, span)
    iteration = make_iteration(indexing_maps, iterator_types, span)
    if not tiled:
        text = "tiled=False: blocks of rows are not implemented, math needs tiles"
        raise NotImplementedYet(diagnostic(text, "leave tiled out", span))

    def decorate(function: Callable[..., object]) -> PykernelFunction:
        folder = None
        if kernel_source_mode is not None:
            folder = f"{kernel_source_dir or '.pykernel_gen'}/{function.__name__}"
        loads = kernel_source_mode == "load"
        return PykernelFunction(
            function, grid, block_factors, memory_space, folder, loads, use_tile_matmul, iteration
        )

    return decorate
