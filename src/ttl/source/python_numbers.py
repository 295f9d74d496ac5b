"""Convert numpy numbers in a function: wrap every expression that may give one in a call.

Python also runs the setup statements of a unified body: they get these calls too.

rule ALL     converts every name, attribute, item and call that is read; not ttl calls, called
             functions, or a statement's value, which is unused
rule CALLED  such a statement calls a converted copy of a user's function: other threads may run
             the function itself
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from types import CodeType, FunctionType, MethodType
from typing import Any

from ttl.diagnostics.frames import is_user_file
from ttl.semantics.numpy_numbers import python_number, replace_sum

from . import tree
from .bindings import Around, Binding, Variable
from .code import call_of, recompiled, with_functions, with_names
from .functions import own_code, place_of
from .trees import tree_of
from .walking import Changer, changed, stored, walk

NUMBER, SUM, CALLED = ".number", ".sum", ".called"
CONVERTED = (tree.Name, tree.Attribute, tree.Item, tree.Call)


@lru_cache(maxsize=1024)
def with_python_numbers(found: tree.Function, converts_calls: bool = False) -> tree.Function:
    """Convert numpy numbers in a function, and optionally in the functions it calls."""
    names = {each: Variable(each, found.scope) for each in (USED if converts_calls else IN_KERNELS)}
    body = _Converter(found.body, names).sequence(found.body)
    return with_functions(changed(found, body=body), {names[each]: USED[each] for each in names})


def statements_with_python_numbers(statements: tree.Body) -> tree.Body:
    """Convert statements of a unified body, which see the names USED. Functions in them are
    converted when called.
    """
    names = {each: Around(each) for each in USED}
    return _Converter(statements, names, enters_functions=False).sequence(statements)


def _left_alone(node: tree.Node) -> Iterator[tree.Node]:
    """Yield nodes that need no conversion: assigned, called, or unused values."""
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
        statements: tree.Body,
        names: Mapping[str, Binding],
        enters_functions: bool = True,
    ):
        self.names, self.enters_functions = names, enters_functions
        self.left = {each for node in walk(*statements) for each in _left_alone(node)}

    def node(self, node: Any) -> tree.Node | tree.Body:
        if isinstance(node, tree.Function) and not self.enters_functions:
            return node
        new = self.inside(node)
        if type(new) is tree.Call and (name := self._replaced(new.function)):
            function = call_of(node.place, self.names[name], new.function)
            new = changed(new, function=function)
        is_converted = type(node) in CONVERTED and node not in self.left
        return call_of(node.place, self.names[NUMBER], new) if is_converted else new

    def _replaced(self, function: tree.Expression) -> str:
        """Return the name of the helper that supplies the function to call instead, or ""."""
        name = function.binding.name if isinstance(function, tree.Name) else ""
        if CALLED in self.names:
            return "" if name.startswith(".") else CALLED  # one of our names
        return SUM if name == sum.__name__ else ""


# Functions that are called ------------------------------------------------------------------------


def own_function(function: Any) -> Any:  # rule CALLED
    """Return the function to call instead of this one."""
    if isinstance(function, MethodType):
        return MethodType(own_function(function.__func__), function.__self__)
    if isinstance(function, partial):
        return partial(own_function(function.func), *function.args, **function.keywords)
    if not isinstance(function, FunctionType) or not is_user_file(own_code(function).co_filename):
        return replace_sum(function)
    if (found := tree_of(function)) is None:
        return function
    converted = with_python_numbers(found, converts_calls=True)
    if (code := _code(converted, *place_of(own_code(function)))) is None:
        return function
    made = with_names(function, code, {})
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return made


@lru_cache(maxsize=1024)
def _code(converted: tree.Function, original: CodeType, file: str) -> CodeType | None:
    return recompiled(converted, original)


IN_KERNELS: dict[str, Callable[..., object]] = {NUMBER: python_number, SUM: replace_sum}
USED = {**IN_KERNELS, CALLED: own_function}
