"""A device's queue on the executor: buffers at their addresses, and the commands on them.

Kernels get the addresses that d2m-allocate chose. In L1 these are offsets from the start of program
memory; addresses in DRAM come after those in L1, so that no two buffers share one.
rule LIVE  a buffer exists from its creation to its end, and no other overlaps it in that time
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from ttl import ttnn
from ttl.artifact import CompiledOperation, Operand
from ttl.semantics.dtypes import Array, DType
from ttl.semantics.metal_layout import MetalLayout
from ttl.semantics.types import Shape

from .flatbuffer.launching import Launching

DRAM_START = 1 << 30  # far above all of L1


class WrongAddress(ValueError):
    """Two buffers overlap, or a deallocated one is used; the text reports which."""


@dataclass(frozen=True, slots=True)
class BufferDescription:
    shape: Shape  # in elements
    dtype: DType
    is_tiled: bool
    space: str  # l1 or dram
    address: int
    size_bytes: int  # at the address: in L1 the bytes of one core

    @property
    def operand_address(self) -> int:
        return self.address + (DRAM_START if self.space == "dram" else 0)

    @property
    def end(self) -> int:
        return self.address + self.size_bytes

    def operand(self, name: str) -> Operand:
        kind = "TILE" if self.is_tiled else "ROW_MAJOR"
        return Operand(name, self.shape, self.dtype.spelling, kind, address=self.operand_address)

    def overlaps(self, other: BufferDescription) -> bool:
        is_beside = self.address < other.end and other.address < self.end
        return is_beside and self.space == other.space


class Queue:
    """Executes commands; any key can name a buffer."""

    def __init__(self, launching: Launching) -> None:
        self.launching = launching
        self.described: dict[Hashable, BufferDescription] = {}  # of those that are there
        self.tensors: dict[Hashable, ttnn.Tensor] = {}  # what is known to be in them

    def create(self, key: Hashable, description: BufferDescription) -> None:
        """rule LIVE"""
        for other in self.described.values():
            if description.overlaps(other):
                raise WrongAddress(
                    f"a buffer of {description.size_bytes} bytes at {description.address} of "
                    f"{description.space.upper()} overlaps one of {other.size_bytes} bytes at "
                    f"{other.address}, which has not been deallocated"
                )
        self.described[key] = description

    def deallocate(self, key: Hashable) -> None:
        self._find(key)
        del self.described[key]
        self.tensors.pop(key, None)

    def write(self, array: Array, key: Hashable) -> None:
        rows = MetalLayout(tuple(array.shape)).collapse(array)
        self.tensors[key] = self._make(key, lambda **how: ttnn.from_numpy(rows, **how))

    def read(self, key: Hashable, array: Array) -> None:
        rows = ttnn.to_numpy(self._tensor(key))
        array[...] = MetalLayout(tuple(array.shape)).restore(rows)

    def run(self, assembled: Callable[..., CompiledOperation], keys: Sequence[Hashable]) -> None:
        """Run a program; `assembled` makes it from its operands."""
        tensors = [self._tensor(key) for key in keys]
        compiled = assembled(tuple(self._find(key).operand(str(n)) for n, key in enumerate(keys)))
        self.launching.launch(compiled, tensors, self.launching.config.cache_dir)

    def _find(self, key: Hashable) -> BufferDescription:
        if key not in self.described:
            raise WrongAddress("a buffer is used that was not created, or deallocated before")
        return self.described[key]

    def _tensor(self, key: Hashable) -> ttnn.Tensor:
        if key not in self.tensors:  # its contents are unknown
            shape = self._find(key).shape
            self.tensors[key] = self._make(key, lambda **how: ttnn.empty(shape, **how))
        self._find(key)
        return self.tensors[key]

    def _make(self, key: Hashable, make: Callable[..., ttnn.Tensor]) -> ttnn.Tensor:
        described = self._find(key)
        device = ttnn.open_device(device_id=0)
        layout = ttnn.TILE_LAYOUT if described.is_tiled else ttnn.ROW_MAJOR_LAYOUT
        return make(dtype=described.dtype, layout=layout, device=device)
