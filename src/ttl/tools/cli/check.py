"""ttl check FILE"""

from __future__ import annotations

import argparse
import sys

from .program import add_program_arguments, program_variables, run_to_its_end


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program_arguments(parser, with_compile_only=True)


def run(options: argparse.Namespace) -> int:
    """Shows what is wrong with each operation that the program calls, on stderr.

    An operation without errors is run on the simulator, so that the program goes on with right
    values; one with errors is not run. The status is 1 if there are errors.
    """
    variables = {**program_variables(options), "TTL_CHECK": "1"}
    return run_to_its_end(options, variables) or _status_of_checks(options)


def _status_of_checks(options: argparse.Namespace) -> int:
    from ttl.driver import PROCESS_DRIVER

    checks = PROCESS_DRIVER.checks
    if not options.json:
        summary = _summary(options.file, checks.operations, checks.errors)
        print(f"ttl: {summary}", file=sys.stderr)
    return 1 if checks.errors or not checks.operations else 0


def _summary(file: str, operations: int, errors: int) -> str:
    if not operations:
        return f"{file} calls no operation; nothing was checked"
    checked = f"{operations} operation{'s' if operations > 1 else ''} checked"
    if not errors:
        return f"{checked}, no errors"
    return f"{checked}, {errors} error{'s' if errors > 1 else ''}; those with errors were not run"
