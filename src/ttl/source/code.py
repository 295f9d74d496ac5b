"""Code for functions whose trees were changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

from ttl.diagnostics.span import expansions_of, with_expansions

from . import tree
from .bindings import Around, Binding, Place, Variable
from .functions import own_code
from .python import as_code
from .walking import changed


def recompiled(function: tree.Function, original: CodeType) -> CodeType | None:
    """Compile a changed tree in place of the original code; None if they do not match."""
    given = original.co_freevars, original.co_filename, original.co_flags
    code = as_code(function, *given)
    if missing := {*original.co_freevars} - {*code.co_freevars}:
        code = as_code(_naming(function, sorted(missing)), *given)
    if code.co_freevars != original.co_freevars or code.co_firstlineno != original.co_firstlineno:
        return None
    renamed = _renamed(code, code.co_qualname, original.co_qualname)
    return with_expansions(renamed, expansions_of(original))


def _naming(function: tree.Function, names: Sequence[str]) -> tree.Function:
    """Add uses of these names that never run: a variable's annotation has them unevaluated."""
    place = function.body[-1].place
    asked = tuple(tree.Evaluate(place, tree.Name(place, Around(name))) for name in names)
    never = tree.Branch(place, tree.Constant(place, False), asked, ())
    return changed(function, body=(*function.body, never))


def _renamed(code: CodeType, old: str, new: str) -> CodeType:
    """Drop the factory from the qualified names, also of nested functions."""
    constants = (
        _renamed(constant, old, new) if isinstance(constant, CodeType) else constant
        for constant in code.co_consts
    )
    qualname = new + code.co_qualname.removeprefix(old)
    return code.replace(co_qualname=qualname, co_consts=tuple(constants))


def with_names(
    function: FunctionType, code: CodeType, values: Mapping[str, object]
) -> FunctionType:
    """Make a function with other code: its free names are the old function's, and `values`."""
    cells = dict(zip(own_code(function).co_freevars, function.__closure__ or (), strict=True))
    cells |= {name: CellType(value) for name, value in values.items()}
    closure = tuple(cells[name] for name in code.co_freevars)
    return FunctionType(code, function.__globals__, code.co_name, None, closure)


# Our functions in the user's code -----------------------------------------------------------------


def with_functions(function: tree.Function, given: Mapping[Variable, object]) -> tree.Function:
    """Bind these variables to functions of ours at the start of a function."""
    place = function.body[0].place
    values = {tree.Target(place, each): imported(given[each], place) for each in given}
    named = [tree.Assign(place, (target,), value) for target, value in values.items()]
    start = function.body[0]
    constant = start.value if isinstance(start, tree.Evaluate) else None  # a docstring
    first = int(isinstance(constant, tree.Constant) and isinstance(constant.value, str))
    return changed(function, body=(*function.body[:first], *named, *function.body[first:]))


def imported(function: Any, place: Place) -> tree.Expression:
    """Return an expression that imports a function of ours into the user's code. A statement would
    make a global variable with an invalid name.
    """
    nothing = tree.Constant(place, None)
    names = tree.Sequence(place, "tuple", (tree.Constant(place, function.__name__),))
    given = (tree.Constant(place, function.__module__), nothing, nothing, names)
    module = tree.Call(place, tree.Name(place, Around("__import__")), given, ())
    return tree.Attribute(place, module, function.__name__)


def call_of(place: Place, binding: Binding, *arguments: tree.Expression) -> tree.Call:
    return tree.Call(place, tree.Name(place, binding), arguments, ())
