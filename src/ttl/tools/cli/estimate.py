"""ttl estimate FILE"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

from ttl.diagnostics import codes, file_not_usable, usage_error
from ttl.target import TARGETS

from .program import add_program_arguments, program_variables, run_to_its_end


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", choices=TARGETS, help="the chip (default: wormhole_b0)")
    parser.add_argument(
        "-D", dest="defines", action="append", default=[], type=read_define, metavar="NAME=VALUE",
        help="a value that the program assigns to NAME at its top level is VALUE instead",
    )
    parser.add_argument(
        "--costs", metavar="FILE", help="costs of the chip, in the form of target/*.costs.json"
    )
    parser.add_argument(
        "--timeline", metavar="FILE.json",
        help="write the estimated times of all steps, for Perfetto (ui.perfetto.dev)",
    )
    add_program_arguments(parser)


def read_define(text: str) -> tuple[str, Any]:
    name, is_given, value = text.partition("=")
    if not name.isidentifier() or not is_given:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, as in K_BLOCK=4")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def run(options: argparse.Namespace) -> int:
    """Operations compute nothing here: what the program checks about its results may fail, and
    the estimates are printed all the same.
    """
    from ttl.driver import PROCESS_DRIVER

    costs = None if options.costs is None else costs_of(options.costs)
    PROCESS_DRIVER.runs.recorded.clear()
    variables = {**program_variables(options), "TTL_ESTIMATE": "1"}
    if options.target is not None:
        variables["TTL_TARGET"] = options.target
    options.defines = dict(options.defines)
    with redirect_stdout(sys.stderr) if options.json else nullcontext():
        status = run_to_its_end(options, variables)
    return _report(options, costs, status)


def _report(options: argparse.Namespace, costs: Any, status: int) -> int:
    from ttl.driver import PROCESS_DRIVER
    from ttl.estimate import estimate, estimate_text, estimate_values
    from ttl.target.costs import load_costs

    recorded = list(PROCESS_DRIVER.runs.recorded.values())
    if not recorded:
        print(f"ttl: {options.file} calls no operation; there is no estimate", file=sys.stderr)
        return status or 1
    if status:
        text = "the program failed; operations compute nothing in an estimate"
        print(f"ttl: {text}", file=sys.stderr)
    found = []
    for each in recorded:
        check_chip(options, costs, each.compiled.target)
        own = costs or load_costs(each.compiled.target)
        found.append(estimate(each.compiled, each.recording, own, each.times))
    if options.timeline is not None:
        _write_timeline(options.timeline, recorded, costs)
    if options.json:
        print(json.dumps([estimate_values(each) for each in found], indent=1))
    else:
        print("\n\n".join(map(estimate_text, found)))
    return 0


def _write_timeline(file: str, recorded: list[Any], costs: Any) -> None:
    """Operations one after the other, each once."""
    from ttl.estimate import timeline_events
    from ttl.target.costs import load_costs

    events: list[dict[str, Any]] = []
    start = 0.0
    for each in recorded:
        own = costs or load_costs(each.compiled.target)
        more, start = timeline_events(each.compiled, each.recording, own, start)
        events += more
    try:
        Path(file).write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": events}))
    except OSError as error:
        raise file_not_usable(file, error) from None


def check_chip(options: argparse.Namespace, costs: Any, target: str) -> None:
    if costs is not None and costs["chip"] != target:
        message = f"--costs {options.costs} has the costs of {costs['chip']}, not of {target}"
        raise usage_error(codes.WRONG_ARGUMENT, message, f"use --target {costs['chip']}")


def costs_of(file: str) -> Any:
    from ttl.target.costs import Case, read_costs

    try:
        data = json.loads(Path(file).read_text())
        for case in Case:
            read_costs(data, case)
    except OSError as error:
        raise file_not_usable(file, error) from None
    except ValueError as error:
        message = f"--costs {file}: {error}"
        help_text = "start from the file of a chip in ttl/target"
        raise usage_error(codes.WRONG_ARGUMENT, message, help_text) from None
    return data
