"""The `ttl` command: one file a verb."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from ttl import __version__

from .program import program_arguments_last

VERBS = {
    "run": "run a program, on the simulator or compiled on this machine",
    "compile": "compile the operations a program calls to C++ kernels",
    "opt": "run passes on IR text",
    "explain": "explain a diagnostic code",
}
PROGRAM_VERBS = ("run", "compile")
INTERRUPTED = 130  # what a shell reports for a command that SIGINT ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; the exit status is 1 for errors of programs, 2 for wrong command lines and 130
    after an interrupt.
    """
    parser = argparse.ArgumentParser(prog="ttl", description="TT-Lang in Python")
    parser.add_argument("--version", action="version", version=f"ttl {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    given = list(sys.argv[1:] if arguments is None else arguments)
    for verb, text in VERBS.items():
        verb_parser = verbs.add_parser(verb, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if given[:1] == [verb]:  # only the verb in use is loaded
            module = import_module(f"{__package__}.{verb}")
            module.add_arguments(verb_parser)
            if verb in PROGRAM_VERBS:
                given[1:] = program_arguments_last(verb_parser, given[1:])
    options = parser.parse_args(given)
    return _run_verb(options)


def _run_verb(options: argparse.Namespace) -> int:
    from ttl.diagnostics import TTLError, render_all
    from ttl.diagnostics.errors import debug_traceback

    try:
        status: int = import_module(f"{__package__}.{options.verb}").run(options)
    except TTLError as error:
        print(debug_traceback(error), end="", file=sys.stderr)
        print(render_all(error.diagnostics, getattr(options, "json", False)), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("ttl: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status
