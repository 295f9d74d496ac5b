"""The `ttl` command: one file a verb."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from ttl import __version__

from .above import VERBS as VERBS_ABOVE
from .above import above
from .parser import WRONG_COMMAND, Parser
from .program import split_program_arguments
from .verbs import VERBS, help_text, unknown_verb

PROGRAM_VERBS = ("run", "check", "compile", "estimate", "tune", "explore", "view", "lower")
INTERRUPTED = 130  # what a shell reports for a command that SIGINT ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; return 1 for errors of programs, 2 for wrong command lines and 130 after
    an interrupt.
    """
    return _read_or_not(partial(_main, arguments))


def _read_or_not(command: Callable[[], int]) -> int:
    try:
        return command()
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _main(arguments: Sequence[str] | None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    verb = given[0] if given else "--help"
    if verb in VERBS:
        return _run_verb(_options_of(verb, given[1:]))
    if verb in ("-h", "--help"):
        print(help_text())
    elif verb == "--version":
        print(f"ttl {__version__}")
    else:
        print(f"ttl: error: {unknown_verb(verb)}", file=sys.stderr)
        return WRONG_COMMAND
    return 0


def _options_of(verb: str, given: list[str]) -> argparse.Namespace:
    text = VERBS[verb]
    parser = Parser(prog=f"ttl {verb}", description=f"{text[0].upper()}{text[1:]}.")
    module_of(verb).add_arguments(parser)
    if verb in PROGRAM_VERBS:
        return parse_program_verb(parser, verb, given)
    if verb == "opt":
        given = module_of(verb).join_passes(parser, given)
    options = parser.parse_args(given)
    options.verb = verb
    return options


def module_of(verb: str) -> Any:
    if verb in VERBS_ABOVE:
        return above(verb)
    return import_module(f"{__package__}.{verb.replace('-', '_')}")


def simulator_main(arguments: Sequence[str] | None = None) -> int:
    """Run `tt-lang-sim`: `ttl run` under the name of the public simulator."""
    from . import run

    parser = Parser(prog="tt-lang-sim", description="The same as `ttl run`.")
    run.add_arguments(parser)
    given = list(sys.argv[1:] if arguments is None else arguments)
    return _read_or_not(lambda: _run_verb(parse_program_verb(parser, "run", given)))


def _main_of(verb: str, arguments: Sequence[str] | None = None) -> int:
    """Run a verb that is its own command."""
    return main([verb, *(sys.argv[1:] if arguments is None else arguments)])


stats_main = partial(_main_of, "stats")  # `tt-lang-sim-stats`, a public tool
opt_main = partial(_main_of, "opt")  # `ttlang-opt` and the guide's `ttc`, like mlir-opt
setup_main = partial(_main_of, "examples")  # `tt-lang-setup` and `tt-lang-setup-tutorials`


def parse_program_verb(
    parser: argparse.ArgumentParser, verb: str, given: list[str]
) -> argparse.Namespace:
    """Parse a verb that runs a program; argparse alone would parse the program's arguments."""
    ours, theirs = split_program_arguments(parser, given)
    if "--" not in ours and not {"-h", "--help", "--version"} & {*ours}:
        parser.error(f"name the program: {parser.prog} FILE")
    options = parser.parse_args(ours)
    options.verb, options.arguments = verb, theirs
    check = getattr(module_of(verb), "check_arguments", None)
    if check is not None:
        check(parser, options)
    return options


def _run_verb(options: argparse.Namespace) -> int:
    from ttl.diagnostics import TTLError, render_all
    from ttl.diagnostics.errors import debug_traceback
    from ttl.diagnostics.painting import show_text

    from .progress import show_progress

    try:
        with show_progress():
            status: int = module_of(options.verb).run(options)
    except TTLError as error:
        print(debug_traceback(error), end="", file=sys.stderr)
        show_text(render_all(error.diagnostics, getattr(options, "json", False)), sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("ttl: interrupted", file=sys.stderr)
        return INTERRUPTED
    return status
