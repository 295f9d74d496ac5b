"""Tensors of the embedded ttnn."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

from ttl.diagnostics import wrong_argument
from ttl.semantics.current_engine import running_engine
from ttl.semantics.dtypes import DType
from ttl.semantics.layout import Layout
from ttl.semantics.tensors import row_page_elements

from .enums import BufferType, StorageType
from .faults import not_on_device, wrong
from .memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from .operations.operators import Operators
from .shape import Shape
from .sharding import accessor_words, l1_bytes_per_core, padded_shape
from .storage import NoStorage, RowMajorStorage, Storage, make_storage
from .tile import DEFAULT_TILE, Tile

__all__ = ["Tensor"]

if TYPE_CHECKING:
    from .device import Device
    from .mesh import MeshDevice
    from .tensor_spec import TensorSpec


class TensorKind(Protocol):
    """Description of a tensor without elements."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def memory_config(self) -> MemoryConfig: ...


class Tensor(Operators):
    """A tensor in tiles or rows. Last tiles are padded; `shape` is what the program asked for.

    `Tensor(array, dtype, device, layout, memory_config)` and `Tensor(numbers, shape, dtype,
    layout, device)` make one of an array and of a list.
    """

    __slots__ = (
        "__weakref__",
        "_device",
        "config",
        "dtype",
        "is_layout_chosen",
        "layout",
        "shape",
        "storage",
    )

    shape: Shape
    dtype: DType
    layout: Layout
    config: MemoryConfig
    storage: Storage | NoStorage
    _device: Device | None
    is_layout_chosen: bool  # by the program; otherwise it may still become tiles

    def __new__(cls, *args: Any, **kwargs: Any) -> Tensor:
        if cls is not Tensor:
            return object.__new__(cls)
        from .exchange import made_by_constructor

        return made_by_constructor(*args, **kwargs)

    @classmethod
    def allocated(
        cls,
        shape: tuple[int, ...],
        dtype: DType,
        layout: Layout,
        device: Device | None,
        memory_config: MemoryConfig = DRAM_MEMORY_CONFIG,
        storage: Storage | None = None,
    ) -> Tensor:
        """A tensor of zeros, or with elements that are there already."""
        made: Tensor = object.__new__(cls)
        made.shape = shape if isinstance(shape, Shape) else Shape(shape)
        made.dtype, made.layout, made.config = dtype, layout, memory_config
        made.is_layout_chosen = True
        made._device = device
        made.hold(storage or _new_storage(tuple(shape), dtype, layout, device))
        return made

    def hold(self, storage: Storage) -> None:
        """Set the storage of the elements."""
        self.storage = storage
        storage.memory = "l1" if self.config.buffer_type is BufferType.L1 else "dram"
        if isinstance(storage, RowMajorStorage):
            storage.page_elements = row_page_elements(self) or 1
        if self.config.is_sharded():
            storage.shard_words = accessor_words(self.config, self._padded, self.layout)
        storage.users.append(ref(self))

    @classmethod
    def described(cls, spec: TensorKind, device: Device) -> Tensor:
        """Make a tensor without elements, for compiling."""
        made: Tensor = object.__new__(cls)
        made.shape = Shape(spec.shape)
        made.dtype, made.layout, made.config = spec.dtype, spec.layout, spec.memory_config
        made.is_layout_chosen = True
        made.storage = NoStorage("this tensor is only described", "give it to an operation only")
        made._device = device
        return made

    @property
    def padded_shape(self) -> Shape:
        return Shape(self._padded or (1,))

    @property
    def _padded(self) -> tuple[int, ...]:
        return padded_shape(tuple(self.shape), self.layout)

    @property
    def shards(self) -> tuple[Tensor, ...]:
        """Tensors of the devices that hold a part: only itself."""
        return (self,)

    @property
    def l1_bytes(self) -> int:
        """Bytes of L1 on the core with the largest part of the tensor."""
        place = self._device
        if place is None:
            return 0
        cores, alignment = prod(place.grid), place.target.l1_alignment_bytes
        return l1_bytes_per_core(
            self.config, self._padded, self.dtype, self.layout, cores, alignment
        )

    @property
    def spec(self) -> TensorSpec:
        from .tensor_spec import TensorSpec

        return TensorSpec(self.shape, self.dtype, self.layout, memory_config=self.config)

    @property
    def tile(self) -> Tile:
        return DEFAULT_TILE

    def get_tile(self) -> Tile:
        return self.tile

    def get_dtype(self) -> DType:
        return self.dtype

    def get_layout(self) -> Layout:
        return self.layout

    def memory_config(self) -> MemoryConfig:
        return self.config

    def device(self) -> Device | MeshDevice | None:
        return self._device

    def devices(self) -> list[Any]:
        place = self.device()
        return [] if place is None else [place]

    def storage_type(self) -> StorageType:
        return StorageType.HOST if self.device() is None else StorageType.DEVICE

    def is_sharded(self) -> bool:
        return self.config.is_sharded()

    def is_allocated(self) -> bool:
        return not any(isinstance(shard.storage, NoStorage) for shard in self.shards)

    def element_size(self) -> int:
        return self.dtype.element_bytes

    def logical_volume(self) -> int:
        return prod(self.shape)

    def volume(self) -> int:
        return prod(self.padded_shape)

    def buffer_address(self) -> int:
        """A number that tensors in other memory do not have, as an address on the device."""
        return self._buffer("buffer_address").address

    def buffer_page_size(self) -> int:
        return self._buffer("buffer_page_size").page_bytes

    def buffer_aligned_page_size(self) -> int:
        storage = self._buffer("buffer_aligned_page_size")
        assert self._device is not None
        alignment = self._device.target.dram_alignment_bytes
        return -(-storage.page_bytes // alignment) * alignment

    def buffer_num_pages(self) -> int:
        return len(self._buffer("buffer_num_pages").read_pages())

    def _buffer(self, method: str) -> Storage:
        first = self.shards[0]
        if first.device() is None:
            raise not_on_device(f"{method}()")
        held: Any = first.storage  # or a NoStorage, which raises the reason
        return held  # type: ignore[no-any-return]

    def to_torch(self, mesh_composer: Any = None) -> Any:
        from .exchange import to_torch

        return to_torch(self, mesh_composer=mesh_composer)

    def to_numpy(self) -> Any:
        from .exchange import to_numpy

        return to_numpy(self)

    def to_list(self) -> Any:
        """The elements as nested lists."""
        from .exchange import to_numpy

        return to_numpy(self).tolist()

    def item(self) -> Any:
        """The element of a tensor that has one."""
        if self.logical_volume() != 1:
            raise wrong(f"item() of a tensor of {self.logical_volume()} elements", "use to_list()")
        from .exchange import to_numpy

        return to_numpy(self).reshape(()).tolist()

    def cpu(self, blocking: bool = True, cq_id: int | None = None) -> Tensor:
        """A copy in the memory of the host."""
        from .moves import from_device

        return from_device(self)

    def to(self, place: Any, memory_config: MemoryConfig | None = None) -> Tensor:
        """In another layout, or on a device."""
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
        engine = running_engine(None)
        if engine is None:
            return self._part(index)
        # The engine rejects what a kernel may not do; slices need no check.
        return engine.slice(self, index) if engine.is_compute else self.storage.part(self, index)

    def __iter__(self) -> Iterator[Any]:
        """The parts along the first dimension; not in kernels."""
        if running_engine(None) is not None:
            raise wrong_argument(
                "a tensor cannot be iterated over",
                "copy a part of the tensor into a block: ttl.copy(tensor[0, 0], block)",
            )
        return map(self.__getitem__, range(self.shape[0]))

    def __repr__(self) -> str:
        from .printing import tensor_text

        return tensor_text(self)

    def _repr_html_(self) -> str:
        """Return HTML for notebooks."""
        from .printing import tensor_html

        return tensor_html(self)

    def __format__(self, spec: str) -> str:
        """Format for messages: the type and shape, without elements."""
        kind = f"shape={self.shape}, dtype={self.dtype}, layout={self.layout.name}"
        return format(f"Tensor({kind})", spec)


def _new_storage(
    shape: tuple[int, ...], dtype: DType, layout: Layout, device: Device | None
) -> Storage:
    storage = make_storage(shape, dtype, layout)
    if device is not None and device.shares_memory:
        from .shared_memory import IS_AVAILABLE, shared_zeros

        if IS_AVAILABLE:
            storage.elements = shared_zeros(storage.elements)
    return storage
