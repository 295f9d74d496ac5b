"""Calls of values: functions of the language, of Python and of the program."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, MethodWrapperType
from typing import Any

from ttl.diagnostics import RuleBroken, codes, wrong_argument
from ttl.diagnostics.frames import is_pyttlang_file
from ttl.language.arguments import is_tensor
from ttl.language.described import public_class
from ttl.language.mistakes import ENDS, NUMBER, wrong_function_call, wrong_method_call
from ttl.language.operation import ONE_BY_ONE, Operation
from ttl.loading.packages import is_ours
from ttl.semantics.numpy_numbers import replace_sum

from .attributes import find_method
from .block_math import Fill, is_block
from .builder import KernelBuilder
from .functions import BoundMethod, inline
from .generators import FOR, Generator, is_calculation
from .hir import RunTime, Scalar, StandIn, Value, is_run_time
from .in_python import example, in_python, refused
from .items import iterated
from .node_values import NodeFunctions, NodeObjects, PerNode, all_in
from .problems import not_in_kernels, not_yet, raised
from .python_functions import ALWAYS, PYTHON, is_pure
from .state import LocalFunction
from .texts import known_text
from .value_ranges import as_constant

PYTHON_NAMES = frozenset(function.__name__ for function in PYTHON)


def handled(
    builder: KernelBuilder,
    handler: Callable[..., Value],
    arguments: list[Value],
    keywords: dict[str, Value],
    called_as: object = None,
) -> Value:
    """Call a handler; `called_as` names the function or method in messages."""
    try:
        return handler(builder, *arguments, **keywords)
    except TypeError:
        try:
            inspect.signature(handler).bind(builder, *arguments, **keywords)
        except TypeError as error:  # the call itself is wrong, not its body
            raise _wrong_call(called_as, error, arguments) from None
        raise


def _wrong_call(called_as: Any, error: TypeError, arguments: list[Value]) -> RuleBroken:
    """Describe a wrong call in the words of the simulator."""
    if called_as in PYTHON_NAMES:
        return raised(f"TypeError: {called_as}(): {error}")
    public = public_class(example(arguments[0])) if isinstance(called_as, str) else None
    if public is not None:
        name = public.type.__name__
        found = wrong_method_call(name, called_as, error, len(arguments) - 1)
    else:
        found = wrong_function_call(called_as, error, len(arguments))
    return found or wrong_argument(f"in this call: {error}")


def call(
    builder: KernelBuilder, function: Any, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    if (inside := _inside(function)) is not None:
        function, first, named = inside
        return call(builder, function, [*first, *arguments], named | keywords)
    if isinstance(function, BoundMethod):
        given = [function.owner, *arguments]
        return handled(builder, function.method, given, keywords, function.name)
    if isinstance(function, (MethodType, BuiltinFunctionType, MethodWrapperType)):
        owner = function.__self__
        if (found := find_method(builder, owner, function.__name__)) is not None:
            method, owner = found
            return handled(builder, method, [owner, *arguments], keywords, function.__name__)
    if isinstance(function, (LocalFunction, NodeFunctions)) or _is_users(function):
        return inline(builder, function, arguments, keywords)
    handler = builder.handlers.calls.get(function) if _is_hashable(function) else None
    if handler is not None:
        return handled(builder, handler, arguments, keywords, function)
    return _call_of_python(builder, function, arguments, keywords)


def _call_of_python(
    builder: KernelBuilder, function: object, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    arguments = [known_text(builder, _items_of(builder, function, each)) for each in arguments]
    python = PYTHON.get(function) if _is_hashable(function) else None
    given = [*arguments, *keywords.values()]
    iterates = _is_one_of(function, ITERATING) and any(map(is_tensor, given))
    is_needed = iterates or is_run_time(given) or has_block(given)
    if python is not None and (is_needed or function in ALWAYS):
        return handled(builder, python, arguments, keywords, called(function))
    _require_callable(builder, function, given)
    return _called_now(builder, function, arguments, keywords)


def _inside(function: Value) -> tuple[Value, list[Value], dict[str, Value]] | None:
    """Return the function inside a method, a partial() or a user's callable object, with its first
    arguments.
    """
    first: Any = function
    part: Callable[[str], Any] = partial(getattr, function)
    if isinstance(function, NodeObjects):
        first, part = function.first, function.attribute
    if isinstance(first, partial):
        return part("func"), [*part("args")], part("keywords")
    if isinstance(first, MethodType):
        is_users = _is_users(first.__func__)
        return (part("__func__"), [part("__self__")], {}) if is_users else None
    own = inspect.getattr_static(type(first), "__call__", None)
    return (own, [function], {}) if _is_users(own) else None


def _require_callable(builder: KernelBuilder, function: object, given: list[Value]) -> None:
    """Refuse a function that cannot be called now on constants."""
    function = function.first if isinstance(function, PerNode) else function
    if not callable(function) or isinstance(function, StandIn):
        raise refused(function, "is not callable")
    if has_block(given) and (_library(function) in NUMERIC or _is_one_of(function, OF_NUMBERS)):
        raise codes.BLOCK_IN_PYTHON.broken(f"`{called(function)}()` of a block", NUMBER)
    if _ends_process(function) and not builder.state.facts:
        code = given[0] if given else None
        raise raised(f"SystemExit: {code}", ENDS)
    if _has_object(given) or not is_pure(function):
        raise _not_called(function)


def _called_now(
    builder: KernelBuilder, function: Any, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    name = called(function.first if isinstance(function, PerNode) else function)
    what = f"calls of {name!r} on values that are known only at run time"
    if name in ("count", "index", "sort") and is_run_time(getattr(function, "__self__", None)):
        if name == "sort":
            raise not_yet("sort() of run-time values")
        function = getattr(as_constant(builder, function.__self__, what), name)
    if is_run_time([*arguments, *keywords.values()]):
        arguments = as_constant(builder, arguments, what)
        keywords = {name: as_constant(builder, v, what) for name, v in keywords.items()}
    values = [*keywords.values()]
    if any(isinstance(each, (LocalFunction, BoundMethod)) for each in (*arguments, *values)):
        raise not_yet(f"a function of the kernel given to {name}()")
    found = in_python(_called, replace_sum(function), arguments, [*keywords], values)
    return builder.new(found) if name == "copy" and isinstance(found, (list, dict, set)) else found


def _items_of(builder: KernelBuilder, function: object, given: Value) -> Value:
    """Return all items of a generator, for functions that need them all at the start."""
    if not isinstance(given, Generator) or _is_one_of(function, (enumerate, len)):
        return given
    before = len(builder.body.ops)
    found = iterated(given)
    acts = any(not is_calculation(op) for op in builder.body.ops[before:])
    if acts and not _is_one_of(function, AT_ONCE):
        what = f"{called(function)}() of a generator that does something between its values"
        raise not_in_kernels(what, FOR)
    return found


AT_ONCE = (dict, frozenset, list, max, min, set, sorted, sum, tuple)


def _called(
    function: Callable[..., Value], arguments: list[Value], names: list[str], values: list[Value]
) -> Value:
    return function(*arguments, **dict(zip(names, values, strict=True)))


def _not_called(function: Value) -> RuleBroken:
    """Refuse a call: a debugger needs the simulator, other Python does not run in kernels."""
    if isinstance(function, Operation):
        return wrong_argument(f"operation {function.__name__} is called in a kernel", ONE_BY_ONE)
    if function is breakpoint or _library(function) == "pdb" or _is_of_language(function):
        return not_yet(f"calls of {called(function)!r}")
    helps = (ENDS,) if _ends_process(function) else ()
    return not_in_kernels(f"a call of {called(function)!r}", *helps)


def has_block(values: Iterable[object]) -> bool:
    return any(map(is_block, all_in(values)))


def _has_object(values: Iterable[object]) -> bool:
    """Does it contain a block, a transfer or a pipe, which are foreign to Python?"""
    found = (each for each in all_in(values) if isinstance(each, (RunTime, Fill)))
    return not all(isinstance(each, Scalar) for each in found)


def _is_users(function: Value) -> bool:
    if not isinstance(function, FunctionType) or _library(function) in NUMERIC:
        return False
    return not is_pyttlang_file(function.__code__.co_filename)


ENDING = (sys.exit, os._exit, os.abort)  # ends the process, which no engine allows in a kernel


def _ends_process(function: Value) -> bool:
    is_quitter = type(function).__name__ == "Quitter"  # exit and quit of module `site`
    return is_quitter or _is_one_of(function, ENDING)


def _is_one_of(function: Value, functions: tuple[Value, ...]) -> bool:
    """Compare by identity, because a tensor compares its elements."""
    return any(function is each for each in functions)


def _is_of_language(function: Value) -> bool:
    """Is it the language's, and not a method of an embedded ttnn tensor?"""
    module = str(getattr(function, "__module__", None) or type(function).__module__)
    return is_ours(module) and not module.startswith("ttl.ttnn")


NUMERIC = ("math", "numpy")  # not for kernels, though partly written in Python
ITERATING = (min, max, sum, any, all)
OF_NUMBERS = (hex, oct, bin, chr)  # no engine computes these of a block either


def _library(function: Value) -> str:
    module = getattr(function, "__module__", None) or type(function).__module__
    return str(module).partition(".")[0]


def _is_hashable(value: Value) -> bool:
    return callable(value) and type(value).__hash__ is not None


def called(function: Value) -> str:
    name = str(getattr(function, "__name__", function))
    owner = getattr(function, "__self__", None)
    return f"{type(owner).__name__}.{name}" if isinstance(function, MethodType) else name
