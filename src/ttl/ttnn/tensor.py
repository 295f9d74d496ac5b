"""Tensors of the embedded ttnn."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Protocol

from ttl.semantics.current_engine import ENGINE
from ttl.semantics.dtypes import DType
from ttl.semantics.layout import Layout
from ttl.semantics.tensors import row_page_elements

from .memory_config import DRAM_MEMORY_CONFIG, BufferType, MemoryConfig
from .operations.operators import Operators
from .shape import Shape
from .sharding import accessor_words, l1_bytes_per_core, padded_shape
from .storage import NoStorage, RowMajorStorage, Storage, make_storage

__all__ = ["Tensor"]

if TYPE_CHECKING:
    from .device import Device
    from .mesh import MeshDevice
    from .tensor_spec import TensorSpec


class Described(Protocol):
    """What a tensor is like before it has elements."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def memory_config(self) -> MemoryConfig: ...


class Tensor(Operators):
    """A tensor in tiles or rows. Last tiles are padded; `shape` is what the program asked for."""

    __slots__ = ("_device", "dtype", "layout", "memory_config", "shape", "storage")

    shape: Shape
    storage: Storage | NoStorage

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: DType,
        layout: Layout,
        device: Device | None,
        memory_config: MemoryConfig = DRAM_MEMORY_CONFIG,
    ):
        self.shape = shape if isinstance(shape, Shape) else Shape(shape)
        self.dtype = dtype
        self.layout = layout
        self.memory_config = memory_config
        self.storage = make_storage(tuple(shape), dtype, layout)
        self.storage.memory = "l1" if memory_config.buffer_type is BufferType.L1 else "dram"
        if isinstance(self.storage, RowMajorStorage):
            self.storage.page_elements = row_page_elements(self) or 1
        if memory_config.is_sharded():
            self.storage.shard_words = accessor_words(memory_config, self.padded_shape, layout)
        self._device = device

    @classmethod
    def described(cls, spec: Described, device: Device) -> Tensor:
        """A tensor without elements, for compiling."""
        made = cls.__new__(cls)
        made.shape = Shape(spec.shape)
        made.dtype, made.layout = spec.dtype, spec.layout
        made.memory_config = spec.memory_config
        made.storage = NoStorage("this tensor is only described", "give it to an operation only")
        made._device = device
        return made

    @property
    def padded_shape(self) -> Shape:
        return Shape(padded_shape(tuple(self.shape), self.layout))

    @property
    def shards(self) -> tuple[Tensor, ...]:
        """The tensor of each device that holds a part: only itself."""
        return (self,)

    @property
    def l1_bytes(self) -> int:
        """What the core that holds most of the tensor holds of it in L1."""
        place = self._device
        if place is None:
            return 0
        cores, alignment = prod(place.grid), place.target.l1_alignment_bytes
        return l1_bytes_per_core(
            self.memory_config, self.padded_shape, self.dtype, self.layout, cores, alignment
        )

    @property
    def spec(self) -> TensorSpec:
        from .tensor_spec import TensorSpec

        return TensorSpec(self.shape, self.dtype, self.layout, memory_config=self.memory_config)

    def device(self) -> Device | MeshDevice | None:
        return self._device

    def buffer_address(self) -> int:
        return self.storage.address

    def buffer_aligned_page_size(self) -> int:
        alignment = self._device.target.dram_alignment_bytes
        return -(-self.storage.page_bytes // alignment) * alignment

    def is_sharded(self) -> bool:
        return self.memory_config.is_sharded()

    def is_allocated(self) -> bool:
        return not any(isinstance(shard.storage, NoStorage) for shard in self.shards)

    def element_size(self) -> int:
        return self.dtype.element_bytes

    def logical_volume(self) -> int:
        return prod(self.shape)

    def volume(self) -> int:
        return prod(self.padded_shape)

    def to_torch(self, mesh_composer: Any = None) -> Any:
        from .exchange import to_torch

        return to_torch(self, mesh_composer=mesh_composer)

    def to_numpy(self) -> Any:
        from .exchange import to_numpy

        return to_numpy(self)

    def cpu(self, blocking: bool = True) -> Tensor:
        """A copy in the memory of the host."""
        from .moves import from_device

        return from_device(self)

    def to(self, place: Any, memory_config: MemoryConfig | None = None) -> Tensor:
        """A copy in another layout, or on a device."""
        from .moves import to_device, to_layout

        if isinstance(place, Layout):
            return to_layout(self, place)
        return to_device(self, place, memory_config=memory_config)

    def deallocate(self, force: bool = True) -> None:
        from .moves import deallocate

        deallocate(self, force)

    def __getitem__(self, index: Any) -> Any:
        """In data movement kernels: a slice, in tiles or, of a row-major tensor, in elements.

        Outside of kernels: a new tensor with a part of the elements, counted in elements.
        """
        engine = ENGINE.get(None)
        if engine is None:
            return self._part(index)
        # The kernel's engine refuses what it does not allow; a slice is made without asking it.
        return engine.slice(self, index) if engine.is_compute else self.storage.part(self, index)

    def __repr__(self) -> str:
        return f"Tensor(shape={self.shape}, dtype={self.dtype}, layout={self.layout.name})"
