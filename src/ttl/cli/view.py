"""ttl view FILE"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ttl.config import Config
from ttl.diagnostics import codes, usage_error

from .above import above
from .page_files import PageFile
from .pages import add_page_arguments, check_page, deliver, observe, temporary_trace
from .process import program_driver
from .program import add_program_arguments, program_variables, run_to_its_end
from .traces import read_with

if TYPE_CHECKING:
    from ttl.studio.view import Shown

DESCRIPTION = (
    "A page about a run: its timeline, the L1 of nodes, the graph of kernels, buffers and pipes, "
    "Python with IR and C++, the cost of lines, diagnostics. One HTML file that needs no network."
)
TRACES = (".jsonl", ".json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    add_page_arguments(parser, "view")
    parser.add_argument(
        "--source",
        metavar="FILE.py",
        help="the program of a trace or a compiled operation, whose lines are shown",
    )
    parser.add_argument(
        "--run",
        action="store_true",
        help="run a compiled operation or a .ttnn file on random tensors, for its timeline and its "
        "estimate; the C++ in it is compiled and run with your rights",
    )
    add_program_arguments(parser)
    file = next(action for action in parser._actions if action.dest == "file")
    file.help = "a program, a trace, a folder of `ttl compile`, or a .ttnn file"


def check_arguments(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.file.endswith(".py"):
        if options.run or options.source:
            parser.error("--run and --source are not for programs: they are run as they are")
    elif options.arguments:
        parser.error(f"{options.file} is no program: it takes no arguments")
    elif options.target or options.grid:
        parser.error("--target and --grid are for programs: other files have their chip")


def run(options: argparse.Namespace) -> int:
    page = check_page(options, "view")
    file = Path(options.file)
    if file.suffix == ".py":
        return _program(options, page)
    deliver(_maker(file, options), options, page)
    return 0


def _maker(file: Path, options: argparse.Namespace) -> Callable[[], Shown]:
    """Make a function that reads the file each time, so that a served page is current."""
    from .view_inputs import check_source, read_shown_bundle, read_shown_trace

    check_source(options.source)
    config = Config.from_environment() if options.run else None
    if file.is_dir() or file.name == "manifest.json":
        folder = file if file.is_dir() else file.parent
        return lambda: read_shown_bundle(folder, options.source, config)
    if file.suffix == ".ttnn":
        return lambda: above("graph_files").shown_flatbuffer(file, config)
    if file.suffix in TRACES or file.exists():
        how = "ttl run --trace FILE PROGRAM"
        return lambda: read_with(
            lambda path: read_shown_trace(path, options.source), str(file), how
        )
    message = f"{file}: there is no such file"
    help_text = "name a program, a trace, a folder or a .ttnn"
    raise usage_error(codes.FILE_NOT_USABLE, message, help_text)


def _program(options: argparse.Namespace, page: PageFile | None) -> int:
    made: list[Shown] = []
    driver = program_driver()
    try:
        with temporary_trace() as trace, observe(driver, trace, made.append, options.file):
            variables = {**program_variables(options), "TTL_VIEW": "1", "TTL_TRACE": str(trace)}
            return run_to_its_end(options, variables)
    finally:  # also if the program fails
        if made:
            deliver(lambda: made[0], options, page)
