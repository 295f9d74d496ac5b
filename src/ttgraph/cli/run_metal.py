"""ttl run-metal FILE.ttb, or FILE.mlir"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ttl.cli.arrays import (
    NamedArray,
    add_array_arguments,
    make_not_arrays,
    random_array,
    read_archive,
    write_results,
)
from ttl.cli.program import add_warning_arguments, warning_variables
from ttl.config import Config, process_config
from ttl.diagnostics import codes, usage_error
from ttl.semantics.dtypes import Array, DType
from ttl.semantics.types import Shape

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

DESCRIPTION = (
    "Run the commands of a .ttb file on this machine, or those that a graph of ttir or a module of "
    "d2m becomes. The C++ in a file is compiled and run with your rights: run only what you would "
    "run."
)
COMMANDS = "ttir-to-ttmetal-backend"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument("file", metavar="FILE", help="out.ttb of `ttl opt`, or IR text")
    inputs = "the inputs, as numpy.savez(FILE, a, b) writes them; without it they are random"
    add_array_arguments(parser, inputs, "the outputs")
    add_warning_arguments(parser)


class _Program(NamedTuple):
    inputs: list[tuple[Shape, DType]]
    outputs: list[DType]
    run: Callable[[Sequence[Array]], list[Array]]


def run(options: argparse.Namespace) -> int:
    with process_config(warning_variables(options)) as config:
        is_binary = options.file != "-" and options.file.endswith((".ttb", ".ttm"))
        program = _read_binary(options.file) if is_binary else _read_text(options.file, config)
        arrays = _inputs(options, program)
        outputs = program.run(arrays)
    named = enumerate(zip(outputs, program.outputs, strict=True))
    results = [NamedArray(f"arr_{n}", f"output {n}", array, dtype) for n, (array, dtype) in named]
    write_results(results, options.outputs)
    return 0


def _inputs(options: argparse.Namespace, program: _Program) -> list[Array]:
    if not options.inputs:
        generator = np.random.default_rng(options.seed)
        made = [(random_array(shape, dtype, generator), dtype) for shape, dtype in program.inputs]
        return [array.astype(dtype.storage) for array, dtype in made]
    given = list(read_archive(options.inputs).values())
    shapes = [shape for shape, _ in program.inputs]
    if [tuple(array.shape) for array in given] != shapes:
        has = ", ".join(str(tuple(array.shape)) for array in given) or "no array"
        wanted = ", ".join(map(str, shapes)) or "nothing"
        raise make_not_arrays(f"{options.inputs} has {has}, and not {wanted}")
    pairs = zip(given, program.inputs, strict=True)
    return [array.astype(dtype.storage) for array, (_, dtype) in pairs]


def _read_binary(file: str) -> _Program:
    from ttgraph.flatbuffer import MetalRuntime

    runtime = MetalRuntime.from_file(file)
    inputs = [(each.shape, each.dtype) for each in runtime.inputs]
    return _Program(inputs, [each.dtype for each in runtime.outputs], runtime.run)


def _read_text(file: str, config: Config) -> _Program:
    """A graph, whose moves of elements the host does; or a program of threads."""
    from pykernel.passes.pipelines import REGISTER_DEVICE, is_d2m
    from ttgraph.dialects import make_context
    from ttgraph.metal_program import modules_of

    from .opt import apply_passes, read_module, read_text

    context = make_context()
    module = read_module(read_text(file), file, context)
    if "host" not in modules_of(module):
        names = COMMANDS if is_d2m(module) else REGISTER_DEVICE[0]
        apply_passes(names, context, module, config.system_desc_path)
    if "host" in modules_of(module):
        return _make_program(module)
    return _make_graph_program(module, file)


def _make_program(module: ModuleOp) -> _Program:
    from ttgraph.metal_program import host_function, modules_of, run_metal

    types = [_describe(each.type) for each in host_function(modules_of(module)).body.block.args]
    shape, dtype = types[-1]

    def run(arrays: Sequence[Array]) -> list[Array]:
        room = np.zeros(shape, dtype.storage)
        run_metal(module, [*arrays, room])
        return [room]

    return _Program(types[:-1], [dtype], run)


def _make_graph_program(module: ModuleOp, file: str) -> _Program:
    from xdsl.dialects import func

    from ttgraph.d2m_graph import run_ttir

    functions = [op for op in module.ops if isinstance(op, func.FuncOp)]
    if len(functions) != 1:
        message = f"{file} has {len(functions)} functions, and one is run"
        raise usage_error(codes.WRONG_FILE, message)
    types = functions[0].function_type
    outputs = [_describe(type)[1] for type in types.outputs]
    inputs = [_describe(type) for type in types.inputs]
    return _Program(inputs, outputs, lambda arrays: run_ttir(module, arrays))


def _describe(type: Any) -> tuple[Shape, DType]:
    from ttl.dialects.ttcore import dtype_of_element

    try:
        return tuple(type.get_shape()), dtype_of_element(type.element_type)
    except (AttributeError, KeyError):
        message = f"a tensor of type {type} is not run"
        raise usage_error(codes.WRONG_FILE, message) from None
