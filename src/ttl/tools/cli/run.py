"""ttl run FILE"""

from __future__ import annotations

import argparse
from pathlib import Path

from ttl.diagnostics import file_not_usable

from .program import add_program_arguments, program_environment, run_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", action="store_true", help="run the compiled kernels on this CPU")
    parser.add_argument(
        "--float32", action="store_true", help="the simulator keeps all floats in f32"
    )
    parser.add_argument("--trace", metavar="FILE", help="write run events as JSON lines")
    parser.add_argument(
        "--seed", type=int, metavar="N", help="shuffle the simulator's schedule, repeatably"
    )
    add_program_arguments(parser)


def run(options: argparse.Namespace) -> int:
    environment = program_environment(options)
    if options.host:
        environment["TTL_BACKEND"] = "host"
    if options.float32:
        environment["TTL_FLOAT32"] = "1"
    if options.seed is not None:
        environment["TTL_SEED"] = str(options.seed)
    if options.trace:
        try:
            Path(options.trace).write_text("")
        except OSError as error:
            raise file_not_usable(options.trace, error) from None
        environment["TTL_TRACE"] = str(Path(options.trace).resolve())
    return run_program(options.file, options.arguments, environment)
