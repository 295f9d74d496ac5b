"""ttl run FILE"""

from __future__ import annotations

import argparse
from pathlib import Path

from .program import add_program_arguments, run_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", action="store_true", help="run the compiled kernels on this CPU")
    parser.add_argument("--trace", metavar="FILE", help="write run events as JSON lines")
    parser.add_argument(
        "--seed", type=int, metavar="N", help="shuffle the simulator's schedule, repeatably"
    )
    add_program_arguments(parser)


def run(options: argparse.Namespace) -> int:
    environment = {"TTL_BACKEND": "host"} if options.host else {}
    if options.seed is not None:
        environment["TTL_SEED"] = str(options.seed)
    if options.trace:
        Path(options.trace).write_text("")
        environment["TTL_TRACE"] = str(Path(options.trace).resolve())
    return run_program(options.file, options.arguments, environment)
