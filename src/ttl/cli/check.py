"""ttl check FILE"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from .process import program_driver
from .program import add_program_arguments, program_variables
from .uncomputed import run_partly_computed, why_nothing_is_computed

if TYPE_CHECKING:
    from ttl.driver.check import Checks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program_arguments(parser, with_compile_only=True)


def run(options: argparse.Namespace) -> int:
    """Print the diagnostics of each operation that the program calls, on stderr.

    An operation without errors runs on the simulator, so that the program continues with correct
    values; one with errors does not run. The status is 1 if there are errors; warnings count as
    errors with --strict and -W error.
    """
    variables = {**program_variables(options), "TTL_CHECK": "1"}
    return run_checked(options, variables, program_driver().checks)


def run_checked(options: argparse.Namespace, variables: dict[str, str], checks: Checks) -> int:
    """Run the program to its end and count what was found."""

    def left_out() -> str:
        if checks.errors:
            return "operations with errors were not run"
        return why_nothing_is_computed(options)

    return run_partly_computed(options, variables, left_out) or _status(options, checks)


def _status(options: argparse.Namespace, checks: Checks) -> int:
    if not options.json:
        summary = _summary(options.file, checks)
        print(f"ttl: {summary}", file=sys.stderr)
    return 1 if checks.errors or not checks.operations else 0


def _summary(file: str, checks: Checks) -> str:
    if not checks.operations:
        return f"{file} calls no operation; nothing was checked"
    checked = f"{_count(checks.operations, 'operation')} checked"
    warnings = f", {_count(checks.warnings, 'warning')}" if checks.warnings else ""
    if not checks.errors:
        return f"{checked}, no errors{warnings}"
    errors = _count(checks.errors, "error")
    return f"{checked}, {errors}{warnings}; those with errors were not run"


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count > 1 else ''}"
