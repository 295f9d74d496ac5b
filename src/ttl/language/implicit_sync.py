"""The releases and waits a program leaves out: found in its kernels and in their helpers.

Helpers are the functions that a kernel, or a helper, can name: nested ones, captured ones, those
of its module, those of a module it names. Only functions of the user's own files are looked at.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ttl.diagnostics import Diagnostic, Label, RuleBroken, Span, UsageError, codes
from ttl.diagnostics.frames import is_pyttl_file, is_user_file
from ttl.diagnostics.span import character_column
from ttl.semantics.function_source import definition_of
from ttl.semantics.implicit_sync import (
    FunctionPoints,
    Leak,
    Meaning,
    Repair,
    RepairKind,
    SourceFunction,
    sync_points,
)

from .buffer import DataflowBuffer
from .copies import copy
from .operation import Program

# Builtins a block may be given to: they do not keep it.
HARMLESS = (abs, bool, getattr, hasattr, id, isinstance, len, print, repr, str, type)

MISSING = object()
# Of functions that run with another code for a while (sim/repair.py): their own. Other threads may
# look at them meanwhile.
REPLACED: dict[FunctionType, CodeType] = {}
DEEPEST_MODULE = 3  # package.package.module.function


@dataclass(frozen=True, slots=True, eq=False)
class CodePoints:
    """The points of one function of the user's, and the definition they are in."""

    code: CodeType
    tree: ast.FunctionDef
    points: FunctionPoints


def own_code(function: FunctionType) -> CodeType:
    return REPLACED.get(function) or function.__code__


def program_points(program: Program) -> list[CodePoints]:
    """The points of all kernels and helpers of a program, those that need something.

    Raises UsageError for a handle that is released or waited for on some paths only.
    """
    found: dict[CodeType, CodePoints] = {}
    for kernel in program.kernels:
        for points in function_points(kernel.function):
            found[points.code] = points
    leaks = [_leak(points, leak) for points in found.values() for leak in points.points.leaks]
    if leaks:
        raise UsageError(*leaks)
    return list(found.values())


def function_points(function: Any) -> tuple[CodePoints, ...]:
    """The points of one kernel and its helpers, those that need something."""
    if not isinstance(function, FunctionType):
        return ()
    key = _fingerprint(function, ())
    known = _KNOWN.get(key)
    if known is None:
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        known = _KNOWN[key] = _analyse(function)
    return known


def repair_spans(function: Any) -> dict[Span, RepairKind]:
    """What is left out in a kernel and its helpers, by the place of the acquire or copy."""
    return {
        _span(points, repair.site): repair.kind
        for points in function_points(function)
        for repair in points.points.repairs
    }


# By what the analysis depends on. No lru_cache: as a key, the function would keep the tensors and
# buffers of its operation alive.
_KNOWN: dict[Hashable, tuple[CodePoints, ...]] = {}
MOST_KNOWN = 1024


def _analyse(function: FunctionType) -> tuple[CodePoints, ...]:
    sources: dict[CodeType, SourceFunction] = {}
    kernel = _source_function(function, sources)
    if kernel is None:
        return ()
    points = sync_points(kernel)
    codes_ = {source.tree: code for code, source in sources.items()}
    return tuple(
        CodePoints(codes_[tree], tree, found)
        for tree, found in points.items()
        if (found.repairs or found.leaks) and isinstance(tree, ast.FunctionDef)
    )


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
        return _named(node.id, function)
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, function)
        if isinstance(owner, ModuleType):
            return vars(owner).get(node.attr, MISSING)
        if type(owner).__module__.startswith("ttl."):
            with suppress(Exception):
                return getattr(owner, node.attr)
    return MISSING


def _named(name: str, function: FunctionType) -> object:
    if name in own_code(function).co_freevars:
        cell = (function.__closure__ or ())[own_code(function).co_freevars.index(name)]
        with suppress(ValueError):  # it has no value yet
            return cell.cell_contents
        return MISSING
    if name in function.__globals__:
        return function.__globals__[name]
    return getattr(builtins, name, MISSING)


# What the analysis depends on ---------------------------------------------------------------------


def reachable_functions(function: Any) -> Iterator[FunctionType]:
    """The function, and the user's functions it can name, and so on."""
    seen: set[int] = set()
    waiting = [function]
    while waiting:
        found = waiting.pop()
        if not isinstance(found, FunctionType) or id(found) in seen:
            continue
        if is_user_file(own_code(found).co_filename):
            seen.add(id(found))
            yield found
            waiting += [value for _, value in _environment(found)]


def _environment(function: FunctionType) -> Iterator[tuple[str, object]]:
    """The names of outer scopes that a function uses, and what they stand for now."""
    names = sorted({*own_code(function).co_freevars, *_names(own_code(function))})
    for name in names:
        value = _named(name, function)
        if value is not MISSING:
            yield name, value
            yield from _module_environment(name, value, names)


def _module_environment(
    path: str, module: object, names: Sequence[str]
) -> Iterator[tuple[str, object]]:
    """What a function may name in a module of the user's."""
    file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
    if file is None or not is_user_file(file):
        return
    for name in names:
        if name in vars(module) and path.count(".") < DEEPEST_MODULE:
            value = vars(module)[name]
            yield f"{path}.{name}", value
            yield from _module_environment(f"{path}.{name}", value, names)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _fingerprint(function: FunctionType, outer: tuple[CodeType, ...]) -> Hashable:
    code = own_code(function)
    if code in outer:
        return code
    parts: list[Hashable] = []
    for name, value in _environment(function):
        if not isinstance(value, FunctionType):
            parts.append((name, type(value)))
        elif is_user_file(own_code(value).co_filename):
            parts.append((name, _fingerprint(value, (*outer, code))))
        else:
            parts.append((name, own_code(value)))
    return code, tuple(parts)


# What is said about it ----------------------------------------------------------------------------


def supplied_note(program: Program, found: Iterable[CodePoints]) -> Diagnostic | None:
    """One note for an operation: what was supplied, and where."""
    labels = [_repair_label(points, repair) for points in found for repair in points.points.repairs]
    if not labels:
        return None
    labels = sorted(labels, key=lambda label: label.span)
    calls = "1 call that was" if len(labels) == 1 else f"{len(labels)} calls that were"
    return Diagnostic(
        codes.SUPPLIED,
        f"`{program.operation.__name__}` leaves out {calls} supplied",
        labels[0],
        tuple(labels[1:]),
        helps=("write them where the marks say, or run with --strict to make each an error",),
    )


def refuse_repairs(found: Iterable[CodePoints]) -> None:
    """--strict: every repair is an error, all of them at once."""
    diagnostics = []
    for points in found:
        for repair in points.points.repairs:
            label = _repair_label(points, repair)
            broken = RuleBroken(
                codes.LEFT_OUT,
                f"{_handle(repair)} is not {_finished(repair)}",
                helps=(_advice(repair),),
            )
            diagnostics.append(broken.at(label.span, f"without --strict: {label.text}"))
    if diagnostics:
        raise UsageError(*sorted(diagnostics, key=_primary_span))


def _primary_span(diagnostic: Diagnostic) -> Span:
    assert diagnostic.primary is not None
    return diagnostic.primary.span


def _leak(points: CodePoints, leak: Leak) -> Diagnostic:
    finished = "waited for" if leak.is_transfer else "released"
    broken = RuleBroken(
        codes.RELEASED_ON_SOME_PATHS,
        f"`{leak.name}` is {finished} on some paths only",
        helps=(
            f"make every path from here reach its own {'wait' if leak.is_transfer else 'release'},"
            " or leave it out everywhere and let it be supplied",
        ),
        secondary=(Label(_span(points, leak.finish), f"{finished} here"),),
    )
    what = "this transfer" if leak.is_transfer else "this block"
    return broken.at(_span(points, leak.site), f"there is a path on which {what} is not {finished}")


def _repair_label(points: CodePoints, repair: Repair) -> Label:
    return Label(_span(points, repair.site), f"{_finished(repair)} {_place(repair)}")


def _place(repair: Repair) -> str:
    if repair.kind is RepairKind.WAIT_AT_ONCE:
        return "at once"
    body = repair.body
    if isinstance(body, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return f"at the end of `{body.name}`"
    return f"at the end of the body of the loop in line {body.lineno}"


def _finished(repair: Repair) -> str:
    if repair.kind is not RepairKind.RELEASE:
        return "waited for"
    return "pushed" if _acquire(repair) == "reserve" else "popped"


def _acquire(repair: Repair) -> str:
    assert isinstance(repair.site.func, ast.Attribute)
    return repair.site.func.attr


def _handle(repair: Repair) -> str:
    if repair.kind is RepairKind.WAIT_AT_ONCE:
        return "this transfer"
    return f"the {'block' if repair.kind is RepairKind.RELEASE else 'transfer'} `{repair.name}`"


def _advice(repair: Repair) -> str:
    if repair.kind is RepairKind.WAIT_AT_ONCE:
        return "write ttl.copy(...).wait()"
    if repair.kind is RepairKind.WAIT:
        return f"call {repair.name}.wait()"
    release = "push" if _acquire(repair) == "reserve" else "pop"
    return f"call {repair.name}.{release}(), or acquire the block in a `with`"


def _span(points: CodePoints, node: ast.expr) -> Span:
    file = points.code.co_filename
    assert node.end_lineno is not None
    return Span(
        file,
        node.lineno,
        character_column(file, node.lineno, node.col_offset),
        node.end_lineno,
        character_column(file, node.end_lineno, node.end_col_offset),
    )
