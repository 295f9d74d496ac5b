"""Split a unified body into a multi-kernel operation.

rule SPANS   statements are the user's own, in their original lines and columns
rule NUMBERS in a body that may handle numpy numbers, the operation's own statements use Python's
rule FRAMES  an expanded operation is a function in its own file, called once by the operation: it
             makes its buffers and returns its part of each kernel, which kernels call
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from inspect import Parameter as Kinds
from types import CodeType, FunctionType
from typing import Any

from ttl.diagnostics.span import with_expansions
from ttl.language.buffer import DataflowBuffer
from ttl.language.engine import scope
from ttl.language.kernels import compute, datamovement
from ttl.language.pipes import PipeNet
from ttl.language.semaphores import Semaphore
from ttl.semantics.function_source import keep_definitions
from ttl.semantics.kernel_kinds import KernelKind

from .. import tree
from ..bindings import Around, Place, Scope
from ..code import with_names
from ..functions import own_code
from ..making import make_assign, outer_name
from ..python import as_ast, as_code
from ..python_numbers import USED, statements_with_python_numbers
from ..tree import Body, Expression, Function, Statement
from ..walking import walk
from .opaque import FOLLOWING, Followed, call_of
from .sections import Sections, only_counts
from .units import Inline, Thread, Unit, in_text

NAMED = ".name_declared"
KERNELS = {
    f".{kind.value}": made
    for kind, made in (
        (KernelKind.COMPUTE, compute),
        (KernelKind.DATAMOVEMENT, datamovement),
    )
}


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A frame as a function that makes kernels, or parts of kernels if it is expanded."""

    frame: Inline
    tree: Function
    expansions: dict[str, Split]  # by their names in the code
    definition: Any
    code: CodeType

    def function(self, own: FunctionType) -> FunctionType:
        """Make the function; its outer names have their values around the user's function."""
        keep_definitions(self.code, self.definition)
        known: dict[str, object] = {NAMED: name_declared, **FOLLOWING, **KERNELS, **USED}
        known |= {
            name: split.function(split.frame.function) for name, split in self.expansions.items()
        }
        made = with_names(own, self.code, known)
        made.__name__ = own.__name__
        made.__defaults__, made.__kwdefaults__ = own.__defaults__, own.__kwdefaults__
        return made


def names_in(*nodes: tree.Node) -> set[str]:
    """Return the names in use, including those of parameters."""
    found = set()
    for each in walk(*nodes):
        if isinstance(each, (tree.Name, tree.Target)):
            found.add(each.binding.name)
        elif isinstance(each, tree.Parameter):
            found.add(each.variable.name)
    return found


def _code(frame: Inline, made: Function, expansions: Iterable[str]) -> CodeType:
    own = own_code(frame.function)
    free = [*own.co_freevars, NAMED, *FOLLOWING, *KERNELS, *USED, *expansions]
    code = as_code(made, free, own.co_filename, own.co_flags)
    return with_expansions(code, frame.expanded_at())


@dataclass(slots=True)
class Splitter:
    sections: Sections
    numbers: Mapping[Unit, int] = field(default_factory=dict)  # in a rehearsal
    names: dict[Inline, dict[Thread, str]] = field(default_factory=dict)  # of kernel parts

    def split(self, frame: Inline) -> Split:
        taken = names_in(frame.tree)
        expansions = {}
        for number, inner in enumerate(frame.expansions, 1):
            expansions[f".expand_{inner.name}_{number}"] = self.split(inner)
            self.names[inner] = {
                thread: _make_name(f"{inner.name}_{number}_{thread.value}", taken)
                for thread in self.sections.kernels
                if self.sections.has(inner, thread)
            }
        threads = [each for each in self.sections.kernels if self.sections.has(frame, each)]
        kernels = [self._kernel(frame, each, _make_name(each.value, taken)) for each in threads]
        return self._made(frame, kernels, expansions)

    def _made(self, frame: Inline, kernels: list[Function], expansions: dict[str, Split]) -> Split:
        own = _Part(self, frame, None).statements(frame.tree.body)
        added: list[Statement] = [make_assign(Around(k.name), k, k.place) for k in kernels]
        parameters, place = frame.tree.parameters, frame.tree.place
        if frame.caller is not None:
            names = tuple(outer_name(each.name, place) for each in kernels)
            added.append(tree.Return(place, tree.Sequence(place, "tuple", names)))
            parameters = _parameters(frame, self.static(frame))
        made = replace(frame.tree, decorators=(), parameters=parameters, body=(*own, *added))
        running = made
        if frame.root.meets_numpy:  # rule NUMBERS
            running = replace(made, body=(*statements_with_python_numbers(own), *added))
        code = _code(frame, running, expansions)
        return Split(frame, made, expansions, as_ast(made), code)

    def static(self, frame: Inline) -> list[str]:
        """List the parameters that are known before kernels run."""
        setup = self.sections.setup
        dynamic = {unit.argument for unit in frame.arguments if unit not in setup}
        return [name for name in frame.parameters if name not in dynamic]

    def given(self, frame: Inline, thread: Thread) -> list[str]:
        """List the parameters that each call of a kernel part passes."""
        kernel, setup = self.sections.kernels[thread], self.sections.setup
        mine = [unit for unit in frame.arguments if unit in kernel and unit not in setup]
        return [unit.argument for unit in mine if unit.argument is not None]

    def _kernel(self, frame: Inline, thread: Thread, name: str) -> tree.Function:
        body = _Part(self, frame, thread).statements(frame.tree.body)
        if self.numbers:
            body = Followed(frame.units, self.numbers).sequence(body)
        line, column, *_ = body[0].place if body else frame.tree.place
        place = Place(line, column, line, column)
        decorators: tuple[Expression, ...] = ()
        if frame.caller is None:
            decorators = (outer_name(f".{thread.kind.value}", place),)
        parameters = _parameters(frame, self.given(frame, thread), place)
        return tree.Function(place, name, decorators, parameters, body, Scope(name))


def _parameters(
    frame: Inline, names: Iterable[str], place: Place | None = None
) -> tuple[tree.Parameter, ...]:
    kind, place = Kinds.POSITIONAL_OR_KEYWORD, place or frame.tree.place
    return tuple(tree.Parameter(place, frame.parameters[name], kind, None) for name in names)


def _make_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


@dataclass(slots=True)
class _Part:
    """The statements of a frame for one thread, or for the operation itself (None)."""

    splitter: Splitter
    frame: Inline
    thread: Thread | None
    units: dict[tree.Node, Unit] = field(init=False)
    included: frozenset[Unit] = field(init=False)

    def __post_init__(self) -> None:
        sections = self.splitter.sections
        self.units = {unit.node: unit for unit in self.frame.units if unit.argument is None}
        self.included = sections.setup if self.thread is None else sections.kernels[self.thread]

    def statements(self, body: Body) -> Body:
        return tuple(made for statement in body for made in self._statement(statement))

    def _has(self, node: tree.Node) -> bool:
        return self.units.get(node) in self.included

    def _statement(self, node: Statement) -> Iterable[Statement]:
        if isinstance(node, tree.With):
            items = tuple(each for each in node.items if self._has(each.value))
            body = self.statements(node.body)
            return [replace(node, items=items, body=body)] if items else body
        if isinstance(node, tree.Branch):
            if not self._has(node.test):
                return self._expansions_in(node)
            sides = self.statements(node.then), self.statements(node.otherwise)
            return [replace(node, then=sides[0], otherwise=sides[1])] if any(sides) else ()
        if isinstance(node, (tree.Loop, tree.While)):
            head = node.over if isinstance(node, tree.Loop) else node.test
            return [self._loop(node, head)] if self._has(head) else self._expansions_in(node)
        return self._simple(node)

    def _loop(self, node: tree.Loop | tree.While, head: Expression) -> Statement:
        unit, body = self.units[head], self.statements(node.body)
        if isinstance(node, tree.While) or self.thread is None or unit.counts is None:
            return replace(node, body=body)
        counts = unit.counts if only_counts(unit, self.included) else node.over
        return replace(node, over=counts, body=body)

    def _simple(self, node: Statement) -> Iterator[Statement]:
        unit = self.units.get(node)
        if unit is None:
            return
        if unit.expansion is not None:
            yield from self._call(unit, unit.expansion)
        elif unit in self.included and self._is_wanted(unit):
            yield node
            if unit.makes and self.thread is None:
                yield from self._names(unit)

    def _names(self, unit: Unit) -> Iterator[Statement]:
        """Name objects that kernels see only through expansions right after they are made."""
        if self.frame.caller is None and not self.frame.expansions:
            return
        for variable in sorted(unit.binds, key=lambda each: each.name):
            name = tree.Name(unit.node.place, variable)
            call = call_of(NAMED, unit.node, prefix_of(self.frame), variable.name, name)
            yield tree.Evaluate(unit.node.place, call)

    def _is_wanted(self, unit: Unit) -> bool:
        """Does the operation itself call this function? Otherwise it does not need it."""
        if not unit.is_function or self.thread is not None:
            return True
        return any(unit in other.depends for other in self.included)

    def _expansions_in(self, node: Statement) -> Iterator[Statement]:
        if self.thread is None and self.frame.expansions:
            for unit in in_text(self.units[each] for each in walk(node) if each in self.units):
                if unit.expansion is not None:
                    yield from self._call(unit, unit.expansion)

    def _call(self, unit: Unit, inner: Inline) -> Iterator[Statement]:  # rule FRAMES
        names, node = self.splitter.names[inner], unit.node
        assert isinstance(node, tree.Evaluate) and isinstance(node.value, tree.Call)
        given = inner.arguments_of(node.value)
        if self.thread is None:
            number = self.frame.expansions.index(inner) + 1
            static = [given[name] for name in self.splitter.static(inner)]
            targets = tuple(tree.Target(node.place, Around(name)) for name in names.values())
            call = call_of(f".expand_{inner.name}_{number}", node, *static)
            yield tree.Assign(node.place, (tree.Sequence(node.place, "tuple", targets),), call)
        elif self.thread in names:
            passed = [given[name] for name in self.splitter.given(inner, self.thread)]
            yield tree.Evaluate(node.place, call_of(names[self.thread], node, *passed))


def name_declared(prefix: str, name: str, value: object) -> None:
    """Name an object that a body makes; the split body calls this after the assignment. An expanded
    operation's kernels see its objects only through their parts."""
    if isinstance(value, (list, tuple)):
        for place, item in enumerate(value):
            name_declared(prefix, f"{name}_{place}", item)
    elif isinstance(value, (DataflowBuffer, PipeNet, Semaphore)):
        collected = scope("an operation")
        others: list[DataflowBuffer | PipeNet | Semaphore] = [
            *collected.buffers,
            *collected.pipe_nets,
            *collected.semaphores,
        ]
        taken = {each.name for each in others if each is not value}
        value.name = f"{prefix}{name}"
        if value.name in taken:
            value.name += f"_{value.index}"


def prefix_of(frame: Inline) -> str:
    """Return `rmsnorm_2_` for the second operation that a body expands, after outer prefixes."""
    if frame.caller is None:
        return ""
    caller = frame.caller.frame
    return f"{prefix_of(caller)}{frame.name}_{caller.expansions.index(frame) + 1}_"
