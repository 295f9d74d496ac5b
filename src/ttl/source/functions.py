"""The functions of a kernel: their code, and the values of the names around them.

Helpers are the functions that a kernel, or a helper, can name: nested ones, captured ones, those
of its module, those of a module it names. Only functions in the user's own files count.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from inspect import getattr_static
from threading import get_ident
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from ttl.diagnostics.frames import is_user_file
from ttl.loading.forks import ForkLock, call_in_children
from ttl.loading.packages import is_ours
from ttl.semantics.function_source import global_names, nested_codes

MISSING: object = object()
DEEPEST_MODULE = 3  # package.package.module.function
CONTAINERS = (dict, list, tuple)


def place_of(code: CodeType) -> tuple[CodeType, str]:
    """Tell code objects apart by file too: equal code in two files compares equal."""
    return code, code.co_filename


class ReplacedCodes:
    """Functions that run with replaced code for a while, and the threads whose runs need it.

    Threads share helpers: the last run that needs one restores its own code.
    """

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._threads: dict[FunctionType, list[int]] = {}
        self._own: dict[FunctionType, CodeType] = {}
        self._originals: dict[tuple[CodeType, str], CodeType] = {}
        call_in_children(self._forget_others)

    def own_code(self, function: Any) -> CodeType:
        return self._own.get(function) or function.__code__

    def original(self, code: CodeType) -> CodeType:
        """Return the original of running code, also for a function nested in it."""
        return self._originals.get(place_of(code), code)

    def enter(self, function: FunctionType, code: CodeType) -> None:
        with self._lock():
            self._threads.setdefault(function, []).append(get_ident())
            own = self._own.setdefault(function, function.__code__)
            codes = (code, *nested_codes(code))
            self._originals |= dict.fromkeys(map(place_of, codes), own)
            function.__code__ = code

    def leave(self, function: FunctionType) -> None:
        with self._lock():
            self._threads[function].remove(get_ident())
            self._give_back(function)

    def _give_back(self, function: FunctionType) -> None:
        if not self._threads[function]:
            del self._threads[function]
            function.__code__ = self._own.pop(function, function.__code__)
        if not self._own:
            self._originals.clear()

    def _forget_others(self) -> None:
        """Drop the other threads in a forked child, which has one."""
        for function, threads in list(self._threads.items()):
            threads[:] = [thread for thread in threads if thread == get_ident()]
            self._give_back(function)


REPLACED = ReplacedCodes()
own_code = REPLACED.own_code


def builtins_of(function: FunctionType) -> dict[str, object]:
    """Return the values of names that the function's module does not define."""
    found: dict[str, object] = getattr(function, "__builtins__", vars(builtins))
    return found


def named_value(name: str, function: FunctionType) -> object:
    """Return the value of a name in a scope around a function, or MISSING."""
    free = own_code(function).co_freevars
    if name in free:
        with suppress(ValueError):  # it has no value yet
            return (function.__closure__ or ())[free.index(name)].cell_contents
        return MISSING
    if name in function.__globals__:
        return function.__globals__[name]
    return getattr(builtins, name, MISSING)


def reachable_functions(function: object) -> Iterator[FunctionType]:
    """Yield the function and the user's functions it can name, transitively."""
    seen: set[int] = set()
    waiting = [function]
    while waiting:
        found = waiting.pop()
        if not isinstance(found, FunctionType) or id(found) in seen:
            continue
        if is_user_file(own_code(found).co_filename):
            seen.add(id(found))
            yield found
            waiting += [value for _, value in environment(found)]


def environment(function: FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the names of outer scopes that a function uses, with their current values."""
    code = own_code(function)
    names = sorted({*code.co_freevars, *global_names(code)})
    for name in names:
        value = named_value(name, function)
        if value is not MISSING:
            yield name, value
            yield from _module_environment(name, value, names)
            yield from _functions_in(name, value, names)


def _functions_in(
    path: str, value: object, names: Sequence[str]
) -> Iterator[tuple[str, FunctionType]]:
    """Yield functions in a container, a class or an object, and the one that a partial calls."""
    items: Iterable[tuple[object, object]] = ()
    owner = value if isinstance(value, type) else type(value)
    if isinstance(value, CONTAINERS):
        items = enumerate(items_of(value))
    elif isinstance(value, (partial, MethodType)):
        items = [("", value)]
    elif owner.__module__ != "builtins" and not is_ours(owner.__module__):
        items = [(name, member(value, name)) for name in names]
    for key, item in items:
        function, bound = called_function(item)
        if function is not None and is_user_file(own_code(function).co_filename):
            yield f"{path}[{key!r}, {bound}]", function


def items_of(value: object, depth: int = 0) -> Iterator[object]:
    """Yield the items of nested containers; a value that is no container yields itself."""
    if not isinstance(value, CONTAINERS):
        yield value
        return
    for item in (value.values() if isinstance(value, dict) else value) if depth < 3 else ():
        yield from items_of(item, depth + 1)


def slots_of(kind: type) -> Iterator[str]:
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        yield from (slots,) if isinstance(slots, str) else slots


def fields_of(value: object) -> Iterator[object]:
    """Yield the values of an object's attributes."""
    yield from getattr(value, "__dict__", {}).values()
    yield from (getattr(value, name, None) for name in slots_of(type(value)))


def member(owner: object, name: str) -> object:
    """Return an attribute without running user code that computes it."""
    found = getattr_static(owner, name, MISSING)
    if isinstance(found, staticmethod):
        return found.__func__
    if isinstance(found, classmethod):
        return MethodType(found.__func__, owner)
    is_method = isinstance(found, FunctionType) and not isinstance(owner, type)
    is_own = is_method and name in getattr(owner, "__dict__", {})
    return MethodType(found, owner) if is_method and not is_own else found


def called_function(value: object) -> tuple[FunctionType | None, int]:
    """Return the function called in the end, and the number of its bound arguments."""
    bound = 0
    while isinstance(value, (partial, MethodType)):
        bound += len(value.args) if isinstance(value, partial) else 1
        value = value.func if isinstance(value, partial) else value.__func__
    return (value if isinstance(value, FunctionType) else None), bound


def _module_environment(
    path: str, module: object, names: Sequence[str]
) -> Iterator[tuple[str, object]]:
    """Yield the names that a function may use in a user's module."""
    file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
    if file is None or not is_user_file(file):
        return
    for name in names:
        if name in vars(module) and path.count(".") < DEEPEST_MODULE:
            value = vars(module)[name]
            yield f"{path}.{name}", value
            yield from _module_environment(f"{path}.{name}", value, names)


Token = Callable[..., Hashable]


def fingerprint(
    function: FunctionType, token: Token = type, outer: tuple[CodeType, ...] = ()
) -> Hashable:
    """Return equal values for functions whose names have values of equal tokens (types)."""
    code = own_code(function)
    place = place_of(code)
    if code in outer or not is_user_file(code.co_filename):
        return place
    parts: list[Hashable] = [token(function.__defaults__), token(function.__kwdefaults__)]
    for name, value in environment(function):
        if isinstance(value, FunctionType):
            parts.append((name, fingerprint(value, token, (*outer, code))))
        else:
            parts.append((name, token(value)))
    return place, tuple(parts)
