"""ttl stats TRACE"""

from __future__ import annotations

import argparse

from ttl.trace.reader import read_trace
from ttl.trace.stats import tables, unit_of

from .terminal import show_tables
from .traces import read_with

UNITS = {
    "ticks": "A tick is an event, not a time; for times: ttl run --trace OUT --times FILE",
    "us": "us: microseconds, estimated, added up over the nodes; a tick is an event of the run",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="TRACE", help="what `ttl run --trace TRACE` wrote")


def run(options: argparse.Namespace) -> int:
    records = read_with(read_trace, options.file, "ttl run --trace FILE PROGRAM")
    show_tables(tables(records))
    print(f"\n{UNITS[unit_of(records)]}")
    return 0
