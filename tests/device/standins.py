"""Tensors of a ttnn that is not the embedded one, without hardware.

`install` makes them tensors of a module: of a stand-in whose descriptors only remember what they
were given, or of the real ttnn, whose classes then build the descriptors. Either way generic_op
keeps the program instead of running it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

FIRST_ADDRESS = 0x1000
ADDRESS_STEP = 0x400
SCRATCH_ADDRESS = 0x20000

DataType = Enum("DataType", ["BFLOAT16", "FLOAT32", "INT32", "UINT8", "BFLOAT8_B", "FP8_E4M3"])
Layout = Enum("Layout", ["ROW_MAJOR", "TILE"])
Arch = Enum("Arch", ["WORMHOLE_B0", "BLACKHOLE", "QUASAR"])
MathFidelity = Enum("MathFidelity", ["LoFi", "HiFi2", "HiFi3", "HiFi4"])
UnpackToDestMode = Enum("UnpackToDestMode", ["Default", "UnpackToDestFp32"])


@dataclass
class Device:
    chip: str = "WORMHOLE_B0"
    grid: tuple[int, int] = (8, 7)
    number: int = 0

    def arch(self) -> Any:
        return Arch[self.chip]

    def compute_with_storage_grid_size(self) -> Any:
        return SimpleNamespace(x=self.grid[0], y=self.grid[1])

    def id(self) -> int:
        return self.number


@dataclass
class Mesh(Device):
    """Several devices; `shape` and `coordinates` are those of the module's own types."""

    shape: Any = None
    coordinates: list[Any] = field(default_factory=list)  # where tensors have a part
    devices: int = 2

    def get_num_devices(self) -> int:
        return self.devices


@dataclass(frozen=True)
class Shape:
    """Like that of ttnn it can be indexed and iterated over, but is no tuple."""

    sizes: tuple[int, ...]

    def __getitem__(self, dimension: int) -> int:
        return self.sizes[dimension]

    def __iter__(self) -> Iterator[int]:
        return iter(self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass
class Tensor:
    """What the language and the launcher ask of a tensor."""

    sizes: tuple[int, ...]
    dtype: Any
    layout: Any
    place: Device | None
    position: int = 0
    spec: Any = None  # of the real ttnn's, where a test needs it

    @property
    def shape(self) -> Shape:
        return Shape(self.sizes)

    def device(self) -> Device | None:
        return self.place

    def device_coords(self) -> list[Any]:
        assert isinstance(self.place, Mesh)
        return self.place.coordinates

    def buffer_address(self) -> int:
        return FIRST_ADDRESS + ADDRESS_STEP * self.position


@dataclass
class TensorAccessorArgs:
    tensor: Tensor

    def get_compile_time_args(self) -> list[int]:
        """Of another length for every tensor, as those of sharded tensors are."""
        return [100 * (self.tensor.position + 1) + i for i in range(self.tensor.position + 2)]


@dataclass
class ScratchTensor:
    """What the launcher makes for the pipes of a launch."""

    values: Any
    dtype: Any
    place: Any
    layout: Any
    memory: Any
    mesh_mapper: Any = None
    made: ClassVar[list[ScratchTensor]] = []

    def __post_init__(self) -> None:
        self.made.append(self)
        self.address = 0x80000 + 0x100 * len(self.made)

    def buffer_address(self) -> int:
        return self.address


@dataclass
class Launches:
    """What generic_op was called with."""

    calls: list[tuple[list[Tensor], Any]] = field(default_factory=list)
    refusal: str | None = None
    cleared: list[tuple[Tensor, int]] = field(default_factory=list)  # and launches before that
    copied: list[Tensor] = field(default_factory=list)

    def fill_implicit_tile_padding(self, tensor: Tensor, value: float) -> Tensor:
        assert value == 0
        self.cleared.append((tensor, len(self.calls)))
        is_block_float = tensor.dtype is DataType.BFLOAT8_B
        return replace(tensor, position=9) if is_block_float else tensor

    def copy(self, source: Tensor, target: Tensor) -> None:
        assert source.position == 9
        self.copied.append(target)

    def generic_op(self, tensors: list[Tensor], program: Any) -> Tensor:
        if self.refusal is not None:
            raise RuntimeError(self.refusal)
        # The launcher writes other addresses into it at the next call.
        kept = deepcopy(program) if isinstance(program, (Remembered, dict)) else program
        self.calls.append((tensors, kept))
        return tensors[-1]


def install(ttnn: ModuleType) -> Launches:
    """Make this module the home of the tensors, and keep what it is asked to launch."""
    launches = Launches()
    sys.modules[ttnn.__name__] = ttnn
    Tensor.__module__ = ttnn.__name__
    vars(ttnn).update(
        TensorAccessorArgs=TensorAccessorArgs,
        generic_op=launches.generic_op,
        fill_implicit_tile_padding=launches.fill_implicit_tile_padding,
        copy=launches.copy,
    )
    return launches


class Remembered(SimpleNamespace):
    """A descriptor with the fields that it was made with."""

    SourceType = SimpleNamespace(SOURCE_CODE="SOURCE_CODE", FILE_PATH="FILE_PATH")


def standin_module() -> ModuleType:
    """A ttnn whose descriptors have no behaviour of their own."""
    ttnn: Any = ModuleType("ttnn_standin")
    for name in (
        "ProgramDescriptor",
        "KernelDescriptor",
        "CBDescriptor",
        "CBFormatDescriptor",
        "SemaphoreDescriptor",
        "ComputeConfigDescriptor",
        "ReaderConfigDescriptor",
        "WriterConfigDescriptor",
    ):
        setattr(ttnn, name, type(name, (Remembered,), {}))
    ttnn.MeshProgramDescriptor = type("MeshProgramDescriptor", (dict,), {})
    ttnn.MeshCoordinateRange = lambda *corners: corners
    ttnn.replicate_tensor_to_mesh_mapper = lambda mesh: ("replicate", mesh)
    ttnn.CoreCoord = lambda x, y: (x, y)
    ttnn.CoreRange = lambda start, end: (start, end)
    ttnn.CoreRangeSet = list
    ttnn.ShardSpec = lambda cores, shape, orientation: (cores, shape, orientation)
    ttnn.MemoryConfig = lambda layout, buffer, shards: (layout, buffer, shards)
    ttnn.ShardOrientation = SimpleNamespace(ROW_MAJOR="ROW_MAJOR")
    ttnn.TensorMemoryLayout = SimpleNamespace(HEIGHT_SHARDED="HEIGHT_SHARDED")
    ttnn.BufferType = SimpleNamespace(L1="L1")
    ttnn.ROW_MAJOR_LAYOUT = Layout.ROW_MAJOR
    ttnn.Tensor = ScratchTensor
    ttnn.MathFidelity = MathFidelity
    ttnn.UnpackToDestMode = UnpackToDestMode
    for dtype in ("bfloat16", "float32", "int32", "uint32", "uint16", "uint8", "bfloat8_b"):
        setattr(ttnn, dtype, dtype)
    module: ModuleType = ttnn
    return module
