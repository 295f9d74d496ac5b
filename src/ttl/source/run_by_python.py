"""Tell what a value depends on beside what it holds: rules for the keys of frozen.py."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, Final

from ttl.diagnostics.frames import is_user_file
from ttl.loading.packages import PACKAGES
from ttl.semantics.function_source import global_names

from . import tree
from .trees import tree_of_code
from .walking import walk

# Modules whose attributes a kernel may use and that do not change; others may.
CONSTANT_MODULES = ("builtins", "math", "numpy", "torch", "ttnn", *PACKAGES)
NO_VALUE: Final = "no value"
# Modules whose functions give the same for the same arguments, and names that do not: rule RUN of
# frozen.py.
PURE = (
    *CONSTANT_MODULES, "abc", "collections", "dataclasses", "enum", "functools", "itertools",
    "operator", "_operator", "types", "typing",
)  # fmt: skip
IMPURE_NAMES = frozenset({
    "__import__", "eval", "exec", "fromfile", "getattr", "globals", "hash", "id", "input", "load",
    "loadtxt", "locals", "open", "random", "vars",
})  # fmt: skip
# Methods of classes that compiling does not call.
NOT_RUN = frozenset({
    "__class_getitem__", "__delattr__", "__init__", "__init_subclass__", "__new__",
    "__post_init__", "__repr__", "__set_name__", "__str__", "__subclasshook__",
})  # fmt: skip
# What every member of an Enum has.
OF_MEMBERS = frozenset({"_value_", "_name_", "__objclass__", "_sort_order_"})


def is_generated(code: CodeType) -> bool:
    """Was it made for the class by dataclasses, enum, typing or namedtuple?"""
    is_created = code.co_filename == "<string>" and code.co_qualname.startswith("__create_fn__")
    return is_created or not is_user_file(code.co_filename)


def held_by_generated(function: FunctionType) -> list[object]:
    """List the values that a generated function has beside its code: defaults of fields, say."""
    held = [cell_value(cell) for cell in function.__closure__ or ()]
    held += [function.__defaults__, function.__kwdefaults__, vars(function).get("__wrapped__")]
    return [each for each in held if not isinstance(each, type)]  # types of fields say nothing


def runs_alone(name: str, value: object) -> bool:
    """Tell whether Python runs a class attribute where a kernel only uses an object."""
    if isinstance(value, FunctionType):
        return name.startswith("__") and name.endswith("__") and name not in NOT_RUN
    return not isinstance(value, (staticmethod, classmethod)) and hasattr(type(value), "__get__")


def added(member: Enum) -> dict[str, object]:
    """List the attributes that a program gave to a member of an Enum."""
    return {name: value for name, value in vars(member).items() if name not in OF_MEMBERS}


@lru_cache(maxsize=1024)
def imports(code: CodeType) -> bool:
    """Tell whether a function imports other modules than those that do not change."""
    function = tree_of_code(code, code.co_filename)
    found = (each for each in walk(function) if isinstance(each, tree.Import)) if function else ()
    return any(
        each.level or each.module.partition(".")[0] not in CONSTANT_MODULES for each in found
    )


@lru_cache(maxsize=1024)
def makes_names(code: CodeType) -> bool:
    """Tell whether a function asks for an attribute by a name that no constant of it is."""
    if "getattr" not in global_names(code):
        return False
    function = tree_of_code(code, code.co_filename)
    calls = (each for each in walk(function) if isinstance(each, tree.Call)) if function else ()
    named = [
        each.arguments[1] for each in calls if isinstance(each.function, tree.Name)
        and each.function.binding.name == "getattr" and len(each.arguments) > 1
    ]  # fmt: skip
    return not function or any(not isinstance(each, tree.Constant) for each in named)


def cell_value(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # the name has no value yet
        return NO_VALUE
