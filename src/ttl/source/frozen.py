"""Values as keys: equal for values that a kernel cannot tell apart, and for no others.

rule TYPE     a key names the type of its value: 1, 1.0 and True differ, and so do a tuple, a list
              and a namedtuple of the same items
rule BITS     keys hold the bits of floats: 0.0 and -0.0 differ, a NaN is equal to itself
rule CONTENT  keys of containers, functions, classes and objects of the user's classes hold their
              contents in order; a function's also hold the names around it that it uses
rule AGAIN    a value met before is a number: cycles end, and one list held twice differs from two
              equal lists
rule NAMED    functions and classes of Python and of installed libraries are known by their names
rule MODULES  a module's key holds the names that the functions met can ask it for; for modules with
              constant functions, only values and replaced names
rule RUN      properties and operators of the user's classes run while a kernel is compiled: they
              have a key only if they name nothing but the user's own functions and pure ones
rule NONE     everything else has no key, because its dependencies are unknown or it fails when
              asked; nor has a function that reads its globals or __dict__, say
"""

from __future__ import annotations

import builtins
import struct
import sys
from abc import ABC
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property, lru_cache, partial
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, Final, Generic, Protocol

import numpy as np

from ttl.diagnostics import Span
from ttl.diagnostics.frames import is_user_file
from ttl.language.buffer import DataflowBuffer
from ttl.language.pipes import Pipe, PipeNet
from ttl.language.semaphores import RemoteSemaphore, Semaphore
from ttl.loading.packages import is_ours
from ttl.semantics.dtypes import DType, as_dtype, find_dtype
from ttl.semantics.tensors import row_page_elements
from ttl.semantics.ttnn_values import is_ttnn_value

from .functions import builtins_of, own_code, slots_of
from .run_by_python import (
    CONSTANT_MODULES,
    NO_VALUE,
    OF_PYTHON,
    PURE_MODULES,
    cell_value,
    find_asked_names,
    is_generated,
    is_pure,
    list_held_values,
    runs_alone,
)

Key = tuple[object, ...]  # hashable, also what is in it
Tensors = Iterable[object]


class NoKey(TypeError):
    """The value may change unnoticed."""


def freeze_all(values: Iterable[object], tensors: Tensors = ()) -> Key:
    """Return one key of several values, which may share contents.
    Tensors of the program are known by their position. Raises NoKey if something has no key."""
    freezer = _Freezer(tensors)
    try:
        return (*freezer.keys(values), *freezer.module_names())
    except NoKey:
        raise
    except Exception as error:  # rule NONE; also nested too deeply, or changed by another thread
        raise NoKey(str(error)) from error


# Kinds of values ----------------------------------------------------------------------------------

AGAIN, CLASS, CODE, FUNCTION, MODULE, NAMED, TENSOR = (
    "again",
    "class",
    "code",
    "function",
    "module",
    "named",
    "tensor",
)


class Plain(tuple[object, ...]):
    """Parts of one of our objects that always have the same types."""

    __slots__ = ()


# Equal values of one of these types are interchangeable.
PLAIN: Final = {
    int,
    str,
    bytes,
    bool,
    type(None),
    type(Ellipsis),
    type(NotImplemented),
    Span,
    DType,
    Plain,
}

# The contents of a value of a type (or of a derived type), beside its attributes.
HELD: Final[dict[type, Callable[..., Iterable[object]]]] = {
    bool: lambda value: (bool(value),),
    int: lambda value: (int.__index__(value),),
    float: lambda value: (struct.pack("<d", value),),
    complex: lambda value: (struct.pack("<dd", value.real, value.imag),),
    str: lambda value: (str.__str__(value),),
    bytes: lambda value: (bytes.__getitem__(value, slice(None)),),
    bytearray: lambda value: (bytes(value),),
    **{kind: kind.__iter__ for kind in (tuple, list, set, frozenset)},  # in their order
    deque: lambda value: (value.maxlen, *deque.__iter__(value)),
    defaultdict: lambda value: (value.default_factory, *_items(value)),
    **dict.fromkeys((OrderedDict, Counter, dict), lambda value: _items(value)),
    **dict.fromkeys((range, slice), lambda value: (value.start, value.stop, value.step)),
    MappingProxyType: lambda value: (part for item in value.items() for part in item),
    SimpleNamespace: lambda value: _items(vars(value)),
    MethodType: lambda value: (value.__func__, value.__self__),
    partial: lambda value: (value.func, value.args, value.keywords, vars(value)),
    type(lru_cache(len)): lambda value: (value.__wrapped__,),
    property: lambda value: (value.fget, value.fset, value.fdel),
    cached_property: lambda value: (value.func, value.attrname),
    **dict.fromkeys((staticmethod, classmethod), lambda value: (value.__func__,)),
    np.generic: lambda value: (repr(value.dtype), value.tobytes()),
    DataflowBuffer: lambda value: (
        Plain(
            (
                value.index,
                value.name,
                value.shape,
                value.dtype,
                value.layout,
                value.block_count,
                value.span,
            )
        ),
        value.backing and (value.backing.tensor, value.backing.first_tile),
    ),
    Pipe: lambda value: (value.src, value.dst, value.span, value.home),
    PipeNet: lambda value: (value.index, value.name, value.pipes, value.span),
    Semaphore: lambda value: (value.index, value.name, value.initial, value.span),
    RemoteSemaphore: lambda value: (value.semaphore, value.nodes),
}

CACHED: Final = type(lru_cache(len))
LONG = (tuple, list, set, frozenset, deque, dict)
LONGEST = 100_000  # items; a key is made at every call, and kept

# Bases of the user's classes without state of their own.
STATELESS = (object, Generic, Protocol, ABC)
# Descriptors of a class for the slots of its objects or the fields of a namedtuple.
PLACES = (MemberDescriptorType, GetSetDescriptorType, type(vars(namedtuple("Box", "it"))["it"]))

METHODS = (FunctionType, property, staticmethod, classmethod)


def _items(value: Any) -> Iterator[object]:
    for item in dict.items(value):
        yield from item


class _Freezer:
    """Makes the keys of values that may share what they hold."""

    def __init__(self, tensors: Tensors):
        self.tensors = {id(tensor): number for number, tensor in enumerate(tensors)}
        # By id: number, value (to keep the id taken), and whether rule RUN applied when it was met.
        self.met: dict[int, tuple[int, object, bool]] = {}
        self.modules: list[tuple[ModuleType, bool]] = [(builtins, False)]
        self.asked: set[str] = set()  # names that some function may ask a module for
        self.asked_in_runs: set[str] = set()
        self.asks_all = False  # a function computes such names
        self.runs = False  # rule RUN: does Python run this while a kernel is compiled?

    def key(self, value: object) -> Key:
        kind = type(value)
        if kind in PLAIN:
            return kind, value
        if kind is float:  # the most common of the others
            return kind, struct.pack("<d", value)
        if (number := self.tensors.get(id(value))) is not None:
            return TENSOR, number
        known = self.met.get(id(value))
        if known is not None and (known[2] or not self.runs):
            return AGAIN, known[0]
        self.met[id(value)] = known[0] if known else len(self.met), value, self.runs
        content = self._content(value, kind)
        return content if known is None else (AGAIN, known[0], content)

    def keys(self, values: Iterable[object]) -> Key:
        return tuple([self.key(value) for value in values])

    def named(self, values: Iterable[tuple[str, object]]) -> Key:
        return tuple([(name, self.key(value)) for name, value in values])

    def module_names(self) -> Iterator[Key]:  # rule MODULES
        """Yield the modules' values under the names asked for; a value may ask for more of them."""
        done: set[tuple[int, str]] = set()
        while left := sorted({*self._module_attributes()} - done):
            done.update(left)
            for number, name in left:
                module, self.runs = self.modules[number]
                yield number, name, self.key(vars(module)[name])

    def _module_attributes(self) -> Iterator[tuple[int, str]]:
        for number, (module, runs) in enumerate(self.modules):
            is_constant = _is_constant(module)
            for name in {*vars(module)} if self.asks_all and not is_constant else self.asked:
                value = vars(module).get(name, NO_VALUE)
                if value is NO_VALUE:
                    continue
                if runs and is_constant and name in self.asked_in_runs:
                    self._require_pure(module.__name__, name, value)
                if not is_constant or _is_put_there(module, name, value):
                    yield number, name

    def _require_pure(self, module: str, name: str, value: object) -> None:  # rule RUN
        if not is_pure(module, name, value):
            raise NoKey(f"{module}.{name} may give something else next time")

    def _content(self, value: Any, kind: type) -> Key:
        if kind in HELD:
            if kind in LONG and len(value) > LONGEST:
                raise NoKey(f"a {kind.__name__} of {len(value)} items is too long for a key")
            if self.runs and kind is CACHED:
                raise NoKey("a result may have been kept before")
            return kind, *self.keys(HELD[kind](value))
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, ModuleType):
            return self._module(value)
        if (name := _library_name(value)) is not None:
            return self._named(*name, value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, BuiltinFunctionType):
            return kind, value.__name__, self.key(value.__self__)
        if isinstance(value, Enum):
            return self.key(kind), value.name, self.key(value.value)  # flags may have no name
        return self._instance(value, kind) if _is_users(kind) else self._of_library(value, kind)

    def _named(self, module: str, name: str, value: object) -> Key:
        if self.runs:
            self._require_pure(module, name, value)
        return NAMED, module, name

    def _module(self, module: ModuleType) -> Key:
        name, is_constant = module.__name__, _is_constant(module)
        is_dynamic = type(module) is not ModuleType or "__getattr__" in vars(module)
        if is_dynamic and not is_constant:
            raise NoKey(f"module {name} makes its attributes when asked")
        is_pythons = is_constant or name in PURE_MODULES
        if self.runs and not is_pythons and _is_library(name):
            raise NoKey(f"functions of {name} may give something else next time")
        self.modules.append((module, self.runs))
        return MODULE, name

    def _of_library(self, value: Any, kind: type) -> Key:
        """Make the key of a numpy object or of an immutable one of ours."""
        if kind is np.ndarray and not value.dtype.hasobject:
            from hashlib import sha256  # OpenSSL is large, and few kernels need it

            return kind, repr(value.dtype), value.shape, sha256(value.tobytes()).digest()
        if isinstance(value, np.dtype) or as_dtype(value) is not None:
            return kind, repr(value)
        if kind.__module__ == "dataclasses":  # such as the mark of a field without a default
            return (kind,)
        base = next((base for base in kind.__mro__ if base in HELD), None)
        if base in (np.generic, RemoteSemaphore, tuple):
            return kind, *self.keys(HELD[base](value))
        if is_ours(kind.__module__):
            if (parts := getattr(value, "key_parts", None)) is not None:
                return kind, *self.keys(parts)
            if is_dataclass(kind) and kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
                return kind, *self.keys(getattr(value, field.name) for field in fields(kind))
        if is_ttnn_value(kind):
            return kind, repr(value)
        if find_dtype(value) is not None and hasattr(value, "layout"):
            like = tuple(value.shape), value.dtype, str(value.layout), row_page_elements(value)
            return TENSOR, *like
        raise NoKey(f"a {kind.__qualname__} may change between calls")

    def _instance(self, value: object, kind: type) -> Key:
        """Make the key of a user's object: its class, the bases and its attributes."""
        foreign = [each for each in kind.__mro__ if not _is_users(each) and each not in STATELESS]
        if any(base not in HELD for base in foreign):
            raise NoKey(f"a {kind.__qualname__} may change between calls")
        held = HELD[foreign[0]](value) if foreign else ()
        slots = [(name, getattr(value, name, NO_VALUE)) for name in slots_of(kind)]
        own = getattr(value, "__dict__", {})
        return self.key(kind), self.keys(held), self.named(slots), self.named(own.items())

    # Functions and classes

    def _function(self, function: FunctionType) -> Key:
        code = own_code(function)
        is_users = is_user_file(code.co_filename)
        if not is_users and (name := _library_name(function)) is not None:
            return self._named(*name, function)
        asked = find_asked_names(code)
        if is_users and (asked.is_untold or (self.runs and asked.is_impure)):
            raise NoKey(f"`{code.co_name}` asks for what no key tells")
        around_it = function.__globals__ if is_users else {}
        own_builtins = builtins_of(function)
        if is_users:
            self.asks_all |= asked.makes_names
            self.asked |= asked.names
            self.asked_in_runs |= asked.attributes if self.runs else set()
        return (
            FUNCTION,
            code,
            code.co_filename,
            function.__name__,
            function.__qualname__,
            self.key(function.__defaults__),
            self.key(function.__kwdefaults__),
            self.named(function.__dict__.items()),
            self.keys(cell_value(cell) for cell in function.__closure__ or ()),
            self.named((name, around_it[name]) for name in asked.around if name in around_it),
            self.keys(sys.modules.get(name) for name in asked.modules if is_users),
            () if own_builtins is vars(builtins) else self.key(own_builtins),
        )

    def _class(self, kind: type) -> Key:
        """Make the key of a user's class, without the attributes that Python adds."""
        own = [(name, value) for name, value in vars(kind).items() if name not in OF_PYTHON]
        members = getattr(kind, "__members__", {}) if issubclass(kind, Enum) else {}
        if members:
            own = [(name, value) for name, value in own if type(value) in METHODS]
        return (
            CLASS,
            kind.__module__,
            kind.__qualname__,
            kind.__name__,
            self.keys((type(kind), *kind.__bases__)),
            self.named((name, vars(member)) for name, member in members.items()),
            tuple([(name, self._class_attribute(name, value)) for name, value in own]),
        )

    def _class_attribute(self, name: str, value: object) -> Key:
        function = getattr(value, "__func__", value)
        if isinstance(function, FunctionType) and is_generated(function.__code__):
            return CODE, function.__code__, self.keys(list_held_values(function))
        if isinstance(value, PLACES):
            return NAMED, type(value)
        before, self.runs = self.runs, self.runs or runs_alone(name, value)
        try:
            return self.key(value)
        finally:
            self.runs = before


def _is_constant(module: ModuleType) -> bool:
    name = module.__name__
    return name.partition(".")[0] in CONSTANT_MODULES and sys.modules.get(name) is module


def _is_put_there(module: ModuleType, name: str, value: object) -> bool:
    """Is it a value, or a replacement for one of a constant module's own functions?"""
    if isinstance(value, (FunctionType, BuiltinFunctionType)):
        root = (value.__module__ or module.__name__).partition(".")[0]
        return root not in (*CONSTANT_MODULES, "_io") or value.__name__ != name
    kind = value if isinstance(value, type) else type(value)
    return kind is not ModuleType and (type(value) in HELD or _is_users(kind))


def _library_name(value: object) -> tuple[str, str] | None:
    """Find the module and name of a function or class of Python or a library; None for others."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, np.ufunc):  # numpy 1 does not tell where they are
        module, name = module or "numpy", name or value.__name__
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    owner: Any = sys.modules.get(module)
    if owner is None or not _is_library(module):
        return None
    for part in name.split("."):
        owner = getattr(owner, part, None)
    return (module, name) if owner is value else None


def _is_users(kind: type) -> bool:
    return not _is_library(kind.__module__)


def _is_library(module: str) -> bool:
    if module.partition(".")[0] in CONSTANT_MODULES or module in sys.builtin_module_names:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and not is_user_file(file)
