"""Jobs of `ttl tune` that execute a program, also on other machines."""

from __future__ import annotations

import argparse
import io
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ttl.config import Config, process_variables
from ttl.language.engine import LAUNCH_HOOK
from ttl.studio.tuning.keys import call_key
from ttl.studio.tuning.outcome import TrialOutcome, Values
from ttl.studio.tuning.sketch import Sketch, SketchedRun
from ttl.studio.tuning.trial import Trial, find_outcome, find_real_tensors, times_of
from ttl.target.costs import Case

from .process import program_driver
from .program import run_to_its_end

if TYPE_CHECKING:
    from ttl.driver.running import Runs

SEED = 22


def try_program(
    file: str,
    arguments: list[str],
    defines: Values,
    variables: dict[str, str],
    costs: object,
    checks: bool,
) -> Values:
    """Return the total time of a program's operations with these values of its constants."""
    options = argparse.Namespace(file=file, arguments=arguments, defines=defines)

    runs = program_driver().runs

    def run() -> TrialOutcome:
        best, typical, worst = _times(options, variables, costs, runs)
        results = _results(options, variables, runs) if checks else []
        return TrialOutcome(best, typical, worst, results=results)

    with process_variables(variables):
        return _values(find_outcome(run))


def _times(
    options: argparse.Namespace, variables: dict[str, str], costs: object, runs: Runs
) -> list[float]:
    runs.recorded.clear()
    status, shown = _run(options, {**variables, "TTL_ESTIMATE": "1"})
    recorded = list(runs.recorded.values())
    if not recorded:
        raise ProgramFailed(_last_line(shown) if status else "it calls no operation")
    calls = [(times_of(each, costs), each.times) for each in recorded]
    return [sum(times[case] * number for times, number in calls) for case in Case]


def _results(options: argparse.Namespace, variables: dict[str, str], runs: Runs) -> list[Sketch]:
    rehearsal = SketchedRun(fills=False)
    before, runs.around = runs.around, rehearsal.around
    try:
        status, shown = _run(options, {**variables, "TTL_BACKEND": "host", "TTL_ESTIMATE": ""})
    finally:
        runs.around = before
    if status:
        raise ProgramFailed(_last_line(shown))
    return rehearsal.sketches


class ProgramFailed(Exception):
    """The program ends with its own error for these values."""


def _run(options: argparse.Namespace, variables: dict[str, str]) -> tuple[int, str]:
    shown = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(shown), seed_random_numbers():
        try:
            status = run_to_its_end(options, variables)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
            shown.write(str(end.code) if isinstance(end.code, str) else "")
    return status, shown.getvalue()


@contextmanager
def seed_random_numbers() -> Iterator[None]:
    """Seed generators that the program does not seed: trials only give equal results for equal
    elements.
    """
    random.seed(SEED)
    np.random.seed(SEED)
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(SEED)
    own, seeds = np.random.default_rng, count(SEED)

    def default_rng(seed: Any = None) -> np.random.Generator:
        return own(next(seeds) if seed is None else seed)

    np.random.default_rng = default_rng
    try:
        yield
    finally:
        np.random.default_rng = own


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it ends with an error"])[-1]


def try_call(
    file: str,
    arguments: list[str],
    variables: dict[str, str],
    costs: object,
    call: int,
    operation: str,
    config: int,
) -> Values:
    """Try one configuration of the tuned call with this number."""
    found = _OneTrial(call, operation, config, costs)
    options = argparse.Namespace(file=file, arguments=arguments)

    def run() -> TrialOutcome:
        with run_only_tuning(found.tune):
            _, shown = _run(options, variables)
        if found.outcome is None:
            what = f"in another process the program does not call `{operation}`"
            raise ProgramFailed(f"{what} ({_last_line(shown)})" if shown else what)
        return found.outcome

    return _values(find_outcome(run))


def _values(outcome: TrialOutcome) -> Values:
    named = outcome.problem.removeprefix(f"{ProgramFailed.__name__}: ")
    return replace(outcome, problem=named).as_values()


@dataclass(slots=True)
class _OneTrial:
    call: int
    operation: str
    config: int
    costs: object
    outcome: TrialOutcome | None = None
    seen: set[object] = field(default_factory=set)

    def tune(self, tuned: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        configs = tuned.tuned.configs
        key = tuned.tuned, call_key(tuned, args, kwargs, Config.current().target)
        if key not in self.seen:
            if len(self.seen) == self.call and tuned.name == self.operation:
                trial = Trial(tuned, configs[self.config], args, kwargs, self.costs)
                self.outcome = trial.run()
                raise SystemExit(0)  # the rest of the program is not needed
            self.seen.add(key)
        return SimpleNamespace(best=configs[0])


@contextmanager
def run_only_tuning(tune: Callable[..., object]) -> Iterator[set[str]]:
    """Pass calls of tuned operations to `tune`; other operations compute only on a device. Yields
    the set of names of called operations that are not computed.
    """
    plain, plain_tune = LAUNCH_HOOK.launch, LAUNCH_HOOK.tune
    not_computed: set[str] = set()

    def launch(operation: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        if find_real_tensors(args, kwargs):
            plain(operation, args, kwargs)
        else:
            not_computed.add(operation.__name__)

    LAUNCH_HOOK.launch, LAUNCH_HOOK.tune = launch, tune
    try:
        yield not_computed
    finally:
        LAUNCH_HOOK.launch, LAUNCH_HOOK.tune = plain, plain_tune
