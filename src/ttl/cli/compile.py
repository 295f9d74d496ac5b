"""ttl compile FILE -o DIR"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from .process import program_driver
from .program import add_program_arguments, program_variables
from .uncomputed import run_partly_computed, why_nothing_is_computed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        default="ttl_kernels",
        metavar="DIR",
        help="where kernels/*.cpp and manifest.json go (default: %(default)s)",
    )
    parser.add_argument(
        "--show-threads",
        action="store_true",
        help="print unified operations with the thread of each line, and the kernels they become",
    )
    add_program_arguments(parser, with_compile_only=True)


def run(options: argparse.Namespace) -> int:
    """Compile, and list written files on stderr; the program's own output goes to stdout.

    The status is 1 if nothing was written because the program called no operation.
    """
    variables = program_variables(options)
    if options.show_threads:
        variables["TTL_SHOW_THREADS"] = "1"
    variables["TTL_COMPILE_TO"] = str(Path(options.output).resolve())
    left_out = partial(why_nothing_is_computed, options)
    if status := run_partly_computed(options, variables, left_out):
        return status
    if program_driver().artifacts.count:
        return 0
    print(f"ttl: {options.file} calls no operation; nothing was compiled", file=sys.stderr)
    return 1
