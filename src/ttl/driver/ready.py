"""Calls on a device that are known already: the same operation, for tensors of the same kinds.

Such a call neither runs the operation's body nor looks for the artifact: it hands the addresses of
its tensors to a program that was built before.

rule PURE     only bodies are skipped that give the same program again: they name constants,
              functions, and modules that do not change, and call nothing that has other effects
rule WATCHED  what the names stood for is compared at every call, by identity
rule PLAIN    only where nothing is to be seen of a run: no trace, no watch, no check
"""

from __future__ import annotations

import dis
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from threading import Lock
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from ttl.config import Config
from ttl.diagnostics.frames import is_user_file
from ttl.language import Operation
from ttl.language.engine import LAUNCH_HOOK
from ttl.language.operation import Program
from ttl.semantics.current_engine import TRACE
from ttl.semantics.dtypes import DType, as_dtype
from ttl.semantics.function_source import global_names
from ttl.semantics.types import Shape
from ttl.source.frozen import CONSTANT_MODULES
from ttl.source.functions import MISSING, named_value, reachable_functions

if TYPE_CHECKING:
    from ttl.device import DeviceProgram

MOST_KEPT = 4096
CONSTANTS = (int, float, str, bytes, type(None), DType)
# Names that a body may not use if it is to be skipped: of builtins and modules, what gives another
# thing each time or is to happen each time; of tensors, what tells more than their kind.
EFFECTS = {
    "__import__", "breakpoint", "compile", "delattr", "eval", "exec", "globals", "id", "input",
    "iter", "locals", "next", "open", "print", "setattr", "vars",
    "fromfile", "genfromtxt", "load", "loadtxt", "memmap", "rand", "randint", "randn", "random",
    "buffer_address", "buffer_unique_id", "cpu", "deallocate", "device_coords", "extract_shard",
    "host_buffer", "is_allocated", "item", "tensor_id", "to", "to_list", "to_numpy", "to_torch",
}  # fmt: skip
NAMES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
STORES = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "STORE_SUBSCR", "IMPORT_NAME")

Kind = tuple[Any, ...]
Function = tuple[FunctionType, CodeType, tuple[Any, ...] | None]  # with its code and its defaults
Given = tuple[tuple[Any, ...], dict[str, Any]]  # positional arguments and others


# A name and what it stood for: in the globals of a function, or in a scope around it.
Global = tuple[dict[str, Any], str, object]
Captured = tuple[CellType, object]


@dataclass(frozen=True, slots=True)
class ReadyCall:
    operation: Operation
    program: DeviceProgram
    operands: tuple[int, ...]  # the positions of the tensors among the arguments
    grid: Shape
    config: Config
    functions: tuple[Function, ...]
    globals: tuple[Global, ...]
    captured: tuple[Captured, ...]

    def is_valid(self, operation: Operation, config: Config) -> bool:  # rule WATCHED
        if self.operation is not operation or self.config is not config:
            return False
        for function, code, defaults in self.functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
        for names, name, value in self.globals:
            if names.get(name, MISSING) is not value:
                return False
        try:
            return all([cell.cell_contents is value for cell, value in self.captured])
        except ValueError:  # it has no value any more
            return False


class ReadyCalls:
    """Those of a process that were made last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Kind, ReadyCall] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def run(self, operation: Operation, given: Given, config: Config) -> bool:
        """Make the call if it is known."""
        if not self._kept or TRACE.get() is not None:
            return False
        values = (*given[0], *given[1].values())
        kind = _kind(operation, given, values)
        ready = None if kind is None else self._kept.get(kind)
        if ready is None or not ready.is_valid(operation, config):
            return False
        from ttl.device import launch_program  # loaded already: it ran before

        LAUNCH_HOOK.last_grid = ready.grid
        launch_program(ready.program, [values[position] for position in ready.operands])
        return True

    def keep(
        self, given: Given, program: Program, config: Config, find: Callable[[], DeviceProgram]
    ) -> None:
        """Remember a call that was made, if the next one may skip the body."""
        values = (*given[0], *given[1].values())
        if not _is_plain(config) or (kind := _kind(program.operation, given, values)) is None:
            return
        operands = _positions(values, tuple(program.tensors.values()))
        seen = _seen(program)
        if operands is None or seen is None or not _is_hashable(kind):
            return
        ready = ReadyCall(program.operation, find(), operands, program.grid, config, *seen)
        with self._lock:
            self._kept[kind] = ready
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)


def _is_plain(config: Config) -> bool:  # rule PLAIN
    looks = (config.check, config.compile_only, config.trace, config.device_timeout)
    writes = (config.initial_mlir, config.final_mlir, config.compile_to, config.kernel_dumps)
    return not any((*looks, *writes, config.verbose_passes))


def _kind(operation: Operation, given: Given, values: tuple[Any, ...]) -> Kind | None:
    """What a call has in common with others of the same program; None if that cannot be told."""
    kind: list[Any] = [id(operation), *given[1]]
    tensors: list[int] = []
    for value in values:
        spec = getattr(value, "spec", None)
        if spec is not None and (device := value.device()) is not None:
            kind.append((spec, device.id()))
            tensors.append(id(value))
        elif type(value) is float:
            kind.append(value.hex())  # 0.0 and -0.0 differ
        elif isinstance(value, CONSTANTS):
            kind.append((type(value), value))
        else:
            return None
    return tuple(kind) if len({*tensors}) == len(tensors) else None


def _is_hashable(kind: Kind) -> bool:
    """Not every version of ttnn has specs that are."""
    try:
        hash(kind)
    except TypeError:
        return False
    return True


def _positions(values: tuple[Any, ...], tensors: Sequence[Any]) -> tuple[int, ...] | None:
    """Where the operands stand among the arguments, if they are all there."""
    places = {id(value): position for position, value in enumerate(values)}
    if not all(id(tensor) in places for tensor in tensors):
        return None
    return tuple(places[id(tensor)] for tensor in tensors)


Seen = tuple[tuple[Function, ...], tuple[Global, ...], tuple[Captured, ...]]


def _seen(program: Program) -> Seen | None:  # rule PURE
    operation = program.operation
    kernels = {kernel.function.__code__ for kernel in program.kernels}
    functions = list(reachable_functions(operation.function))
    if callable(operation.grid):
        functions += reachable_functions(operation.grid)
    if operation.function not in functions:  # of an installed library, which nobody has looked at
        return None
    if not all(_is_pure(function, kernels) for function in functions):
        return None
    return (
        tuple((each, each.__code__, each.__defaults__) for each in functions),
        tuple(
            (each.__globals__, name, each.__globals__.get(name, MISSING))
            for each in functions
            for name in sorted(global_names(each.__code__))
        ),
        tuple((cell, cell.cell_contents) for each in functions for cell in each.__closure__ or ()),
    )


def _is_pure(function: FunctionType, kernels: set[CodeType]) -> bool:
    code = function.__code__
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    named = [named_value(name, function) for name in {*code.co_freevars, *global_names(code)}]
    if not all(map(_is_constant, (*defaults, *named))):
        return False
    if any(named_value(name, function) is MISSING for name in code.co_freevars):
        return False  # it has no value yet
    for code in _codes_run(function.__code__, kernels):
        if not EFFECTS.isdisjoint(code.co_names) or _stores(code) or _calls_ttnn(function, code):
            return False
    return True


def _calls_ttnn(function: FunctionType, code: CodeType) -> bool:
    """Names something of ttnn that is a function: an operation, which is to be done each time."""
    module: Any = None
    for step in dis.get_instructions(code):
        if step.opname in ATTRIBUTES and module is not None:
            found = getattr(module, step.argval, None)
            if not isinstance(found, (type, Enum, DType, ModuleType)) and callable(found):
                return True
            module = found if isinstance(found, ModuleType) else None
        elif step.opname in NAMES:
            value = named_value(step.argval, function)
            is_ttnn = isinstance(value, ModuleType) and "ttnn" in value.__name__.split(".")
            module = value if is_ttnn else None
        elif step.opname not in ("CACHE", "PUSH_NULL", "EXTENDED_ARG"):
            module = None
    return False


def _codes_run(code: CodeType, kernels: set[CodeType]) -> Iterator[CodeType]:
    """A function's code and those in it that its call may run; kernels are not run."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and constant not in kernels:
            yield from _codes_run(constant, kernels)


def _stores(code: CodeType) -> bool:
    outer = {*code.co_freevars}
    return any(
        step.opname in STORES or (step.opname == "STORE_DEREF" and step.argval in outer)
        for step in dis.get_instructions(code)
    )


def _is_constant(value: object) -> bool:
    """Does it stay what it is as long as it is the same object?"""
    if value is MISSING or isinstance(value, (*CONSTANTS, Enum)):
        return True
    if isinstance(value, ModuleType):
        return _does_not_change(value.__name__)
    if isinstance(value, (tuple, frozenset)):
        return all(map(_is_constant, value))
    if isinstance(value, FunctionType) and is_user_file(value.__code__.co_filename):
        return True  # it is among the functions that are looked at
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        return _does_not_change(value.__module__)
    return as_dtype(value) is not None


def _does_not_change(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] in CONSTANT_MODULES
