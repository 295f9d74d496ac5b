"""ttl lower FILE"""

from __future__ import annotations

import argparse
import sys

from .pages import add_page_arguments, check_output, deliver, observed
from .program import add_program_arguments, program_variables, run_to_its_end

DESCRIPTION = (
    "A page with the program, the IR after each pass and the C++ side by side: what is under the "
    "pointer is lit in all of them. Operations are compiled and not run."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    add_page_arguments(parser, "ttl_lower.html")
    add_program_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """The page is made of what was compiled, also if the program fails after that."""
    from ttl.view import Shown

    check_output(options)
    made: list[Shown] = []
    options.compile_only = True
    variables = {**program_variables(options), "TTL_VIEW": "1"}
    with observed(None, made.append, options.file):
        status = run_to_its_end(options, variables)
    shown = made[0]
    if not shown.operations:
        print(f"ttl: {options.file} calls no operation; there is no page", file=sys.stderr)
        return status or 1
    shown.panels = ("code", "diagnostics")
    deliver(lambda: shown, options)
    return status
