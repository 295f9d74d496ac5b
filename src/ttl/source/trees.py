"""Trees of functions: read once per code object, with the language's calls recognized.

rule WORDS  which calls are the language's depends on the values of the names around a function. A
            tree is kept with the values that were looked up, and serves functions that share them
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType

from ttl.diagnostics.frames import is_pyttlang_file
from ttl.language.described import public_class
from ttl.loading.recent import Recent
from ttl.semantics.function_source import function_tree

from . import tree
from .bindings import Around
from .functions import MISSING, named_value, own_code, place_of
from .read import read_function

Path = tuple[str, ...]  # a name around a function, and attributes of its value


def tree_of(function: FunctionType) -> tree.Function | None:
    """Return None if the source that the function was loaded from is not available."""
    known = _KNOWN.get(place_of(own_code(function)), list)
    for each in known:
        if all(_word(path, function) is word for path, word in each.words.items()):
            return each.tree
    definition = function_tree(own_code(function))
    if definition is None:
        return None
    recognizer = _Recognizer(function)
    found = read_function(definition, recognizer.recognized)
    known.append(_Known(recognizer.words, found))
    return found


@dataclass(frozen=True, slots=True)
class _Known:
    words: dict[Path, object]
    tree: tree.Function


_KNOWN: Recent[list[_Known]] = Recent(4096)


@lru_cache(maxsize=1024)
def tree_of_code(code: CodeType, file: str) -> tree.Function | None:
    """Read a tree without the names around it, so it recognizes no call of the language.

    Code objects of different files may be equal, hence `file`.
    """
    definition = function_tree(code)
    return None if definition is None else read_function(definition)


def value_around(node: tree.Expression, function: FunctionType) -> object:
    """Return the value of an outer name, or of a module's attribute there, or MISSING."""
    path = path_of(node)
    return MISSING if path is None else value_of_path(path, function)


def path_of(node: tree.Expression) -> Path | None:
    if isinstance(node, tree.Name):
        return (node.binding.name,) if isinstance(node.binding, Around) else None
    if isinstance(node, tree.Attribute) and (owner := path_of(node.owner)) is not None:
        return (*owner, node.name)
    return None


def value_of_path(path: Path, function: FunctionType) -> object:
    value = named_value(path[0], function)
    for name in path[1:]:
        if not isinstance(value, ModuleType):
            return MISSING
        value = vars(value).get(name, MISSING)
    return value


def _word(path: Path, function: FunctionType) -> object:
    """Return the language's function that a path names, or the class if it names an object."""
    value = value_of_path(path, function)
    if isinstance(value, FunctionType):
        return value if is_pyttlang_file(value.__code__.co_filename) else None
    is_object = value is not MISSING and not isinstance(value, type)
    return type(value) if is_object and public_class(value) is not None else None


@dataclass(slots=True)
class _Recognizer:
    function: FunctionType
    words: dict[Path, object] = field(default_factory=dict)

    def recognized(self, call: tree.Call) -> tree.Call:
        path = path_of(call.function)
        if path is None:
            return call
        which = self._asked(path)
        is_method = which is None and len(path) > 1
        if is_method and (owner := self._asked(path[:-1])) is not None:
            which = getattr(owner, path[-1], None)
        named = _named(call, which, is_method) if inspect.isfunction(which) else None
        if named is None:
            return call
        return tree.LanguageCall(
            call.place, call.function, call.arguments, call.keywords, which, named
        )

    def _asked(self, path: Path) -> object:
        if path not in self.words:
            self.words[path] = _word(path, self.function)
        return self.words[path]


def _named(
    call: tree.Call, which: Callable[..., object], is_method: bool
) -> dict[str, tree.Expression] | None:
    """Return the arguments by parameter name; None if they do not fit or are unpacked."""
    if any(isinstance(each, tree.Starred) for each in call.arguments):
        return None
    if any(each.name is None for each in call.keywords):
        return None
    keywords = {each.name: each.value for each in call.keywords if each.name is not None}
    with suppress(TypeError):
        bound = _signature(which, is_method).bind(*call.arguments, **keywords).arguments
        return {name: each for name, each in bound.items() if isinstance(each, tree.Expression)}
    return None


@lru_cache(maxsize=256)
def _signature(which: Callable[..., object], is_method: bool) -> inspect.Signature:
    found = inspect.signature(which)
    parameters = [*found.parameters.values()][int(is_method) :]
    return found.replace(parameters=parameters)
