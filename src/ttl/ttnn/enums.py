"""Enums of the real ttnn, with its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from ttl.semantics.dtypes import DTYPES, DType
from ttl.semantics.layout import plain_repr

__all__ = [
    "Arch",
    "BufferType",
    "DataType",
    "DispatchCoreType",
    "FabricConfig",
    "FabricReliabilityMode",
    "MathFidelity",
    "ShardDistributionStrategy",
    "ShardOrientation",
    "ShardStrategy",
    "ShardingStrategy",
    "StorageType",
    "TensorMemoryLayout",
    "Topology",
]


class _DataTypes(type):
    """Makes the element types an enum's members: DataType.BFLOAT16, DataType(0), list(DataType)."""

    def __getattr__(cls, name: str) -> DType:
        for dtype in cls:
            if dtype.name == name:
                return dtype
        raise AttributeError(f"DataType has no {name}")

    __getitem__ = __getattr__

    def __iter__(cls) -> Iterator[DType]:
        known = [dtype for dtype in DTYPES.values() if dtype.is_of_real_ttnn]
        return iter(sorted(known, key=lambda dtype: dtype.value))

    def __call__(cls, value: int) -> DType:
        return next(dtype for dtype in cls if dtype.value == value)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, DType)


class DataType(metaclass=_DataTypes):
    """Type of ttnn.bfloat16 and the other element types."""


class NamedChoice(Enum):
    """Enum that prints its members like the real ttnn."""

    __repr__ = plain_repr


class BufferType(NamedChoice):
    DRAM = 0
    L1 = 1
    L1_SMALL = 3
    TRACE = 4


class TensorMemoryLayout(NamedChoice):
    INTERLEAVED = 0
    HEIGHT_SHARDED = 2
    WIDTH_SHARDED = 3
    BLOCK_SHARDED = 4
    ND_SHARDED = 5


ShardingStrategy = TensorMemoryLayout  # the public simulator's name


class ShardOrientation(NamedChoice):
    """In which order shards are given to cores: along the rows of cores or down the columns."""

    ROW_MAJOR = 0
    COL_MAJOR = 1


class ShardStrategy(NamedChoice):
    HEIGHT = 1
    WIDTH = 2
    BLOCK = 3


class ShardDistributionStrategy(NamedChoice):
    ROUND_ROBIN_1D = 0
    GRID_2D = 1


class StorageType(NamedChoice):
    """Where a tensor lies."""

    HOST = 0
    DEVICE = 1


class Arch(NamedChoice):
    """The chip of a device."""

    WORMHOLE_B0 = 2
    BLACKHOLE = 3
    QUASAR = 4


class MathFidelity(NamedChoice):
    """What `math_fidelity=` of an operation takes. Products of the executor have the digits of
    LoFi and HiFi2, those of the simulator all."""

    LoFi = 0
    HiFi2 = 2
    HiFi3 = 3
    HiFi4 = 4
    Invalid = 255


class Topology(NamedChoice):
    """How the devices of a collective are connected. Nothing depends on it here."""

    Ring = 2
    Linear = 1
    Mesh = 3
    Torus = 4


class FabricConfig(NamedChoice):
    """How the chips of a mesh are connected. Nothing depends on it here."""

    DISABLED = 0
    FABRIC_1D = 2
    FABRIC_1D_RING = 3
    FABRIC_1D_NEIGHBOR_EXCHANGE = 1
    FABRIC_2D = 4
    FABRIC_2D_TORUS_XY = 7
    FABRIC_2D_TORUS_X = 5
    FABRIC_2D_TORUS_Y = 6
    CUSTOM = 8
    FABRIC_2D_DYNAMIC = 9  # in earlier versions


class FabricReliabilityMode(NamedChoice):
    """Whether links may be missing. Nothing depends on it here."""

    STRICT_INIT = 0
    RELAXED_INIT = 1
    DYNAMIC_RECONFIG = 2


class DispatchCoreType(NamedChoice):
    """Which cores hand out the work. Nothing depends on it here."""

    WORKER = 0
    ETH = 1
