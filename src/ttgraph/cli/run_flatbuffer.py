"""ttl run-flatbuffer FILE.ttnn"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from ttgraph.flatbuffer import Runtime, run_traced
from ttgraph.flatbuffer.program import GraphProgram
from ttl.cli.arrays import (
    NamedArray,
    add_array_arguments,
    make_not_arrays,
    random_array,
    read_archive,
    write_results,
)
from ttl.cli.program import add_isolate_argument, add_warning_arguments, warning_variables
from ttl.cli.traces import empty_trace
from ttl.config import process_config
from ttl.semantics.dtypes import Array

DESCRIPTION = (
    "Run the first program of a .ttnn file on this machine. The C++ in it is compiled and run with "
    "your rights: run only what you would run, or use --isolate."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument("file", metavar="FILE.ttnn")
    inputs = (
        "the arrays of the inputs under their names, or arr_0, arr_1, ... as numpy.savez(FILE, a, "
        "b) writes them; without it they are random"
    )
    add_array_arguments(parser, inputs, "the outputs")
    parser.add_argument(
        "--list", action="store_true", help="show the inputs and outputs, and run nothing"
    )
    parser.add_argument("--trace", metavar="FILE", help="write the events of the kernels here")
    add_isolate_argument(parser)
    add_warning_arguments(parser)


def run(options: argparse.Namespace) -> int:
    runtime = Runtime.from_file(options.file)
    program = runtime.programs[0]
    if options.list:
        _show(program)
        return 0
    if options.inputs:
        inputs = _read_inputs(options.inputs, program)
    else:
        inputs = random_inputs(program, options.seed)
    with process_config(warning_variables(options)) as config:
        if options.trace is not None:
            config = replace(config, trace=empty_trace(options.trace))
        outputs = run_traced(runtime, inputs, config)
    described = enumerate(zip(outputs, program.described(program.outputs), strict=True))
    names = program.named(program.output_names, program.outputs)
    results = [
        NamedArray(names[n], f"output {n}" if names[n] == f"arr_{n}" else names[n], a, tensor.dtype)
        for n, (a, tensor) in described
    ]
    write_results(results, options.outputs)
    if options.outputs:
        print(f"{len(results)} outputs written to {options.outputs}: {', '.join(names)}")
    return 0


def _show(program: GraphProgram) -> None:
    """Print a line for each input and output: its name, shape and element type."""
    for kind, names, ids in (
        ("input", program.input_names, program.inputs),
        ("output", program.output_names, program.outputs),
    ):
        for name, tensor in zip(program.named(names, ids), program.described(ids), strict=True):
            print(f"{kind:6} {name}  {tuple(tensor.shape)} {tensor.dtype.spelling}")


def _read_inputs(file: str, program: GraphProgram) -> list[Array]:
    arrays = read_archive(file)
    counted = [f"arr_{position}" for position in range(len(program.inputs))]
    names = program.named(program.input_names, program.inputs)
    for chosen in (names, counted):
        if sorted(arrays) == sorted(chosen):
            return [arrays[name] for name in chosen]
    wanted = ", ".join(names) or "nothing"
    raise make_not_arrays(f"{file} has {', '.join(arrays) or 'no array'}, and not {wanted}")


def random_inputs(program: GraphProgram, seed: int) -> list[Array]:
    generator = np.random.default_rng(seed)
    described = program.described(program.inputs)
    return [random_array(tensor.shape, tensor.dtype, generator) for tensor in described]
