"""ttl tune FILE"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ttl.config import chosen_variables, process_config
from ttl.diagnostics import TTLError, codes, reading, render_all, usage_error, writing
from ttl.language import Config
from ttl.language.autotuned import TOLERANCE
from ttl.language.configs import Choice, configs_of
from ttl.loading.cache_folder import CACHE, OLD_CACHE
from ttl.studio.sweep import Job, Runner, Task, digest, program_files, sweep
from ttl.studio.tuning import TrialOutcome, Tuner, TuningResult
from ttl.studio.tuning.keys import surroundings
from ttl.studio.tuning.outcome import Values, drop_results, reject_wrong_results
from ttl.studio.tuning.report import write_report
from ttl.studio.tuning.trial import Trial
from ttl.studio.tuning.tuner import store

from .chip import add_chip_arguments, chip_variables
from .estimate import check_chip, costs_of
from .program import read_define
from .trials import run_only_tuning, seed_random_numbers
from .uncomputed import Ended, run_uncomputed, show_output, tell_end
from .where import add_where, runner

REPORT = "tuning_report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_chip_arguments(parser)
    parser.add_argument("--costs", metavar="FILE", help="as for ttl estimate")
    parser.add_argument(
        "-D",
        dest="choices",
        action="append",
        default=[],
        type=_choice,
        metavar="NAME=VALUE,VALUE",
        help="values to try for what the program assigns to NAME at its top level; all "
        "combinations of several are tried. Without -D, what @ttl.autotune says is tried",
    )
    parser.add_argument(
        "--report",
        nargs="?",
        const=REPORT,
        metavar="DIR",
        help=f"write the table and a plot as HTML, SVG and PNG into DIR (default: {REPORT})",
    )
    add_where(parser)
    parser.add_argument(
        "--no-check", action="store_true", help="do not compute and compare results (with -D)"
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="try everything again, even what is known from earlier runs",
    )
    parser.add_argument("--json", action="store_true", help="the table as JSON")
    parser.add_argument("file", metavar="FILE", help="the program")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs="*", help="its arguments")


def _choice(text: str) -> tuple[str, Choice]:
    name, _, values = text.partition("=")
    if not name.isidentifier() or not values:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE,VALUE, as in BLOCK=1,2,4")
    return name, Choice(tuple(read_define(f"{name}={each}")[1] for each in values.split(",")))


def run(options: argparse.Namespace) -> int:
    """Tune; the status is 1 if some call has no usable configuration."""
    costs = None if options.costs is None else costs_of(options.costs)
    own = (CACHE, OLD_CACHE)  # a folder on this machine
    variables = {n: text for n, text in chosen_variables().items() if n not in own}
    variables |= chip_variables(options)
    with process_config(variables) as config:
        check_chip(options, costs, config.chip)
    with runner(options) as run_jobs:
        if options.choices:
            tunings = [_tune_program(options, variables, costs, run_jobs)]
        else:
            tunings = _tune_calls(options, variables, costs, run_jobs)
    _show(options, tunings)
    return 0 if all(tuning.ranked for tuning in tunings) else 1


def _show(options: argparse.Namespace, tunings: list[TuningResult]) -> None:
    if options.json:
        print(json.dumps([_values_of(tuning) for tuning in tunings], indent=1))
    else:
        print("\n\n".join(map(str, tunings)))
    if options.report is None:
        return
    with writing(options.report):
        written = write_report(tunings, Path(options.report))
    for file in written:
        print(f"ttl: wrote {file}", file=sys.stderr)
    if not any(file.suffix == ".png" for file in written):
        from _pyttlang_installation import install_extra

        print(f"ttl: plots as PNG need Pillow: {install_extra('plot')}", file=sys.stderr)


def _values_of(tuning: TuningResult) -> Values:
    return {
        "operation": tuning.operation,
        "call": tuning.call,
        "chip": tuning.chip,
        "trials": len(tuning.tried),
        "from_disk": tuning.from_disk,
        "seconds": tuning.seconds,
        "first_microseconds": tuning.first_microseconds,
        "configurations": tuning.as_values(),
    }


# Values of constants: every trial executes the program -------------------------------------------


def _tune_program(
    options: argparse.Namespace, variables: dict[str, str], costs: object, run_jobs: Runner[Job]
) -> TuningResult:
    configs = configs_of(Config(**dict(options.choices)))
    start = time.perf_counter()
    ran: list[int] = []

    def counted(jobs: Sequence[Job]) -> Iterator[tuple[int, Values]]:
        ran.append(len(jobs))
        return run_jobs(jobs) if options.scheduler else _first_alone(run_jobs, jobs)

    with process_config(variables) as now:
        files, common = _files(options), surroundings(costs, now)
        tasks = [
            _program_task(options, variables, costs, config, files, common) for config in configs
        ]
        values = sweep(tasks, counted, store(now), "tuning", options.fresh)
    outcomes = [TrialOutcome.of_values(each) for each in values]
    if not options.no_check:
        outcomes = reject_wrong_results(outcomes, TOLERANCE)
    tried = tuple(zip(configs, map(drop_results, outcomes), strict=True))
    seconds = time.perf_counter() - start
    name = Path(options.file).name
    return TuningResult(name, "", tried, seconds, len(configs) - sum(ran), now.chip)


def _first_alone(run_jobs: Runner[Job], jobs: Sequence[Job]) -> Iterator[tuple[int, Values]]:
    """Run the first job alone: the others reuse what it loads and builds."""
    from ttl.driver.compile import load_compiler

    load_compiler()
    yield from run_jobs(jobs[:1])
    for number, result in run_jobs(jobs[1:]):
        yield number + 1, result


def _program_task(
    options: argparse.Namespace,
    variables: dict[str, str],
    costs: object,
    config: Config,
    files: dict[str, str],
    common: list[object],
) -> Task[Job]:
    values = {
        "arguments": options.arguments,
        "defines": dict(config),
        "variables": variables,
        "costs": costs,
        "checks": not options.no_check,
    }
    job = Job("ttl.cli.trials:try_program", values, options.file, files)
    chosen = [files, options.arguments, dict(config), not options.no_check]
    return Task(job, digest("program", chosen, common))


def _files(options: argparse.Namespace) -> dict[str, str]:
    program = Path(options.file)
    with reading(program):
        program.read_bytes()
    return program_files(program)


# Tuned operations: the program is executed once, and its calls are tuned ------------------------


def _tune_calls(
    options: argparse.Namespace, variables: dict[str, str], costs: object, run_jobs: Runner[Job]
) -> list[TuningResult]:
    tuner = Tuner(costs=costs, jobs=options.jobs, anew=options.fresh)
    if options.scheduler is not None:
        files = _files(options)

        def elsewhere(call: int, trials: Sequence[Trial]) -> Iterator[tuple[int, Values]]:
            jobs = [_call_job(options, variables, files, call, trial) for trial in trials]
            return run_jobs(jobs)

        tuner.elsewhere = elsewhere
    found: dict[int, TuningResult] = {}

    def tune(tuned: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> TuningResult:
        result = tuner.tune(tuned, args, kwargs)
        found.setdefault(id(result), result)
        return result

    with ExitStack() as around:
        not_computed = around.enter_context(run_only_tuning(tune))
        around.enter_context(seed_random_numbers())
        ended = _run_for_its_calls(options, variables)
    if found or not_computed:
        tell_end(options, ended, "tune")
    else:
        show_output(ended, options.json)
    if not found:
        raise _nothing_to_tune(options.file)
    return list(found.values())


def _nothing_to_tune(file: str) -> TTLError:
    message = f"{file} calls no operation with @ttl.autotune"
    help_text = "decorate one, or name constants to try: -D BLOCK=1,2,4"
    return usage_error(codes.WRONG_FILE, message, help_text)


def _run_for_its_calls(options: argparse.Namespace, variables: dict[str, str]) -> Ended:
    """Run the program; a call without usable configuration ends it, but other calls are shown."""
    try:
        return run_uncomputed(options, variables)
    except TTLError as error:
        if error.diagnostics[0].code is not codes.NO_CONFIGURATION:
            raise
        print(render_all(error.diagnostics), file=sys.stderr)
        return Ended()


def _call_job(
    options: argparse.Namespace,
    variables: dict[str, str],
    files: dict[str, str],
    call: int,
    trial: Trial,
) -> Job:
    values = {
        "arguments": options.arguments,
        "variables": variables,
        "costs": trial.costs,
        "call": call,
        "operation": trial.tuned.name,
        "config": trial.tuned.tuned.configs.index(trial.config),
    }
    return Job("ttl.cli.trials:try_call", values, options.file, files)
