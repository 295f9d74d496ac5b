"""generic_op of the real ttnn on a chip without memory: what it is given runs on our executor.

ttnn itself makes the tensors, their addresses, the words of their accessors and the descriptors.
What their memory would hold is kept here, in tensors of the embedded ttnn.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import ttnn

import ttl
from device.read_back import program_fields
from device.recorded import recorded_operation
from ttl import host
from ttl import ttnn as embedded
from ttl.artifact import Operand, write_folder
from ttl.cli.replay import config_of
from ttl.config import Config
from ttl.driver.operands import memory_of
from ttl.host.program import plan_tensor
from ttl.semantics.dtypes import dtype_of
from ttl.semantics.layout import layout_of
from ttl.target import load


class Recorder:
    """The programs of a run go to folders in `folder`, named as it was begun, and numbered."""

    def __init__(self, target: str, folder: Path) -> None:
        self.target, self.folder = target, folder
        self.name, self.launches = "", 0
        self._held: dict[tuple[str, int], Any] = {}  # by memory and address
        self._to_device = ttnn.to_device
        self._device = ttnn.open_device(device_id=0)
        self._embedded_device = embedded.open_device(device_id=0)

    def begin(self, name: str) -> None:
        self.name, self.launches = name, 0

    def install(self) -> None:
        """In the place of what would move data, and of the operations that the programs use."""
        vars(ttnn).update(
            open_device=lambda **_: self._device,  # one for all programs
            to_device=self.to_device,
            generic_op=self.generic_op,
            fill_implicit_tile_padding=self.fill_implicit_tile_padding,
            zeros=self.zeros,
            zeros_like=self.zeros_like,
        )
        ttnn.Tensor.cpu = lambda tensor: self.from_device(tensor)

    # Data

    def to_device(self, tensor: Any, device: Any, *, memory_config: Any = None) -> Any:
        placed = self._to_device(tensor, device, memory_config=memory_config)
        self._hold(placed, ttl.to_numpy(tensor))
        return placed

    def from_device(self, tensor: Any) -> Any:
        values = ttl.to_numpy(self._held[_place(tensor)])
        return ttl.from_numpy(values, dtype=tensor.dtype, layout=tensor.layout)

    def fill_implicit_tile_padding(self, tensor: Any, value: float) -> Any:
        assert value == 0
        self._hold(tensor, ttl.to_numpy(self._held[_place(tensor)]))
        return tensor

    def zeros(self, shape: Any, dtype: Any, layout: Any, device: Any) -> Any:
        values = np.zeros(tuple(shape), np.float32)
        return ttl.from_numpy(values, dtype=dtype, layout=layout, device=device)

    def zeros_like(self, tensor: Any) -> Any:
        like = {"dtype": tensor.dtype, "layout": tensor.layout, "device": tensor.device()}
        return self.zeros(tensor.shape, **like)

    def _hold(self, tensor: Any, values: Any) -> None:
        """As the tensor lies on the chip; what is padding is 0."""
        kind, place = dtype_of(tensor), config_of(memory_of(tensor))
        device = self._embedded_device
        self._held[_place(tensor)] = ttl.from_numpy(values, kind, layout_of(tensor), device, place)

    # Programs

    def generic_op(self, tensors: Sequence[Any], program: Any) -> Any:
        storages = [self._held[_place(tensor)].storage for tensor in tensors]
        compiled = recorded_operation(
            program_fields(program),
            [_operand(tensor, number) for number, tensor in enumerate(tensors)],
            [tensor.buffer_address() for tensor in tensors],
            [self._words(*pair) for pair in zip(tensors, storages, strict=True)],
            _scratch_bytes(program, tensors),
            self.target,
        )
        write_folder(compiled, self.folder / f"{self.name}-{self.launches}")
        self.launches += 1
        host.launch(compiled, storages, cache_dir=Config.current().cache_dir)
        return tensors[-1]

    def _words(self, tensor: Any, storage: Any) -> list[int]:
        """Those of the tensor's accessor; the executor's are the same but for where shards lie."""
        words: list[int] = ttnn.TensorAccessorArgs(tensor).get_compile_time_args()
        plan = plan_tensor(0, storage.page_bytes, storage.memory, load(self.target))
        assert tensor.is_sharded() or tuple(words) == plan.accessor_words
        return words


def _place(tensor: Any) -> tuple[str, int]:
    return tensor.memory_config().buffer_type.name, tensor.buffer_address()


def _operand(tensor: Any, number: int) -> Operand:
    names = dtype_of(tensor).name.lower(), layout_of(tensor).name
    return Operand(f"tensor_{number}", tuple(tensor.shape), *names, memory_of(tensor))


def _scratch_bytes(program: Any, tensors: Sequence[Any]) -> int:
    """What lies in the L1 of a core at the address that is none of the tensors'."""
    given = {address for kernel in program.kernels for address in kernel.common_runtime_args}
    others = given - {tensor.buffer_address() for tensor in tensors}
    found = ttnn._ttnn.reports.get_buffers(tensors[0].device())
    sizes = [each.max_size_per_bank for each in found if each.address in others]
    assert len(sizes) == len(others) <= 1
    return sum(sizes)
