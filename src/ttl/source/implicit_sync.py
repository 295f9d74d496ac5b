"""Where releases and waits are supplied that a program leaves out.

Kernels and their helpers are read once, and get `Finish` statements where something is left out.
The simulator compiles the changed definitions, the compiler evaluates them. The language's rule
(facts "Implicit release and wait"), taken apart:

rule HANDLE    an acquire (`x.reserve()`, `x.wait()`) makes a block, `ttl.copy()` a transfer, a call
               of a helper what the helper returns. What a `with` acquires is its own.
rule HOLDER    variables hold handles, also in lists, tuples and groups; aliases are followed. A
               transfer under way holds the blocks it copies. What is given to somebody unknown, or
               into an attribute, is finished elsewhere: the run reports it if it is not. A variable
               that is called stands for functions that are known (callees.py), or its result may
               be what it is given.
rule LAST      a block that a path does not release is released after the statement in which its
               last holder is used last. The statement belongs to a body that contains the acquire:
               of a block acquired outside of a loop or branch it is the whole loop or branch.
               `return`, `break` and `continue` that leave that body come after the release.
rule NEEDED    a transfer that a path does not wait for is waited for before the first statement
               that needs it done: a use of its block other than another read, a release of the
               block, a read of the tensor it writes, a new value for its only name. At the latest
               it is waited for at the end of the body that contains it. Without a name it is
               waited for at once.
rule ORDER     transfers first, then blocks, oldest first; a block stays while an older one of its
               buffer is held.
rule BRANCH    what one branch of an `if` finishes and the other does not is finished in the other.
rule RUN       whether a path has finished a handle itself both backends know when they get there:
               `Finish` does what is left.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from ttl.diagnostics import Span
from ttl.diagnostics.frames import is_pyttlang_file, is_user_file
from ttl.language.buffer import DataflowBuffer
from ttl.language.copies import GroupTransfer, copy
from ttl.semantics.function_source import Definition, FunctionTree, function_tree, nodes_of

from .callees import lambda_definition
from .functions import (
    MISSING,
    called_function,
    fingerprint,
    items_of,
    member,
    own_code,
    place_of,
    value_of,
)
from .handles import Finish, KnownFunctions, Meaning, SourceFunction
from .plain_kernels import HARMLESS, leaves_out_nothing
from .recent import Recent
from .recompile import at, method_call

if TYPE_CHECKING:
    from .supplies import Supply

# Builtins whose results have the blocks as items, or are one of them.
PASSING = (dict, enumerate, iter, list, max, min, next, reversed, set, sorted, tuple, zip)


@dataclass(frozen=True, slots=True, eq=False)
class CodePoints:
    """What is supplied in one function of the user's, and in those nested in it."""

    code: CodeType
    supplies: tuple[Supply, ...]
    tree: Definition  # with what is supplied

    def span(self, node: ast.expr) -> Span:
        return Span.of_node(self.code.co_filename, node)


# What is asked ------------------------------------------------------------------------------------


def kernel_points(functions: Iterable[Callable[[], None]]) -> list[CodePoints]:
    """The points of all these kernels and of their helpers, those that need something."""
    found = {place_of(points.code): points for f in functions for points in function_points(f)}
    return list(found.values())


def function_points(function: Any) -> tuple[CodePoints, ...]:
    """The points of one kernel and its helpers, those that need something."""
    if not isinstance(function, FunctionType):
        return ()
    return _POINTS.get(fingerprint(function), lambda: _read_points(function))


_POINTS: Recent[tuple[CodePoints, ...]] = Recent(1024)
Sources = dict[tuple[CodeType, str], SourceFunction]


def _read_points(function: FunctionType) -> tuple[CodePoints, ...]:
    sources: Sources = {}
    kernel = _source_function(function, sources)
    if kernel is None or leaves_out_nothing(function, kernel.tree):
        return ()
    from .last_use import Known, read_function  # most kernels leave out nothing

    known = Known()
    read_function(kernel, known)
    return tuple(
        CodePoints(code, tuple(supplies), with_supplies(source.tree, supplies))
        for (code, _), source in sources.items()
        if (supplies := known.supplies.get(source, {}).values()) and code.co_name != "<lambda>"
    )


# What names mean ----------------------------------------------------------------------------------


def _source_function(function: FunctionType, known: Sources) -> SourceFunction | None:
    code = own_code(function)
    if place_of(code) not in known:
        tree = _as_definition(function_tree(code))
        if tree is None or _is_generator(code):
            return None

        def resolve(node: ast.expr) -> Meaning | SourceFunction:
            return _meaning(value_of(node, function, _attribute), known)

        def bound(node: ast.expr) -> int:
            return called_function(value_of(node, function, _attribute))[1]

        def inside(node: ast.expr) -> KnownFunctions | None:
            return _functions_inside(value_of(node, function, _attribute), known)

        known[place_of(code)] = SourceFunction(tree, resolve, bound, inside)
    return known[place_of(code)]


def _as_definition(tree: FunctionTree | None) -> Definition | None:
    if isinstance(tree, ast.Lambda):
        return lambda_definition(tree)
    return _in_statements(tree) if isinstance(tree, ast.FunctionDef) else None


def _in_statements(tree: ast.FunctionDef) -> ast.FunctionDef:
    """A copy in which `e = v if e is None else e + v` is an `if`, for each path has one of them,
    and `f = lambda v: v` a definition, which has places for what it leaves out.
    """
    if not any(_is_choice(node) or _is_named_lambda(node) for node in nodes_of(tree)):
        return tree
    found: ast.FunctionDef = _Statements().visit(deepcopy(tree))
    return found


def _is_choice(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Assign) else None
    test = value.test if isinstance(value, ast.IfExp) else None
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.IsNot))


def _is_named_lambda(node: ast.AST) -> bool:
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Lambda):
        return False
    return len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)


class _Statements(ast.NodeTransformer):
    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        if _is_named_lambda(node):
            assert isinstance(node.value, ast.Lambda) and isinstance(node.targets[0], ast.Name)
            return ast.copy_location(lambda_definition(node.value, node.targets[0].id), node)
        if not _is_choice(node):
            return node
        assert isinstance(node.value, ast.IfExp)
        choice = node.value
        sides: list[list[ast.stmt]] = [
            [ast.copy_location(ast.Assign(deepcopy(node.targets), value), node)]
            for value in (choice.body, choice.orelse)
        ]
        return ast.copy_location(ast.If(choice.test, *sides), node)


def _is_generator(code: CodeType) -> bool:
    """Of a generator or coroutine nobody knows whether its end is reached."""
    return bool(code.co_flags & 0x2A0)


def _meaning(value: object, known: Sources) -> Meaning | SourceFunction:
    if value is MISSING:
        return Meaning.UNKNOWN
    if value is copy:
        return Meaning.COPY
    if isinstance(value, DataflowBuffer):
        return Meaning.BUFFER
    if isinstance(value, FunctionType) and is_pyttlang_file(own_code(value).co_filename):
        return Meaning.HARMLESS
    called, _ = called_function(value)
    if called is not None and is_user_file(own_code(called).co_filename):
        return _source_function(called, known) or Meaning.UNKNOWN
    if any(value is harmless for harmless in (*HARMLESS, GroupTransfer)):
        return Meaning.HARMLESS
    if any(value is passing for passing in PASSING):
        return Meaning.PASSING
    return Meaning.PARTIAL if value is partial else Meaning.OTHER


def _functions_inside(value: object, known: Sources) -> KnownFunctions | None:
    functions: list[tuple[Meaning | SourceFunction, int]] = []
    for item in items_of(value):
        meaning = _meaning(item, known)
        if meaning is Meaning.UNKNOWN or (meaning is Meaning.OTHER and callable(item)):
            return None
        if meaning not in (Meaning.OTHER, Meaning.BUFFER):
            functions.append((meaning, called_function(item)[1]))
    return functions


def _attribute(owner: Any, name: str) -> object:
    """Of a module, of an object of the language, or a function of any other object."""
    if isinstance(owner, ModuleType):
        return vars(owner).get(name, MISSING)
    if type(owner).__module__.startswith("ttl."):
        with suppress(Exception):
            return getattr(owner, name)
        return MISSING
    found = member(owner, name)
    return found if called_function(found)[0] else MISSING


# The definition with what is supplied -------------------------------------------------------------


def with_supplies(tree: Definition, supplies: Iterable[Supply]) -> Definition:
    """A copy; its new nodes have the places of the acquires and copies they belong to."""
    copies: dict[int, Any] = {}
    changed = deepcopy(tree, copies)
    inserter = _Inserter(list(supplies), copies)
    inserter.visit(changed)
    return changed


class _Inserter(ast.NodeTransformer):
    """`copies` finds the copied node by the id of the original."""

    def __init__(self, supplies: list[Supply], copies: dict[int, Any]):
        self.at_once: set[ast.AST] = set()
        self.held: dict[ast.AST, str] = {}
        self.places: dict[tuple[str, ast.AST], list[Finish]] = defaultdict(list)
        self.saves: dict[ast.AST, list[ast.stmt]] = defaultdict(list)
        saves = set().union(*(supply.saves for supply in supplies))
        for statement, name in sorted(saves, key=lambda save: save[1]):
            self.saves[copies[id(statement)]].append(_saved(name, statement))
        # rule ORDER: where they were found, blocks come oldest first.
        for supply in sorted(supplies, key=lambda supply: not supply.is_wait):
            site, statement = copies[id(supply.site)], copies[id(supply.place.statement)]
            is_whole = isinstance(statement, ast.Expr) and statement.value is site
            if supply.is_at_once and (is_whole or supply.place.where == "in"):
                self.at_once.add(site)
                continue
            if supply.is_unnamed:
                self.held.setdefault(site, f".held_{len(self.held)}")
            names = supply.names | supply.leads
            names |= {self.held[site]} if supply.is_unnamed else set()
            here = self.places[supply.place.where, statement]
            made = _finish(supply, names, site)
            if all(ast.dump(made) != ast.dump(other) for other in here):
                here.append(made)

    def visit(self, node: ast.AST) -> Any:
        self.generic_visit(node)
        if node in self.at_once:
            assert isinstance(node, ast.expr)
            return method_call(node, "wait", node)
        if node in self.held:
            assert isinstance(node, ast.expr)
            target = ast.copy_location(ast.Name(self.held[node], ast.Store()), node)
            return ast.copy_location(ast.NamedExpr(target, node), node)
        if isinstance(node, ast.If):
            node.orelse += self.places.get(("else", node), [])
        if not isinstance(node, ast.stmt):
            return node
        before: list[ast.stmt] = [*self.places.get(("before", node), []), *self.saves.get(node, [])]
        after = self.places.get(("after", node), [])
        if before and isinstance(node, ast.Return) and isinstance(node.value, ast.expr):
            return [_evaluated(node), *before, node]
        return [*before, node, *after] if before or after else node


def _finish(supply: Supply, names: set[str], site: ast.expr) -> Finish:
    named, kept = ([ast.Name(n, ast.Load()) for n in sorted(each)] for each in (names, supply.kept))
    return at(Finish(named, kept, supply.is_wait), site)


def _saved(name: str, place: ast.stmt) -> ast.stmt:
    target, value = ast.Name(f".{name}", ast.Store()), ast.Name(name, ast.Load())
    return at(ast.Assign([target], value), place)


def _evaluated(node: ast.Return) -> ast.stmt:
    """What is returned is evaluated before the rest is finished."""
    assert node.value is not None
    name, value = ".returned", node.value
    node.value = ast.copy_location(ast.Name(name, ast.Load()), value)
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), value)
