"""Handles that a kernel has from its start: buffers, tensors, and values that differ by node."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeGuard

from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, i64
from xdsl.ir import Attribute

from ttl.dialects import ttl
from ttl.dialects.ttcore import tensor_of
from ttl.language import DataflowBuffer
from ttl.semantics.dtypes import dtype_of
from ttl.semantics.layout import layout_of
from ttl.semantics.tensor_like import TensorLike
from ttl.semantics.tensors import shape_in_units

from .hir import Body, Op, RunTime, Scalar, Value, value_name
from .node_values import RuntimeArgument


class Handles:
    """The handles, each made on first use, before all other operations."""

    def __init__(
        self, entry: Body, tensors: Mapping[str, TensorLike], captured: Collection[object]
    ):
        self.ops: list[Op] = []
        self.entry = entry
        self.buffers: dict[str, RunTime] = {}
        self.arguments: dict[RuntimeArgument, Scalar] = {}
        self._asked_for: dict[tuple[RuntimeArgument, Attribute], Scalar] = {}
        self._tensor_names = {id(tensor): name for name, tensor in tensors.items()}
        self.tensors: dict[str, RunTime] = {}
        for tensor in tensors.values():
            if any(tensor is value for value in captured):
                self.tensor(tensor)

    def buffer(self, buffer: DataflowBuffer) -> RunTime:
        backed = {} if buffer.backing is None else {"tensor_backed": UnitAttr()}
        return self.named_buffer(buffer.name, buffer_type(buffer), backed)

    def named_buffer(
        self, name: str, type: ttl.DataflowBufferType, also: Mapping[str, Attribute] | None = None
    ) -> RunTime:
        if name not in self.buffers:
            properties = {"buffer": SymbolRefAttr(name), **(also or {})}
            op = Op(ttl.BindBufferOp, (), (type,), properties)
            op.results[0].hint = value_name(name)
            self.ops.append(op)
            self.buffers[name] = op.results[0]
        return self.buffers[name]

    def argument(self, argument: RuntimeArgument, type: Attribute) -> Scalar:
        """Return a value that differs between nodes, read at the kernel's start."""
        if (known := self._asked_for.get((argument, type))) is not None:
            return known
        asked = argument, type
        taken = [other.name for other in self.arguments]
        name, number = argument.name, 1
        while argument.name in taken:
            number += 1
            argument = RuntimeArgument(f"{name}_{number}", argument.words)
        properties = {
            "index": IntegerAttr(len(self.arguments), i64),
            "arg_name": StringAttr(argument.name),
        }
        op = Op(ttl.RuntimeArgOp, (), (type,), properties)
        (value,) = op.results
        assert isinstance(value, Scalar)
        value.hint = value_name(name)
        value.is_natural = isinstance(type, IndexType) and all(w < 2**31 for w in argument.words)
        self.ops.append(op)
        self.arguments[argument] = self._asked_for[asked] = value
        return value

    def words_of(self, value: RunTime) -> tuple[str, tuple[int, ...]]:
        """Return the name of an argument, and its value on each node."""
        found = next(each for each, result in self.arguments.items() if result is value)
        return found.name, found.words

    def keep_arguments(self, needed: Collection[RunTime]) -> None:
        """Drop unused arguments: a kernel may use only some items of a tuple."""
        self.arguments = {a: value for a, value in self.arguments.items() if value in needed}
        self.ops = [
            op for op in self.ops if op.becomes is not ttl.RuntimeArgOp or op.results[0] in needed
        ]
        for number, value in enumerate(self.arguments.values()):
            assert isinstance(value.owner, Op)
            value.owner.properties["index"] = IntegerAttr(number, i64)

    def is_tensor(self, value: Value) -> TypeGuard[TensorLike]:
        return id(value) in self._tensor_names

    def tensor_name(self, value: object) -> str:
        """Return the user's name of a tensor; "" for other values."""
        return self._tensor_names.get(id(value), "")

    def tensor(self, tensor: TensorLike) -> RunTime:
        """Return the kernel's argument for a tensor of the operation."""
        name = self._tensor_names[id(tensor)]
        if name not in self.tensors:
            dtype = dtype_of(tensor)
            assert dtype is not None
            type = tensor_of(shape_in_units(tensor), dtype, layout_of(tensor))
            argument = self.entry.add_arg(type)
            argument.hint = value_name(name)
            self.tensors[name] = argument
        return self.tensors[name]


def buffer_type(buffer: DataflowBuffer) -> ttl.DataflowBufferType:
    return ttl.DataflowBufferType.of(buffer.shape, buffer.dtype, buffer.block_count, buffer.layout)
