"""ttl stats TRACE"""

from __future__ import annotations

import argparse
from pathlib import Path

from ttl.diagnostics import RuleBroken, UsageError, codes, file_not_usable
from ttl.trace.stats import read_trace, tables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="TRACE", help="what `ttl run --trace TRACE` wrote")


def run(options: argparse.Namespace) -> int:
    try:
        with Path(options.file).open(encoding="utf-8") as lines:
            records = read_trace(lines)
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
