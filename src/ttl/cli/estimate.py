"""ttl estimate FILE"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttl.diagnostics import codes, reading, usage_error, writing

from .above import above
from .process import program_driver
from .program import add_program_arguments, natural, program_variables, read_define
from .uncomputed import Ended, run_uncomputed, show_output, tell_end
from .what_if import with_block_changes

if TYPE_CHECKING:
    from ttl.driver.running import Runs

TRIALS = 6
GRAPH_SUFFIX = ".ttnn"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-D",
        dest="defines",
        action="append",
        default=[],
        type=read_define,
        metavar="NAME=VALUE",
        help="use VALUE in place of what the program assigns to NAME at its top level",
    )
    parser.add_argument(
        "--costs", metavar="FILE", help="costs of the chip, as `ttl calibrate` writes them"
    )
    parser.add_argument(
        "--timeline",
        metavar="FILE.json",
        help="write the estimated times of all steps, for Perfetto (ui.perfetto.dev)",
    )
    parser.add_argument(
        "--against",
        metavar="FILE.ttnn",
        help="for a FILE.ttnn: the same graph in another form, such as without kernels",
    )
    parser.add_argument(
        "--trials",
        type=natural,
        metavar="N",
        help="run the program again with up to N other values of the constants that it gives to "
        f"its blocks (default: {TRIALS}, with --json none)",
    )
    add_program_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Print estimates. Operations compute nothing here, so the program's output is held back, and
    its own checks of results may fail without harm.
    """
    is_graph = options.file.endswith(GRAPH_SUFFIX)
    _refuse_unused(options, is_graph)
    if is_graph:
        return int(above("graph_files").report_graph(options))
    costs = None if options.costs is None else costs_of(options.costs)
    runs = program_driver().runs
    runs.recorded.clear()
    variables = {**program_variables(options), "TTL_ESTIMATE": "1"}
    options.defines = dict(options.defines)
    if options.trials is None:
        options.trials = 0 if options.json else TRIALS
    return _report(options, variables, costs, runs, run_uncomputed(options, variables))


def _refuse_unused(options: argparse.Namespace, is_graph: bool) -> None:
    """Reject options that do not apply to such a file."""
    for_programs = {"-D": options.defines, "--timeline": options.timeline, "--grid": options.grid}
    unused = for_programs if is_graph else {"--against": options.against}
    for option, value in unused.items():
        if value:
            kind = "a program" if is_graph else f"a graph (FILE{GRAPH_SUFFIX})"
            message = f"{option} is for {kind}, and {options.file} is none"
            raise usage_error(codes.WRONG_OPTION, message, f"leave {option} out")


def _report(
    options: argparse.Namespace, variables: dict[str, str], costs: Any, runs: Runs, ended: Ended
) -> int:
    from ttl.studio.estimate import estimate, estimate_text, estimate_values
    from ttl.target.costs import load_costs

    recorded = list(runs.recorded.values())
    if not recorded:
        status = show_output(ended, options.json)
        print(f"ttl: {options.file} calls no operation; there is no estimate", file=sys.stderr)
        return status or 1
    tell_end(options, ended, "estimate")
    found = []
    for each in recorded:
        check_chip(options, costs, each.compiled.target)
        own = costs or load_costs(each.compiled.target)
        found.append(estimate(each.compiled, each.recording, own, each.times))
    if options.timeline is not None:
        _write_timeline(options.timeline, recorded, costs)
    found = with_block_changes(options, variables, costs, runs, found)
    if options.json:
        print(json.dumps([estimate_values(each) for each in found], indent=1))
    else:
        print("\n\n".join(map(estimate_text, found)))
    return 0


def _write_timeline(file: str, recorded: list[Any], costs: object) -> None:
    """Write the operations' timelines in order, each operation once."""
    from ttl.studio.estimate import timeline_events
    from ttl.target.costs import load_costs

    events: list[dict[str, object]] = []
    start = 0.0
    for each in recorded:
        own = costs or load_costs(each.compiled.target)
        more, start = timeline_events(each.compiled, each.recording, own, start)
        events += more
    with writing(file):
        Path(file).write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": events}))


def check_chip(options: argparse.Namespace, costs: Any, target: str) -> None:
    if costs is not None and costs["chip"] != target:
        message = f"--costs {options.costs} has the costs of {costs['chip']}, not of {target}"
        raise usage_error(codes.WRONG_FILE, message, f"use --target {costs['chip']}")


def costs_of(file: str) -> object:
    from ttl.target.costs import Case, read_costs

    try:
        with reading(file):
            data = json.loads(Path(file).read_text())
        for case in Case:
            read_costs(data, case)
    except ValueError as error:
        message = f"--costs {file}: {error}"
        help_text = "start from the file of a chip in ttl/target"
        raise usage_error(codes.WRONG_FILE, message, help_text) from None
    return data
