"""Reads a flatbuffer's ProgramDescriptor as compiled operations that the executor runs.

Compile-time arguments follow one convention: the indices of all buffers, then, for data movement
kernels, the accessors of the tensors. A launch replaces the accessors' markers by the words of
the live buffers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from ttl.artifact import (
    CONFIG_TYPES,
    PAGE_BYTES,
    Buffer,
    CompiledOperation,
    ComputeConfig,
    CoreArguments,
    Kernel,
    Operand,
    Part,
    Rectangle,
    SemaphorePlan,
    ThreadKind,
    blocks_of,
    check_cores,
    check_fits,
    check_includes,
    overlap,
)
from ttl.target import TARGETS, Target
from ttl.target import load as load_target

from .debug import Debug, identifier, name
from .program import GenericStep, TensorDescription, rectangles
from .reader import Malformed
from .schema import Fields

_THREADS = {name: thread for thread, name in CONFIG_TYPES.items()}


def read_operations(
    step: GenericStep, tensors: Sequence[TensorDescription], target: Target
) -> list[CompiledOperation]:
    """Make an operation for each rectangle of cores; raise Malformed if the parts do not fit."""
    debug = Debug(step.debug)
    if debug.target not in (None, target.name):
        raise Malformed(f"its kernels were compiled for {debug.target}, not {target.name}")
    cores = _find_common_cores(step.program)
    if any(overlap((one,), (other,)) for one, other in combinations(cores, 2)):
        raise Malformed("rectangles of cores overlap")
    if step.semaphores or (len(cores) > 1 and step.program["semaphores"]):
        what = "global semaphores" if step.semaphores else "semaphores between rectangles of cores"
        raise Malformed(f"{what} are not known to this runtime")
    operation = _Reader(step.program, tensors, debug, target).operation(cores[0])
    check_operation(operation, cores, target)
    return [replace(operation, core_range=corners) for corners in cores]


def check_operation(
    operation: CompiledOperation, cores: Sequence[Rectangle], target: Target
) -> None:
    """Raise Malformed if the chip cannot run it, UsageError if its C++ reads files."""
    try:
        check_cores(cores, target)
        check_fits(operation, target)
    except ValueError as error:
        raise Malformed(str(error)) from None
    check_includes(operation)


def check_blocks(data_format: str, total: int, page: int, count: int) -> tuple[int, int]:
    """Return the pages of a block and the blocks of a buffer."""
    if data_format not in PAGE_BYTES:
        raise Malformed(f"buffers of {data_format} are not known to this runtime")
    try:
        return blocks_of(total, page, count)
    except ValueError as error:
        raise Malformed(str(error)) from None


def _find_common_cores(program: Fields) -> list[Rectangle]:
    """Return the cores, which all kernels, buffers and semaphores must share."""
    sets = [kernel["core_ranges"] for kernel in program["kernels"]]
    sets += [buffer["core_range"] for buffer in program["cbs"]]
    sets += [semaphore["core_ranges"] for semaphore in program["semaphores"]]
    found = [rectangles(each) for each in sets]
    if not found:
        raise Malformed("a generic operation without kernels")
    if any(each != found[0] for each in found):
        raise Malformed("kernels and buffers on different cores are not known to this runtime")
    return found[0]


Argument = tuple[str, Mapping[str, int]]


def _arguments(values: Sequence[Fields]) -> list[Argument]:
    """Return (kind, fields) of each KernelArg."""
    if any(value["arg"] is None for value in values):
        raise Malformed("an argument of a kernel without a value")
    return [next(iter(value["arg"].items())) for value in values]


def _list(value: Fields | None) -> Sequence[Any]:
    return value["args"] if value else ()


class _Reader:
    """Reads one ProgramDescriptor."""

    def __init__(
        self,
        program: Fields,
        tensors: Sequence[TensorDescription],
        debug: Debug,
        target: Target,
    ):
        self.program, self.tensors = program, tensors
        self.debug, self.target = debug, target
        self.operands = self._operand_count()

    def operation(self, cores: Rectangle) -> CompiledOperation:
        has_scratch = self.operands < len(self.tensors)
        wide, values = self._find_wide_buffers(), enumerate(self.program["cbs"])
        buffers = tuple(_buffer(value, position, self.debug, wide) for position, value in values)
        kernels = tuple(
            self._kernel(value, position, buffers)
            for position, value in enumerate(self.program["kernels"])
        )
        return CompiledOperation(
            name=self.debug.at(("name",), name, "generic"),
            target=self.target.name,
            device_api=self.debug.at(("device_api",), name, self.target.device_api),
            kernels=kernels,
            buffers=buffers,
            operands=tuple(
                Operand(f"tensor_{n}", each.shape, each.dtype.spelling, each.layout.name)
                for n, each in enumerate(self.tensors[: self.operands])
            ),
            core_range=cores,
            semaphores=tuple(
                SemaphorePlan(each["id"], each["initial_value"])
                for each in self.program["semaphores"]
            ),
            pipe_scratch_bytes=self.tensors[-1].shape[-1] * 4 if has_scratch else 0,
        )

    def _operand_count(self) -> int:
        """Count the tensors with accessors. The scratch memory of pipes, in L1, may follow them."""
        counts = {
            sum(kind == "KernelArgTensorAccessorArgs" for kind, _ in arguments)
            for arguments in (_arguments(_list(k["ct_args"])) for k in self.program["kernels"])
        }
        marked, tensors = max(counts, default=0), len(self.tensors)
        has_scratch = marked == tensors - 1 and marked > 0 and self.tensors[-1].is_in_l1_rows
        return marked if has_scratch else tensors

    def _kernel(self, value: Fields, position: int, buffers: Sequence[Buffer]) -> Kernel:
        if value["source_type"] != "SOURCE_CODE":
            raise Malformed("a kernel that is a path, not C++, is not run")
        if value["config"] is None or next(iter(value["config"])) not in _THREADS:
            raise Malformed(f"kernel {position} has no configuration that is known here")
        ((kind, config),) = value["config"].items()
        thread = _THREADS[kind]
        self._check_compile_time(_arguments(_list(value["ct_args"])), thread, buffers)
        addressed = self._find_addressed(_arguments(_list(value["common_rt_args"])))
        own = tuple(index for index in addressed if index < self.operands)
        names = ComputeConfig.__dataclass_fields__.keys()
        fields = {name: config[name] for name in names & config.keys()}
        path, at = ("kernels", position), self.debug.at
        return Kernel(
            name=at((*path, "name"), identifier, f"kernel_{position}"),
            thread=thread,
            cpp_source=value["source"],
            tensor_indices=own,
            config=ComputeConfig(**fields) if thread is ThreadKind.COMPUTE else None,
            source_map=at((*path, "source_map"), Part.source_map, ()),
            runtime_arg_names=at((*path, "runtime_arg_names"), Part.texts, ()),
            runtime_args=tuple(_core_arguments(each) for each in value["rt_args"]),
            signposts=at((*path, "signposts"), Part.named, ()),
            uses_pipe_scratch=own != addressed,
        )

    def _check_compile_time(
        self, given: Sequence[Argument], thread: ThreadKind, buffers: Sequence[Buffer]
    ) -> None:
        """Check the compile-time arguments against the artifact's convention."""
        indices = [("KernelArgCBBufferIndex", {"buffer_index": each.index}) for each in buffers]
        if list(given[: len(indices)]) != indices:
            raise Malformed("compile-time arguments of a kernel do not begin with all its buffers")
        others = given[len(indices) :]
        kinds = {kind for kind, _ in others}
        if kinds - {"KernelArgTensorAccessorArgs"} or (others and thread is ThreadKind.COMPUTE):
            raise Malformed("compile-time arguments of a kernel that are not known to this runtime")
        for position, (_, fields) in enumerate(others):
            number, count = fields["operand_index"], len(self.tensors)
            if number >= count:
                raise Malformed(f"an accessor of tensor {number} of {count}")
            if number != position:
                message = "accessors of tensors in another order are not known to this runtime"
                raise Malformed(message)
        if thread is not ThreadKind.COMPUTE and len(others) != self.operands:
            raise Malformed(f"a kernel with {len(others)} accessors for {self.operands} tensors")

    def _find_addressed(self, given: Sequence[Argument]) -> tuple[int, ...]:
        """Return the tensors whose addresses a kernel gets; the scratch memory is the last."""
        found = []
        for kind, fields in given:
            if kind != "KernelArgBufferAddressOfTensor":
                raise Malformed(f"a common runtime argument that is a {kind}")
            index, count = fields["tensor_idx"], len(self.tensors)
            if index >= count:
                raise Malformed(f"the address of tensor {index} of {count}")
            found.append(index)
        if any(index >= self.operands for index in found[:-1]):
            raise Malformed("the scratch memory of pipes is not the last common argument")
        return tuple(found)

    def _find_wide_buffers(self) -> set[int]:
        """Find the buffers whose tiles the unpacker writes to DST in 32 bits."""
        configs = [kernel["config"] or {} for kernel in self.program["kernels"]]
        modes = [
            enumerate(config["ComputeKernelConfig"]["unpack_to_dest_modes"])
            for config in configs
            if "ComputeKernelConfig" in config
        ]
        return {index for each in modes for index, mode in each if mode == "UnpackToDestFp32"}


def _core_arguments(value: Fields) -> CoreArguments:
    words = []
    for kind, fields in _arguments(value["args"]):
        if kind != "KernelArgScalar":
            raise Malformed(f"a runtime argument that is a {kind}")
        words.append(fields["value"])
    if value["core_coord"] is None:
        raise Malformed("runtime arguments without a core")
    return CoreArguments((value["core_coord"]["x"], value["core_coord"]["y"]), tuple(words))


def _buffer(value: Fields, position: int, debug: Debug, wide: Collection[int]) -> Buffer:
    if len(value["formats"]) != 1:
        raise Malformed("a circular buffer with several formats is not known to this runtime")
    (form,) = value["formats"]
    page, path = form["page_size"], ("buffers", position)
    given = debug.at((*path, "block_count"), Part.positive, 1)
    tiles, count = check_blocks(form["dtype"], value["total_size"], page, given)
    return Buffer(
        name=debug.at((*path, "name"), name, f"buffer_{form['buffer_index']}"),
        index=form["buffer_index"],
        data_format=form["dtype"],
        block_tiles=tiles,
        block_count=count,
        unpack_to_dest_fp32=form["buffer_index"] in wide,
        span=debug.at((*path, "span"), Part.span, None),
        compiler_allocated=debug.at((*path, "compiler_allocated"), Part.flag, False),
        row_bytes=None if page == PAGE_BYTES[form["dtype"]] else page,
    )


def target_of(programs: Sequence[Fields]) -> Target:
    """Return the chip of the first kernels that name the chip they were compiled for."""
    operations = [operation for program in programs for operation in program["operations"]]
    named = (Debug(operation["debug_info"]).target for operation in operations)
    return load_target(next((name for name in named if name is not None), TARGETS[0]))
