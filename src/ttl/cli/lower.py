"""ttl lower FILE"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ttl.diagnostics import TTLError

from .page_files import PageFile
from .pages import add_page_arguments, check_page, deliver, observe
from .process import program_driver
from .program import add_program_arguments, program_variables
from .uncomputed import run_uncomputed, show_output, tell_end

if TYPE_CHECKING:
    from ttl.driver import Driver
    from ttl.language.operation import Program
    from ttl.studio.view import Shown

DESCRIPTION = (
    "A page with the program, the IR after each pass and the C++ side by side: what is under the "
    "pointer is lit in all of them. Operations are compiled and not run."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument(
        "--tree",
        action="store_true",
        help="print the kernels as they are read, before anything is compiled; there is no page",
    )
    add_page_arguments(parser, "lower")
    add_program_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Make the page. Operations compute nothing here, so the program's own checks of results may
    fail without harm. An operation that does not compile is shown as far as it came.
    """
    options.compile_only = True
    variables = {**program_variables(options), "TTL_VIEW": "1"}
    driver = program_driver()
    if options.tree:
        return _print_trees(options, variables, driver)
    page = check_page(options, "lower")
    made: list[Shown] = []
    try:
        with observe(driver, None, made.append, options.file):
            ended = run_uncomputed(options, variables)
    except TTLError:
        if made and made[0].operations:
            _deliver(made[0], options, page)
        raise
    if not made[0].operations:
        status = show_output(ended, options.json)
        print(f"ttl: {options.file} calls no operation; there is no page", file=sys.stderr)
        return status or 1
    tell_end(options, ended, "lower")
    _deliver(made[0], options, page)
    return 0


def _deliver(shown: Shown, options: argparse.Namespace, page: PageFile | None) -> None:
    shown.panels = ("code", "diagnostics")
    deliver(lambda: shown, options, page)


# Trees --------------------------------------------------------------------------------------------


def _print_trees(options: argparse.Namespace, variables: dict[str, str], driver: Driver) -> int:
    from ttl.driver.views import Views

    texts: dict[str, None] = {}

    class Trees(Views):
        def see(self, program: Program, *_: object) -> None:
            texts.update(dict.fromkeys(_trees(program)))

    driver.views = Trees()
    try:
        ended = run_uncomputed(options, variables)
    finally:
        print("\n\n".join(texts))
    if not texts:
        status = show_output(ended, options.json)
        print(f"ttl: {options.file} calls no operation; there is no tree", file=sys.stderr)
        return status or 1
    tell_end(options, ended, "lower")
    return 0


def _trees(program: Program) -> Iterator[str]:
    """Yield the trees of the kernels, and of the functions that they call."""
    from ttl.source.functions import own_code, reachable_functions
    from ttl.source.printed import printed
    from ttl.source.trees import tree_of

    for kernel in program.kernels:
        for function in reachable_functions(kernel.function):
            if (found := tree_of(function)) is not None:
                is_kernel = function is kernel.function
                role = f"{kernel.kind.value} kernel" if is_kernel else "helper"
                where = f"{own_code(function).co_filename}:{found.lineno}"
                yield f"{role} {found.name}, {where}\n{printed(found, function)}"
