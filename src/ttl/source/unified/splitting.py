"""The multi-kernel operation that a unified body becomes.

rule SPANS   statements are the user's own nodes, in the lines and columns where they stand
rule NUMBERS in a body that may meet numbers of numpy, the operation's own statements have Python's
rule FRAMES  an expanded operation is a function of its own file, called once by the operation: it
             makes its buffers and gives back its part of each kernel, which kernels call
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

from ttl.diagnostics.span import with_expansions
from ttl.language.buffer import DataflowBuffer
from ttl.language.engine import engine, scope
from ttl.language.kernels import compute, datamovement
from ttl.language.pipes import PipeNet
from ttl.language.semaphores import Semaphore
from ttl.semantics.function_source import keep_definitions
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.syntax import walk

from ..functions import own_code
from ..python import as_ast
from ..python_numbers import USED, statements_with_python_numbers
from ..read import read_function
from ..recompile import at, compiled, placed, with_names
from ..scopes import parameters
from ..walking import changed
from .counting import names_in, only_counts
from .opaque import OPAQUE, asked
from .sections import Sections
from .units import Frame, Thread, Unit

NAMED = ".name_declared"
REACHED, ASKED, OPAQUE_NAME = ".reached", ".asked", ".opaque"  # of rehearsals
DECORATORS = {KernelKind.COMPUTE: compute, KernelKind.DATAMOVEMENT: datamovement}


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A frame as a function that makes kernels, or parts of them if it is expanded."""

    frame: Frame
    tree: ast.FunctionDef
    code: CodeType
    expansions: dict[str, Split]  # by the names that the code has for them

    def function(self, around: FunctionType) -> FunctionType:
        """Its names stand for what they stand for around this function of the user's."""
        keep_definitions(self.code, self.tree)
        known: dict[str, Any] = {f".{kind.value}": made for kind, made in DECORATORS.items()}
        known |= {
            name: split.function(split.frame.function) for name, split in self.expansions.items()
        }
        known |= {NAMED: name_declared, REACHED: reached, ASKED: asked, OPAQUE_NAME: OPAQUE}
        known |= USED
        made = with_names(around, self.code, known)
        made.__name__ = around.__name__
        made.__defaults__, made.__kwdefaults__ = around.__defaults__, around.__kwdefaults__
        return made


@dataclass(slots=True)
class Splitter:
    sections: Sections
    meets_numpy: bool
    numbers: Mapping[Unit, int] = field(default_factory=dict)  # of units that say it: reached()
    splits: dict[Frame, Split] = field(default_factory=dict)
    names: dict[Frame, dict[Thread, str]] = field(default_factory=dict)  # of parts of kernels

    def split(self, frame: Frame) -> Split:
        taken = names_in(frame.tree)
        for number, inner in enumerate(frame.expansions, 1):
            self.splits[inner] = self.split(inner)
            self.names[inner] = {
                thread: _unused(f"{inner.name}_{number}_{thread.value}", taken)
                for thread in self.sections.kernels
                if self.sections.has(inner, thread)
            }
        expansions = {
            f".expand_{inner.name}_{number}": self.splits[inner]
            for number, inner in enumerate(frame.expansions, 1)
        }
        body = _Body(self, frame, None).statements(frame.tree.body)
        tree = self._tree(frame, taken, body)
        return Split(frame, tree, self._code(frame, tree, len(body), expansions), expansions)

    def _tree(self, frame: Frame, taken: set[str], body: list[ast.stmt]) -> ast.FunctionDef:
        kernels = [each for t in self.sections.kernels if (each := self._kernel(frame, t, taken))]
        made = copy(frame.tree)
        made.decorator_list = []
        if frame.caller is not None:
            made.args = _only(frame.tree.args, self._static(frame))
            returned = ast.Tuple([ast.Name(k.name, ast.Load()) for k in kernels], ast.Load())
            made.body = [*body, *kernels, at(ast.Return(returned), frame.tree)]
        else:
            made.body = [*body, *kernels] or [at(ast.Pass(), frame.tree)]
        return made

    def setup_alone(self, frame: Frame) -> FunctionType:
        """A function that does what the operation does before its kernels, and gives its names."""
        made = copy(frame.tree)
        made.decorator_list = []
        body = _Body(self, frame, None).statements(frame.tree.body)
        called = ast.Call(ast.Name("locals", ast.Load()), [], [])
        made.body = [*body, at(ast.Return(called), frame.tree)]
        code = self._code(frame, made, len(body), ())
        return Split(frame, made, code, {}).function(frame.function)

    def _code(
        self, frame: Frame, tree: ast.FunctionDef, own: int, expansions: Iterable[str]
    ) -> CodeType:
        """`own`: how many of its statements are those of the operation itself."""
        if self.meets_numpy:  # rule NUMBERS
            function, last = read_function(placed(tree)), len(tree.body) - own
            own_part = function.body[: len(function.body) - last]
            rest = function.body[len(own_part) :]
            body = (*statements_with_python_numbers(own_part), *rest)
            tree = as_ast(changed(function, body=body))
        return _compiled(frame, tree, expansions)

    def _static(self, frame: Frame) -> set[str]:
        setup = self.sections.setup
        dynamic = {unit.argument for unit in frame.arguments if unit not in setup}
        return {name for name in parameters(frame.tree.args) if name not in dynamic}

    def _kernel(self, frame: Frame, thread: Thread, taken: set[str]) -> ast.FunctionDef | None:
        if not self.sections.has(frame, thread):
            return None
        body = _Body(self, frame, thread).statements(frame.tree.body)
        place = body[0] if body else frame.tree
        given = self.arguments(frame, thread)
        args = ast.arguments([], [ast.arg(name) for name in given], None, [], [], None, [])
        decorators: list[ast.expr] = []
        if frame.caller is None:
            decorators.append(ast.Name(f".{thread.kind.value}", ast.Load()))
        name = _unused(thread.value, taken)
        made = ast.FunctionDef(name, args, body or [ast.Pass()], decorators)
        made.lineno, made.col_offset = place.lineno, place.col_offset
        made.end_lineno, made.end_col_offset = made.lineno, made.col_offset
        for each in (*args.args, *decorators):
            ast.copy_location(each, made)
        return made

    def arguments(self, frame: Frame, thread: Thread) -> dict[str, Unit]:
        """What a part of a kernel is given at each call: the other parameters are known before."""
        kernel, setup = self.sections.kernels[thread], self.sections.setup
        return {
            unit.argument: unit
            for unit in frame.arguments
            if unit.argument is not None and unit in kernel and unit not in setup
        }


def _only(arguments: ast.arguments, names: set[str]) -> ast.arguments:
    kept = [each for each in (*arguments.posonlyargs, *arguments.args) if each.arg in names]
    kept += [each for each in arguments.kwonlyargs if each.arg in names]
    return ast.arguments([], [ast.arg(each.arg) for each in kept], None, [], [], None, [])


def _compiled(frame: Frame, tree: ast.FunctionDef, expansions: Iterable[str]) -> CodeType:
    own = own_code(frame.function)
    made = (NAMED, REACHED, ASKED, OPAQUE_NAME, *(f".{kind.value}" for kind in DECORATORS), *USED)
    free = [*own.co_freevars, *made, *expansions]
    code = compiled(tree, free, own.co_filename, own.co_flags)
    return with_expansions(code, frame.expanded_at())


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


@dataclass(slots=True)
class _Body:
    """The statements of a frame that one thread has; those of the operation itself for None."""

    splitter: Splitter
    frame: Frame
    thread: Thread | None
    units: dict[ast.AST, Unit] = field(init=False)
    included: frozenset[Unit] = field(init=False)

    def __post_init__(self) -> None:
        sections = self.splitter.sections
        self.units = {unit.node: unit for unit in self.frame.units if unit.argument is None}
        self.included = sections.setup if self.thread is None else sections.kernels[self.thread]

    def statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [made for statement in body for made in self._statement(statement)]

    def _statement(self, node: ast.stmt) -> Iterator[ast.stmt]:
        if isinstance(node, ast.With):
            yield from self._with(node)
        elif isinstance(node, (ast.If, ast.For, ast.While)):
            yield from self._compound(node)
        elif (unit := self.units.get(node)) is not None:
            if unit.expansion is not None:
                yield from self._call(unit, unit.expansion)
            elif unit in self.included and self._is_wanted(unit):
                yield from self._reached(unit)
                yield node
                if unit.makes and self.thread is None:
                    yield from self._names(unit)

    def _reached(self, unit: Unit) -> Iterator[ast.stmt]:
        number = self.splitter.numbers.get(unit)
        if number is not None and self.thread is not None:
            call = ast.Call(ast.Name(REACHED, ast.Load()), [ast.Constant(number)], [])
            yield at(ast.Expr(call), unit.node)

    def _names(self, unit: Unit) -> Iterator[ast.stmt]:
        """Where kernels see what is made through expansions only, it is named at once."""
        if self.frame.caller is None and not self.frame.expansions:
            return
        for name in sorted(unit.binds):
            given = [ast.Constant(prefix_of(self.frame)), ast.Constant(name)]
            call = ast.Call(ast.Name(NAMED, ast.Load()), [*given, ast.Name(name, ast.Load())], [])
            yield at(ast.Expr(call), unit.node)

    def _is_wanted(self, unit: Unit) -> bool:
        """A function stands in the operation only if the operation itself calls it."""
        if not unit.is_function or self.thread is not None:
            return True
        return any(unit in other.depends for other in self.included)

    def _head(self, node: ast.If | ast.For | ast.While) -> Unit:
        return self.units[node.iter if isinstance(node, ast.For) else node.test]

    def _compound(self, node: ast.If | ast.For | ast.While) -> Iterator[ast.stmt]:
        is_there = self._head(node) in self.included
        if not is_there:
            if self.thread is None and self.frame.expansions:
                yield from self._expansions_in(node)
            return
        body, otherwise = self.statements(node.body), self.statements(node.orelse)
        if isinstance(node, ast.If) and not body and not otherwise:
            return
        if isinstance(node, ast.If) and self.splitter.numbers and self.thread is not None:
            yield from self._both(node, body, otherwise)
            return
        made = copy(node)
        made.body = body or [at(ast.Pass(), node.body[0])]
        made.orelse = otherwise
        counts = self._head(node).counts
        if isinstance(made, ast.For) and counts is not None and self.thread is not None:
            made.iter = counts if only_counts(self._head(node), self.included) else made.iter
        yield made

    def _both(
        self, node: ast.If, body: list[ast.stmt], otherwise: list[ast.stmt]
    ) -> Iterator[ast.stmt]:
        """In a rehearsal both sides happen where data decides, and names given there are opaque."""
        head = self._head(node)
        inside = [unit for unit in self.frame.units if head in unit.controls()]
        may_leave = ast.Constant(any(unit.is_jump for unit in inside))
        answer = f"{ASKED}_{node.lineno}_{node.col_offset}"
        call = ast.Call(ast.Name(ASKED, ast.Load()), [node.test, may_leave], [])
        yield at(ast.Assign([ast.Name(answer, ast.Store())], call), node)
        names = sorted({name for unit in inside for name in unit.binds})
        unsure: list[ast.stmt] = [
            ast.Assign([ast.Name(name, ast.Store())], ast.Name(OPAQUE_NAME, ast.Load()))
            for name in names
        ]
        no, yes = (ast.IsNot(), True, otherwise), (ast.IsNot(), False, body)
        sides = [yes, no, (ast.Is(), None, unsure)]
        for operator, value, statements in sides:
            if statements:
                known = ast.Compare(
                    ast.Name(answer, ast.Load()), [operator], [ast.Constant(value)]
                )
                yield at(ast.If(known, statements, []), node)

    def units_in(self, node: ast.stmt) -> list[Unit]:
        return [self.units[each] for each in walk(node) if each in self.units]

    def _expansions_in(self, node: ast.stmt) -> Iterator[ast.stmt]:
        for unit in sorted(self.units_in(node), key=lambda each: each.span):
            if unit.expansion is not None:
                yield from self._call(unit, unit.expansion)

    def _with(self, node: ast.With) -> Iterator[ast.stmt]:
        items = [each for each in node.items if self.units[each.context_expr] in self.included]
        body = self.statements(node.body)
        if not items:
            yield from body
            return
        made = copy(node)
        made.items, made.body = items, body or [at(ast.Pass(), node.body[0])]
        yield made

    def _call(self, unit: Unit, inner: Frame) -> Iterator[ast.stmt]:  # rule FRAMES
        names, node = self.splitter.names[inner], unit.node
        assert isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        given = arguments_of(inner, node.value)
        if self.thread is None:
            number = self.frame.expansions.index(inner) + 1
            called = ast.Name(f".expand_{inner.name}_{number}", ast.Load())
            static = [given[arg] for arg in _ordered(inner) if arg in self.splitter._static(inner)]
            targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names.values()]
            call = ast.Call(called, static, [])
            yield at(ast.Assign([ast.Tuple(targets, ast.Store())], call), node)
        elif self.thread in names:
            passed = [given[name] for name in self.splitter.arguments(inner, self.thread)]
            part = ast.Name(names[self.thread], ast.Load())
            yield at(ast.Expr(ast.Call(part, passed, [])), node)


def reached(number: int) -> None:
    """Called by a rehearsal before each statement: the engine learns which one is next."""
    engine("reached()").reached(number)  # type: ignore[attr-defined]


def name_declared(prefix: str, name: str, value: Any) -> None:
    """Called by the function that a body becomes, after the statement that gives the name: of what
    an expanded operation declares, which kernels see through parts of theirs only.
    """
    if isinstance(value, (list, tuple)):
        for place, item in enumerate(value):
            name_declared(prefix, f"{name}_{place}", item)
    elif isinstance(value, (DataflowBuffer, PipeNet, Semaphore)):
        collected = scope("an operation")
        others: list[Any] = [*collected.buffers, *collected.pipe_nets, *collected.semaphores]
        taken = {each.name for each in others if each is not value}
        value.name = f"{prefix}{name}"
        if value.name in taken:
            value.name += f"_{value.index}"


def prefix_of(frame: Frame) -> str:
    """`rmsnorm_2_` for the second operation that a body expands, and so on outwards."""
    if frame.caller is None:
        return ""
    around = frame.caller.frame
    return f"{prefix_of(around)}{frame.name}_{around.expansions.index(frame) + 1}_"


def _ordered(frame: Frame) -> list[str]:
    return list(parameters(frame.tree.args))


def arguments_of(frame: Frame, call: ast.Call) -> dict[str, ast.expr]:
    """The arguments of a call by the names of the parameters."""
    given = dict(zip(_ordered(frame), call.args, strict=False))
    return given | {each.arg: each.value for each in call.keywords if each.arg is not None}
