"""Where releases and waits are supplied that a program leaves out.

The simulator recompiles kernels with the calls inserted, the compiler marks its operations; both
ask here. The language's rule (facts "Implicit release and wait"), taken apart:

rule SITE      an acquire (`x.reserve()`, `x.wait()`) or a `ttl.copy()` that is bound to a name, by
               assignment (also of tuples, also `a if c else b`) or `:=`. What a `with` acquires, a
               lambda, a comprehension or the test of a `while` binds is no site: none of these has
               a body at whose end it could be finished once for each time it is bound.
rule VARIABLE  names are variables of their scope: a nested function that uses (or declares
               nonlocal) a name of its kernel means the same variable; names that are assigned to
               each other (`b = a`) are one variable from then on.
rule FINISH    push, pop, release or `with name:` finish a block, wait finishes a transfer. A call
               of a helper finishes a block if the helper finishes the parameter it is bound to.
rule ESCAPE    a handle that is returned, yielded, put into a container or an attribute, or given
               to somebody unknown is finished elsewhere, and so is a transfer that is given to
               anybody. It is not repaired; if it is not finished the run reports it.
rule BUFFER    `x.push()` of a dataflow buffer itself releases the oldest block that the kernel has
               reserved: it finishes the blocks of every `x.reserve()`, as `x.pop()` of `x.wait()`.
rule BODY      a site whose variable neither escapes nor is finished anywhere is finished at the
               end of the innermost loop body or function body that contains it, if it was reached:
               first the transfers, then the blocks, each oldest first. Within one run of a body
               every site is reached at most once, so the order of the text is the order of time.
rule AT_ONCE   a statement that is only a `ttl.copy(...)` is waited for at once.
rule PATHS     a site whose variable is finished, but not on every path from the site to the end of
               the function or to the next binding of the variable, is an error. Two `if` with the
               same test, of names that do not change in between, take the same branch. Paths are
               followed only where variable, site and finish belong to one function and there is no
               second name; elsewhere the run decides.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ttl.diagnostics import Span
from ttl.diagnostics.frames import is_pyttl_file, is_user_file
from ttl.language.buffer import DataflowBuffer
from ttl.language.copies import copy
from ttl.semantics.function_source import Definition, definition_of

from .effects import Body, Effects, Finish, Handle, Meaning, SourceFunction
from .functions import MISSING, fingerprint, named_value, own_code
from .memo import Memo
from .sync_paths import Event, EventKind, find_leaks

# Builtins a block may be given to: they do not keep it.
HARMLESS = (abs, bool, getattr, hasattr, id, isinstance, len, print, repr, str, type)


class RepairKind(Enum):
    RELEASE = "release"
    WAIT = "wait"
    WAIT_AT_ONCE = "wait at once"


@dataclass(frozen=True, slots=True)
class Repair:
    """One supplied call: for the acquire or copy `site`, at the end of `body`."""

    kind: RepairKind
    name: str
    site: ast.Call
    body: Body


@dataclass(frozen=True, slots=True)
class Leak:
    """A handle that is finished on some paths only: where it is bound, where it is finished."""

    name: str
    is_transfer: bool
    site: ast.expr
    finish: ast.expr
    rebound: ast.expr | None = None  # where the name gets another handle later


@dataclass(frozen=True, slots=True)
class FunctionPoints:
    """The repairs of one function and of those nested in it, oldest first, and its errors."""

    repairs: tuple[Repair, ...]
    leaks: tuple[Leak, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CodePoints:
    """The points of one function of the user's, and the definition they are in."""

    code: CodeType
    tree: Definition
    points: FunctionPoints

    def span(self, node: ast.expr) -> Span:
        return Span.of_node(self.code.co_filename, node)


# What is asked ------------------------------------------------------------------------------------


def kernel_points(functions: Iterable[Callable[[], None]]) -> list[CodePoints]:
    """The points of all these kernels and of their helpers, those that need something."""
    found = {points.code: points for each in functions for points in function_points(each)}
    return list(found.values())


def function_points(function: Any) -> tuple[CodePoints, ...]:
    """The points of one kernel and its helpers, those that need something."""
    if not isinstance(function, FunctionType):
        return ()
    return _POINTS.get(fingerprint(function), lambda: _read_points(function))


def repair_spans(function: Any) -> dict[Span, RepairKind]:
    """What is left out in a kernel and its helpers, by the place of the acquire or copy."""
    return {
        points.span(repair.site): repair.kind
        for points in function_points(function)
        for repair in points.points.repairs
    }


_POINTS: Memo[tuple[CodePoints, ...]] = Memo()


def _read_points(function: FunctionType) -> tuple[CodePoints, ...]:
    sources: dict[CodeType, SourceFunction] = {}
    kernel = _source_function(function, sources)
    if kernel is None:
        return ()
    points = sync_points(kernel)
    by_tree = {source.tree: code for code, source in sources.items()}
    return tuple(
        CodePoints(by_tree[tree], tree, found)
        for tree, found in points.items()
        if found.repairs or found.leaks
    )


# What names mean ----------------------------------------------------------------------------------


def _source_function(
    function: FunctionType, known: dict[CodeType, SourceFunction]
) -> SourceFunction | None:
    code = own_code(function)
    if code not in known:
        tree = definition_of(code)
        if tree is None or _is_generator(code):
            return None

        def resolve(node: ast.expr) -> Meaning | SourceFunction:
            return _meaning(_value(node, function), known)

        known[code] = SourceFunction(tree, resolve)
    return known[code]


def _is_generator(code: CodeType) -> bool:
    """Of a generator or coroutine nobody knows whether its end is reached."""
    return bool(code.co_flags & 0x2A0)


def _meaning(value: object, known: dict[CodeType, SourceFunction]) -> Meaning | SourceFunction:
    if value is MISSING:
        return Meaning.UNKNOWN
    if value is copy:
        return Meaning.COPY
    if isinstance(value, DataflowBuffer):
        return Meaning.BUFFER
    if isinstance(value, FunctionType):
        if is_pyttl_file(own_code(value).co_filename):
            return Meaning.HARMLESS
        if is_user_file(own_code(value).co_filename):
            return _source_function(value, known) or Meaning.UNKNOWN
    if any(value is harmless for harmless in HARMLESS):
        return Meaning.HARMLESS
    return Meaning.OTHER


def _value(node: ast.expr, function: FunctionType) -> object:
    """What a name of an outer scope, or a name in a module, stands for."""
    if isinstance(node, ast.Name):
        return named_value(node.id, function)
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, function)
        if isinstance(owner, ModuleType):
            return vars(owner).get(node.attr, MISSING)
        if type(owner).__module__.startswith("ttl."):
            with suppress(Exception):
                return getattr(owner, node.attr)
    return MISSING


# What is supplied, and what is wrong --------------------------------------------------------------


def sync_points(kernel: SourceFunction) -> dict[Definition, FunctionPoints]:
    """The points of a kernel and of every helper it reaches, by their definitions."""
    read: dict[Definition, Effects] = {}
    Effects.of(kernel, read)
    return {tree: _points(effects) for tree, effects in read.items()}


def _points(effects: Effects) -> FunctionPoints:
    handles = effects.handles
    repairs = [repair for handle in handles for repair in _repairs(handle)]
    repairs += [Repair(RepairKind.WAIT_AT_ONCE, "", *each) for each in effects.at_once]
    repairs.sort(key=lambda repair: _position(repair.site))
    leaks = [leak for handle in handles for leak in _leaks(handle, effects.bound_names)]
    leaks.sort(key=lambda leak: _position(leak.site))
    return FunctionPoints(tuple(repairs), tuple(leaks))


def _repairs(handle: Handle) -> Iterator[Repair]:
    for site in handle.sites:
        escapes = handle.escapes or (site.is_transfer and handle.is_passed)  # rule ESCAPE
        if site.body is None or escapes or handle.finished_by(site.is_transfer):
            continue
        kind = RepairKind.WAIT if site.is_transfer else RepairKind.RELEASE
        yield Repair(kind, site.variable[1], site.call, site.body)  # rule BODY


def _leaks(handle: Handle, bound_names: set[int]) -> Iterator[Leak]:  # rule PATHS
    kinds = {site.is_transfer for site in handle.sites}
    finishes = [finish for finish in handle.finishes if finish.is_wait in kinds]
    scopes = {site.scope for site in handle.sites} | {finish.scope for finish in finishes}
    if not finishes or len(handle.variables) > 1 or len(scopes) != 1 or handle.escapes:
        return
    (scope,) = scopes
    ((owner, name),) = handle.variables
    if owner is not scope or isinstance(scope.node, ast.Lambda):
        return
    if any(s.body is None or (s.is_transfer and handle.is_passed) for s in handle.sites):
        return
    sites = {id(site.call): site for site in handle.sites}
    for call in find_leaks(scope.node.body, _events(handle, finishes, bound_names)):
        site = sites[id(call)]
        later = [s.call for s in handle.sites if _position(s.call) > _position(site.call)]
        rebound = min(later, key=_position, default=None)
        yield Leak(name, site.is_transfer, site.call, finishes[0].node, rebound)


def _events(
    handle: Handle, finishes: Iterable[Finish], bound_names: set[int]
) -> Callable[[ast.AST], Event]:
    acquired = {id(site.call) for site in handle.sites}
    finished = {id(finish.node) for finish in finishes}
    name = handle.variables[0][1]

    def event(node: ast.AST) -> Event:
        if id(node) in acquired:
            return Event(EventKind.BIND, node)
        if id(node) in finished:
            return Event(EventKind.FINISH, node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            is_other = node.id == name and id(node) not in bound_names
            return Event(EventKind.OVERWRITE if is_other else EventKind.ASSIGN, node)
        return Event(EventKind.NOTHING, node)

    return event


def _position(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset
