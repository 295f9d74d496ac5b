"""Operations, their kernels, and the programs made from their calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import FunctionType
from typing import Any, Protocol

from ttl.diagnostics import RuleBroken, Span, TTLError, UsageError, at_the_call, codes
from ttl.diagnostics.frames import calling_span, traceback_spans
from ttl.diagnostics.names import no_such_name
from ttl.semantics.compiler_options import Options, parse_options
from ttl.semantics.function_source import keep_source, returned_span
from ttl.semantics.html import html_table
from ttl.semantics.kernel_config import DIVISIONS, F32_WAYS, MATH_FIDELITIES
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.tensor_like import TensorLike
from ttl.semantics.tensors import check_tensor_arguments
from ttl.semantics.ttnn_values import as_grid
from ttl.semantics.types import Shape

from .arguments import check_arguments, is_tensor, parts_of, python_numbers
from .buffer import DataflowBuffer
from .calls import refused, wrong_call
from .declared import NamedKernels, OperationScope, name_declared, put_loose_pipes_in_nets
from .engine import ENGINE, LAUNCH_HOOK, SCOPE, Bound
from .grid import nodes_of
from .pipes import PipeNet
from .semaphores import Semaphore

Grid = Shape | str | Callable[..., Shape]
GridHelps = Callable[[Shape, Shape], tuple[str, ...]]  # from the requested and the largest grid
MEMORY_SPACES = ("L1", "DRAM")


@dataclass(frozen=True, slots=True)
class KernelFunction:
    kind: KernelKind
    function: Callable[[], None]
    # Its calls on buffers as `("reserve", name)`, if its code does not show them.
    uses: frozenset[tuple[str, str]] | None = None
    # The user's functions that it was made from, if it is not one itself.
    written_as: tuple[FunctionType, ...] = ()

    @property
    def name(self) -> str:
        return self.function.__name__

    def captures(self) -> dict[str, object]:
        """Return the captured variables that have a value, by name."""
        captured = {}
        names, cells = self.function.__code__.co_freevars, self.function.__closure__ or ()
        for name, cell in zip(names, cells, strict=True):
            try:  # noqa: SIM105 - asked several times at every call
                captured[name] = cell.cell_contents
            except ValueError:  # no value yet
                pass
        return captured

    def buffers(self) -> list[DataflowBuffer]:
        """Return the captured dataflow buffers, including those that another DSL's objects wrap."""
        found = [getattr(value, "buffer", value) for value in self.captures().values()]
        return [value for value in found if isinstance(value, DataflowBuffer)]

    def find_visible(self) -> dict[str, object]:
        """Return the captured variables and the globals that the kernel names."""
        code, around = self.function.__code__, self.function.__globals__
        return self.captures() | {name: around[name] for name in code.co_names if name in around}

    def tensors(self) -> Iterator[tuple[str, TensorLike]]:
        for name, value in self.find_visible().items():
            for part_name, part in parts_of(name, value):
                if not isinstance(part, DataflowBuffer) and is_tensor(part):
                    yield part_name, part


@dataclass(frozen=True, slots=True)
class Program:
    """An operation called with particular arguments, for an engine to run or compile."""

    operation: Operation
    grid: Shape
    arguments: dict[str, object]
    kernels: tuple[KernelFunction, ...]
    buffers: tuple[DataflowBuffer, ...]
    options: Options
    # Filled only if the body asked for the node: it then ran for every node.
    kernels_by_node: dict[Shape, tuple[KernelFunction, ...]] = field(default_factory=dict)
    pipe_nets: tuple[PipeNet, ...] = ()
    semaphores: tuple[Semaphore, ...] = ()
    # The tensors of the arguments, then those that kernels only capture.
    tensors: dict[str, Any] = field(init=False)
    # Facts that source/ read from the kernels: see facts_of() there.
    facts: object | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        tensors: dict[str, Any] = {n: each for n, each in self.arguments.items() if is_tensor(each)}
        for name, tensor in chain.from_iterable(kernel.tensors() for kernel in self.kernels):
            self._add(tensors, name, tensor)
        for buffer in self.buffers:
            if buffer.backing is not None:
                self._add(tensors, f"tensor_of_{buffer.name}", buffer.backing.tensor)
        object.__setattr__(self, "tensors", tensors)

    @staticmethod
    def _add(tensors: dict[str, Any], name: str, tensor: object) -> None:
        if not any(tensor is known for known in tensors.values()):
            tensors[name if name not in tensors else f"{name}_{len(tensors)}"] = tensor

    def keep_facts(self, facts: object) -> None:
        object.__setattr__(self, "facts", facts)

    def on_tensors(self, tensors: Sequence[object]) -> Program:
        """Return the program on other tensors, in the order of its own; runs the body again."""
        if all(one is other for one, other in zip(self.tensors.values(), tensors, strict=True)):
            return self
        replaced = dict(zip(self.tensors, tensors, strict=True))
        arguments = {name: replaced.get(name, each) for name, each in self.arguments.items()}
        return self.operation.declare(arguments, self.grid, self.options)

    def kernels_on(self, node: Shape) -> tuple[KernelFunction, ...]:
        return self.kernels_by_node.get(node, self.kernels)


class Frontend(Protocol):
    """Makes IR from programs in another DSL."""

    def module(self, program: Program, target: object) -> Any:
        """Make the module of a program."""

    def passes(self) -> Sequence[Any]:
        """Make the passes that turn such a module into one of the ttl dialect."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A function of tensors that runs as kernels on a grid of nodes. Call it with tensors."""

    function: Callable[..., None]
    grid: Grid
    fp32_dest_acc_en: bool | None = None
    dst_full_sync_en: bool | None = None
    math_fidelity: str | None = None
    options: str | None = None
    f32: str = F32_WAYS[0]
    division: str = DIVISIONS[0]
    frontend: Frontend | None = None  # if it is written in another DSL

    signature: inspect.Signature = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "signature", inspect.signature(self.function))

    @property
    def local_names(self) -> tuple[str, ...]:
        code = self.function.__code__
        return (*code.co_varnames, *code.co_cellvars)

    @property
    def __name__(self) -> str:
        return self.function.__name__

    def __call__(self, *args: object, **kwargs: object) -> None:
        """Run on these tensors and constants; `options=` gives compiler options for this call."""
        refuse_inside(self.__name__)
        try:
            LAUNCH_HOOK.launch(self, args, kwargs)
        except TTLError as error:
            raise at_the_call(error)  # noqa: B904 - it is the same one, with its own cause

    def bind(self, *args: object, **kwargs: object) -> Bound:
        """Return the call with these arguments, which can repeat without running the body.

        You promise that the body would declare the same each time. `bound()` runs on the same
        tensors, `bound(*tensors)` on others of their kinds.
        """
        refuse_inside(self.__name__)
        try:
            return LAUNCH_HOOK.bind(self, args, kwargs)
        except TTLError as error:
            raise at_the_call(error)  # noqa: B904 - it is the same one, with its own cause

    def compile(self, *args: object, **kwargs: object) -> Any:
        """Return the artifact of the call with these arguments, without running it.

        `ttnn.TensorSpec(shape, dtype, layout)` can stand in for a tensor.
        """
        refuse_inside(self.__name__)
        try:
            return LAUNCH_HOOK.compile(self, args, kwargs)
        except TTLError as error:
            raise at_the_call(error)  # noqa: B904 - it is the same one, with its own cause

    def _repr_html_(self) -> str:
        """Show the operation in notebooks."""
        where, line = self.function.__code__.co_filename, self.function.__code__.co_firstlineno
        facts = {"grid": self.grid, "defined at": f"{where}:{line}"}
        return html_table(f"operation {self.__name__}{self.signature}", facts)

    def program(
        self,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        full_grid: Shape,
        environment_options: str | None = None,
        largest_grid: Shape | None = None,
        larger_grid_helps: GridHelps | None = None,
    ) -> Program:
        """Run the body with these arguments.

        `full_grid` is the grid of "auto"; `largest_grid` is the largest allowed one, if it differs;
        `larger_grid_helps` gives the helps for a larger request.
        """
        options = self._options(kwargs, environment_options)
        arguments = self._bind(args, kwargs)
        grid = self._resolve_grid(arguments, full_grid)
        self._check_size(grid, largest_grid or full_grid, larger_grid_helps)
        LAUNCH_HOOK.last_grid = grid
        return self.declare(arguments, grid, options)

    def declare(self, arguments: dict[str, object], grid: Shape, options: Options) -> Program:
        """Return the program that the body declares on this grid."""
        first = self._run_body(arguments, grid, (0,) * len(grid))
        program = Program(
            self,
            grid,
            arguments,
            tuple(first.kernels),
            tuple(first.buffers),
            options,
            pipe_nets=tuple(first.pipe_nets),
            semaphores=tuple(first.semaphores),
        )
        self._check_captured(program)
        if first.asked_for_node:
            for node in nodes_of(grid):
                scope_of_node = self._run_body(arguments, grid, node)
                self._check_same(first, scope_of_node)
                program.kernels_by_node[node] = tuple(scope_of_node.kernels)
        return program

    def _check_captured(self, program: Program) -> None:
        captured = program.tensors.keys() - program.arguments.keys()
        if captured:
            try:
                check_tensor_arguments(self.__name__, program.tensors, captured)
            except RuleBroken as broken:
                raise UsageError(broken.at(definition_span(self.function))) from None

    def _options(self, kwargs: dict[str, Any], environment_options: str | None) -> Options:
        """Merge the options of the decorator, the environment and the call; the last win."""
        is_parameter = "options" in self.signature.parameters
        given = None if is_parameter else kwargs.pop("options", None)
        try:
            return parse_options(self.options, environment_options, given)
        except RuleBroken as broken:
            raise UsageError(broken.at(calling_span())) from None

    def _run_body(self, arguments: dict[str, object], grid: Shape, node: Shape) -> OperationScope:
        collected = OperationScope(grid, node)
        token = SCOPE.set(collected)
        try:
            returned = self._call(arguments)
            if returned is not None and not isinstance(returned, NamedKernels):
                raise self._returns_value()
        except RuleBroken as broken:
            spans = traceback_spans(broken.__traceback__)
            raise UsageError(broken.at(spans[0] if spans else None)) from None
        except (AttributeError, TypeError) as error:
            from .mistakes import language_mistake  # only when something went wrong

            if (mistake := language_mistake(error)) is None:
                raise
            spans = traceback_spans(error.__traceback__)
            raise UsageError(mistake.at(spans[0] if spans else None)) from error
        finally:
            SCOPE.reset(token)
        put_loose_pipes_in_nets(collected)
        name_declared(collected)
        self._check_kernels(collected)
        return collected

    def _returns_value(self) -> UsageError:
        return refused(
            f"{self.__name__} returns a value",
            "operations return nothing: write results into tensor arguments",
            returned_span(self.function.__code__),
            codes.WRONG_DECLARATION,
        )

    def _call(self, arguments: dict[str, object]) -> object:
        positional, named = self.split_arguments(arguments)
        return LAUNCH_HOOK.body_of(self, arguments)(*positional, **named)

    def split_arguments(
        self, arguments: Mapping[str, object]
    ) -> tuple[list[object], dict[str, object]]:
        """The inverse of named_arguments()."""
        left, positional = dict(arguments), []
        for name, parameter in self.signature.parameters.items():
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional += [left.pop(key) for key in self._find_starred(arguments)]
            elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                positional.append(left.pop(name))
        return positional, left

    def _find_starred(self, arguments: Mapping[str, object]) -> list[str]:
        """Return the names given to the values of `*args`."""
        starred = [n for n, p in self.signature.parameters.items() if p.kind is p.VAR_POSITIONAL]
        names = (f"{name}_{number}" for name in starred for number in range(len(arguments)))
        return [name for name in names if name in arguments]

    def named_arguments(
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> dict[str, object]:
        """Return the arguments by name, those of `*args` numbered.

        Raise TypeError for a wrong call.
        """
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        named: dict[str, object] = {}
        for name, value in bound.arguments.items():
            kind = self.signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                named |= {f"{name}_{number}": item for number, item in enumerate(value)}
            else:
                named |= value if kind is inspect.Parameter.VAR_KEYWORD else {name: value}
        return named

    def _check_same(self, first: OperationScope, other: OperationScope) -> None:
        """Raise UsageError if nodes differ in more than the values that their kernels capture."""

        def outline(collected: OperationScope) -> list[object]:
            kernels = [(kernel.kind, kernel.function.__code__) for kernel in collected.kernels]
            buffers = [(b.shape, b.dtype, b.block_count) for b in collected.buffers]
            nets = [net.pipes for net in collected.pipe_nets if not net.is_implicit]
            semaphores = [semaphore.initial for semaphore in collected.semaphores]
            return [kernels, buffers, nets, semaphores]

        here, there = outline(first), outline(other)
        if here != there:
            what = "kernels or buffers" if here[:2] != there[:2] else "pipe nets or semaphores"
            raise refused(
                f"{self.__name__} declares other {what} on node {other.node} than on "
                f"node {first.node}",
                "declare the same on every node, and test ttl.node() inside the kernels",
                definition_span(self.function),
                codes.NODES_DIFFER,
            )

    def _bind(self, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
        try:
            arguments = self.named_arguments(args, kwargs)
        except TypeError as error:
            raise self._wrong_call(error, len(args), kwargs) from None
        arguments |= python_numbers(arguments)
        tensors = {name: value for name, value in arguments.items() if is_tensor(value)}
        try:
            check_arguments(self.__name__, {n: v for n, v in arguments.items() if n not in tensors})
            check_tensor_arguments(self.__name__, tensors)
        except RuleBroken as broken:
            raise UsageError(broken.at(calling_span())) from None
        return arguments

    def _wrong_call(self, error: TypeError, given: int, named: dict[str, object]) -> UsageError:
        known = self.signature.parameters
        first, *_ = (*known, "")
        if first == "self":
            message = f"{self.__name__} is a method, and is called without its object"
            help_text = "operations are functions: define it outside of the class"
            return refused(message, help_text, None, codes.WRONG_DECLARATION)
        takes_more = any(each.kind is each.VAR_KEYWORD for each in known.values())
        unknown = [name for name in named if name not in known and not takes_more]
        if unknown:
            error = TypeError(f"unexpected keyword '{unknown[0]}'")
        wrong = wrong_call(self.__name__, known.values(), error, given)
        return UsageError(wrong.at(calling_span()))

    def _resolve_grid(self, arguments: dict[str, object], full_grid: Shape) -> Shape:
        grid = as_grid(self._called_grid(arguments)) if callable(self.grid) else self.grid
        if isinstance(grid, str) and grid in ("auto", "full"):
            return full_grid
        if not isinstance(grid, tuple) or not _is_grid(grid):
            raise not_a_grid(grid, definition_span(self.function))
        return grid if len(grid) > 1 else (*grid, 1)  # a row of nodes

    def _check_size(self, grid: Shape, largest: Shape, helps: GridHelps | None) -> None:
        if all(size <= limit for size, limit in zip(grid, largest, strict=False)):
            return
        broken = codes.GRID_TOO_LARGE.broken(
            f"{self.__name__} asks for a grid of {grid}, the device has {largest} (x, y)",
            *(helps(grid, largest) if helps else ('use a smaller grid, or grid="auto"',)),
        )
        raise UsageError(broken.at(definition_span(self.function)))

    def _called_grid(self, arguments: dict[str, object]) -> object:
        """Call the grid function with the operation's arguments."""
        assert callable(self.grid)
        parameters = self.signature.parameters
        keywords = {n for n, p in parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}
        positional = [value for name, value in arguments.items() if name not in keywords]
        named = {name: arguments[name] for name in sorted(keywords)}
        try:
            inspect.signature(self.grid).bind(*positional, **named)
        except TypeError as error:
            raise refused(
                f"the function that gives the grid of {self.__name__} cannot be called: {error}",
                "let it take the arguments of the operation",
                definition_span(self.function),
                codes.WRONG_DECLARATION,
            ) from None
        return self.grid(*positional, **named)

    def _check_kernels(self, collected: OperationScope) -> None:
        kinds = [kernel.kind for kernel in collected.kernels]
        compute, movement = kinds.count(KernelKind.COMPUTE), kinds.count(KernelKind.DATAMOVEMENT)
        if compute > 1 or movement > 2 or not kinds:
            found = f"{compute} compute and {movement} data movement" if kinds else "no"
            raise refused(
                f"{self.__name__} declares {found} kernels",
                "declare at most one compute and two data movement kernels"
                if kinds
                else "declare one with @ttl.compute() or @ttl.datamovement()",
                definition_span(self.function),
                codes.KERNEL_COUNT,
            )


ONE_BY_ONE = "call it from the program: operations run one after the other"


def refuse_inside(name: str) -> None:
    """Raise UsageError if an operation is called in a kernel or in another operation's body."""
    for inside, place in ((ENGINE, "a kernel"), (SCOPE, "the body of an operation")):
        if inside.get(None) is not None:
            raise refused(
                f"operation {name} is called in {place}",
                ONE_BY_ONE,
            )


def definition_span(function: Callable[..., object]) -> Span:
    code = function.__code__
    return Span(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 1 << 10)


def operation(
    grid: Grid = "auto",
    *,
    fp32_dest_acc_en: bool | None = None,
    dst_full_sync_en: bool | None = None,
    math_fidelity: object = None,
    options: str | None = None,
    f32: str = F32_WAYS[0],
    division: str = DIVISIONS[0],
    num_outs: int = 1,
    memory_space: str = "L1",
    tiled: bool = True,
    **unknown: object,
) -> Callable[[Callable[..., None]], Operation]:
    """Make a function of tensors an operation that runs on `grid`, columns first.

    `fp32_dest_acc_en`, `dst_full_sync_en` and `math_fidelity` configure the compute kernel; None
    leaves the choice to pyttlang. `f32="tf32"` lets the compute kernel read f32 blocks with 10 of
    their 23 digits: sums, differences and products then use the matrix unit and take half the time.
    `division="reciprocal"` turns `x / ttl.block.broadcast(s)` into a product with 1 / s, computed
    once per s instead of per x: one more rounding, and many times as fast. `options` are compiler
    options. `num_outs`, `memory_space` and `tiled` are accepted for public programs and ignored.
    """
    if unknown:
        broken = no_such_name("@ttl.operation()", next(iter(unknown)), option_names(operation))
        raise UsageError(broken.at(calling_span()))
    grid = as_grid(grid)
    if not _is_grid(grid):
        raise not_a_grid(grid)
    if memory_space not in MEMORY_SPACES:
        raise refused(f"memory_space={memory_space!r} is not known", 'write "L1" or "DRAM"')
    fidelity = None if math_fidelity is None else getattr(math_fidelity, "name", math_fidelity)
    if fidelity not in (None, *MATH_FIDELITIES):
        choices = f"use one of {', '.join(MATH_FIDELITIES)}"
        raise refused(f"math_fidelity={math_fidelity!r} is not known", choices)

    for name, given, known in (("f32", f32, F32_WAYS), ("division", division, DIVISIONS)):
        if given not in known:
            choices = f"write {' or '.join(map(repr, known))}"
            raise refused(f"{name}={given!r} is not known", choices)

    def decorate(*function: Callable[..., None]) -> Operation:
        if function and hasattr(function[0], "configs"):
            text = "@ttl.operation stands above @ttl.autotune"
            help_text = "write @ttl.autotune(...) above @ttl.operation(...)"
            raise refused(text, help_text, None, codes.WRONG_DECLARATION)
        if len(function) != 1 or not isinstance(function[0], FunctionType):
            raise no_parentheses("operation", "@ttl.operation(grid=(columns, rows))", grid)
        keep_source(function[0])
        LAUNCH_HOOK.define()
        return Operation(
            function[0], grid, fp32_dest_acc_en, dst_full_sync_en, fidelity, options, f32, division
        )

    return decorate


def option_names(decorator: Callable[..., object]) -> list[str]:
    parameters = inspect.signature(decorator).parameters.values()
    return [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]


def no_parentheses(decorator: str, spelling: str, decorated: object = None) -> UsageError:
    span = definition_span(decorated) if isinstance(decorated, FunctionType) else None
    text = f"@ttl.{decorator} needs its parentheses"
    help_text = f"write {spelling} above the function"
    return refused(text, help_text, span, codes.WRONG_DECLARATION)


def not_a_grid(grid: object, span: Span | None = None) -> UsageError:
    help_text = 'write grid=(columns, rows), grid="auto" or a function of the arguments'
    return refused(f"grid={grid!r}: not a grid", help_text, span)


def _is_grid(grid: object) -> bool:
    if isinstance(grid, tuple):
        return len(grid) >= 1 and all(isinstance(size, int) and size > 0 for size in grid)
    return (isinstance(grid, str) and grid in ("auto", "full")) or callable(grid)
