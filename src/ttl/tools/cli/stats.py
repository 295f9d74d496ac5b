"""ttl stats TRACE"""

from __future__ import annotations

import argparse

from ttl.trace.files import read_trace
from ttl.trace.stats import tables

from .terminal import show_tables
from .traces import read_with


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="TRACE", help="what `ttl run --trace TRACE` wrote")


def run(options: argparse.Namespace) -> int:
    records = read_with(read_trace, options.file, "ttl run --trace FILE PROGRAM")
    show_tables(tables(records))
    print("\nA tick is an event of the run, not a time; for times: ttl estimate PROGRAM")
    return 0
