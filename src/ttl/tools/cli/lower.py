"""ttl lower FILE"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ttl.diagnostics import TTLError

from .page_files import PageFile
from .pages import add_page_arguments, checked_page, deliver, observed
from .program import add_program_arguments, program_variables
from .uncomputed import run_uncomputed, show_as_run, tell_end

if TYPE_CHECKING:
    from ttl.view import Shown

DESCRIPTION = (
    "A page with the program, the IR after each pass and the C++ side by side: what is under the "
    "pointer is lit in all of them. Operations are compiled and not run."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    add_page_arguments(parser, "lower")
    add_program_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Operations compute nothing here: what the program checks about its results may fail, and the
    page is there all the same. It is also of one that does not compile, as far as it came.
    """
    page = checked_page(options, "lower")
    made: list[Shown] = []
    options.compile_only = True
    variables = {**program_variables(options), "TTL_VIEW": "1"}
    try:
        with observed(None, made.append, options.file):
            ended = run_uncomputed(options, variables)
    except TTLError:
        if made and made[0].operations:
            _deliver(made[0], options, page)
        raise
    if not made[0].operations:
        status = show_as_run(ended, options.json)
        print(f"ttl: {options.file} calls no operation; there is no page", file=sys.stderr)
        return status or 1
    tell_end(options, ended, "lower")
    _deliver(made[0], options, page)
    return 0


def _deliver(shown: Shown, options: argparse.Namespace, page: PageFile | None) -> None:
    shown.panels = ("code", "diagnostics")
    deliver(lambda: shown, options, page)
