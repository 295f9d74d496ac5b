"""ttl tune FILE -D NAME=VALUE,VALUE"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ttl.diagnostics.activity import busy
from ttl.target import TARGETS

from .program import natural

MAIN = "import sys; from ttl.tools.cli import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class Trial:
    """One choice of values: its estimated time, or why it is left out."""

    values: tuple[tuple[str, str], ...]
    best: float = 0.0
    typical: float = 0.0
    worst: float = 0.0
    bound: str = ""
    problem: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", choices=TARGETS, help="the chip (default: wormhole_b0)")
    parser.add_argument("--costs", metavar="FILE", help="as for ttl estimate")
    parser.add_argument(
        "-D", dest="choices", action="append", required=True, type=_choice,
        metavar="NAME=VALUE,VALUE",
        help="values to try for what the program assigns to NAME at its top level; all "
        "combinations of several are tried",
    )
    parser.add_argument(
        "-j", "--jobs", type=natural, default=os.cpu_count() or 1, metavar="N",
        help="trials at a time (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="the table as JSON")
    parser.add_argument("file", metavar="FILE", help="the program")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs="*", help="its arguments")


def _choice(text: str) -> tuple[str, tuple[str, ...]]:
    name, _, values = text.partition("=")
    if not name.isidentifier() or not values:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE,VALUE, as in BLOCK=1,2,4")
    return name, tuple(values.split(","))


def run(options: argparse.Namespace) -> int:
    """The status is 1 if no choice of values has an estimate."""
    names = [name for name, _ in options.choices]
    spaces = [values for _, values in options.choices]
    chosen = [tuple(zip(names, each, strict=True)) for each in itertools.product(*spaces)]
    trials: list[Trial] = []
    with (
        ThreadPoolExecutor(max(1, options.jobs)) as threads,
        busy("trials estimated", lambda: (len(trials), len(chosen))),
    ):
        for trial in threads.map(lambda values: _try(options, values), chosen):
            trials.append(trial)  # one by one: they are counted
    ranked = sorted(
        (each for each in trials if not each.problem), key=lambda each: (each.typical, each.values)
    )
    left_out = [each for each in trials if each.problem]
    if options.json:
        print(json.dumps([_value_of(each) for each in (*ranked, *left_out)], indent=1))
    else:
        print("\n".join(_lines(ranked, left_out)))
    return 0 if ranked else 1


def _try(options: argparse.Namespace, values: tuple[tuple[str, str], ...]) -> Trial:
    """In a process of its own: the program is executed anew."""
    arguments = ["estimate", "--json"]
    arguments += [word for name, value in values for word in ("-D", f"{name}={value}")]
    if options.target is not None:
        arguments += ["--target", options.target]
    if options.costs is not None:
        arguments += ["--costs", options.costs]
    command = [sys.executable, "-c", MAIN, *arguments, options.file, "--", *options.arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return Trial(values, problem=_problem(done.stderr))
    found = json.loads(done.stdout)
    best, typical, worst = (
        sum(each["microseconds"][case] * each["times_called"] for each in found)
        for case in ("best", "typical", "worst")
    )
    slowest = max(found, key=lambda each: each["microseconds"]["typical"])
    return Trial(values, best, typical, worst, bound=slowest["bound"])


def _problem(text: str) -> str:
    """The message of the first diagnostic, or the last line."""
    lines = text.strip().splitlines() or ["no output"]
    for line in lines:
        try:
            return str(json.loads(line)["message"])
        except (ValueError, KeyError, TypeError):
            continue
    return lines[-1]


def _value_of(trial: Trial) -> dict[str, Any]:
    given = {"values": dict(trial.values)}
    if trial.problem:
        return {**given, "problem": trial.problem}
    times = {"best": trial.best, "typical": trial.typical, "worst": trial.worst}
    return {**given, "microseconds": times, "bound": trial.bound}


def _lines(ranked: Sequence[Trial], left_out: Sequence[Trial]) -> Iterator[str]:
    for trial in ranked:
        span = f"{trial.typical:8.1f} us ({trial.best:.1f} to {trial.worst:.1f})"
        yield f"{span:34} {_named(trial)}; bound: {trial.bound}"
    for trial in left_out:
        yield f"{'left out':34} {_named(trial)}: {trial.problem}"


def _named(trial: Trial) -> str:
    return ", ".join(f"{name}={value}" for name, value in trial.values)
