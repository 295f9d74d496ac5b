"""ttnn-lower-tt-lang-to-generic: a resolved TT-Lang operation becomes a ttnn.generic.

Arguments of its kernels:
* compile-time: the indices of all buffers; for data movement kernels also a marker for each
  operand, which the runtime replaces by the words of the TensorAccessorArgs of the live buffer;
* common runtime: the addresses of the kernel's tensors, then of the scratch tensor of its pipes,
  then the global semaphores;
* runtime, of a core: words.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from math import prod
from typing import Any

from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import SSAValue

from ttgraph.dialects import ttnn
from ttgraph.dialects.graph import to_attribute
from ttl.artifact import CONFIG_TYPES, Artifact, Buffer, Kernel, names_of, parse, read_artifact
from ttl.diagnostics import CompileError, codes
from ttl.passes.module_pass import Maker, cannot_compile, replace_by
from ttl.semantics.tensor_layout import TensorLayout
from ttl.target import of_all_chips

Table = dict[str, Any]  # of the flatbuffer, by field name
SCRATCH_ALIGNMENT = 32  # bytes, by format_version 2 of the artifact; not the chip's alignment


def apply(op: ModuleOp) -> None:
    for each in [each for each in op.walk() if isinstance(each, ttnn.TTLangOp)]:
        _lower(each)


def _lower(op: ttnn.TTLangOp) -> None:
    artifact = _artifact(op)
    tensors, additional = list(op.inputs), []
    if artifact.operation.pipe_scratch_bytes:
        tensors.append(_scratch(op, artifact))
    for _ in range(artifact.global_semaphores):
        additional.append(_global_semaphore(op, artifact))
    program = _program(artifact, len(op.inputs), len(tensors))
    names = names_of(artifact.operation) if artifact.has_names else None
    debug = json.dumps(names, sort_keys=True) if names else ""
    generic = ttnn.GenericOp.of(tensors, additional, program, debug)
    Maker.before(op).add(generic)
    for scratch in tensors[len(op.inputs) :]:
        Maker.after(generic, op).add(ttnn.DeallocateOp(operands=[scratch]))
    replace_by(op, *op.inits)


def _artifact(op: ttnn.TTLangOp) -> Artifact:
    text = op.text_of("kernel_artifact")
    if not text:
        raise _wrong(op, "has no kernel_artifact: run ttnn-resolve-tt-lang-kernels first")
    try:
        artifact = read_artifact(parse(text))
    except ValueError as error:
        raise _wrong(op, f"has a wrong kernel_artifact: {error}") from None
    for buffer in artifact.operation.buffers:
        if buffer.tensor is not None:
            problem = f"`{buffer.name}` lies in a tensor, for which flatbuffers have no field"
            raise _wrong(op, f"cannot be in a flatbuffer: {problem}")
    for position, kernel in enumerate(artifact.operation.kernels):
        for index in kernel.tensor_indices:
            if index >= len(op.inputs):
                path = f"kernels[{position}].tensor_indices"
                problem = f"{path} names tensor {index} of {len(op.inputs)}"
                raise _wrong(op, f"has a wrong kernel_artifact: {problem}")
    return artifact


def _wrong(op: ttnn.TTLangOp, problem: str) -> CompileError:
    message = f"the TT-Lang operation '{op.kernel_id.data}' {problem}"
    return cannot_compile(codes.WRONG_KERNEL_ARTIFACT.broken(message), op)


# Tensors and semaphores of kernels that are not operands ------------------------------------------


def _scratch(op: ttnn.TTLangOp, artifact: Artifact) -> SSAValue:
    """Make a row of f32 in the L1 of every core: counters, which start at 0."""
    size = artifact.operation.pipe_scratch_bytes
    aligned = -(-size // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT
    cores = sum(
        prod(last - first + 1 for first, last in zip(*corners, strict=True))
        for corners in artifact.core_ranges
    )
    shape = (cores, max(1, aligned // 4))
    layout = TensorLayout(
        "(d0, d1) -> (d0, d1)",
        (shape[0], 1),
        (1, shape[1]),
        False,
        "f32",
        "l1",
        "height_sharded",
        artifact.core_ranges,
    )
    type = ttnn.with_layout(TensorType(f32, shape), layout)
    zeros = ttnn.MATH["full"].of([], type, shape=list(shape), fill_value=0.0)
    return Maker.before(op).value(zeros, "scratch")


def _global_semaphore(op: ttnn.TTLangOp, artifact: Artifact) -> SSAValue:
    semaphore = ttnn.CreateGlobalSemaphoreOp.create(
        result_types=[ttnn.GlobalSemaphoreType()],
        attributes={
            "core_ranges": to_attribute(_core_ranges(artifact)),
            "initial_value": to_attribute(0),
        },
    )
    return Maker.before(op).value(semaphore)


# The program, in the words of the flatbuffer ------------------------------------------------------


def _program(artifact: Artifact, operands: int, tensors: int) -> Table:
    extra = [_argument("BufferAddressOfTensor", tensor_idx=i) for i in range(operands, tensors)]
    extra += [
        _argument("GlobalSemaphore", global_semaphore_index=tensors + i)
        for i in range(artifact.global_semaphores)
    ]
    operation = artifact.operation
    return {
        "kernels": [_kernel(kernel, artifact, operands, extra) for kernel in operation.kernels],
        "semaphores": [
            {
                "id": semaphore.index,
                "core_type": "WORKER",
                "core_ranges": _core_ranges(artifact),
                "initial_value": semaphore.initial,
            }
            for semaphore in operation.semaphores
        ],
        "cbs": [_buffer(buffer, artifact) for buffer in operation.buffers],
    }


def _kernel(kernel: Kernel, artifact: Artifact, operands: int, extra: list[Table]) -> Table:
    buffers = artifact.operation.buffers
    arguments = [_argument("CBBufferIndex", buffer_index=each.index) for each in buffers]
    if kernel.uses_tensor_accessors:
        arguments += [_argument("TensorAccessorArgs", operand_index=i) for i in range(operands)]
    addresses = [_argument("BufferAddressOfTensor", tensor_idx=i) for i in kernel.tensor_indices]
    return {
        "source": kernel.cpp_source,
        "source_type": "SOURCE_CODE",
        "config": {CONFIG_TYPES[kernel.thread]: _config(kernel, buffers)},
        "core_ranges": _core_ranges(artifact),
        "ct_args": {"args": arguments},
        "rt_args": [
            {
                "core_coord": _corner(arguments_of.core),
                "args": [_argument("Scalar", value=word) for word in arguments_of.args],
            }
            for arguments_of in kernel.runtime_args
        ],
        "common_rt_args": {"args": addresses + extra},
    }


def _config(kernel: Kernel, buffers: Sequence[Buffer]) -> Table:
    if kernel.config is None:
        return {}
    wide = {buffer.index for buffer in buffers if buffer.unpack_to_dest_fp32}
    # tt-metal needs an entry for every buffer that any chip could have.
    indices = range(of_all_chips("dataflow_buffers"))
    modes = ["UnpackToDestFp32" if index in wide else "Default" for index in indices]
    return {**asdict(kernel.config), "unpack_to_dest_modes": modes if wide else []}


def _argument(kind: str, **fields: int) -> Table:
    return {"arg": {f"KernelArg{kind}": fields}}


def _buffer(buffer: Buffer, artifact: Artifact) -> Table:
    form = {"buffer_index": buffer.index, "dtype": buffer.data_format}
    return {
        "total_size": buffer.total_bytes,
        "core_range": _core_ranges(artifact),
        "formats": [{**form, "page_size": buffer.page_bytes}],
    }


def _corner(core: tuple[int, int]) -> dict[str, int]:
    return {"x": core[0], "y": core[1]}


def _core_ranges(artifact: Artifact) -> Table:
    return {
        "core_ranges": [
            {"start_coord": _corner(first), "end_coord": _corner(last)}
            for first, last in artifact.core_ranges
        ]
    }
