"""The flatbuffer's schema, read by the writer, the reader and docs/reference/flatbuffer.md.

It is in flatc's language. A field's slot is its position, and a union takes two: its tag, then its
value. Values are dicts by field name, a member of a union is a dict with one key, an element of an
enum is its name. Tables and numbers of graph operations come from graph_ops.py.

TTNN tables and tags match tt-mlir where public notes give them: UPSTREAM lists them. The rest is
ours, with tags from OWN_TAGS on, which tt-mlir does not use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias

from ttgraph.graph_ops import GRAPH_OPS, GraphOp

from .metal_schema import METAL_SCHEMA

Table: TypeAlias = dict[str, Any]  # the values of a table by field name
Fields: TypeAlias = Mapping[str, Any]  # a table that is only read

IDENTIFIER = b"TTNN"
SCHEMA_REVISION = "tt-mlir 19c86fca4"  # the tags of unions change between its commits
OWN_TAGS = 200
VERSION = {"major": 0, "minor": 1, "patch": 0}  # of the whole program: ours

SCALARS: dict[str, tuple[str, int]] = {  # the name in struct, and the size
    "bool": ("?", 1),
    "ubyte": ("B", 1),
    "ushort": ("H", 2),
    "uint": ("I", 4),
    "ulong": ("Q", 8),
    "int": ("i", 4),
    "long": ("q", 8),
    "double": ("d", 8),
}

SCHEMA = """
enum DataType: ushort {
  Float32 = 0, Float16 = 1, BFloat16 = 2, BFP_Float8 = 3, BFP_BFloat8 = 4, BFP_Float4 = 5,
  BFP_BFloat4 = 6, BFP_Float2 = 7, BFP_BFloat2 = 8, UInt32 = 9, UInt16 = 10, UInt8 = 11,
  Int32 = 12
}
enum SourceType: ubyte { FILE_PATH = 0, SOURCE_CODE = 1 }
enum CoreType: ubyte { WORKER = 0, ETH = 1 }
enum OOBVal: ushort { Undef = 0, Zero = 1, One = 2, Inf = 3, NegInf = 4 }
enum StorageType: ushort { Host = 0, Device = 1 }
enum ShardStatus: ushort { Unsharded = 0, Presharded = 1 }
enum BufferType: ushort { DRAM = 0, L1 = 1, SystemMemory = 2 }
enum TensorMemoryLayout: ushort {
  Interleaved = 0, HeightSharded = 2, WidthSharded = 3, BlockSharded = 4
}
enum ShardOrientation: ubyte { RowMajor = 0, ColMajor = 1 }
enum MathFidelity: ubyte { LoFi = 0, HiFi2 = 2, HiFi3 = 3, HiFi4 = 4 }
enum UnpackToDestMode: ubyte { Default = 0, UnpackToDestFp32 = 1 }
struct Version { major: ushort; minor: ushort; patch: uint; }
struct Dim2d { y: int; x: int; }
struct CoreCoord { x: ulong; y: ulong; }
struct CoreRange { start_coord: CoreCoord; end_coord: CoreCoord; }
union OpType {
  DeallocateOp = 29, FromDeviceOp = 48, GenericOp = 52, GetDeviceOp = 53, ToDeviceOp = 110,
  ToMemoryConfigOp = 112, CreateGlobalSemaphoreOp = 128, ConstantOp = 209, WhileOp = 240,
  CaseOp = 241
}
union ProgramKind { ProgramDescriptor = 1, MeshProgramDescriptor = 2 }
union KernelConfig {
  ComputeKernelConfig = 1, DataMovementKernelConfig = 2, ReaderKernelConfig = 3,
  WriterKernelConfig = 4
}
union KernelArgType {
  KernelArgCBBufferIndex = 1, KernelArgBufferAddress = 2, KernelArgBufferAddressOfTensor = 3,
  KernelArgSemaphoreAt = 4, KernelArgNamedArgument = 5, KernelArgGlobalSemaphore = 6,
  KernelArgScalar = 7, KernelArgTensorAccessorArgs = 8
}
union ArgRef { GlobalSemaphoreRef = 1 }

// Programs
table TTNNBinary {
  version: Version; schema_hash: string; ttmlir_git_hash: string; system_desc: Nothing;
  mlir: MLIR; programs: [Program];
}
table MLIR { name: string; source: string; }
table Program {
  name: string; inputs: [TensorRef]; outputs: [TensorRef]; operations: [Operation];
  dylibs: [Nothing]; debug_info: Nothing; private: bool; mesh_shape: Dim2d;
  semaphore_inputs: [GlobalSemaphoreRef];
}
table Nothing {}
table Operation { type: OpType; debug_info: string; loc_info: string; }

// Tensors
table TensorRef { global_id: uint; desc: TensorDesc; }
table TensorDesc {
  shape: [int]; mesh_shape: [int]; layout: LayoutDesc; shard_status: ShardStatus;
  local_shape: [int];
}
table LayoutDesc { oob_val: OOBVal; memory_desc: MemoryDesc; }
table MemoryDesc {
  storage_type: StorageType; tile_shape: Dim2d; data_type: DataType; memory_config: MemoryConfig;
}
table MemoryConfig {
  tensor_memory_layout: TensorMemoryLayout; buffer_type: BufferType; shard_spec: ShardSpec;
  nd_shard_spec: Nothing;
}
table ShardSpec { core_range_set: CoreRangeSet; shape: [int]; orientation: ShardOrientation; }
table CoreRangeSet { core_ranges: [CoreRange]; }
table GlobalSemaphoreRef { global_id: uint; }

// Kernels
table GenericOp { io_tensors: [TensorRef]; additional_args: [ArgRef]; program: ProgramKind; }
table ProgramDescriptor {
  kernels: [KernelDescriptor]; semaphores: [SemaphoreDescriptor]; cbs: [KernelCBDescriptor];
}
table MeshProgramDescriptor {}
table KernelDescriptor {
  source: string; source_type: SourceType = SOURCE_CODE; config: KernelConfig;
  core_ranges: CoreRangeSet; ct_args: KernelArgs; rt_args: [CoreArgs];
  common_rt_args: KernelArgs;
}
table KernelArgs { args: [KernelArg]; }
table CoreArgs { core_coord: CoreCoord; args: [KernelArg]; }
table KernelArg { arg: KernelArgType; }
table KernelArgCBBufferIndex { buffer_index: uint; }
table KernelArgBufferAddress { buffer_address: uint; }
table KernelArgBufferAddressOfTensor { tensor_idx: uint; }
table KernelArgSemaphoreAt { semaphore_idx: uint; }
table KernelArgNamedArgument { name: string; value: uint; }
table KernelArgGlobalSemaphore { global_semaphore_index: uint; }
table KernelArgScalar { value: uint; }
table KernelArgTensorAccessorArgs { operand_index: uint; }
table ComputeKernelConfig {
  math_fidelity: MathFidelity; fp32_dest_acc_en: bool; dst_full_sync_en: bool;
  unpack_to_dest_modes: [UnpackToDestMode]; bfp8_pack_precise: bool; math_approx_mode: bool;
}
table DataMovementKernelConfig {}
table ReaderKernelConfig {}
table WriterKernelConfig {}
table KernelCBDescriptor {
  total_size: uint; core_range: CoreRangeSet; formats: [KernelCBFormat]; buffer: Nothing;
}
table KernelCBFormat { buffer_index: uint; dtype: DataType; page_size: uint; }
table SemaphoreDescriptor {
  id: uint; core_type: CoreType; core_ranges: CoreRangeSet; initial_value: uint;
}
table CreateGlobalSemaphoreOp {
  core_ranges: CoreRangeSet; initial_value: uint; out: GlobalSemaphoreRef;
}

// Calls of ttnn; the first four are known only by their names, and not run
table FromDeviceOp {}
table GetDeviceOp {}
table ToDeviceOp {}
table ToMemoryConfigOp {}
table DeallocateOp { in: TensorRef; }
table ConstantOp { data: [ubyte]; out: TensorRef; }

// Calls of other programs of the file: their numbers, all above that of the caller
table WhileOp { inputs: [TensorRef]; outputs: [TensorRef]; programs: [uint]; }
table CaseOp { inputs: [TensorRef]; outputs: [TensorRef]; programs: [uint]; }
"""

Field = tuple[str, str] | tuple[str, str, str]
_ATTRIBUTE_TYPES = {"int": "int", "ints": "[int]", "bool": "bool", "float": "double"}


def _find_declarations(keyword: str) -> list[tuple[str, str, list[str]]]:
    """Return (name, width, members) of everything that the texts declare with a keyword."""
    text = SCHEMA + METAL_SCHEMA
    found = re.findall(rf"^{keyword} (\w+)(?:: (\w+))? {{([^}}]*)}}", text, re.MULTILINE)
    split = re.compile("[;,]")
    return [
        (name, width, [e.strip() for e in split.split(body) if e.strip()])
        for name, width, body in found
    ]


def _numbers(members: list[str]) -> dict[str, int]:
    pairs = (member.split(" = ") for member in members)
    return {name: int(number) for name, number in pairs}


def _field(text: str) -> Field:
    name, type, *default = re.split(": | = ", text)
    return (name, type, default[0]) if default else (name, type)


def _operation_fields(op: GraphOp) -> tuple[Field, ...]:
    kind = [("type", op.table.kinds)] if op.table.kinds else []
    type = "[TensorRef]" if op.table.operands == ("inputs",) else "TensorRef"
    operands = [(field, type) for field in op.table.operands]
    attributes = [(name, _ATTRIBUTE_TYPES[kind]) for name, kind in op.wire_attributes]
    return (*kind, *operands, *attributes, ("out", "TensorRef"))


_KINDS = sorted({op.table.kinds for op in GRAPH_OPS.values()} - {""})
ENUMS: dict[str, tuple[str, dict[str, int]]] = {
    **{name: (width, _numbers(members)) for name, width, members in _find_declarations("enum")},
    **{
        kind: ("uint", {op.name: op.wire for op in GRAPH_OPS.values() if op.table.kinds == kind})
        for kind in _KINDS
    },
}
STRUCTS: dict[str, tuple[tuple[str, str], ...]] = {
    name: tuple(_field(each)[:2] for each in members)
    for name, _, members in _find_declarations("struct")
}
UNIONS: dict[str, dict[str, int]] = {
    name: _numbers(members) for name, _, members in _find_declarations("union")
}
UNIONS["OpType"] |= {op.table.name: op.table.tag for op in GRAPH_OPS.values()}
TABLES: dict[str, tuple[Field, ...]] = {
    **{name: tuple(map(_field, members)) for name, _, members in _find_declarations("table")},
    **{op.table.name: _operation_fields(op) for op in GRAPH_OPS.values()},
}

# Tables whose fields are in tt-mlir's order, as far as it is known.
UPSTREAM = (
    "TTNNBinary",
    "Program",
    "Operation",
    "TensorRef",
    "TensorDesc",
    "LayoutDesc",
    "MemoryDesc",
    "MemoryConfig",
    "GenericOp",
    "ProgramDescriptor",
    "KernelDescriptor",
    "KernelArgs",
    "CoreArgs",
    "KernelCBDescriptor",
    "KernelCBFormat",
    "SemaphoreDescriptor",
    "KernelArgTensorAccessorArgs",
)


@cache  # bounded by the tables above, as that of slots()
def struct_layout(name: str) -> tuple[tuple[tuple[str, str, int], ...], int, int]:
    """Return the fields with offsets, the size and the alignment of a scalar, enum or struct."""
    if name in SCALARS:
        size = SCALARS[name][1]
        return (), size, size
    if name in ENUMS:
        return struct_layout(ENUMS[name][0])
    fields, position, widest = [], 0, 1
    for field, type in STRUCTS[name]:
        _, size, alignment = struct_layout(type)
        position = -(-position // alignment) * alignment
        fields.append((field, type, position))
        position, widest = position + size, max(widest, alignment)
    return tuple(fields), -(-position // widest) * widest, widest


def is_inline(type: str) -> bool:
    """Is a value of the type stored in the table itself, not at an offset?"""
    return type in SCALARS or type in ENUMS or type in STRUCTS


@cache
def slots(table: str) -> tuple[tuple[str, str, str | int, int], ...]:
    """Return (name, type, default, slot) of each field."""
    found, slot = [], 0
    for field in TABLES[table]:
        name, type, default = (*field, 0)[:3]
        found.append((name, type, default, slot))
        slot += 2 if type.strip("[]") in UNIONS else 1
    return tuple(found)
