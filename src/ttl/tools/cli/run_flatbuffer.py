"""ttl run-flatbuffer FILE.ttnn"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ttl.config import Config
from ttl.diagnostics import file_not_usable
from ttl.integrations.flatbuffer import Runtime, run_traced
from ttl.integrations.flatbuffer.program import Program, TensorDescription
from ttl.semantics.printing import array_text

from .arrays import not_arrays, plain_type, read_archive, write_archive
from .program import natural

DESCRIPTION = (
    "Run the first program of a .ttnn file on this machine. The C++ in it is compiled and run with "
    "your rights: run only what you would run."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument("file", metavar="FILE.ttnn")
    parser.add_argument(
        "--inputs", metavar="FILE.npz",
        help="the arrays arr_0, arr_1, ... of the inputs, as numpy.savez(FILE, a, b) writes them; "
        "without it they are random",
    )
    parser.add_argument(
        "--outputs", metavar="FILE.npz", help="write the outputs here, and not to the terminal"
    )
    parser.add_argument(
        "--seed", type=natural, default=0, metavar="N", help="of the random inputs (default: 0)"
    )
    parser.add_argument("--trace", metavar="FILE", help="write the events of the kernels here")
    parser.add_argument("--json", action="store_true", help="diagnostics as JSON, one a line")


def run(options: argparse.Namespace) -> int:
    runtime = Runtime.from_file(options.file)
    program = runtime.programs[0]
    inputs = _given(options.inputs, program) if options.inputs else _random(program, options.seed)
    config = Config.current()
    if options.trace is not None:
        _clear(options.trace)
        config = replace(config, trace=options.trace)
    outputs = run_traced(runtime, inputs, config)
    _hand_over(program, outputs, options.outputs)
    return 0


def _given(file: str, program: Program) -> list[Any]:
    arrays = read_archive(file)
    names = [f"arr_{position}" for position in range(len(program.inputs))]
    if sorted(arrays) != sorted(names):
        wanted = ", ".join(names) or "nothing"
        raise not_arrays(f"{file} has {', '.join(arrays) or 'no array'}, and not {wanted}")
    return [arrays[name] for name in names]


def _random(program: Program, seed: int) -> list[Any]:
    generator = np.random.default_rng(seed)

    def drawn(tensor: TensorDescription) -> Any:
        if tensor.dtype.is_float:
            return generator.uniform(-2, 2, tensor.shape).astype(np.float32)
        return generator.integers(0, 100, tensor.shape)

    return [drawn(tensor) for tensor in program.described(program.inputs)]


def _clear(file: str) -> None:
    try:
        Path(file).write_text("")
    except OSError as error:
        raise file_not_usable(file, error) from None


def _hand_over(program: Program, outputs: list[Any], file: str | None) -> None:
    described = program.described(program.outputs)
    arrays = [
        array.astype(plain_type(tensor.dtype))
        for array, tensor in zip(outputs, described, strict=True)
    ]
    if file is not None:
        write_archive(file, {f"arr_{n}": array for n, array in enumerate(arrays)})
        return
    for number, (array, tensor) in enumerate(zip(arrays, described, strict=True)):
        print(f"output {number} {tensor.shape} {tensor.dtype.name}:\n{array_text(array)}")
