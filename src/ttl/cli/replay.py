"""ttl replay DIR"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ttl import ttnn
from ttl.artifact import CompiledOperation, Memory, Operand, check_includes, read_folder
from ttl.config import process_config
from ttl.diagnostics import codes, usage_error
from ttl.host import CallCounts, counts_table, launch
from ttl.semantics.dtypes import DTYPES, Array

from .arrays import (
    NamedArray,
    add_array_arguments,
    make_not_arrays,
    random_array,
    read_archive,
    write_results,
)
from .process import program_driver
from .program import add_isolate_argument, add_warning_arguments, warning_variables

LAYOUTS = {layout.name: layout for layout in (ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT)}
DESCRIPTION = (
    "Run a compiled operation on this machine: a folder that `ttl compile` or "
    "TTLANG_KERNEL_DUMPS has written. The C++ in it is compiled and run with your rights: replay "
    "only what you would run, or use --isolate."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument("folder", metavar="DIR", help="the folder with manifest.json and kernels/")
    inputs = "arrays by the names of the tensors; tensors that are not there are random"
    add_array_arguments(parser, inputs, "all tensors")
    parser.add_argument(
        "--counts",
        action="store_true",
        help="how often the kernels called each unit of the chip",
    )
    add_isolate_argument(parser)
    add_warning_arguments(parser)


def run(options: argparse.Namespace) -> int:
    compiled = read_folder(Path(options.folder))
    check_includes(compiled)
    if options.counts and any(kernel.own is not None for kernel in compiled.kernels):
        message = "--counts: calls of kernels that were written by hand are not counted"
        raise usage_error(codes.WRONG_OPTION, message, "leave --counts out")
    given = _read_arrays(options.inputs, compiled) if options.inputs else {}
    try:
        tensors = tensors_for(compiled, given, options.seed)
    except MemoryError as error:
        message = f"this is no compiled operation: its tensors do not fit in memory: {error}"
        raise usage_error(codes.NOT_AN_ARTIFACT, message) from None
    counts = CallCounts() if options.counts else None
    storages = [tensor.storage for tensor in tensors]
    with (
        process_config(warning_variables(options)) as config,
        program_driver().remarks.of_a_run(config) as report,
    ):
        launch(
            compiled,
            storages,
            cache_dir=config.cache_dir,
            counts=counts,
            report=report,
            isolate=config.isolate,
            memory_bytes=config.isolate_memory,
            rounds_like_chip=config.rounding == "chip",
        )
    results = [
        NamedArray(operand.name, operand.name, ttnn.to_numpy(tensor), tensor.dtype)
        for operand, tensor in zip(compiled.operands, tensors, strict=True)
    ]
    write_results(results, options.outputs)
    if counts is not None:
        print(counts_table({compiled.name: counts}))
    return 0


def tensors_for(
    compiled: CompiledOperation, given: Mapping[str, object], seed: int
) -> list[ttnn.Tensor]:
    device = ttnn.open_device(device_id=0)
    generator = np.random.default_rng(seed)
    tensors: list[ttnn.Tensor] = []
    at: dict[int | None, ttnn.Tensor] = {}  # a tensor passed twice is one tensor
    for operand in compiled.operands:
        dtype = DTYPES[operand.dtype]
        # Draw for all inputs, so that an additional input changes no other.
        random = random_array(operand.shape, dtype, generator)
        made = ttnn.from_numpy(
            given.get(operand.name, random),
            dtype=dtype,
            layout=LAYOUTS[operand.layout],
            device=device,
            memory_config=_memory_config(operand),
        )
        tensors.append(made if operand.address is None else at.setdefault(operand.address, made))
    return tensors


def _memory_config(operand: Operand) -> ttnn.MemoryConfig:
    try:
        return config_of(operand.memory)
    except KeyError as unknown:
        message = f"the manifest: there is no {unknown} where tensor `{operand.name}` lies"
        help_text = "dump the operation again with TTLANG_KERNEL_DUMPS=1"
        raise usage_error(codes.NOT_AN_ARTIFACT, message, help_text) from None


def config_of(memory: Memory) -> ttnn.MemoryConfig:
    """Make a memory configuration; raise KeyError for a name that ttnn does not have."""
    spec: ttnn.ShardSpec | ttnn.NdShardSpec | None = None
    if memory.cores:
        cores = ttnn.CoreRangeSet([ttnn.CoreRange(start, end) for start, end in memory.cores])
        orientation = ttnn.ShardOrientation[memory.orientation]
        if memory.distribution:
            distribution = ttnn.ShardDistributionStrategy[memory.distribution]
            spec = ttnn.NdShardSpec(memory.shard_shape, cores, orientation, distribution)
        else:
            spec = ttnn.ShardSpec(cores, memory.shard_shape, orientation)
    layout, buffer = ttnn.TensorMemoryLayout[memory.memory_layout], memory.buffer_type
    return ttnn.MemoryConfig(layout, ttnn.BufferType[buffer], spec)


def _read_arrays(file: str, compiled: CompiledOperation) -> dict[str, Array]:
    arrays = read_archive(file)
    shapes = {operand.name: operand.shape for operand in compiled.operands}
    for name, array in arrays.items():
        if name not in shapes:
            known = ", ".join(shapes)
            raise make_not_arrays(f"{file}: the operation has no tensor `{name}`, but {known}")
        if array.shape != shapes[name]:
            raise make_not_arrays(f"{file}: `{name}` has shape {array.shape}, not {shapes[name]}")
    return arrays
