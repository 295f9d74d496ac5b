"""Values that differ between nodes, because the operation's body ran once per node.

rule NUMBERS   numbers become runtime arguments of the kernel
rule ALIKE     containers, functions, methods and other objects of one form are taken apart: their
               items and attributes are values again, and so are Python's results for them
rule CASES     if forms differ, or a number needs more than 32 bits, each path of a kernel handles
               one of them
"""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import IndexType, f64, i1
from xdsl.ir import Attribute

from ttl.language import DataflowBuffer, Pipe, PipeNet, Semaphore
from ttl.language.arguments import is_tensor
from ttl.language.described import public_class
from ttl.language.semaphores import RemoteSemaphore
from ttl.semantics.numpy_numbers import python_number
from ttl.semantics.ttnn_values import is_shape, is_ttnn_value
from ttl.source.functions import named_value, own_code

if TYPE_CHECKING:
    from .hir import Scalar


@dataclass(frozen=True, slots=True)
class RuntimeArgument:
    """A name and its value on each node, as 32-bit words in the order of nodes."""

    name: str
    words: tuple[int, ...]


MakeArgument = Callable[[RuntimeArgument, Attribute], "Scalar"]
DECLARED = (DataflowBuffer, Semaphore, PipeNet)  # declared again for each node
EQUAL_IF_SAME = (str, bytes, range, frozenset, type(None))


class PerNode:
    """An object of the operation's body that differs between nodes."""

    described = "an object that differs between nodes"

    def __init__(self, name: str, objects: Sequence[Any], make: MakeArgument):
        self.name, self.objects, self.make = name, tuple(objects), make

    def __repr__(self) -> str:
        return f"`{self.name}`, {self.described}"

    @property
    def first(self) -> object:
        return self.objects[0]

    def merged(self, values: Sequence[object], name: str = "") -> object:
        """Merge the values that each node has instead of it."""
        return merged(f"{self.name}_{name}" if name else self.name, values, self.make)

    def attribute(self, name: str) -> Any:
        return self.merged([getattr(each, name) for each in self.objects], name.strip("_"))


class NodeFunctions(PerNode):
    """A function of the operation's body with one closure for each node."""

    described = "a function that differs between nodes"

    def signature(self) -> inspect.Signature:
        """Return the signature, with defaults that may differ between nodes."""
        signatures = [inspect.signature(each, follow_wrapped=False) for each in self.objects]
        found = [each.parameters.values() for each in signatures]
        parameters = [
            same[0].replace(default=merged(same[0].name, [p.default for p in same], self.make))
            for same in zip(*found, strict=True)
        ]
        return inspect.Signature(parameters)


class NodeObjects(PerNode):
    @property
    def cases(self) -> RuntimeArgument:
        """Return the form of each node's object; 0 on all nodes if there is one form."""
        found = [form_of(each) for each in self.objects]
        forms = list(dict.fromkeys(found))
        return RuntimeArgument(f"{self.name}_case", tuple(map(forms.index, found)))

    def of_case(self, number: int) -> object:
        """Return the object on nodes with this form; other nodes do not get here."""
        words = self.cases.words
        any_of_them = self.objects[words.index(number)]
        pairs = zip(words, self.objects, strict=True)
        return self.merged([each if word == number else any_of_them for word, each in pairs])


def differs(value: object) -> bool:
    """Does the value, or a part of it, differ between nodes?"""
    return any(isinstance(each, PerNode) for each in all_in([value]))


def all_in(values: Iterable[object]) -> Iterator[object]:
    """Yield the values, and the items of tuples and lists instead of these."""
    for value in values:
        yield from all_in(value) if isinstance(value, (tuple, list)) else (value,)


def on_each_node(function: Callable[..., object], operands: Sequence[object]) -> object:
    """Call a function on operands of which some differ between nodes."""
    known = next(each for each in all_in(operands) if isinstance(each, PerNode))
    numbers = range(len(known.objects))
    return known.merged([function(*_on_node(list(operands), number)) for number in numbers])


def _on_node(value: Any, number: int) -> Any:
    if isinstance(value, PerNode):
        return value.objects[number]
    if not differs(value):
        return value
    return type(value)(_on_node(each, number) for each in value)


# One value for all nodes --------------------------------------------------------------------------


def merged(name: str, values: Sequence[Any], make: MakeArgument) -> object:
    values = [python_number(each) for each in values]
    if all(is_same(values[0], value) for value in values):
        return values[0]
    values = [tuple(each) if is_shape(each) else each for each in values]
    first = values[0]
    if len({form_of(value) for value in values}) > 1:
        return NodeObjects(name, values, make)
    if isinstance(first, (bool, int, float)):
        return _number(name, values, make)
    if isinstance(first, FunctionType):
        return NodeFunctions(name, values, make)
    if type(first) is dict:
        return {key: merged(f"{name}_{key}", [v[key] for v in values], make) for key in first}
    if isinstance(first, slice):
        parts = zip(*map(_bounds, values), strict=True)
        return slice(*(merged(name, part, make) for part in parts))
    if isinstance(first, (tuple, list)):
        items = enumerate(zip(*values, strict=True))
        found = [merged(f"{name}_{number}", each, make) for number, each in items]
        return first._make(found) if hasattr(first, "_make") else type(first)(found)
    return NodeObjects(name, values, make)


def form_of(value: object) -> object:
    """Return the key that objects need in common to be taken apart together."""
    kind = type(value)
    if isinstance(value, (int, float)):
        return kind if _fits(value) else (kind, repr(value))
    if isinstance(value, np.ndarray):
        return kind, value.shape, value.dtype.str
    if isinstance(value, (dict, set)):
        return kind, tuple(value) if isinstance(value, dict) else frozenset(value)
    if isinstance(value, (tuple, list)):
        return kind, len(value)
    if isinstance(value, FunctionType):
        return kind, own_code(value)
    if isinstance(value, partial):
        return kind, len(value.args), tuple(value.keywords)
    if isinstance(value, DECLARED):
        return kind, value.index
    if isinstance(value, slice):
        return kind, tuple(map(form_of, _bounds(value)))
    if isinstance(value, EQUAL_IF_SAME):
        return kind, value
    if isinstance(value, BuiltinFunctionType) and not isinstance(value.__self__, ModuleType):
        return kind, value.__qualname__
    if isinstance(value, (type, ModuleType, BuiltinFunctionType)):
        return kind, id(value)
    return (kind, id(value)) if public_class(value) is None and is_tensor(value) else kind


def _bounds(value: slice) -> tuple[object, object, object]:
    return value.start, value.stop, value.step


def _fits(value: float) -> bool:
    if isinstance(value, int):
        return -(2**31) <= value < 2**31
    return is_same(value, of_bits(_bits(value))) if abs(value) < 2**128 else value != value


def _bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def of_bits(word: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", word))[0])


def _number(name: str, values: list[Any], make: MakeArgument) -> Scalar:
    kind = type(values[0])
    if kind is float:
        return make(RuntimeArgument(name, tuple(map(_bits, values))), f64)
    words = tuple(int(value) & 0xFFFFFFFF for value in values)
    return make(RuntimeArgument(name, words), i1 if kind is bool else IndexType())


def is_same(one: Any, other: Any, around: tuple[FunctionType, ...] = ()) -> bool:
    """Are the values of two nodes interchangeable? The body declares its objects again for each."""
    if one is other or any(one is function for function in around):
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, (DataflowBuffer, Semaphore)):
        return bool(one.index == other.index)
    if isinstance(one, PipeNet):
        is_declared = one.index is not None and one.index == other.index
        return is_declared and bool(one.pipes == other.pipes)
    if isinstance(one, RemoteSemaphore):
        return is_same(one.semaphore, other.semaphore) and bool(one.nodes == other.nodes)
    if isinstance(one, FunctionType):
        return own_code(one) is own_code(other) and is_same(
            _state_of(one), _state_of(other), (*around, one)
        )
    if isinstance(one, (MethodType, partial, PerNode)):
        return is_same(_parts_of(one), _parts_of(other), around)
    if isinstance(one, dict):
        return is_same(list(one.items()), list(other.items()), around)
    if isinstance(one, (tuple, list)):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(is_same(*pair, around) for pair in pairs)
    if isinstance(one, float):
        return struct.pack("<d", one) == struct.pack("<d", other)  # nan is one, -0.0 is not 0.0
    if isinstance(one, np.ndarray):
        return bool(form_of(one) == form_of(other)) and one.tobytes() == other.tobytes()
    if isinstance(one, (bool, int, str, slice, range, set, frozenset)):
        return bool(one == other)
    if isinstance(one, Pipe):
        return one == other and is_same(one.home, other.home)
    return is_ttnn_value(type(one)) and repr(one) == repr(other)


def _parts_of(value: MethodType | partial[object] | PerNode) -> list[object]:
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    return [*value.objects]


def _state_of(function: FunctionType) -> list[object]:
    """List the inputs of a call beside the function's code and its module."""
    captured = [named_value(name, function) for name in own_code(function).co_freevars]
    return [captured, function.__defaults__, function.__kwdefaults__, function.__dict__]
