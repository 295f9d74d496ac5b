"""Runs programs whose operations compute nothing, for estimates, tuning, and generated code.

Such a program continues with unchanged tensors. Its output about results is meaningless, and is
held back; its own check that fails is reported in a line, not as a fault.
"""

from __future__ import annotations

import argparse
import io
import shlex
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb

from .chip import chip_words
from .program import (
    FROM_STANDARD_INPUT,
    STANDARD_INPUT,
    RaisedByProgram,
    execute_to_its_end,
)


@dataclass(frozen=True, slots=True)
class Ended:
    """End of a program, and its output."""

    printed: str = ""
    failure: RaisedByProgram | SystemExit | None = None


def run_uncomputed(options: argparse.Namespace, variables: dict[str, str]) -> Ended:
    """Run the program; diagnostics and interrupts pass through."""
    held = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True)
    failure: RaisedByProgram | SystemExit | None = None
    with redirect_stdout(held):
        try:
            execute_to_its_end(options, variables)
        except (RaisedByProgram, SystemExit) as raised:
            failure = raised
    held.seek(0)
    return Ended(held.read(), failure)


def run_partly_computed(
    options: argparse.Namespace, variables: dict[str, str], left_out: Callable[[], str]
) -> int:
    """Run like run_to_its_end(). `left_out` names operations that were not computed: if there are
    any, a failing check of results is reported in a line, and the status is 0.
    """
    try:
        execute_to_its_end(options, variables)
    except (RaisedByProgram, SystemExit) as raised:
        why = left_out()
        if not why:
            return show_output(Ended(failure=raised), options.json)
        if not options.json:
            print(f"ttl: {_describe_stop(raised, _name(options))}: {why}", file=sys.stderr)
    return 0


def why_nothing_is_computed(options: argparse.Namespace) -> str:
    """Return the reason; empty without --compile-only."""
    is_asked = getattr(options, "compile_only", False)
    return "--compile-only computes no results" if is_asked else ""


def tell_end(options: argparse.Namespace, ended: Ended, verb: str) -> None:
    """Print on stderr what is held back, and why the program stopped."""
    name = _name(options)
    if lines := len(ended.printed.splitlines()):
        counted = "1 line" if lines == 1 else f"{lines} lines"
        why = f"ttl {verb} computes no results"
        print(f"ttl: held back {counted} that {name} printed: {why}", file=sys.stderr)
    if ended.failure is not None:
        command = shlex.join(["ttl", "run", *chip_words(options), options.file, *options.arguments])
        why = "checks of results fail where nothing is computed"
        stopped = _describe_stop(ended.failure, name)
        print(f"ttl: {stopped}: {why}; to check them: {command}", file=sys.stderr)


def show_output(ended: Ended, as_json: bool) -> int:
    """Show the program's output and exception, if there is no result; return its exit status."""
    print(ended.printed, end="", file=sys.stderr if as_json else sys.stdout)
    if isinstance(ended.failure, SystemExit):
        raise ended.failure
    return 0 if ended.failure is None else ended.failure.show()


def _name(options: argparse.Namespace) -> str:
    return FROM_STANDARD_INPUT if options.file == STANDARD_INPUT else Path(options.file).name


def _describe_stop(failure: RaisedByProgram | SystemExit, name: str) -> str:
    """Describe the line where the program stopped, and its exception."""
    error = failure.error if isinstance(failure, RaisedByProgram) else failure
    frames = extract_tb(error.__traceback__)
    own = [frame.lineno for frame in frames if Path(frame.filename).name == name]
    where = f" at line {own[-1]}" if own else ""
    if isinstance(error, SystemExit):
        shown = f"exit status {error.code}" if isinstance(error.code, int) else str(error.code)
    else:
        shown = f"{type(error).__name__}: {error}"
    return f"{name} stopped{where} ({''.join(shown.strip().splitlines()[:1]).rstrip(': ')})"
