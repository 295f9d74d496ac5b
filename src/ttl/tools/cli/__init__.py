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

from .program import split_program_arguments

VERBS = {
    "run": "run a program, on the simulator, compiled on this machine, or on a device",
    "check": "look for mistakes in the operations a program calls, before each is run",
    "compile": "compile the operations a program calls to C++ kernels",
    "run-flatbuffer": "run a .ttnn file on this machine; compiles and runs the C++ in it",
    "run-metal": "run a .ttb file, a graph of ttir or threads of d2m on this machine",
    "replay": "run a compiled operation from its folder; compiles and runs the C++ in it",
    "opt": "run passes on IR text",
    "view": "show a page about a run, a trace, a compiled operation or a .ttnn file",
    "lower": "show a page with Python, the IR of each stage and C++ side by side",
    "estimate": "estimate how long operations take on a chip, and where the time goes",
    "tune": "find the configuration of operations, or the constants, that take the least time",
    "calibrate": "measure what things cost on a device, so that estimates fit it",
    "explore": "run a program under many schedules and compare the results",
    "stats": "print tables of what a trace recorded",
    "diff": "find the first difference between two traces, as of a simulated and a compiled run",
    "explain": "explain a diagnostic code",
    "cache": "show how large the cache of compiled kernels is, or make it smaller",
    "completion": "print a script that completes this command in bash, zsh or fish",
    "doctor": "check the installation: what is there, what is missing, how to get it",
    "lsp": "start the language server, for editors",
    "examples": "copy the example programs to a folder",
}
PROGRAM_VERBS = ("run", "check", "compile", "estimate", "tune", "explore", "view", "lower")
INTERRUPTED = 130  # what a shell reports for a command that SIGINT ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; the exit status is 1 for errors of programs, 2 for wrong command lines and 130
    after an interrupt.
    """
    return _read_or_not(partial(_main, arguments))


def _read_or_not(command: Callable[[], int]) -> int:
    try:
        return command()
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _main(arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(prog="ttl", description="TT-Lang in Python")
    parser.add_argument("--version", action="version", version=f"ttl {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    given = list(sys.argv[1:] if arguments is None else arguments)
    verb = given[0] if given else ""
    for name in [verb] if verb in VERBS else VERBS:  # parsers of all verbs take 2 ms to make
        text = VERBS[name]
        verbs.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    if near := _near_verbs(verb):
        parser.error(f"there is no verb `{verb}`; did you mean {' or '.join(near)}?")
    if verb in VERBS:
        module_of(verb).add_arguments(verbs.choices[verb])
    if verb in PROGRAM_VERBS:
        options = parse_program_verb(verbs.choices[verb], verb, given[1:])
    else:
        if verb == "opt":
            given = [verb, *module_of(verb).with_passes(verbs.choices[verb], given[1:])]
        options = parser.parse_args(given)
    return _run_verb(options)


def _near_verbs(verb: str) -> list[str]:
    if not verb or verb in VERBS:
        return []
    from ttl.diagnostics.names import near_names

    return near_names(verb, VERBS)


def module_of(verb: str) -> Any:
    return import_module(f"{__package__}.{verb.replace('-', '_')}")


def simulator_main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of `tt-lang-sim`: `ttl run` under the name of the public simulator."""
    from . import run

    parser = argparse.ArgumentParser(prog="tt-lang-sim", description="The same as `ttl run`.")
    run.add_arguments(parser)
    given = list(sys.argv[1:] if arguments is None else arguments)
    return _read_or_not(lambda: _run_verb(parse_program_verb(parser, "run", given)))


def _main_of(verb: str, arguments: Sequence[str] | None = None) -> int:
    """Entry point of a command of its own for a verb."""
    return main([verb, *(sys.argv[1:] if arguments is None else arguments)])


stats_main = partial(_main_of, "stats")  # `tt-lang-sim-stats`, as in the public tools
opt_main = partial(_main_of, "opt")  # `ttlang-opt` and the guide's `ttc`, like mlir-opt
setup_main = partial(_main_of, "examples")  # `tt-lang-setup` and `tt-lang-setup-tutorials`


def parse_program_verb(
    parser: argparse.ArgumentParser, verb: str, given: list[str]
) -> argparse.Namespace:
    """The options of a verb that runs a program; argparse would look into its arguments."""
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

    from .progress import shown_progress

    try:
        with shown_progress():
            status: int = module_of(options.verb).run(options)
    except TTLError as error:
        print(debug_traceback(error), end="", file=sys.stderr)
        show_text(render_all(error.diagnostics, getattr(options, "json", False)), sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("ttl: interrupted", file=sys.stderr)
        return INTERRUPTED
    return status
