"""Calls of compiled operations that are known already: for tensors of the same kinds.

Such a call neither runs the operation's body nor looks for the artifact: it hands its tensors to
what ran before, on a device or on this CPU.

rule PURE     only bodies are skipped that give the same program again: they name constants,
              functions, and modules that do not change, and call nothing that has other effects
rule WATCHED  what the names stood for is compared at every call, by identity; functions must have
              the defaults that they had, and no attributes
rule PLAIN    only where nothing is to be seen of a run: no trace, no watch, no check
"""

from __future__ import annotations

import dis
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import is_
from threading import Lock
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

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
from ttl.ttnn.storage import NoStorage
from ttl.ttnn.tensor import Tensor

from .captured import CAPTURED

MOST_KEPT = 4096
CONSTANTS = {bool, int, float, str, bytes, type(None), DType}  # not what has attributes beside
# Names that a body may not use if it is to be skipped: of builtins and modules, what gives another
# thing each time or is to happen each time; of tensors, what tells more than their kind.
EFFECTS = {
    "__import__", "ascii", "breakpoint", "compile", "delattr", "eval", "exec", "getattr", "globals",
    "id", "input", "iter", "locals", "next", "open", "print", "repr", "setattr", "str", "vars",
    "fromfile", "genfromtxt", "load", "loadtxt", "memmap", "rand", "randint", "randn", "random",
    "buffer_address", "buffer_unique_id", "cpu", "deallocate", "device_coords", "extract_shard",
    "host_buffer", "is_allocated", "item", "storage", "tensor_id", "to", "to_list", "to_numpy",
    "to_torch",
}  # fmt: skip
NAMES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
NO_STEPS = ("CACHE", "PUSH_NULL", "EXTENDED_ARG")
STORES = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "STORE_SUBSCR", "IMPORT_NAME")

Kind = tuple[Any, ...]
Defaults = tuple[Any, ...]
# With its code, its defaults, and those of parameters that are given by name only.
Function = tuple[FunctionType, CodeType, Defaults | None, Defaults]
Given = tuple[tuple[Any, ...], dict[str, Any]]  # positional arguments and others


# A name and what it stood for: in the globals of a function, or in a scope around it.
Global = tuple[dict[str, Any], str, object]
Captured = tuple[CellType, object]


@dataclass(frozen=True, slots=True)
class ReadyCall:
    operation: Operation
    run: Callable[[list[Any]], None]
    operands: tuple[int, ...]  # the positions of the tensors among the arguments
    grid: Shape
    config: Config
    functions: tuple[Function, ...]
    globals: tuple[Global, ...]
    captured: tuple[Captured, ...]

    def is_valid(self, operation: Operation, config: Config) -> bool:  # rule WATCHED
        if self.operation is not operation or self.config is not config:
            return False
        for function, code, defaults, named in self.functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
            if function.__dict__ or not _are_same(_named_defaults(function), named):
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
        if not self._kept or TRACE.get() is not None or CAPTURED.get() is not None:
            return False
        values = (*given[0], *given[1].values())
        kind = _kind(operation, given, values)
        ready = None if kind is None else self._kept.get(kind)
        if ready is None or not ready.is_valid(operation, config):
            return False
        LAUNCH_HOOK.last_grid = ready.grid
        ready.run([values[position] for position in ready.operands])
        return True

    def keep(
        self,
        given: Given,
        program: Program,
        config: Config,
        again: Callable[[], Callable[[list[Any]], None]],
    ) -> None:
        """Remember a call that was made, if the next one may skip the body."""
        values = (*given[0], *given[1].values())
        if not _is_plain(config) or (kind := _kind(program.operation, given, values)) is None:
            return
        operands = _positions(values, tuple(program.tensors.values()))
        seen = _seen(program)
        if operands is None or seen is None or not _is_hashable(kind):
            return
        ready = ReadyCall(program.operation, again(), operands, program.grid, config, *seen)
        with self._lock:
            self._kept[kind] = ready
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)


def _is_plain(config: Config) -> bool:  # rule PLAIN
    looks = (config.check, config.compile_only, config.trace, config.device_timeout,
             config.counts, config.dry_run, config.estimate, config.trace_times, config.view,
             config.show_threads, config.fast is not None)  # fmt: skip
    writes = (config.initial_mlir, config.final_mlir, config.compile_to, config.kernel_dumps)
    return not any((*looks, *writes, config.verbose_passes))


def _kind(operation: Operation, given: Given, values: tuple[Any, ...]) -> Kind | None:
    """What a call has in common with others of the same program; None if that cannot be told."""
    kind: list[Any] = [id(operation), *given[1]]
    tensors: list[int] = []
    for value in values:
        if type(value) is Tensor:
            device = value.device()
            if device is None or not device.is_open or type(value.storage) is NoStorage:
                return None
            kind.append((value.shape, value.dtype, value.layout, value.config, device))
            tensors.append(id(value))
        elif getattr(value, "spec", None) is not None and value.device() is not None:
            kind.append((value.spec, value.device().id()))
            tensors.append(id(value))
        elif type(value) is float:
            kind.append(value.hex())  # 0.0 and -0.0 differ
        elif type(value) in CONSTANTS:
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
    if not all(_is_pure(function, functions, kernels) for function in functions):
        return None
    return (
        tuple((e, e.__code__, e.__defaults__, _named_defaults(e)) for e in functions),
        tuple(
            (each.__globals__, name, each.__globals__.get(name, MISSING))
            for each in functions
            for name in sorted(global_names(each.__code__))
        ),
        tuple((cell, cell.cell_contents) for each in functions for cell in each.__closure__ or ()),
    )


def _named_defaults(function: FunctionType) -> Defaults:
    named = function.__kwdefaults__ or {}
    return (*named, *named.values())


def _are_same(some: Defaults, others: Defaults) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


def _is_pure(
    function: FunctionType, functions: Sequence[FunctionType], kernels: set[CodeType]
) -> bool:
    code = function.__code__
    defaults = (*(function.__defaults__ or ()), *_named_defaults(function))
    if function.__dict__:
        return False
    named = [named_value(name, function) for name in {*code.co_freevars, *global_names(code)}]
    if not all(_is_constant(value, functions) for value in (*defaults, *named)):
        return False
    if any(named_value(name, function) is MISSING for name in code.co_freevars):
        return False  # it has no value yet
    for code in _codes_run(function.__code__, kernels):
        if _has_effects(function, code) or _stores(code) or _uses_ttnn(function, code):
            return False
    return True


def _has_effects(function: FunctionType, code: CodeType) -> bool:
    """Names one of EFFECTS, or what is one under another name."""
    named = [named_value(name, function) for name in (*code.co_names, *code.co_freevars)]
    own_names = {getattr(value, "__name__", "").rpartition(".")[2] for value in named}
    return not EFFECTS.isdisjoint(own_names.union(code.co_names))


def _uses_ttnn(function: FunctionType, code: CodeType) -> bool:
    """Names a function of ttnn, an operation, which is to be done each time; or the module for
    more than what is in it.
    """
    module: Any = None
    for step in dis.get_instructions(code):
        if step.opname in NO_STEPS:
            continue
        if module is not None:
            if step.opname not in ATTRIBUTES:
                return True
            found = getattr(module, step.argval, None)
            if not isinstance(found, (type, Enum, DType, ModuleType)) and callable(found):
                return True
            module = found if isinstance(found, ModuleType) else None
        elif step.opname in NAMES:
            value = named_value(step.argval, function)
            if isinstance(value, FunctionType) and "ttnn" in (value.__module__ or "").split("."):
                return True  # functions of a text that names no module have none
            is_ttnn = isinstance(value, ModuleType) and "ttnn" in value.__name__.split(".")
            module = value if is_ttnn else None
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


def _is_constant(value: object, functions: Sequence[FunctionType]) -> bool:
    """Does it stay what it is as long as it is the same object, and those functions do?"""
    if value is MISSING or type(value) in CONSTANTS:
        return True
    if isinstance(value, ModuleType):
        return _does_not_change(value.__name__)
    if type(value) in (tuple, frozenset):
        return all(_is_constant(item, functions) for item in value)  # type: ignore[attr-defined]
    if isinstance(value, FunctionType) and is_user_file(value.__code__.co_filename):
        return value in functions
    if isinstance(value, (type, Enum, FunctionType, BuiltinFunctionType)):
        return _does_not_change(value.__module__)
    return as_dtype(value) is not None


def _does_not_change(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] in CONSTANT_MODULES
