"""Build descriptors once for a compiled operation and its tensors' kinds.

Between calls only addresses change: they are written into the descriptor's kernels.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from ttl.artifact import CompiledOperation
from ttl.diagnostics import codes, usage_error
from ttl.loading.forks import ForkLock
from ttl.target.data_formats import TILE_SIZE

from .descriptors import (
    DeviceTensor,
    bind_to_tensors,
    mesh_program,
    pipe_scratch,
    program_descriptor,
)
from .plan import TTNN_DTYPES, TensorPlace, addresses_of, plan_kernels
from .readiness import check_version

MOST_KEPT = 1024
FEWEST_TENSORS = 2  # ttnn.generic_op's minimum

Words = tuple[tuple[int, ...], ...]  # of each tensor's accessor


@dataclass(slots=True)
class DeviceProgram:
    """One program of ttnn. Threads take turns, as it holds the addresses of one call."""

    ttnn: ModuleType
    compiled: CompiledOperation
    descriptor: Any
    padded: tuple[int, ...]  # operands whose last tiles are not full
    lock: ForkLock = field(default_factory=ForkLock)

    def run(self, tensors: Sequence[DeviceTensor]) -> None:
        device = tensors[0].device()
        # A new one for each launch: its counters start at 0.
        scratch = pipe_scratch(self.ttnn, self.compiled, device)
        addresses = [tensor.buffer_address() for tensor in tensors]
        place = None if scratch is None else scratch.buffer_address()
        repeated = FEWEST_TENSORS if len(tensors) < FEWEST_TENSORS else 1
        with self.lock():
            kernels = zip(self.descriptor.kernels, self.compiled.kernels, strict=True)
            for descriptor, kernel in kernels:
                descriptor.common_runtime_args = addresses_of(kernel, addresses, place)
            bind_to_tensors(self.ttnn, self.descriptor, self.compiled, tensors)
            program = mesh_program(self.ttnn, self.descriptor, tensors)
            self.ttnn.generic_op(list(tensors) * repeated, program)


class Programs:
    """The most recently used programs of a process."""

    def __init__(self) -> None:
        self.built = 0
        self._kept: OrderedDict[tuple[int, Words], DeviceProgram] = OrderedDict()
        self._lock = ForkLock()

    def of(
        self, ttnn: ModuleType, compiled: CompiledOperation, tensors: Sequence[object]
    ) -> DeviceProgram:
        """Find or build the program, which keeps its artifact alive and its identity unique."""
        words = tuple(
            [tuple(ttnn.TensorAccessorArgs(each).get_compile_time_args()) for each in tensors]
        )
        key = id(compiled), words
        with self._lock():
            program = self._kept.get(key)
            if program is None or program.ttnn is not ttnn:
                program = self._kept[key] = self._build(ttnn, compiled, words)
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return program

    def _build(self, ttnn: ModuleType, compiled: CompiledOperation, words: Words) -> DeviceProgram:
        check_version(ttnn, compiled)
        _check_formats(compiled)
        self.built += 1
        places = [TensorPlace(0, of_tensor) for of_tensor in words]
        scratch = 0 if compiled.pipe_scratch_bytes else None
        kernels = plan_kernels(compiled, places, scratch)
        descriptor = program_descriptor(ttnn, compiled, kernels)
        return DeviceProgram(ttnn, compiled, descriptor, _padded_operands(compiled))


def _padded_operands(compiled: CompiledOperation) -> tuple[int, ...]:
    return tuple(
        position
        for position, operand in enumerate(compiled.operands)
        if operand.layout == "TILE" and any(size % TILE_SIZE for size in (1, *operand.shape)[-2:])
    )


def _check_formats(compiled: CompiledOperation) -> None:
    """Refuse buffers of a format that no tensor of ttnn has."""
    for buffer in compiled.buffers:
        if buffer.data_format not in TTNN_DTYPES:
            raise usage_error(
                codes.DEVICE_REFUSED,
                f"ttnn does not run `{compiled.name}`: it has no {buffer.data_format.lower()}, "
                f"which `{buffer.name}` holds",
                "use bfloat16 or float32 instead",
            )
