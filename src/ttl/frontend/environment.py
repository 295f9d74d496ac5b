"""Names around a kernel: what it captures, the globals of its module, Python's own.

An operation body that asks for its node is run for every node. What its kernels capture may then
differ between nodes: numbers become runtime arguments, everything else must be the same.
"""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import IndexType, f64, i1
from xdsl.ir import Attribute

from ttl.diagnostics import codes
from ttl.language import DataflowBuffer, Pipe, PipeNet, Semaphore
from ttl.language.semaphores import RemoteSemaphore
from ttl.semantics.numpy_numbers import python_number
from ttl.semantics.ttnn_values import is_shape, is_ttnn_value
from ttl.source.functions import MISSING as MISSING
from ttl.source.functions import named_value, own_code

if TYPE_CHECKING:
    from .hir import Scalar


@dataclass(frozen=True, slots=True)
class RuntimeArgument:
    """A name and its value on each node, as 32-bit words in the order of nodes."""

    name: str
    words: tuple[int, ...]


# What is not asked for attributes: a kernel has a branch for each that a node may have.
WHOLE = (bool, int, float, str, tuple, list, dict, set, frozenset, range)

MakeArgument = Callable[[RuntimeArgument, Attribute], "Scalar"]


class PerNode:
    """An object of the operation's body that is another one on each node."""

    described = "an object that differs between nodes"

    def __init__(self, name: str, objects: Sequence[Any]):
        self.name, self.objects = name, tuple(objects)

    def __repr__(self) -> str:
        return f"`{self.name}`, {self.described}"

    def attribute(self, name: str, make: MakeArgument) -> Any:
        values = [getattr(each, name) for each in self.objects]
        return merged(f"{self.name}_{name}", values, make)


class NodeFunctions(PerNode):
    """A function of the operation's body: one closure for each node."""

    described = "a function that differs between nodes"

    def signature(self, make: MakeArgument) -> inspect.Signature:
        """With defaults that may differ between nodes."""
        signatures = [inspect.signature(each, follow_wrapped=False) for each in self.objects]
        found = [each.parameters.values() for each in signatures]
        parameters = [
            first[0].replace(default=merged(first[0].name, [p.default for p in first], make))
            for first in zip(*found, strict=True)
        ]
        return inspect.Signature(parameters)


class NodeObjects(PerNode):
    @property
    def is_known_as_a_whole(self) -> bool:
        """Texts, and containers of different lengths: not what has attributes to ask for."""
        return all(isinstance(each, (*WHOLE, type(None))) for each in self.objects)

    @property
    def distinct(self) -> list[Any]:
        found: list[Any] = []
        for each in self.objects:
            if not any(is_same(each, other) for other in found):
                found.append(each)
        return found

    @property
    def cases(self) -> RuntimeArgument:
        """Which of the distinct objects each node has."""
        found = self.distinct
        words = tuple(next(n for n, each in enumerate(found) if is_same(each, one))
                      for one in self.objects)  # fmt: skip
        return RuntimeArgument(f"{self.name}_case", words)


class Environment:
    """The names around one function, which has one closure for each node or one for all."""

    def __init__(self, functions: tuple[FunctionType, ...]):
        self.functions = functions

    def lookup(self, name: str, make: MakeArgument) -> Any:
        """What `name` stands for; MISSING if nothing."""
        function = self.functions[0]
        if name not in own_code(function).co_freevars:
            return named_value(name, function)
        return merged(name, [named_value(name, each) for each in self.functions], make)


def merged(name: str, values: list[Any], make: MakeArgument) -> Any:
    """One value for all nodes."""
    values = [python_number(each) for each in values]
    first = values[0]
    if len(values) == 1 or all(is_same(first, value) for value in values):
        return first
    kinds = {type(value) for value in values}
    if kinds in ({bool}, {int}, {float}):
        return _number(name, values, kinds, make)
    if len(kinds) == 1:
        if is_shape(first):
            return merged(name, [tuple(value) for value in values], make)
        if isinstance(first, (tuple, list)) and len({len(value) for value in values}) == 1:
            items = zip(*values, strict=True)
            found = [merged(f"{name}_{i}", list(v), make) for i, v in enumerate(items)]
            return first._make(found) if hasattr(first, "_make") else type(first)(found)
        if isinstance(first, slice):
            parts = ([getattr(v, p) for v in values] for p in ("start", "stop", "step"))
            return slice(*(merged(name, part, make) for part in parts))
        if isinstance(first, FunctionType) and len({own_code(value) for value in values}) == 1:
            return NodeFunctions(name, values)
        return NodeObjects(name, values)
    if all(isinstance(value, (*WHOLE, type(None))) for value in values):
        return NodeObjects(name, values)
    other = next(value for value in values if not is_same(first, value))
    raise codes.NODES_DIFFER.broken(
        f"`{name}` is {first!r} on one node and {other!r} on another",
        "only numbers, and tuples of them, may differ between the nodes of a kernel",
    )


def _number(name: str, values: list[Any], kinds: set[type], make: MakeArgument) -> Scalar:
    if float in kinds:
        words = tuple(struct.unpack("<I", struct.pack("<f", value))[0] for value in values)
        kept = [struct.unpack("<f", struct.pack("<I", word))[0] for word in words]
        if not all(map(is_same, kept, values)):
            raise codes.NOT_COMPILED_YET.broken(
                f"`{name}` differs between nodes and needs more than 32 bits",
                "round it to float32, or calculate it in the kernel",
            )
        return make(RuntimeArgument(name, words), f64)
    if any(not -(2**31) <= value < 2**31 for value in values):
        raise codes.NOT_IN_KERNELS.broken(f"`{name}` does not fit in 32 bits")
    words = tuple(int(value) & 0xFFFFFFFF for value in values)
    return make(RuntimeArgument(name, words), i1 if kinds == {bool} else IndexType())


def is_same(one: Any, other: Any, around: tuple[FunctionType, ...] = ()) -> bool:
    """Do two nodes mean the same by these? What the body declares is made anew for each."""
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
    if isinstance(one, dict):
        return is_same(list(one.items()), list(other.items()), around)
    if isinstance(one, (tuple, list)):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(is_same(*pair, around) for pair in pairs)
    if isinstance(one, float):
        return struct.pack("<d", one) == struct.pack("<d", other)  # nan is one, -0.0 is not 0.0
    if isinstance(one, (bool, int, str, slice, range, set, frozenset)):
        return bool(one == other)
    if isinstance(one, Pipe):
        return one == other and is_same(one.home, other.home)
    return is_ttnn_value(type(one)) and repr(one) == repr(other)


def _state_of(function: FunctionType) -> list[Any]:
    """What a call of a function depends on, beside its code and its module."""
    captured = [named_value(name, function) for name in own_code(function).co_freevars]
    return [captured, function.__defaults__, function.__kwdefaults__, function.__dict__]
