"""The embedded stand-in for ttnn: tensors and devices, as much of them as programs use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ttl.diagnostics import hide_frames
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
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT, Layout
from ttl.semantics.types import TILE_SIZE

from .collectives import *  # noqa: F403
from .compute_config import *  # noqa: F403
from .cores import *  # noqa: F403
from .creation import *  # noqa: F403
from .device import *  # noqa: F403
from .device import AnyDevice as Device
from .distribution import *  # noqa: F403
from .enums import *  # noqa: F403
from .exchange import *  # noqa: F403
from .files import *  # noqa: F403
from .memory_config import *  # noqa: F403
from .mesh import *  # noqa: F403
from .mesh_tensor import *  # noqa: F403
from .moves import *  # noqa: F403
from .operations import NAMES, load
from .printing import *  # noqa: F403
from .shape import *  # noqa: F403
from .sharding import *  # noqa: F403
from .tensor import *  # noqa: F403
from .tensor_spec import *  # noqa: F403
from .tile import *  # noqa: F403
from .traces import *  # noqa: F403

MeshDevice = Device  # one class, as in the real ttnn

MODULES = ("experimental", "kv_cache", "transformer")
# Names of programs.py, which few programs use.
PROGRAMS = (
    "NOC",
    "NOC_MODE",
    "CBDescriptor",
    "CBFormatDescriptor",
    "ComputeConfigDescriptor",
    "CoreType",
    "DataMovementConfigDescriptor",
    "DataMovementProcessor",
    "KernelDescriptor",
    "ProgramDescriptor",
    "ReaderConfigDescriptor",
    "RuntimeArgs",
    "SemaphoreDescriptor",
    "TensorAccessorArgs",
    "TileDescriptor",
    "UnpackToDestMode",
    "WriterConfigDescriptor",
    "generic_op",
)

__all__ = [
    "ROW_MAJOR_LAYOUT",
    "TILE_LAYOUT",
    "TILE_SIZE",
    "Device",
    "Layout",
    "MeshDevice",
    "bfloat4_b",
    "bfloat8_b",
    "bfloat16",
    "float16",
    "float32",
    "int32",
    "uint8",
    "uint16",
    "uint32",
]
_PARTS = (
    "collectives",
    "compute_config",
    "cores",
    "creation",
    "device",
    "distribution",
    "enums",
    "exchange",
    "files",
    "memory_config",
    "mesh",
    "mesh_tensor",
    "moves",
    "printing",
    "shape",
    "sharding",
    "tensor",
    "tensor_spec",
    "tile",
    "traces",
)
__all__ += [name for part in _PARTS for name in globals()[part].__all__]
__all__ += MODULES
__all__ += NAMES
__all__ += PROGRAMS

if TYPE_CHECKING:  # these load when a program first uses one
    from .operations.activations import *  # noqa: F403
    from .operations.arithmetic import *  # noqa: F403
    from .operations.elementwise import *  # noqa: F403
    from .operations.matmul import *  # noqa: F403
    from .operations.normalization import *  # noqa: F403
    from .operations.ordering import *  # noqa: F403
    from .operations.reduction import *  # noqa: F403
    from .operations.shape import *  # noqa: F403
    from .operations.windows import *  # noqa: F403
    from .programs import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        if name in MODULES or name == "_ttnn":
            return import_module(f"{__name__}.{name}")
        if name in NAMES:
            return load(name)
        if name in PROGRAMS:
            return getattr(import_module(f"{__name__}.programs"), name)
        raise unknown_name("the embedded ttnn", name, __all__)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


hide_frames(__name__)
