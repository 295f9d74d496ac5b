"""The embedded stand-in for ttnn: its public names."""

# ruff: noqa
# Written by `python tests/editor/stubs.py`; do not edit.

from typing import ClassVar

from ttl.semantics.dtypes import (
    DType, float16,
)
from ttl.semantics.layout import (
    Layout, ROW_MAJOR_LAYOUT, TILE_LAYOUT,
)
from ttl.semantics.types import (
    TILE_SIZE,
)
from ttl.ttnn.collectives import (
    all_gather, all_reduce,
)
from ttl.ttnn.compute_config import (
    Conv2dConfig, DispatchCoreConfig, UnaryOpType, UnaryWithParam, WormholeComputeKernelConfig,
    init_device_compute_kernel_config,
)
from ttl.ttnn.cores import (
    CoreCoord, CoreGrid, CoreRange, CoreRangeSet, corerange_to_cores, grid_to_cores,
    num_cores_to_corerangeset, split_work_to_cores,
)
from ttl.ttnn.creation import (
    allocate_tensor_on_device, allocate_tensor_on_host, arange, empty, empty_like, full, full_like,
    ones, ones_like, rand, randn, zeros, zeros_like,
)
from ttl.ttnn.device import (
    CloseDevice, AnyDevice as Device, GetNumAvailableDevices, AnyDevice as MeshDevice, close_device,
    get_arch_name, get_device_ids, get_max_worker_l1_unreserved_size, get_num_devices,
    manage_device, open_device, synchronize_device,
)
from ttl.ttnn.distribution import (
    ConcatMesh2dToTensor, ConcatMeshToTensor, MeshComposer, MeshComposerConfig, MeshMapper,
    MeshMapperConfig, PlacementReplicate, PlacementShard, ReplicateTensorToMesh, ShardTensor2dMesh,
    ShardTensorToMesh, concat_mesh_to_tensor_composer, create_mesh_composer, create_mesh_mapper,
    replicate_tensor_to_mesh_mapper, shard_tensor_to_mesh_mapper,
)
from ttl.ttnn.enums import (
    Arch, BufferType, DispatchCoreType, FabricConfig, FabricReliabilityMode, MathFidelity,
    ShardDistributionStrategy, ShardOrientation, ShardStrategy, ShardingStrategy, StorageType,
    TensorMemoryLayout, Topology,
)
from ttl.ttnn.exchange import (
    aggregate_tensor, as_tensor, distribute_tensor, from_buffer, from_numpy, from_torch, to_numpy,
    to_torch,
)
from ttl.ttnn.files import (
    dump_tensor, load_tensor,
)
from ttl.ttnn.memory_config import (
    DRAM_MEMORY_CONFIG, L1_BLOCK_SHARDED_MEMORY_CONFIG, L1_HEIGHT_SHARDED_MEMORY_CONFIG,
    L1_MEMORY_CONFIG, L1_WIDTH_SHARDED_MEMORY_CONFIG, MemoryConfig, NdShardSpec, ShardSpec,
)
from ttl.ttnn.mesh import (
    MeshShape, close_mesh_device, open_mesh_device, set_fabric_config,
)
from ttl.ttnn.mesh_tensor import (
    combine_device_tensors, get_device_tensors,
)
from ttl.ttnn.moves import (
    bitcast, clone, copy, copy_device_to_host_tensor, copy_host_to_device_tensor, deallocate,
    from_device, get_memory_config, is_sharded, is_tensor_storage_on_device, move, reallocate,
    to_device, to_dtype, to_layout, to_memory_config, typecast,
)
from ttl.ttnn.operations.activations import (
    celu, elu, gelu, hardsigmoid, hardswish, hardtanh, leaky_relu, log_sigmoid, mish, relu, relu6,
    selu, sigmoid, silu, softplus, softsign, swish,
)
from ttl.ttnn.operations.arithmetic import (
    add, add_, addcdiv, addcmul, atan2, bitwise_and, bitwise_left_shift, bitwise_or,
    bitwise_right_shift, bitwise_xor, div, div_, divide, divide_, eq, floor_div, fmod, ge, gt,
    isclose, le, lerp, logical_and, logical_or, logical_right_shift, logical_xor, lt, maximum,
    minimum, mul, mul_, multiply, multiply_, ne, pow, remainder, rsub, squared_difference, sub,
    sub_, subtract, subtract_, where,
)
from ttl.ttnn.operations.elementwise import (
    abs, acos, acosh, asin, asinh, atan, atanh, bitwise_not, ceil, clamp, clip, cos, cosh, eqz, erf,
    erfc, erfinv, exp, exp2, expm1, fill, floor, frac, gez, gtz, identity, isfinite, isinf, isnan,
    lez, log, log10, log1p, log2, logical_not, ltz, neg, nez, reciprocal, round, rsqrt, sign,
    signbit, sin, sinh, sqrt, square, tan, tanh, trunc,
)
from ttl.ttnn.operations.matmul import (
    addmm, linear, matmul,
)
from ttl.ttnn.operations.normalization import (
    layer_norm, rms_norm, softmax,
)
from ttl.ttnn.operations.ordering import (
    gather, scatter, sort, topk,
)
from ttl.ttnn.operations.reduction import (
    argmax, cumprod, cumsum, max, mean, min, prod, std, sum, var,
)
from ttl.ttnn.operations.shape import (
    chunk, concat, embedding, expand, pad, permute, repeat, repeat_interleave, reshape, slice,
    split, squeeze, stack, tilize, transpose, tril, triu, unsqueeze, unsqueeze_to_4D, untilize,
    upsample, view,
)
from ttl.ttnn.operations.windows import (
    conv2d, conv_transpose2d,
)
from ttl.ttnn.printing import (
    set_printoptions,
)
from ttl.ttnn.programs import (
    CBDescriptor, CBFormatDescriptor, ComputeConfigDescriptor, CoreType,
    DataMovementConfigDescriptor, DataMovementProcessor, KernelDescriptor, NOC, NOC_MODE,
    ProgramDescriptor, ReaderConfigDescriptor, RuntimeArgs, SemaphoreDescriptor, TensorAccessorArgs,
    TileDescriptor, UnpackToDestMode, WriterConfigDescriptor, generic_op,
)
from ttl.ttnn.shape import (
    Shape,
)
from ttl.ttnn.sharding import (
    create_sharded_memory_config,
)
from ttl.ttnn.tensor import (
    Tensor,
)
from ttl.ttnn.tensor_spec import (
    TensorSpec,
)
from ttl.ttnn.tile import (
    Tile, tile_size,
)
from ttl.ttnn.traces import (
    begin_trace_capture, end_trace_capture, execute_trace, release_trace,
)

from . import experimental, kv_cache, transformer

class DataType(DType):
    BFLOAT16: ClassVar[DataType]
    FLOAT32: ClassVar[DataType]
    UINT32: ClassVar[DataType]
    BFLOAT8_B: ClassVar[DataType]
    BFLOAT4_B: ClassVar[DataType]
    UINT8: ClassVar[DataType]
    UINT16: ClassVar[DataType]
    INT32: ClassVar[DataType]
    def __init__(self, value: int) -> None: ...

bfloat16: DataType
float32: DataType
uint32: DataType
bfloat8_b: DataType
bfloat4_b: DataType
uint8: DataType
uint16: DataType
int32: DataType

__all__ = [
    "Arch", "BufferType", "CBDescriptor", "CBFormatDescriptor", "CloseDevice",
    "ComputeConfigDescriptor", "ConcatMesh2dToTensor", "ConcatMeshToTensor", "Conv2dConfig",
    "CoreCoord", "CoreGrid", "CoreRange", "CoreRangeSet", "CoreType", "DRAM_MEMORY_CONFIG",
    "DataMovementConfigDescriptor", "DataMovementProcessor", "DataType", "Device",
    "DispatchCoreConfig", "DispatchCoreType", "FabricConfig", "FabricReliabilityMode",
    "GetNumAvailableDevices", "KernelDescriptor", "L1_BLOCK_SHARDED_MEMORY_CONFIG",
    "L1_HEIGHT_SHARDED_MEMORY_CONFIG", "L1_MEMORY_CONFIG", "L1_WIDTH_SHARDED_MEMORY_CONFIG",
    "Layout", "MathFidelity", "MemoryConfig", "MeshComposer", "MeshComposerConfig", "MeshDevice",
    "MeshMapper", "MeshMapperConfig", "MeshShape", "NOC", "NOC_MODE", "NdShardSpec",
    "PlacementReplicate", "PlacementShard", "ProgramDescriptor", "ROW_MAJOR_LAYOUT",
    "ReaderConfigDescriptor", "ReplicateTensorToMesh", "RuntimeArgs", "SemaphoreDescriptor",
    "Shape", "ShardDistributionStrategy", "ShardOrientation", "ShardSpec", "ShardStrategy",
    "ShardTensor2dMesh", "ShardTensorToMesh", "ShardingStrategy", "StorageType", "TILE_LAYOUT",
    "TILE_SIZE", "Tensor", "TensorAccessorArgs", "TensorMemoryLayout", "TensorSpec", "Tile",
    "TileDescriptor", "Topology", "UnaryOpType", "UnaryWithParam", "UnpackToDestMode",
    "WormholeComputeKernelConfig", "WriterConfigDescriptor", "abs", "acos", "acosh", "add", "add_",
    "addcdiv", "addcmul", "addmm", "aggregate_tensor", "all_gather", "all_reduce",
    "allocate_tensor_on_device", "allocate_tensor_on_host", "arange", "argmax", "as_tensor", "asin",
    "asinh", "atan", "atan2", "atanh", "begin_trace_capture", "bfloat16", "bfloat4_b", "bfloat8_b",
    "bitcast", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "ceil", "celu", "chunk", "clamp", "clip", "clone",
    "close_device", "close_mesh_device", "combine_device_tensors", "concat",
    "concat_mesh_to_tensor_composer", "conv2d", "conv_transpose2d", "copy",
    "copy_device_to_host_tensor", "copy_host_to_device_tensor", "corerange_to_cores", "cos", "cosh",
    "create_mesh_composer", "create_mesh_mapper", "create_sharded_memory_config", "cumprod",
    "cumsum", "deallocate", "distribute_tensor", "div", "div_", "divide", "divide_", "dump_tensor",
    "elu", "embedding", "empty", "empty_like", "end_trace_capture", "eq", "eqz", "erf", "erfc",
    "erfinv", "execute_trace", "exp", "exp2", "expand", "experimental", "expm1", "fill", "float16",
    "float32", "floor", "floor_div", "fmod", "frac", "from_buffer", "from_device", "from_numpy",
    "from_torch", "full", "full_like", "gather", "ge", "gelu", "generic_op", "get_arch_name",
    "get_device_ids", "get_device_tensors", "get_max_worker_l1_unreserved_size",
    "get_memory_config", "get_num_devices", "gez", "grid_to_cores", "gt", "gtz", "hardsigmoid",
    "hardswish", "hardtanh", "identity", "init_device_compute_kernel_config", "int32", "is_sharded",
    "is_tensor_storage_on_device", "isclose", "isfinite", "isinf", "isnan", "kv_cache",
    "layer_norm", "le", "leaky_relu", "lerp", "lez", "linear", "load_tensor", "log", "log10",
    "log1p", "log2", "log_sigmoid", "logical_and", "logical_not", "logical_or",
    "logical_right_shift", "logical_xor", "lt", "ltz", "manage_device", "matmul", "max", "maximum",
    "mean", "min", "minimum", "mish", "move", "mul", "mul_", "multiply", "multiply_", "ne", "neg",
    "nez", "num_cores_to_corerangeset", "ones", "ones_like", "open_device", "open_mesh_device",
    "pad", "permute", "pow", "prod", "rand", "randn", "reallocate", "reciprocal", "release_trace",
    "relu", "relu6", "remainder", "repeat", "repeat_interleave", "replicate_tensor_to_mesh_mapper",
    "reshape", "rms_norm", "round", "rsqrt", "rsub", "scatter", "selu", "set_fabric_config",
    "set_printoptions", "shard_tensor_to_mesh_mapper", "sigmoid", "sign", "signbit", "silu", "sin",
    "sinh", "slice", "softmax", "softplus", "softsign", "sort", "split", "split_work_to_cores",
    "sqrt", "square", "squared_difference", "squeeze", "stack", "std", "sub", "sub_", "subtract",
    "subtract_", "sum", "swish", "synchronize_device", "tan", "tanh", "tile_size", "tilize",
    "to_device", "to_dtype", "to_layout", "to_memory_config", "to_numpy", "to_torch", "topk",
    "transformer", "transpose", "tril", "triu", "trunc", "typecast", "uint16", "uint32", "uint8",
    "unsqueeze", "unsqueeze_to_4D", "untilize", "upsample", "var", "view", "where", "zeros",
    "zeros_like",
]
