"""The flatbuffer's schema as data, read by the writer, the reader and docs/reference/flatbuffer.md.

A field is `(name, type)` or `(name, type, default)`; its slot is its position, and a union takes
two: its tag, then its value. `[T]` is a vector. Values are dicts by field name, a member of a union
is a dict with one key, an element of an enum is its name.

TTNN tables and tags of tt-mlir are kept where public notes give them: UPSTREAM says which. The rest
is ours, with tags from OWN_TAGS on, which tt-mlir does not use.
"""

from __future__ import annotations

from functools import cache

from ttl.semantics.graph_ops import BINARY, REDUCTIONS, UNARY

IDENTIFIER = b"TTNN"
SCHEMA_REVISION = "tt-mlir 19c86fca4"  # the tags of unions move between its commits
OWN_TAGS = 200
VERSION = {"major": 0, "minor": 1, "patch": 0}  # of the program as a whole: ours

Field = tuple[str, str] | tuple[str, str, str | int]

SCALARS: dict[str, tuple[str, int]] = {  # the name in struct, and the size
    "bool": ("?", 1), "ubyte": ("B", 1), "ushort": ("H", 2), "uint": ("I", 4), "ulong": ("Q", 8),
    "int": ("i", 4), "long": ("q", 8), "double": ("d", 8),
}  # fmt: skip

STRUCTS: dict[str, tuple[tuple[str, str], ...]] = {
    "Version": (("major", "ushort"), ("minor", "ushort"), ("patch", "uint")),
    "Dim2d": (("y", "int"), ("x", "int")),
    "CoreCoord": (("x", "ulong"), ("y", "ulong")),
    "CoreRange": (("start_coord", "CoreCoord"), ("end_coord", "CoreCoord")),
}


def _numbered(*names: str) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


ENUMS: dict[str, tuple[str, dict[str, int]]] = {
    "DataType": (
        "ushort",
        _numbered(
            "Float32", "Float16", "BFloat16", "BFP_Float8", "BFP_BFloat8", "BFP_Float4",
            "BFP_BFloat4", "BFP_Float2", "BFP_BFloat2", "UInt32", "UInt16", "UInt8", "Int32",
        ),
    ),
    "SourceType": ("ubyte", _numbered("FILE_PATH", "SOURCE_CODE")),
    "CoreType": ("ubyte", _numbered("WORKER", "ETH")),
    "OOBVal": ("ushort", _numbered("Undef", "Zero", "One", "Inf", "NegInf")),
    "StorageType": ("ushort", _numbered("Host", "Device")),
    "ShardStatus": ("ushort", _numbered("Unsharded", "Presharded")),
    "BufferType": ("ushort", _numbered("DRAM", "L1", "SystemMemory")),
    "TensorMemoryLayout": (
        "ushort",
        {"Interleaved": 0, "HeightSharded": 2, "WidthSharded": 3, "BlockSharded": 4},
    ),
    "ShardOrientation": ("ubyte", _numbered("RowMajor", "ColMajor")),
    "MathFidelity": ("ubyte", {"LoFi": 0, "HiFi2": 2, "HiFi3": 3, "HiFi4": 4}),
    "UnpackToDestMode": ("ubyte", _numbered("Default", "UnpackToDestFp32")),
    "UnaryKind": ("uint", _numbered(*UNARY)),
    "BinaryKind": ("uint", _numbered(*BINARY)),
    "ReductionKind": ("uint", _numbered(*REDUCTIONS)),
}  # fmt: skip

UNIONS: dict[str, dict[str, int]] = {
    "OpType": {
        "DeallocateOp": 29,
        "EltwiseBinaryOp": 36,
        "EltwiseUnaryOp": 40,
        "EmptyOp": 43,
        "FromDeviceOp": 48,
        "FullOp": 49,
        "GenericOp": 52,
        "GetDeviceOp": 53,
        "MatmulOp": 62,
        "ToDeviceOp": 110,
        "ToLayoutOp": 111,
        "ToMemoryConfigOp": 112,
        "TypecastOp": 114,
        "CreateGlobalSemaphoreOp": 128,
        "WhereOp": OWN_TAGS,
        "ReductionOp": OWN_TAGS + 1,
        "ReshapeOp": OWN_TAGS + 2,
        "ExpandOp": OWN_TAGS + 3,
        "PermuteOp": OWN_TAGS + 4,
        "ConcatOp": OWN_TAGS + 5,
        "SliceOp": OWN_TAGS + 6,
        "AssignOp": OWN_TAGS + 7,
        "ArangeOp": OWN_TAGS + 8,
        "ConstantOp": OWN_TAGS + 9,
        "EmbeddingOp": OWN_TAGS + 10,
    },
    "ProgramKind": {"ProgramDescriptor": 1, "MeshProgramDescriptor": 2},
    "KernelConfig": {
        "ComputeKernelConfig": 1,
        "DataMovementKernelConfig": 2,
        "ReaderKernelConfig": 3,
        "WriterKernelConfig": 4,
    },
    "KernelArgType": {
        "KernelArgCBBufferIndex": 1,
        "KernelArgBufferAddress": 2,
        "KernelArgBufferAddressOfTensor": 3,
        "KernelArgSemaphoreAt": 4,
        "KernelArgNamedArgument": 5,
        "KernelArgGlobalSemaphore": 6,
        "KernelArgScalar": 7,
        "KernelArgTensorAccessorArgs": 8,
    },
    "ArgRef": {"GlobalSemaphoreRef": 1},
}

TABLES: dict[str, tuple[Field, ...]] = {
    "TTNNBinary": (
        ("version", "Version"),
        ("schema_hash", "string"),
        ("ttmlir_git_hash", "string"),
        ("system_desc", "Nothing"),
        ("mlir", "MLIR"),
        ("programs", "[Program]"),
    ),
    "MLIR": (("name", "string"), ("source", "string")),
    "Program": (
        ("name", "string"),
        ("inputs", "[TensorRef]"),
        ("outputs", "[TensorRef]"),
        ("operations", "[Operation]"),
        ("dylibs", "[Nothing]"),
        ("debug_info", "Nothing"),
        ("private", "bool"),
        ("mesh_shape", "Dim2d"),
        ("semaphore_inputs", "[GlobalSemaphoreRef]"),
    ),
    "Nothing": (),
    "Operation": (("type", "OpType"), ("debug_info", "string"), ("loc_info", "string")),
    # Tensors
    "TensorRef": (("global_id", "uint"), ("desc", "TensorDesc")),
    "TensorDesc": (
        ("shape", "[int]"),
        ("mesh_shape", "[int]"),
        ("layout", "LayoutDesc"),
        ("shard_status", "ShardStatus"),
        ("local_shape", "[int]"),
    ),
    "LayoutDesc": (("oob_val", "OOBVal"), ("memory_desc", "MemoryDesc")),
    "MemoryDesc": (
        ("storage_type", "StorageType"),
        ("tile_shape", "Dim2d"),
        ("data_type", "DataType"),
        ("memory_config", "MemoryConfig"),
    ),
    "MemoryConfig": (
        ("tensor_memory_layout", "TensorMemoryLayout"),
        ("buffer_type", "BufferType"),
        ("shard_spec", "ShardSpec"),
        ("nd_shard_spec", "Nothing"),
    ),
    "ShardSpec": (
        ("core_range_set", "CoreRangeSet"),
        ("shape", "[int]"),
        ("orientation", "ShardOrientation"),
    ),
    "CoreRangeSet": (("core_ranges", "[CoreRange]"),),
    "GlobalSemaphoreRef": (("global_id", "uint"),),
    # Kernels
    "GenericOp": (
        ("io_tensors", "[TensorRef]"),
        ("additional_args", "[ArgRef]"),
        ("program", "ProgramKind"),
    ),
    "ProgramDescriptor": (
        ("kernels", "[KernelDescriptor]"),
        ("semaphores", "[SemaphoreDescriptor]"),
        ("cbs", "[KernelCBDescriptor]"),
    ),
    "MeshProgramDescriptor": (),
    "KernelDescriptor": (
        ("source", "string"),
        ("source_type", "SourceType", "SOURCE_CODE"),
        ("config", "KernelConfig"),
        ("core_ranges", "CoreRangeSet"),
        ("ct_args", "KernelArgs"),
        ("rt_args", "[CoreArgs]"),
        ("common_rt_args", "KernelArgs"),
    ),
    "KernelArgs": (("args", "[KernelArg]"),),
    "CoreArgs": (("core_coord", "CoreCoord"), ("args", "[KernelArg]")),
    "KernelArg": (("arg", "KernelArgType"),),
    "KernelArgCBBufferIndex": (("buffer_index", "uint"),),
    "KernelArgBufferAddress": (("buffer_address", "uint"),),
    "KernelArgBufferAddressOfTensor": (("tensor_idx", "uint"),),
    "KernelArgSemaphoreAt": (("semaphore_idx", "uint"),),
    "KernelArgNamedArgument": (("name", "string"), ("value", "uint")),
    "KernelArgGlobalSemaphore": (("global_semaphore_index", "uint"),),
    "KernelArgScalar": (("value", "uint"),),
    "KernelArgTensorAccessorArgs": (("operand_index", "uint"),),
    "ComputeKernelConfig": (
        ("math_fidelity", "MathFidelity"),
        ("fp32_dest_acc_en", "bool"),
        ("dst_full_sync_en", "bool"),
        ("unpack_to_dest_modes", "[UnpackToDestMode]"),
        ("bfp8_pack_precise", "bool"),
        ("math_approx_mode", "bool"),
    ),
    "DataMovementKernelConfig": (),
    "ReaderKernelConfig": (),
    "WriterKernelConfig": (),
    "KernelCBDescriptor": (
        ("total_size", "uint"),
        ("core_range", "CoreRangeSet"),
        ("formats", "[KernelCBFormat]"),
        ("buffer", "Nothing"),
    ),
    "KernelCBFormat": (("buffer_index", "uint"), ("dtype", "DataType"), ("page_size", "uint")),
    "SemaphoreDescriptor": (
        ("id", "uint"),
        ("core_type", "CoreType"),
        ("core_ranges", "CoreRangeSet"),
        ("initial_value", "uint"),
    ),
    "CreateGlobalSemaphoreOp": (
        ("core_ranges", "CoreRangeSet"),
        ("initial_value", "uint"),
        ("out", "GlobalSemaphoreRef"),
    ),
    # Calls of ttnn; the first four are known only by their names, and not run
    "FromDeviceOp": (),
    "GetDeviceOp": (),
    "ToDeviceOp": (),
    "ToMemoryConfigOp": (),
    "DeallocateOp": (("in", "TensorRef"),),
    "EltwiseUnaryOp": (("type", "UnaryKind"), ("in", "TensorRef"), ("out", "TensorRef")),
    "EltwiseBinaryOp": (
        ("type", "BinaryKind"),
        ("lhs", "TensorRef"),
        ("rhs", "TensorRef"),
        ("out", "TensorRef"),
    ),
    "WhereOp": (
        ("predicate", "TensorRef"),
        ("on_true", "TensorRef"),
        ("on_false", "TensorRef"),
        ("out", "TensorRef"),
    ),
    "MatmulOp": (("a", "TensorRef"), ("b", "TensorRef"), ("out", "TensorRef")),
    "ReductionOp": (
        ("type", "ReductionKind"),
        ("in", "TensorRef"),
        ("dim_arg", "[int]"),
        ("keep_dim", "bool"),
        ("out", "TensorRef"),
    ),
    "ReshapeOp": (("in", "TensorRef"), ("out", "TensorRef")),
    "ExpandOp": (("in", "TensorRef"), ("out", "TensorRef")),
    "PermuteOp": (("in", "TensorRef"), ("permutation", "[int]"), ("out", "TensorRef")),
    "ConcatOp": (("inputs", "[TensorRef]"), ("dim", "int"), ("out", "TensorRef")),
    "SliceOp": (
        ("in", "TensorRef"),
        ("begins", "[int]"),
        ("ends", "[int]"),
        ("step", "[int]"),
        ("out", "TensorRef"),
    ),
    "EmbeddingOp": (("in", "TensorRef"), ("weight", "TensorRef"), ("out", "TensorRef")),
    "TypecastOp": (("in", "TensorRef"), ("out", "TensorRef")),
    "AssignOp": (("in", "TensorRef"), ("out", "TensorRef")),
    "ToLayoutOp": (("in", "TensorRef"), ("out", "TensorRef")),
    "EmptyOp": (("out", "TensorRef"),),
    "FullOp": (("fill_value", "double"), ("out", "TensorRef")),
    "ArangeOp": (("dim", "int"), ("out", "TensorRef")),
    "ConstantOp": (("data", "[ubyte]"), ("out", "TensorRef")),
}

# Tables whose fields stand in the order of tt-mlir's, as far as it is known.
UPSTREAM = (
    "TTNNBinary", "Program", "Operation", "TensorRef", "TensorDesc", "LayoutDesc", "MemoryDesc",
    "MemoryConfig", "GenericOp", "ProgramDescriptor", "KernelDescriptor", "KernelArgs", "CoreArgs",
    "KernelCBDescriptor", "KernelCBFormat", "SemaphoreDescriptor", "KernelArgTensorAccessorArgs",
)  # fmt: skip


@cache  # bounded by the tables above, as that of slots()
def struct_layout(name: str) -> tuple[tuple[tuple[str, str, int], ...], int, int]:
    """The fields with their offsets, the size and the alignment of a scalar, enum or struct."""
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
    """Does a value of the type stand in the table itself, not behind an offset?"""
    return type in SCALARS or type in ENUMS or type in STRUCTS


@cache
def slots(table: str) -> tuple[tuple[str, str, str | int, int], ...]:
    """(name, type, default, slot) of each field."""
    found, slot = [], 0
    for field in TABLES[table]:
        name, type, default = (*field, 0)[:3]
        found.append((name, type, default, slot))
        slot += 2 if type.strip("[]") in UNIONS else 1
    return tuple(found)
