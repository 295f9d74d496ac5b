"""Tunes calls: tries each configuration once, here or elsewhere, and chooses the best."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ttl.config import Config as Options
from ttl.language.autotuned import TunedOperation
from ttl.loading.recent import Recent
from ttl.semantics.dtypes import find_dtype
from ttl.studio.sweep import Runner, Store, Task, cores, forked, limited, may_fork, sweep

from .keys import call_key, surroundings, trial_key
from .outcome import TrialOutcome, Values, drop_results, is_mixed, reject_wrong_results
from .result import TuningResult
from .trial import Trial

MOST_CALLS = 1024  # remembered calls of a process
LEAST_LIMIT, TIMES_THE_FIRST = 60, 20  # CPU seconds of a trial in a fork
FOLDER = "tuning"  # in the user's cache


def store(now: Options) -> Store:
    return Store(now.cache_dir / FOLDER)


@dataclass(slots=True)
class Tuner:
    """Chooses configurations, and remembers its results for the calls of a program."""

    costs: object = None  # in place of the chip's
    jobs: int = field(default_factory=cores)
    # Runs trials that are not on disk; None runs them on this machine.
    elsewhere: Callable[[int, Sequence[Trial]], Iterator[tuple[int, Values]]] | None = None
    anew: bool = False  # ignore known results
    calls: int = 0  # calls tuned so far
    _chosen: Recent[TuningResult] = field(default_factory=lambda: Recent(MOST_CALLS))

    def tune(
        self, tuned: TunedOperation, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> TuningResult:
        """Measure each configuration for this call; calls of one key are tuned once."""
        now = Options.current()
        key = tuned.tuned, call_key(tuned, args, kwargs, now.target)
        return self._chosen.get(key, lambda: self._sweep(tuned, args, kwargs, now))

    def _sweep(
        self,
        tuned: TunedOperation,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        now: Options,
    ) -> TuningResult:
        start = time.perf_counter()
        configs = tuned.tuned.configs
        trials = [Trial(tuned, config, args, kwargs, self.costs) for config in configs]
        common = surroundings(self.costs, now)
        tasks = [Task(trial, trial_key(trial, common)) for trial in trials]
        ran: list[Trial] = []
        run = self._make_runner(ran, self.calls)
        outcomes = swept(tasks, run, store(now), f"tuning {tuned.name}", self.anew)
        if tuned.tuned.checks_results:
            if is_mixed(outcomes):  # what is known is of other elements than what is new
                self._again(tasks, outcomes, run, store(now), {id(each) for each in ran})
            outcomes = reject_wrong_results(outcomes, tuned.tuned.tolerance)
        self.calls += 1
        return TuningResult(
            operation=tuned.name,
            call=call_text(tuned, trials[0]),
            tried=tuple(zip(configs, map(drop_results, outcomes), strict=True)),
            seconds=time.perf_counter() - start,
            from_disk=len(trials) - len(ran),
            chip=now.chip,
            span=tuned.tuned.span,
        )

    def _again(
        self,
        tasks: list[Task[Trial]],
        outcomes: list[TrialOutcome],
        run: Runner[Trial],
        known: Store,
        new: set[int],
    ) -> None:
        """Tries those that are not new once more, on the elements of this call."""
        old = [number for number, task in enumerate(tasks) if id(task.item) not in new]
        again = [tasks[each] for each in old]
        found = swept(again, run, known, "comparing results", anew=True)
        for number, outcome in zip(old, found, strict=True):
            outcomes[number] = outcome

    def _make_runner(self, ran: list[Trial], number: int) -> Runner[Trial]:
        """Make a runner for the call of this number that adds its trials to `ran`."""

        def run(trials: Sequence[Trial]) -> Iterator[tuple[int, Values]]:
            ran.extend(trials)
            if not trials:
                return
            if self.elsewhere is not None:
                yield from self.elsewhere(number, trials)
            else:
                yield from run_here(trials, self.jobs)

        return run


def swept(
    tasks: Sequence[Task[Trial]], run: Runner[Trial], known: Store, text: str, anew: bool
) -> list[TrialOutcome]:
    return [TrialOutcome.of_values(each) for each in sweep(tasks, run, known, text, anew)]


def run_here(trials: Sequence[Trial], jobs: int) -> Iterator[tuple[int, Values]]:
    """Run trials in forks of this process; one at a time on a device, or beside other threads.

    The first one runs in this process: the others reuse what it loads and builds.
    """
    start = time.process_time()
    yield 0, _values(trials[0])
    limit = max(LEAST_LIMIT, TIMES_THE_FIRST * (time.process_time() - start))
    left = trials[1:]
    is_alone = jobs > 1 and may_fork() and not trials[0].is_on_device
    run = partial(limited, _values, seconds=int(limit))
    others = forked(run, left, jobs) if is_alone else enumerate(map(_values, left))
    for number, values in others:
        yield number + 1, values


def _values(trial: Trial) -> Values:
    return trial.run().as_values()


def call_text(tuned: TunedOperation, trial: Trial) -> str:
    key = tuned.key_of(trial.args, trial.kwargs)
    return ", ".join(f"{name}={_text(value)}" for name, value in key.items())


def _text(value: Any) -> str:
    if find_dtype(value) is None:
        return repr(value)
    return "x".join(str(size) for size in value.shape)


_PROCESS_TUNER = Tuner()


def tune(
    tuned: TunedOperation, args: tuple[object, ...], kwargs: dict[str, object]
) -> TuningResult:
    """Tune a call of a program that runs normally."""
    return _PROCESS_TUNER.tune(tuned, args, kwargs)
