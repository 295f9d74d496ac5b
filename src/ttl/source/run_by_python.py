"""Tell what a value depends on beside its contents: rules for the keys of frozen.py."""

from __future__ import annotations

from functools import lru_cache
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Final, NamedTuple, TypeGuard

import numpy as np

from ttl.diagnostics.frames import is_user_file
from ttl.loading.packages import PACKAGES
from ttl.semantics.function_source import global_names, nested_codes

from . import tree
from .bindings import Around
from .trees import tree_of_code
from .walking import walk

# Modules that do not change and whose attributes a kernel may use; others may change.
CONSTANT_MODULES = ("builtins", "math", "numpy", "torch", "ttnn", *PACKAGES)
NO_VALUE: Final = "no value"
# Rule RUN of frozen.py: modules and functions whose results depend only on their arguments, and the
# names in them that do not.
PURE_MODULES = (
    "abc",
    "builtins",
    "collections",
    "dataclasses",
    "enum",
    "functools",
    "itertools",
    "math",
    "operator",
    "_operator",
    "typing",
)
PURE_OF_NUMPY = frozenset(
    {
        "arange",
        "array",
        "asarray",
        "concatenate",
        "dtype",
        "full",
        "linspace",
        "max",
        "mean",
        "min",
        "ndarray",
        "ones",
        "prod",
        "stack",
        "sum",
        "zeros",
    }
)
IMPURE_NAMES = frozenset(
    {
        "__import__",
        "attrgetter",
        "dir",
        "eval",
        "exec",
        "fields",
        "get_type_hints",
        "getattr",
        "globals",
        "hash",
        "id",
        "input",
        "locals",
        "methodcaller",
        "open",
        "vars",
    }
)
# Attributes of objects, functions and classes that no key covers; Python adds OF_PYTHON to a class.
OF_PYTHON = frozenset(
    {
        "__abstractmethods__",
        "__annotate__",
        "__annotate_func__",
        "__annotations__",
        "__annotations_cache__",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__dict__",
        "__doc__",
        "__firstlineno__",
        "__module__",
        "__orig_bases__",
        "__parameters__",
        "__static_attributes__",
        "__weakref__",
        "_abc_impl",
        "_is_protocol",
    }
)
UNTOLD = OF_PYTHON | {
    "__builtins__",
    "__getattribute__",
    "__globals__",
    "__subclasses__",
    "f_globals",
    "gi_frame",
}
# Class methods that compiling does not call.
NOT_RUN = frozenset(
    {
        "__class_getitem__",
        "__delattr__",
        "__init__",
        "__init_subclass__",
        "__new__",
        "__post_init__",
        "__set_name__",
        "__subclasshook__",
    }
)


def is_generated(code: CodeType) -> bool:
    """Did dataclasses, enum, typing or namedtuple generate it for the class?"""
    is_created = code.co_filename == "<string>" and code.co_qualname.startswith("__create_fn__")
    return is_created or not is_user_file(code.co_filename)


def list_held_values(function: FunctionType) -> list[object]:
    """List the values that a generated function has beside its code: defaults of fields, say."""
    held = [cell_value(cell) for cell in function.__closure__ or ()]
    held += [function.__defaults__, function.__kwdefaults__, vars(function).get("__wrapped__")]
    return [each for each in held if not isinstance(each, type)]  # types of fields say nothing


def runs_alone(name: str, value: object) -> bool:
    """Tell whether Python runs a class attribute where a kernel only uses an object."""
    if isinstance(value, FunctionType):
        return name.startswith("__") and name.endswith("__") and name not in NOT_RUN
    return not isinstance(value, (staticmethod, classmethod)) and hasattr(type(value), "__get__")


class Asked(NamedTuple):
    """The names that the text of a function, and of functions nested in it, asks for."""

    around: tuple[str, ...]  # names that it looks up in its module
    names: frozenset[str]  # that it may ask a module for: attributes, and texts for getattr()
    attributes: frozenset[str]
    modules: tuple[str, ...]  # that it imports
    makes_names: bool  # does it ask for an attribute by a computed name?
    is_untold: bool  # does it ask for anything that no key covers?
    is_impure: bool  # may it return something else when Python runs it again?


@lru_cache(maxsize=1024)
def find_asked_names(code: CodeType) -> Asked:
    """Find the names a function asks for; without source, attributes count as outer names."""
    codes, names = (code, *nested_codes(code)), global_names(code)
    texts = {each for inner in codes for each in inner.co_consts if isinstance(each, str)}
    around, function = names - {*code.co_freevars}, tree_of_code(code, code.co_filename)
    nodes = [*walk(function)] if function is not None else []
    if function is not None:
        named = (node for node in nodes if isinstance(node, (tree.Name, tree.Target)))
        around &= {node.binding.name for node in named if isinstance(node.binding, Around)}
    attributes = {each.name for each in nodes if isinstance(each, tree.Attribute)}
    imports = [each for each in nodes if isinstance(each, tree.Import)]
    modules = {"." * each.level + each.module.partition(".")[0] for each in imports}
    asks = [each.arguments[1] for each in nodes if _is_getattr(each)]
    makes_names = any(not isinstance(each, tree.Constant) for each in asks) or not function
    return Asked(
        tuple(sorted(around)),
        names | texts,
        frozenset(attributes) if function else names,
        tuple(sorted(modules)),
        makes_names and "getattr" in names,
        not names.isdisjoint(UNTOLD) or not modules <= {*CONSTANT_MODULES},
        bool(imports) or not around.isdisjoint(IMPURE_NAMES),
    )


def is_pure(module: str, name: str, value: object) -> bool:
    """Does a library function always return the same for the same arguments?"""
    root = module.partition(".")[0]
    if not callable(value) or root != "numpy":
        named = root in PURE_MODULES and name not in IMPURE_NAMES
        return not isinstance(value, ModuleType) and (named or not callable(value))
    if issubclass(type(value), np.ufunc) or name in PURE_OF_NUMPY:
        return True
    return isinstance(value, type) and issubclass(value, np.generic)


def _is_getattr(node: tree.Node) -> TypeGuard[tree.Call]:
    function = node.function if isinstance(node, tree.Call) else None
    name = function.binding.name if isinstance(function, tree.Name) else ""
    return isinstance(node, tree.Call) and name == "getattr" and len(node.arguments) > 1


def cell_value(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # the name has no value yet
        return NO_VALUE
