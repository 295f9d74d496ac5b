"""ttl stats TRACE"""

from __future__ import annotations

import argparse
from pathlib import Path

from ttl.diagnostics import RuleBroken, UsageError, codes, file_not_usable
from ttl.trace.files import read_trace
from ttl.trace.stats import tables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="TRACE", help="what `ttl run --trace TRACE` wrote")


def run(options: argparse.Namespace) -> int:
    try:
        records = read_trace(Path(options.file))
    except OSError as error:
        raise file_not_usable(options.file, error) from None
    except ValueError as error:
        broken = RuleBroken(
            codes.WRONG_ARGUMENT,
            f"{options.file}: {error}",
            helps=("write a trace with ttl run --trace FILE PROGRAM",),
        )
        raise UsageError(broken.at(None)) from None
    print("\n\n".join("\n".join(table.lines()) for table in tables(records)))
    return 0
