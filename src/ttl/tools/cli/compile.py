"""ttl compile FILE -o DIR"""

from __future__ import annotations

import argparse
from pathlib import Path

from .program import add_program_arguments, program_environment, run_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", default="ttl_kernels", metavar="DIR",
        help="where kernels/*.cpp and manifest.json go (default: %(default)s)",
    )
    parser.add_argument(
        "--compile-only", action="store_true",
        help="do not run the operations: tensors keep what they held",
    )
    add_program_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Says on stderr what was written; the program's own output goes to stdout."""
    environment = program_environment(options)
    environment["TTL_COMPILE_TO"] = str(Path(options.output).resolve())
    if options.compile_only:
        environment["TTLANG_COMPILE_ONLY"] = "1"
    return run_program(options.file, options.arguments, environment)
