"""Programs of handwritten kernels, for `generic_op`.

The descriptors keep their arguments, and may be changed until the launch, which checks everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar

from .cores import CoreCoord, CoreRangeSet
from .enums import MathFidelity, NamedChoice
from .faults import wrong_type
from .tensor import Tensor


class _SourceType(NamedChoice):
    FILE_PATH = 0
    SOURCE_CODE = 1


class CoreType(NamedChoice):
    WORKER = 12


class DataMovementProcessor(NamedChoice):
    RISCV_0 = 0
    RISCV_1 = 1


class NOC(NamedChoice):
    RISCV_0_default = 0
    RISCV_1_default = 1


class NOC_MODE(NamedChoice):
    DM_DEDICATED_NOC = 0
    DM_DYNAMIC_NOC = 1


class UnpackToDestMode(NamedChoice):
    UnpackToDestFp32 = 0
    Default = 1


@dataclass
class ReaderConfigDescriptor:
    """Processor that usually reads, on NoC 0."""


@dataclass
class WriterConfigDescriptor:
    """Processor that usually writes, on NoC 1."""


@dataclass
class DataMovementConfigDescriptor:
    processor: DataMovementProcessor = DataMovementProcessor.RISCV_0
    noc: NOC = NOC.RISCV_0_default
    noc_mode: NOC_MODE = NOC_MODE.DM_DEDICATED_NOC


@dataclass
class ComputeConfigDescriptor:
    math_fidelity: MathFidelity = MathFidelity.HiFi4
    math_approx_mode: bool = False
    fp32_dest_acc_en: bool = False
    dst_full_sync_en: bool = False
    bfp8_pack_precise: bool = False
    unpack_to_dest_mode: Sequence[UnpackToDestMode] = field(default=(), init=False)
    enable_trisc2_rvv: bool = field(default=False, init=False)


Config = (
    ReaderConfigDescriptor
    | WriterConfigDescriptor
    | DataMovementConfigDescriptor
    | ComputeConfigDescriptor
)


class RuntimeArgs:
    """Arguments of cores: `arguments[x][y] = [1, 2]`."""

    def __init__(self) -> None:
        self._of_cores: dict[CoreCoord, list[int]] = {}

    def __getitem__(self, x: int) -> _Column:
        return _Column(self._of_cores, x)

    def __len__(self) -> int:
        return len(self._of_cores)

    def __iter__(self) -> Iterator[tuple[CoreCoord, list[int]]]:
        return iter(self._of_cores.items())

    def append(self, coord: CoreCoord, values: Sequence[int]) -> None:
        self._of_cores[coord] = list(values)

    def get(self, idx: int) -> tuple[CoreCoord, list[int]]:
        return self.to_list()[idx]

    def clear(self) -> None:
        self._of_cores.clear()

    def to_list(self) -> list[tuple[CoreCoord, list[int]]]:
        return list(self._of_cores.items())


@dataclass(frozen=True, slots=True)
class _Column:
    of_cores: dict[CoreCoord, list[int]]
    x: int

    def __getitem__(self, y: int) -> list[int]:
        return self.of_cores[CoreCoord(self.x, y)]

    def __setitem__(self, y: int, values: Sequence[int]) -> None:
        self.of_cores[CoreCoord(self.x, y)] = list(values)


@dataclass
class KernelDescriptor:
    SourceType: ClassVar = _SourceType

    kernel_source: str = ""
    source_type: _SourceType = _SourceType.FILE_PATH
    core_ranges: CoreRangeSet = field(default_factory=CoreRangeSet)
    compile_time_args: Sequence[int] = field(default_factory=list)
    named_compile_time_args: Sequence[tuple[str, int]] = field(default_factory=list)
    defines: Sequence[tuple[str, str]] = field(default_factory=list)
    runtime_args: RuntimeArgs | Sequence[Any] = field(default_factory=list)
    common_runtime_args: Sequence[int] = field(default_factory=list)
    opt_level: Any = None
    config: Config = field(default_factory=ReaderConfigDescriptor)
    compiler_include_paths: Sequence[Any] = field(default_factory=list)


@dataclass
class TileDescriptor:
    height: int = 32
    width: int = 32
    transpose: bool = False


@dataclass
class CBFormatDescriptor:
    buffer_index: int
    data_format: Any
    page_size: int
    tile: TileDescriptor | None = None


@dataclass
class CBDescriptor:
    """Memory of cores, under one index or several."""

    total_size: int = 0
    core_ranges: CoreRangeSet = field(default_factory=CoreRangeSet)
    format_descriptors: Sequence[CBFormatDescriptor] = field(default_factory=list)


@dataclass
class SemaphoreDescriptor:
    id: int = 0
    core_type: CoreType = CoreType.WORKER
    core_ranges: CoreRangeSet = field(default_factory=CoreRangeSet)
    initial_value: int = 0


@dataclass
class ProgramDescriptor:
    kernels: Sequence[KernelDescriptor] = field(default_factory=list)
    semaphores: Sequence[SemaphoreDescriptor] = field(default_factory=list)
    cbs: Sequence[CBDescriptor] = field(default_factory=list)
    custom_program_hash: int | None = field(default=None, init=False)


class TensorAccessorArgs:
    """Arguments of a kernel's TensorAccessor for a tensor."""

    def __init__(self, tensor: Tensor):
        if not isinstance(tensor, Tensor):
            raise wrong_type("tensor", tensor, "a tensor", "give one that is on a device")
        self._tensor = tensor

    def get_compile_time_args(self) -> list[int]:
        tensor = self._tensor
        kind = (2 if tensor.storage.memory == "dram" else 0) | bool(tensor.storage.shard_words)
        return [kind, tensor.buffer_aligned_page_size(), *tensor.storage.shard_words]

    def get_common_runtime_args(self) -> list[int]:
        return []


def generic_op(io_tensors: Sequence[Tensor], program_descriptor: ProgramDescriptor) -> Tensor:
    """Run kernels written in C++ on this machine; the last tensor is the result."""
    # The executor imports this package, so the call looks it up.
    launch = import_module("ttl.driver.generic_programs").launch
    launch(io_tensors, program_descriptor)
    return io_tensors[-1]
