"""Turn an operation and its arguments into the function that declares its kernels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from types import CellType, FunctionType
from typing import Any

from ttl.diagnostics.frames import is_pyttlang_file
from ttl.language.arguments import is_tensor, parts_of
from ttl.language.operation import Operation
from ttl.loading.recent import Recent
from ttl.semantics.dtypes import dtype_of

from ..functions import environment, fingerprint, own_code
from ..numpy_numbers import has_numpy, may_meet_numpy
from .assignment import Assignment, assign
from .expanding import new_frame
from .forms import is_unified, refuse_without_source
from .read_back import ReadBack
from .reading import BodyReader
from .sections import Sections, sections_of
from .splitting import Split, Splitter
from .things import container, memory_of, thing_of
from .units import Inline, Thread, grid_of


@dataclass(frozen=True, slots=True)
class Unified:
    """A unified operation and the multi-kernel operation that it becomes."""

    frame: Inline
    assignment: Assignment
    sections: Sections
    split: Split
    is_rehearsed: bool  # thread sharing may depend on all outer values

    @property
    def threads(self) -> list[Thread | None]:
        return [self.assignment.threads.get(unit) for unit in self.assignment.units]


def make_unified_body(
    operation: Operation, arguments: Mapping[str, object]
) -> Callable[..., object]:
    """Return the function that a unified body becomes; the operation's own if it has kernels."""
    unified = threads_of(operation, arguments)
    function = operation.function
    if unified is None or not isinstance(function, FunctionType):
        return function
    return unified.split.function(function)


_UNIFIED: Recent[Unified] = Recent(1024)


def threads_of(operation: Operation, arguments: Mapping[str, object]) -> Unified | None:
    """Return None if the operation has kernels; UsageError if its statements have no threads."""
    function = operation.function
    if not isinstance(function, FunctionType) or is_pyttlang_file(own_code(function).co_filename):
        return None
    frame = new_frame(operation)
    if frame is None:
        refuse_without_source(function)
        return None
    if not is_unified(frame):
        return None
    called = _list_called(operation, [])
    frame.meets_numpy = may_meet_numpy(each.function for each in called) or any(
        map(has_numpy, arguments.values())
    )
    tokens = fingerprint(function, _token), _token(arguments), _number_memories(called, arguments)
    key = tokens, grid_of(frame), frame.meets_numpy
    found = _UNIFIED.get(key, lambda: _unify(frame, arguments))
    if found.is_rehearsed and found.frame is not frame:
        again = _unify(frame, arguments)
        return found if again.threads == found.threads else again
    return found


def _number_memories(
    operations: Iterable[Operation], arguments: Mapping[str, object]
) -> tuple[int, ...]:
    """Number the memories of these bodies' tensors: equal numbers mean shared memory."""
    seen = [*arguments.items()]
    for each in operations:
        seen += environment(each.function) if isinstance(each.function, FunctionType) else ()
    values = (value for name, held in seen for _, value in parts_of(name, held))
    memories = [memory_of(value) for value in values if is_tensor(value)]
    return tuple(map(memories.index, memories))


def forget() -> None:
    """Forget all unified operations, for measuring how long unifying takes."""
    _UNIFIED.clear()


def show_threads(operation: Operation, arguments: Mapping[str, object]) -> str | None:
    """Show a body with the threads of its lines, and its kernels; None for multi-kernel ones."""
    from .kernel_text import kernel_text  # most runs never need it
    from .listing import listing

    found = threads_of(operation, arguments)
    if found is None:
        return None
    lines = listing(found.frame, found.assignment, found.sections)
    assert isinstance(operation.function, FunctionType)
    text = kernel_text(found.split, operation.function)
    return f"{lines}\n\n# The kernels that it becomes\n\n{text}"


def _token(value: Any) -> Hashable:
    """Return equal tokens for values that a body uses alike: sizes may decide threads."""
    if isinstance(value, (bool, int, float, str)):
        return type(value), value
    if is_tensor(value):
        return tuple(value.shape), dtype_of(value)
    if isinstance(value, Operation):
        return tuple(_list_called(value, []))
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(_token, value))
    if isinstance(value, dict):
        return tuple((name, _token(each)) for name, each in value.items())
    return type(value).__module__, type(value).__qualname__


def _list_called(operation: Operation, seen: list[Operation]) -> list[Operation]:
    """List an operation and those it calls, transitively: a notebook may redefine one."""
    if not any(operation is each for each in seen):
        seen.append(operation)
        if isinstance(operation.function, FunctionType):
            for _, value in environment(operation.function):
                if isinstance(value, Operation):
                    _list_called(value, seen)
    return seen


def _unify(frame: Inline, arguments: Mapping[str, object]) -> Unified:
    given = {}
    for name, variable in frame.parameters.items():
        starred = [value for key, value in arguments.items() if key.startswith(f"{name}_")]
        is_one = name in arguments
        given[variable] = thing_of(arguments[name]) if is_one else container(map(thing_of, starred))
    reader = BodyReader(frame)
    reader.read_frame(frame, given)
    read_back = ReadBack(frame, reader.order, arguments)
    assignment = assign(reader.order, read_back.unordered)
    sections = sections_of(assignment)
    split = Splitter(sections).split(frame)
    found = Unified(frame, assignment, sections, split, read_back.is_rehearsed)
    _let_go(frame)
    return found


def _let_go(frame: Inline) -> None:
    """Let go of this call's tensors, because the result also serves other calls."""
    own = frame.function
    cells = tuple(CellType() for _ in own.__closure__ or ())
    frame.function = FunctionType(own_code(own), own.__globals__, own.__name__, None, cells)
    for each in frame.all():
        each.final = {}
