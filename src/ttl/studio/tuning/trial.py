"""Tries one configuration of a call: its time and its results."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

from ttl.arrays import to_numpy
from ttl.config import OPTIONS, chosen_options
from ttl.device import module_of
from ttl.diagnostics import TTLError
from ttl.driver import Driver
from ttl.driver.backend import is_real
from ttl.language import Config, Operation
from ttl.language.autotuned import TunedOperation
from ttl.semantics.dtypes import find_dtype
from ttl.semantics.tensor_like import TensorLike
from ttl.studio.estimate.result import Model
from ttl.target.costs import Case, load_costs
from ttl.testing import bench

from .outcome import TrialOutcome
from .sketch import SketchedRun, digest_of, sketch

# Options that change a trial's outcome.
COUNTED = (
    "backend",
    "target",
    "compiler_options",
    "grid",
    "max_dataflow_buffers",
    "max_l1_bytes",
    "num_devices",
    "float32",
    "rounding",
    "strict",
    "warnings",
    "scheduler",
    "seed",
)
# Other options of the program apply to its own calls, not to trials.
NOTHING_ELSE = {
    option.name: option.default for option in OPTIONS.values() if option.name not in COUNTED
}
Arguments = tuple[tuple[object, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Trial:
    """Call of a tuned operation with one configuration."""

    tuned: TunedOperation
    config: Config
    args: tuple[object, ...]
    kwargs: dict[str, Any]
    costs: object = None  # in place of the chip's

    @property
    def is_on_device(self) -> bool:
        return bool(find_real_tensors(self.args, self.kwargs))

    def run(self) -> TrialOutcome:
        with chosen_options(**NOTHING_ELSE):
            return find_outcome(self._run)

    def _run(self) -> TrialOutcome:
        operation, more = self.tuned.variant(self.config)
        given = self.args, {**self.kwargs, **more}
        if self.is_on_device:
            return self._measure(operation, given)
        (best, typical, worst), written = estimate_trial(operation, given, self.costs)
        if not self.tuned.tuned.checks_results:
            return TrialOutcome(best, typical, worst)
        done = rehearse(operation, given, written)
        return TrialOutcome(best, typical, worst, results=done.sketches, elements=done.elements)

    def _measure(self, operation: Operation, given: Arguments) -> TrialOutcome:
        """Measure on copies: a trial must not change the program's tensors."""
        args, kwargs = _clone(given)
        tensors = find_real_tensors(args, kwargs) if self.tuned.tuned.checks_results else []
        elements = digest_of(map(to_numpy, tensors)) if tensors else ""
        operation(*args, **kwargs)
        results = [sketch(str(number), to_numpy(each)) for number, each in enumerate(tensors)]
        found = bench(operation, *args, **kwargs)
        times = found.best, found.microseconds, found.worst
        return TrialOutcome(*times, is_measured=True, results=results, elements=elements)


def find_outcome(run: Callable[[], TrialOutcome]) -> TrialOutcome:
    """Run a trial; an error becomes the reason why the configuration is left out."""
    try:
        # The run of the chosen configuration shows its warnings.
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            return run()
    except TTLError as error:
        first = error.diagnostics[0]
        return TrialOutcome(problem=first.message, code=first.code.code)
    except MemoryError:
        raise
    except Exception as error:  # from the program's own code, such as a ValueError or an assertion
        text = str(error).strip().splitlines()
        return TrialOutcome(
            problem=f"{type(error).__name__}{': ' if text else ''}{''.join(text[:1])}"
        )


def estimate_trial(
    operation: Operation, given: Arguments, costs: object
) -> tuple[list[float], set[int]]:
    """Return microseconds in the best, typical and worst case, with devices in parallel, and the
    indices of the tensors that it writes.
    """
    driver = Driver()
    with chosen_options(estimate=True):
        driver.launch(operation, *given)
    recorded = driver.runs.recorded.values()
    times = [times_of(each, costs) for each in recorded]
    written = {n for each in recorded for n, found in enumerate(each.recording.written) if found}
    return [max(each[case] for each in times) for case in Case], written


def times_of(recorded: Any, costs: object) -> list[float]:
    """Return the microseconds of one recorded operation in each case."""
    own = costs or load_costs(recorded.compiled.target)
    model = Model(recorded.compiled, recorded.recording, own)
    return [model.microseconds(case) for case in Case]


def rehearse(operation: Operation, given: Arguments, written: set[int]) -> SketchedRun:
    """Run the compiled kernels on this machine, on copies of the tensors; sketch the results."""
    driver, rehearsal = Driver(), SketchedRun(written=written)
    driver.runs.around = rehearsal.around
    with chosen_options(dry_run=True, backend="host", float32=False):
        driver.launch(operation, *given)
    return rehearsal


def find_real_tensors(args: tuple[object, ...], kwargs: dict[str, object]) -> list[TensorLike]:
    return [tensor for tensor in find_tensors(args, kwargs) if is_real(tensor)]


def find_tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[TensorLike]:
    return [each for each in (*args, *kwargs.values()) if find_dtype(each) is not None]


def _clone(given: Arguments) -> Arguments:
    args, kwargs = given
    copies = {id(each): module_of(each).clone(each) for each in find_real_tensors(args, kwargs)}
    return (
        tuple([copies.get(id(each), each) for each in args]),
        {name: copies.get(id(each), each) for name, each in kwargs.items()},
    )
