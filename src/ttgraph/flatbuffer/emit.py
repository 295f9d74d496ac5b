"""Writes a module of the ttnn dialect as a flatbuffer. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    FixedBitwidthType,
    IntegerType,
    ModuleOp,
    Signedness,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ttgraph.dialects import ttnn
from ttgraph.dialects.graph import ControlOp, Dense, MathOp, from_attribute, shape_of
from ttl.diagnostics import CompileError, codes
from ttl.semantics.dtypes import BY_DATA_FORMAT, DTYPES, Array, DType, round_to
from ttl.semantics.tensor_layout import TensorLayout

from .names import signature
from .schema import SCHEMA_REVISION, VERSION, Table
from .writer import Unwritable, write_binary

_BUFFER_TYPES = {"dram": "DRAM", "l1": "L1", "system_memory": "SystemMemory"}
_FORMATS = {**{dtype.mlir: dtype.data_format for dtype in DTYPES.values()}, "i32": "Int32"}


def emit_flatbuffer(module: ModuleOp, *, mesh_shape: tuple[int, int] = (1, 1)) -> bytes:
    """Return the bytes of a .ttnn file with one program for each function."""
    functions = [op for op in module.ops if isinstance(op, func.FuncOp) and not op.is_declaration]
    if not functions:
        message = "the module has no function that a flatbuffer could have as a program"
        raise _not_lowered(message, "give a graph, lowered to ttnn")
    places = {function.sym_name.data: place for place, function in enumerate(functions)}
    mesh, numbers = {"y": mesh_shape[0], "x": mesh_shape[1]}, count(1)
    value = {
        "version": VERSION,
        "schema_hash": SCHEMA_REVISION,
        "mlir": {"name": "ttnn", "source": "\n".join(filter(None, map(signature, functions)))},
        "programs": [_Program(function, numbers, places).value(mesh) for function in functions],
    }
    try:
        return write_binary(value)
    except Unwritable as error:
        raise _not_lowered(f"the module cannot be written to a flatbuffer: {error}") from None


class _Program:
    """Numbers values in the order in which it meets them; a number is unique in its file."""

    def __init__(self, function: func.FuncOp, numbers: Iterator[int], places: dict[str, int]):
        self.function, self.places = function, places
        self.numbers = numbers
        self.references: dict[SSAValue, dict[str, object]] = {}
        self.descriptions: dict[Attribute, dict[str, object]] = {}  # of the types of tensors

    def value(self, mesh: dict[str, int]) -> Table:
        block = self.function.body.block
        returned = block.last_op
        assert isinstance(returned, func.ReturnOp)
        return {
            "name": self.function.sym_name.data,
            "inputs": [self.tensor(argument) for argument in block.args],
            "operations": [self.operation(op) for op in block.ops if op is not returned],
            "outputs": [self.tensor(value) for value in returned.operands],
            "mesh_shape": mesh,
            "private": self.function.sym_visibility is not None
            and self.function.sym_visibility.data == "private",
        }

    def tensor(self, value: SSAValue) -> Table:
        if value not in self.references:
            reference: Table = {"global_id": next(self.numbers)}
            if isinstance(value.type, TensorType):
                if value.type not in self.descriptions:
                    self.descriptions[value.type] = _description(value)
                reference["desc"] = self.descriptions[value.type]
            self.references[value] = reference
        return self.references[value]

    def operation(self, op: Operation) -> Table:
        if isinstance(op, MathOp) and op.dialect_name() == "ttnn":
            return {"type": self._math(op)}
        if isinstance(op, ttnn.ConstantOp):
            data, out = _constant_bytes(op), self.tensor(op.result)
            return {"type": {"ConstantOp": {"data": data, "out": out}}}
        if isinstance(op, ControlOp):
            table = "WhileOp" if isinstance(op, ttnn.WhileOp) else "CaseOp"
            return {"type": {table: self._control(op)}}
        if isinstance(op, ttnn.DeallocateOp):
            return {"type": {"DeallocateOp": {"in": self.tensor(op.input)}}}
        if isinstance(op, ttnn.CreateGlobalSemaphoreOp):
            return {"type": {"CreateGlobalSemaphoreOp": self._semaphore(op)}}
        if isinstance(op, ttnn.GenericOp):
            debug = op.debug.data if op.debug is not None else ""
            return {"type": {"GenericOp": self._generic(op)}, "debug_info": debug}
        message = f"{op.name} cannot be written to a flatbuffer: it is not lowered to ttnn"
        help_text = "run the passes from shlo-to-ttir to ttnn-lower-tt-lang-to-generic first"
        raise _not_lowered(message, help_text)

    def _math(self, op: MathOp) -> Table:
        row, values = op.ENTRY, op.values()
        table = row.table
        inputs = [self.tensor(each) for each in op.inputs]
        operands: list[object] = [inputs] if table.operands == ("inputs",) else [*inputs]
        fields: dict[str, object] = {"type": row.name} if table.kinds else {}
        fields |= zip(table.operands, operands, strict=True)
        fields |= {attribute: values[attribute] for attribute, _ in row.wire_attributes}
        return {table.name: {**fields, "out": self.tensor(op.result)}}

    def _control(self, op: ControlOp) -> Table:
        return {
            "inputs": [self.tensor(each) for each in op.inputs],
            "outputs": [self.tensor(each) for each in op.outputs],
            "programs": [self.places[name] for name in op.names],
        }

    def _semaphore(self, op: ttnn.CreateGlobalSemaphoreOp) -> Table:
        return {
            "core_ranges": from_attribute(op.attributes["core_ranges"]),
            "initial_value": from_attribute(op.attributes["initial_value"]),
            "out": self.tensor(op.result),
        }

    def _generic(self, op: ttnn.GenericOp) -> Table:
        return {
            "io_tensors": [self.tensor(each) for each in op.io_tensors],
            "additional_args": [
                {"GlobalSemaphoreRef": self.tensor(each)} for each in op.additional_args
            ],
            "program": {"ProgramDescriptor": from_attribute(op.program)},
        }


def _description(value: SSAValue) -> Table:
    layout = ttnn.layout_of(value.type)
    if layout is None:
        raise _not_lowered(f"{value.type} has no layout", "run ttnn-layout first")
    side = 32 if layout.is_tiled else 1
    shape = list(shape_of(value))
    return {
        "shape": shape,
        "mesh_shape": [1, 1],
        "layout": {
            "oob_val": "Undef",
            "memory_desc": {
                "storage_type": "Host" if layout.buffer_type == "system_memory" else "Device",
                "tile_shape": {"y": side, "x": side},
                "data_type": _format(layout.element),
                "memory_config": _memory_config(layout),
            },
        },
        "shard_status": "Unsharded",
        "local_shape": shape,
    }


def _not_lowered(message: str, *helps: str) -> CompileError:
    return CompileError(codes.GRAPH_NOT_LOWERED.broken(message, *helps).at(None))


def _format(element: str) -> str:
    if element not in _FORMATS:
        raise _not_lowered(f"there is no element type {element} on the chip")
    return _FORMATS[element]


def _memory_config(layout: TensorLayout) -> Table:
    config: dict[str, object] = {
        "tensor_memory_layout": layout.memory_layout.title().replace("_", ""),
        "buffer_type": _BUFFER_TYPES[layout.buffer_type],
    }
    if layout.is_sharded:
        ranges = [
            {"start_coord": _corner(first), "end_coord": _corner(last)}
            for first, last in layout.cores
        ]
        config["shard_spec"] = {
            "core_range_set": {"core_ranges": ranges},
            "shape": list(layout.shard_elements),
            "orientation": "RowMajor",
        }
    return config


def _corner(core: tuple[int, int]) -> dict[str, int]:
    return {"x": core[0], "y": core[1]}


def _constant_bytes(op: ttnn.ConstantOp) -> bytes:
    """Return the elements, row by row, in the result's type."""
    layout = ttnn.layout_of(op.result.type)
    assert layout is not None
    dtype = BY_DATA_FORMAT[_format(layout.element)]
    rounded = round_to(_elements(op.value), dtype)
    if rounded.size == 1:  # a splat
        rounded = np.broadcast_to(rounded, shape_of(op.result))
    return rounded.astype(dtype.storage).tobytes()


def _elements(value: Dense) -> Array:
    element = value.get_element_type()
    if element == i1:
        truths: Array = np.asarray(value.get_values()) != 0
        return truths
    kind = _storage(element)
    if kind is None:
        return np.asarray(value.get_values())
    return np.frombuffer(value.data.data, kind)


def _storage(element: Attribute) -> np.dtype[np.generic] | None:
    if isinstance(element, IntegerType):
        width = element.width.data
        sign = "u" if element.signedness.data is Signedness.UNSIGNED else "i"
        return np.dtype(f"<{sign}{width // 8}") if width in (8, 16, 32, 64) else None
    known: dict[str, DType] = {dtype.mlir: dtype for dtype in DTYPES.values()}
    if element.name in known:
        return known[element.name].storage
    size = cast(FixedBitwidthType, element).bitwidth
    return np.dtype("<f8") if size == 64 else None
