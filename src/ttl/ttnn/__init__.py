"""The embedded stand-in for ttnn: tensors and devices, as much of them as programs use."""

from typing import TYPE_CHECKING, Any

from ttl.diagnostics.names import unknown_name
from ttl.semantics.dtypes import (
    bfloat4_b,
    bfloat8_b,
    bfloat16,
    float16,
    float32,
    int32,
    uint8,
    uint16,
    uint32,
)
from ttl.semantics.types import TILE_SIZE

from .collectives import (
    Topology,
    all_gather,
    all_reduce,
)
from .compute_config import MathFidelity
from .cores import (
    CoreCoord,
    CoreGrid,
    CoreRange,
    CoreRangeSet,
    num_cores_to_corerangeset,
    split_work_to_cores,
)
from .creation import (
    arange,
    empty,
    empty_like,
    full,
    full_like,
    ones,
    ones_like,
    rand,
    randn,
    zeros,
    zeros_like,
)
from .device import (
    Device,
    GetNumAvailableDevices,
    close_device,
    get_device_ids,
    get_num_devices,
    manage_device,
    open_device,
    synchronize_device,
)
from .distribution import (
    ConcatMesh2dToTensor,
    ConcatMeshToTensor,
    MeshComposer,
    MeshComposerConfig,
    MeshMapper,
    MeshMapperConfig,
    PlacementReplicate,
    PlacementShard,
    ReplicateTensorToMesh,
    ShardTensor2dMesh,
    ShardTensorToMesh,
    concat_mesh_to_tensor_composer,
    create_mesh_composer,
    create_mesh_mapper,
    replicate_tensor_to_mesh_mapper,
    shard_tensor_to_mesh_mapper,
)
from .exchange import (
    aggregate_tensor,
    as_tensor,
    distribute_tensor,
    from_numpy,
    from_torch,
    to_numpy,
    to_torch,
)
from .layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT, Layout
from .memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_BLOCK_SHARDED_MEMORY_CONFIG,
    L1_HEIGHT_SHARDED_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    L1_WIDTH_SHARDED_MEMORY_CONFIG,
    BufferType,
    MemoryConfig,
    NdShardSpec,
    ShardDistributionStrategy,
    ShardingStrategy,
    ShardOrientation,
    ShardSpec,
    ShardStrategy,
    TensorMemoryLayout,
)
from .mesh import (
    FabricConfig,
    MeshDevice,
    MeshShape,
    close_mesh_device,
    open_mesh_device,
    set_fabric_config,
)
from .mesh_tensor import (
    combine_device_tensors,
    get_device_tensors,
)
from .moves import (
    clone,
    copy,
    deallocate,
    from_device,
    get_memory_config,
    is_sharded,
    to_device,
    to_layout,
    to_memory_config,
    typecast,
)
from .operations import NAMES, load
from .shape import (
    Shape,
)
from .sharding import (
    create_sharded_memory_config,
)
from .tensor import Tensor
from .tensor_spec import (
    TensorSpec,
)

__all__ = [
    "DRAM_MEMORY_CONFIG",
    "L1_BLOCK_SHARDED_MEMORY_CONFIG",
    "L1_HEIGHT_SHARDED_MEMORY_CONFIG",
    "L1_MEMORY_CONFIG",
    "L1_WIDTH_SHARDED_MEMORY_CONFIG",
    "ROW_MAJOR_LAYOUT",
    "TILE_LAYOUT",
    "TILE_SIZE",
    "BufferType",
    "ConcatMesh2dToTensor",
    "ConcatMeshToTensor",
    "CoreCoord",
    "CoreGrid",
    "CoreRange",
    "CoreRangeSet",
    "Device",
    "FabricConfig",
    "GetNumAvailableDevices",
    "Layout",
    "MathFidelity",
    "MemoryConfig",
    "MeshComposer",
    "MeshComposerConfig",
    "MeshDevice",
    "MeshMapper",
    "MeshMapperConfig",
    "MeshShape",
    "NdShardSpec",
    "PlacementReplicate",
    "PlacementShard",
    "ReplicateTensorToMesh",
    "Shape",
    "ShardDistributionStrategy",
    "ShardOrientation",
    "ShardSpec",
    "ShardStrategy",
    "ShardTensor2dMesh",
    "ShardTensorToMesh",
    "ShardingStrategy",
    "Tensor",
    "TensorMemoryLayout",
    "TensorSpec",
    "Topology",
    "aggregate_tensor",
    "all_gather",
    "all_reduce",
    "arange",
    "as_tensor",
    "bfloat4_b",
    "bfloat8_b",
    "bfloat16",
    "clone",
    "close_device",
    "close_mesh_device",
    "combine_device_tensors",
    "concat_mesh_to_tensor_composer",
    "copy",
    "create_mesh_composer",
    "create_mesh_mapper",
    "create_sharded_memory_config",
    "deallocate",
    "distribute_tensor",
    "empty",
    "empty_like",
    "float16",
    "float32",
    "from_device",
    "from_numpy",
    "from_torch",
    "full",
    "full_like",
    "get_device_ids",
    "get_device_tensors",
    "get_memory_config",
    "get_num_devices",
    "int32",
    "is_sharded",
    "manage_device",
    "num_cores_to_corerangeset",
    "ones",
    "ones_like",
    "open_device",
    "open_mesh_device",
    "rand",
    "randn",
    "replicate_tensor_to_mesh_mapper",
    "set_fabric_config",
    "shard_tensor_to_mesh_mapper",
    "split_work_to_cores",
    "synchronize_device",
    "to_device",
    "to_layout",
    "to_memory_config",
    "to_numpy",
    "to_torch",
    "typecast",
    "uint8",
    "uint16",
    "uint32",
    "zeros",
    "zeros_like",
]

__all__ += NAMES

if TYPE_CHECKING:  # these load when a program first uses one
    from .operations.activations import *  # noqa: F403
    from .operations.arithmetic import *  # noqa: F403
    from .operations.elementwise import *  # noqa: F403
    from .operations.matmul import *  # noqa: F403
    from .operations.normalization import *  # noqa: F403
    from .operations.reduction import *  # noqa: F403
    from .operations.shape import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        if name in NAMES:
            return load(name)
        raise unknown_name("the embedded ttnn", name, __all__)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
