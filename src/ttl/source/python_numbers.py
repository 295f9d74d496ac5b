"""Functions in which no expression has a number of numpy: calls around all that may give one.

Python also runs what a unified body computes before its kernels: the statements get the same calls.

rule MAY     a name around a function may, by what it stands for; a variable, if one of the values
             may that it gets anywhere; an attribute or item, if its owner may have some in it.
             Nobody knows what parameters get, nor what functions of the user's return
rule NEVER   constants, functions, and what functions of the language return
rule CALLED  a function of the user's that such a statement calls is a converted copy: other threads
             may run the function itself
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from ttl.diagnostics.frames import is_user_file
from ttl.semantics.numpy_numbers import own_sum, python_number

from . import tree
from .bindings import Around, Binding, Variable
from .code import call_of, recompiled, with_functions, with_names
from .functions import MISSING, own_code, place_of
from .numpy_numbers import has_numpy, is_users
from .trees import Path, path_of, tree_of, value_of_path
from .walking import Changer, changed, children, stored, walk

NUMBER, SUM, CALLED = ".number", ".sum", ".called"
MAY, PASSES, PLAIN = "may", "gives what it is given", "plain"
NEVER = (tree.Constant, tree.Text, tree.Function, tree.LanguageCall, tree.Target)
GIVEN = {
    tree.Assign: "value", tree.Update: "value", tree.Bind: "value", tree.Entered: "value",
    tree.Loop: "over", tree.Generator: "over",
}  # fmt: skip
Kinds = frozenset[tuple[Path, str]]


def with_python_numbers(
    found: tree.Function, function: FunctionType, converts_calls: bool = False
) -> tree.Function:
    """A function without numbers of numpy, and perhaps without any in those that it calls."""
    kinds = ((path, _kind(value_of_path(path, function), path)) for path in _paths(found))
    known = frozenset((path, kind) for path, kind in kinds if kind)
    return _with_python_numbers(found, known, converts_calls)


@lru_cache(maxsize=1024)
def _with_python_numbers(
    found: tree.Function, kinds: Kinds, converts_calls: bool
) -> tree.Function:
    names = {each: Variable(each, found.scope) for each in (USED if converts_calls else IN_KERNELS)}
    sources = _Sources((*found.parameters, *found.body), dict(kinds))
    body = _Converter(sources.converted(), names).sequence(found.body)
    return with_functions(changed(found, body=body), {names[each]: USED[each] for each in names})


def statements_with_python_numbers(statements: tree.Body) -> tree.Body:
    """Of a unified body, with the names USED around them. Functions in them are converted where
    they are called."""
    names = {each: Around(each) for each in USED}
    converter = _Converter(_Sources(statements, {}).converted(), names, enters_functions=False)
    return converter.sequence(statements)


@lru_cache(maxsize=1024)
def _paths(found: tree.Function) -> tuple[Path, ...]:
    """All that begin with a name around a function."""
    paths = (path_of(node) for node in walk(found) if isinstance(node, tree.Expression))
    return tuple(dict.fromkeys(filter(None, paths)))


def _kind(value: Any, path: Path) -> str:
    """Nothing for an attribute of an object: it is what its owner is."""
    if value is MISSING:
        return MAY if len(path) == 1 else ""
    is_function = isinstance(value, (type, FunctionType, ModuleType))
    if has_numpy(value) or (not is_function and _calculates(type(value))):
        return MAY
    return PASSES if getattr(value, "__module__", "") in ("builtins", "math") else PLAIN


def _calculates(kind: type) -> bool:
    """A method of the user's may do so with numpy, where nobody sees it."""
    return is_users(kind) and kind.__module__.partition(".")[0] not in ("builtins", "ttl")


class _Sources:
    """Where a function may meet numbers of numpy."""

    def __init__(self, nodes: Iterable[tree.Node], kinds: dict[Path, str]):
        self.kinds = kinds
        self.nodes = [*walk(*nodes)]
        given = [each for node in self.nodes for each in _given(node)]
        self.plain = {binding for binding, _ in given} - {b for b, value in given if value is None}
        while more := {
            binding
            for binding, value in given
            if value is not None and binding in self.plain and self.may(value)
        }:
            self.plain -= more

    def may(self, node: tree.Node) -> bool:  # rule MAY
        path = path_of(node) if isinstance(node, tree.Expression) else None
        if path in self.kinds:
            return self.kinds[path] == MAY
        if isinstance(node, tree.Name):
            return node.binding not in self.plain
        if isinstance(node, NEVER):
            return False
        if isinstance(node, tree.Call):
            return self._call_may(node)
        return any(map(self.may, children(node)))

    def _call_may(self, node: tree.Call) -> bool:
        path = path_of(node.function)
        is_method = path not in self.kinds and isinstance(node.function, tree.Attribute)
        if is_method or (path is not None and self.kinds.get(path) == PASSES):
            return any(map(self.may, (node.function, *node.given)))
        return True

    def converted(self) -> set[tree.Node]:
        kinds = (tree.Name, tree.Attribute, tree.Item, tree.Call)
        left = {each for node in self.nodes for each in _left_alone(node)}
        return {n for n in self.nodes if isinstance(n, kinds) and n not in left and self.may(n)}


def _given(node: tree.Node) -> Iterator[tuple[Binding, tree.Node | None]]:
    """The variables that get values from a node, and what from; None if nobody knows."""
    if isinstance(node, tree.Parameter):
        yield node.variable, None
    value = getattr(node, GIVEN.get(type(node), ""), None)
    for each in stored(node):
        if isinstance(each, tree.Target):
            yield each.binding, value


def _left_alone(node: tree.Node) -> Iterator[tree.Node]:
    """What gets values, what is called, and what nobody looks at."""
    yield from stored(node)
    if isinstance(node, tree.LanguageCall):
        yield from walk(node.function)
    elif isinstance(node, tree.Call):
        yield node.function
    elif isinstance(node, tree.Foreign):
        yield from node.names
    elif isinstance(node, tree.Evaluate):
        yield node.value


class _Converter(Changer):
    def __init__(
        self,
        converted: set[tree.Node],
        names: Mapping[str, Binding],
        enters_functions: bool = True,
    ):
        self.converted, self.names, self.enters_functions = converted, names, enters_functions

    def node(self, node: Any) -> Any:
        if isinstance(node, tree.Function) and not self.enters_functions:
            return node
        new = self.inside(node)
        if type(new) is tree.Call and (name := self._replaced(new.function)):
            function = call_of(node.place, self.names[name], new.function)
            new = changed(new, function=function)
        return call_of(node.place, self.names[NUMBER], new) if node in self.converted else new

    def _replaced(self, function: tree.Expression) -> str:
        """What is asked for the function that is to be called in its place."""
        name = function.binding.name if isinstance(function, tree.Name) else ""
        if CALLED in self.names:
            return "" if name.startswith(".") else CALLED  # a name of ours
        return SUM if name == sum.__name__ else ""


# Functions that are called ------------------------------------------------------------------------


def own_function(function: Any) -> Any:  # rule CALLED
    """What is called in the place of a function."""
    if isinstance(function, MethodType):
        return MethodType(own_function(function.__func__), function.__self__)
    if isinstance(function, partial):
        return partial(own_function(function.func), *function.args, **function.keywords)
    if not isinstance(function, FunctionType) or not is_user_file(own_code(function).co_filename):
        return own_sum(function)
    if (found := tree_of(function)) is None:
        return function
    converted = with_python_numbers(found, function, converts_calls=True)
    if (code := _code(converted, *place_of(own_code(function)))) is None:
        return function
    made = with_names(function, code, {})
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return made


@lru_cache(maxsize=1024)
def _code(converted: tree.Function, original: CodeType, file: str) -> CodeType | None:
    return recompiled(converted, original)


IN_KERNELS: dict[str, Callable[..., Any]] = {NUMBER: python_number, SUM: own_sum}
USED = {**IN_KERNELS, CALLED: own_function}
