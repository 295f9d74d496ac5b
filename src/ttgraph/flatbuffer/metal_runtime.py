"""Runs the commands of a TTMetalBinary in order on the executor.

Files are not trusted: addresses, sizes and kernels are checked like those of a .ttnn file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ttl.artifact import (
    PAGE_BYTES,
    Buffer,
    CompiledOperation,
    ComputeConfig,
    Kernel,
    Operand,
    SemaphorePlan,
    ThreadKind,
)
from ttl.diagnostics import UsageError, codes, reading, usage_error
from ttl.semantics.dtypes import BY_DATA_FORMAT, Array, DType
from ttl.semantics.types import TILE_SIZE, Shape
from ttl.target import TARGETS, Target
from ttl.target import load as load_target

from ..metal_queue import BufferDescription, Queue, WrongAddress
from .kernels import check_blocks, check_operation
from .launching import launching
from .metal_schema import METAL_BINARY, METAL_FLAGS, METAL_IDENTIFIER
from .reader import Malformed, read_binary
from .schema import Table

_THREADS = {"RISCV_1": ThreadKind.READER, "RISCV_0": ThreadKind.WRITER}
_MOST_ELEMENTS = 1 << 32  # of a tensor


@dataclass(frozen=True, slots=True)
class DescribedArray:
    """Shape and element type of an input or output."""

    shape: Shape
    dtype: DType


class MetalRuntime:
    """Runs the first program of a file. Raises UsageError if the file is not a TTMetalBinary."""

    def __init__(self, binary: bytes, file: str = "the file"):
        self.file = file
        try:
            value = read_binary(binary, METAL_BINARY, METAL_IDENTIFIER)
            self._load(value)
        except Malformed as error:
            raise self._wrong(str(error)) from None

    @classmethod
    def from_file(cls, file: str) -> MetalRuntime:
        with reading(file):
            return cls(Path(file).read_bytes(), file)

    def _load(self, value: Table) -> None:
        if not value["programs"]:
            raise Malformed("it has no program")
        self.program = value["programs"][0]
        self.target = _target(value["system_desc"])
        self.inputs = [_describe(each) for each in self.program["inputs"]]
        self.outputs = [_describe(each) for each in self.program["outputs"]]
        devices = self.program["device_programs"]
        if len(devices) != 1 or len(devices[0]["command_queues"]) != 1:
            raise Malformed("programs of several devices or queues are not known to this runtime")
        self.device = devices[0]
        if len(self.device["inputs"]) != len(self.inputs):
            raise Malformed("its inputs are not those of its device")
        (queue,) = self.device["command_queues"]
        self.commands = [_member(each["type"]) for each in queue["commands"]]
        for kind, _ in self.commands:
            if kind not in _COMMANDS:
                raise Malformed(f"the command {kind} is not known to this runtime")
        # Check all kernels before anything runs.
        self.programs = {
            number: _Reader(fields, self.target).operation
            for number, (kind, fields) in enumerate(self.commands)
            if kind == "EnqueueProgramCommand"
        }

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """Run the program on these arrays and return its outputs."""
        run = _Run(self.programs, Queue(launching()))
        for reference, described, array in zip(
            self.device["inputs"], self.inputs, arrays, strict=True
        ):
            if tuple(array.shape) != described.shape:
                message = f"an input has shape {tuple(array.shape)}, not {described.shape}"
                raise usage_error(codes.WRONG_ARGUMENT, message)
            run.arrays[reference["global_id"]] = np.asarray(array).astype(described.dtype.storage)
        try:
            for number, (kind, fields) in enumerate(self.commands):
                run.number = number
                _COMMANDS[kind](run, fields)
        except (Malformed, WrongAddress) as error:
            raise self._wrong(str(error)) from None
        return run.results

    def _wrong(self, message: str) -> UsageError:
        help_text = "write the file again: ttl opt ... -ttmetal-to-flatbuffer-bin -o FILE"
        return usage_error(codes.NOT_A_FLATBUFFER, f"{self.file}: {message}", help_text)


def _target(system: Table | None) -> Target:
    chips = system["chip_descs"] if system else []
    name = str(chips[0]["arch"]).lower() if chips else TARGETS[0]
    if name not in TARGETS:
        raise Malformed(f"it is for the chip {name}")
    return load_target(name)


def _member(value: Table | None) -> tuple[str, Table]:
    if value is None:
        raise Malformed("something without a value")
    return next(iter(value.items()))


def _read_part(value: Table, *names: str) -> Any:
    for name in names:
        value = value[name]
        if value is None:
            raise Malformed(f"a `{name}` is missing")
    return value


def _dtype(name: str) -> DType:
    if name not in BY_DATA_FORMAT:
        raise Malformed(f"tensors of {name} are not known to this runtime")
    return BY_DATA_FORMAT[name]


def _describe(tensor: Table) -> DescribedArray:
    memory = _read_part(tensor, "desc", "layout", "memory_desc")
    return DescribedArray(_shape(tensor["desc"]), _dtype(memory["data_type"]))


def _shape(desc: Table) -> Shape:
    shape = tuple(desc["shape"])
    if any(size < 1 for size in shape) or prod(shape) > _MOST_ELEMENTS:
        raise Malformed(f"a tensor of shape {shape}")
    return shape


class _Run:
    """One run of the commands; host tensors and buffers by number."""

    def __init__(self, programs: dict[int, Callable[..., CompiledOperation]], queue: Queue):
        self.programs, self.number, self.queue = programs, 0, queue
        self.arrays: dict[int, Array] = {}
        self.results: list[Array] = []

    def host(self, reference: Table) -> Array:
        number = reference["global_id"]
        if number not in self.arrays:
            raise Malformed(f"tensor {number} of the host is used before it is there")
        return self.arrays[number]

    def allocate(self, fields: Table) -> None:
        desc = _read_part(fields, "dst", "desc")
        shape, storage = _shape(desc), _dtype(desc["data_type"]).storage
        array = np.zeros(shape, storage)
        if data := bytes(fields["data"]):
            if len(data) != array.nbytes:
                raise Malformed(f"{len(data)} bytes for a tensor of {array.nbytes}")
            array = np.frombuffer(data, storage).reshape(shape).copy()
        self.arrays[fields["dst"]["global_id"]] = array

    def create(self, fields: Table) -> None:
        self.queue.create(_read_part(fields, "ref")["global_id"], _buffer_of(fields["ref"]))

    def deallocate(self, fields: Table) -> None:
        self.queue.deallocate(_read_part(fields, "ref")["global_id"])

    def write(self, fields: Table) -> None:
        self.queue.write(
            self.host(_read_part(fields, "src")), _read_part(fields, "dst")["global_id"]
        )

    def read(self, fields: Table) -> None:
        self.queue.read(
            _read_part(fields, "src")["global_id"], self.host(_read_part(fields, "dst"))
        )

    def enqueue(self, fields: Table) -> None:
        members = [_member(each) for each in fields["arg_refs"]]
        keys = [ref["global_id"] for kind, ref in members if kind == "MetalBufferRef"]
        self.queue.run(self.programs[self.number], keys)

    def return_results(self, fields: Table) -> None:
        self.results = [self.host(each) for each in fields["results"]]

    def ignore(self, fields: Table) -> None:
        """Ignore the command: enqueued work is already done, and programs have the semaphores."""


_COMMANDS: dict[str, Callable[[_Run, Table], None]] = {
    "HostAllocCommand": _Run.allocate,
    "ReturnCommand": _Run.return_results,
    "EnqueueProgramCommand": _Run.enqueue,
    "EnqueueWriteBufferCommand": _Run.write,
    "EnqueueReadBufferCommand": _Run.read,
    "CreateBufferCommand": _Run.create,
    "DeallocateBufferCommand": _Run.deallocate,
    "CreateLocalSemaphoreCommand": _Run.ignore,
    "FinishCommand": _Run.ignore,
}


def _buffer_of(reference: Table) -> BufferDescription:
    desc = _read_part(reference, "desc")
    kind, detail = _member(desc["buffer_detail"])
    if kind != "MetalDeviceBuffer":
        raise Malformed("a buffer of the device that is none")
    shape, dtype = _shape(desc), _dtype(desc["data_type"])
    is_tiled = _read_part(desc, "element_shape") == {"y": TILE_SIZE, "x": TILE_SIZE}
    space = {"L1": "l1", "DRAM": "dram"}.get(detail["buffer_type"])
    if space is None or len(shape) != (4 if is_tiled else 2):
        raise Malformed(f"a buffer of shape {shape} in {detail['buffer_type']}")
    if not is_tiled:
        size = prod(shape) * dtype.element_bytes
        return BufferDescription(shape, dtype, False, space, reference["address"], size)
    own = shape[2:] if space == "l1" else shape
    sizes = tuple(shape[dim] * shape[dim + 2] * TILE_SIZE for dim in range(2))
    size = prod(own) * dtype.tile_bytes
    return BufferDescription(sizes, dtype, True, space, reference["address"], size)


class _Reader:
    """Reads the program of one command."""

    def __init__(self, fields: Table, target: Target):
        self.fields, self.target = fields, target
        members = [_member(each) for each in fields["arg_refs"]]
        self.semaphores = tuple(
            SemaphorePlan(ref["global_id"], ref["initial_value"])
            for kind, ref in members
            if kind == "MetalLocalSemaphoreRef"
        )
        self.tensors = sum(kind == "MetalBufferRef" for kind, _ in members)
        self.kernels_given = _read_part(fields, "program")["kernels"]
        sets = [kernel["core_range_set"] for kernel in self.kernels_given]
        if not sets or any(each != sets[0] or len(each) != 1 for each in sets):
            raise Malformed("kernels on different cores are not known to this runtime")
        loc, size = sets[0][0]["loc"], sets[0][0]["size"]
        last = (loc["x"] + size["x"] - 1, loc["y"] + size["y"] - 1)
        self.cores = (loc["x"], loc["y"]), last
        self.buffers = tuple(self._buffer(each) for each in fields["cbs"])
        self.kernels = tuple(self._kernel(each) for each in self.kernels_given)
        self._check()

    def operation(self, operands: tuple[Operand, ...]) -> CompiledOperation:
        return CompiledOperation(
            name="program",
            target=self.target.name,
            device_api=self.target.device_api,
            kernels=self.kernels,
            buffers=self.buffers,
            operands=operands,
            core_range=self.cores,
            semaphores=self.semaphores,
        )

    def _check(self) -> None:
        any_tensor = Operand("", (TILE_SIZE, TILE_SIZE), "float32", "TILE")
        check_operation(self.operation((any_tensor,) * self.tensors), [self.cores], self.target)

    def _buffer(self, value: Table) -> Buffer:
        desc = _read_part(value, "buffer_ref", "desc")
        _, detail = _member(desc["buffer_detail"])
        config = _read_part(detail, "circular_buffer_config")
        page, form = config["page_size"], desc["data_type"]
        given = max(1, config["num_buffers"])
        tiles, count = check_blocks(form, config["total_size"], page, given)
        place, port = len(self.fields["cbs"]), value["port"]
        row_bytes = None if page == PAGE_BYTES[form] else page
        is_wide = self._modes()[port : port + 1] == ["Fp32"] and port < place
        return Buffer(f"cb_{port}", port, form, tiles, count, is_wide, row_bytes=row_bytes)

    def _modes(self) -> list[str]:
        for kernel in self.kernels_given:
            kind, config = _member(kernel["type"])
            if kind == "MetalComputeConfig":
                return list(config["unpack_to_dest_mode"])
        return []

    def _kernel(self, value: Table) -> Kernel:
        _, source = _member(value["kernel"])
        kind, config = _member(value["type"])
        arguments = _read_part(value, "args")
        compute = kind == "MetalComputeConfig"
        thread = ThreadKind.COMPUTE if compute else _THREADS[config["processor"]]
        self._check_compile_time(arguments["ct_args"], thread)
        addressed = [_member(each["arg"]) for each in arguments["crt_args"]]
        if arguments["rt_args"] or any(
            name != "MetalKernelArgBufferAddress" or fields["operand_idx"] >= self.tensors
            for name, fields in addressed
        ):
            raise Malformed("runtime arguments of a kernel that are not known to this runtime")
        flags = {name: config[name] for name in METAL_FLAGS if compute}
        return Kernel(
            name=_symbol(value["symbol"]),
            thread=thread,
            cpp_source=source["source"],
            tensor_indices=tuple(fields["operand_idx"] for _, fields in addressed),
            config=ComputeConfig(**flags) if compute else None,
        )

    def _check_compile_time(self, given: Sequence[Table], thread: ThreadKind) -> None:
        """Check the artifact's convention: all buffers, then the accessors of all tensors."""
        wanted = [("MetalKernelArgCBPort", n) for n in range(len(self.buffers))]
        if thread is not ThreadKind.COMPUTE:
            wanted += [("MetalKernelArgTensorAccessorArgs", n) for n in range(self.tensors)]
        members = [_member(each["arg"]) for each in given]
        if [(name, fields["operand_idx"]) for name, fields in members] != wanted:
            raise Malformed("compile-time arguments of a kernel that are not known to this runtime")


def _symbol(name: str) -> str:
    """Check a kernel's name: the C++ compiler's messages use it as a file name."""
    if not (name.isidentifier() and name.isascii()):
        raise Malformed(f"a kernel called {name!r}")
    return name
