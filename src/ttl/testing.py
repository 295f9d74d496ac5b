"""Measurements of operations for tests: `import ttl.testing`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from ttl.config import chosen_options
from ttl.device import module_of
from ttl.diagnostics import UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.driver.backend import is_real
from ttl.driver.launch import Driver
from ttl.language import Operation
from ttl.language.autotuned import Tuned, TunedOperation
from ttl.semantics.dtypes import find_dtype
from ttl.studio.estimate import Estimate, estimate
from ttl.target.costs import load_costs

__all__ = ["Bench", "bench"]


@dataclass(frozen=True, slots=True)
class Bench:
    """The time of an operation: measured on a device, including the host's calls and waits, or
    estimated without one, for the kernels alone.
    """

    microseconds: float  # the median, or the typical case
    best: float
    worst: float
    estimate: Estimate | None = None  # the details; None if measured

    @property
    def is_measured(self) -> bool:
        return self.estimate is None


def bench(
    operation: Operation | Tuned | TunedOperation,
    *args: object,
    warm_ups: int = 2,
    repeats: int = 10,
    **kwargs: object,
) -> Bench:
    """Measure an operation on the device of real ttnn tensors, or estimate it for other tensors.

    The estimate is for the chip of TTL_TARGET and leaves the tensors unchanged. Raises the
    exceptions of the operation's call.
    """
    if isinstance(operation, Tuned):
        operation = operation.operation
    if isinstance(operation, TunedOperation):  # the configuration that a call would run
        operation, more = operation.chosen(*args, **kwargs)
        kwargs = {**kwargs, **more}
    given = (*args, *kwargs.values())
    tensors = [value for value in given if find_dtype(value) is not None]
    if any(is_real(tensor) for tensor in tensors):
        return _measure(operation, tensors, args, kwargs, warm_ups, repeats)
    if not isinstance(operation, Operation):
        raise _not_an_operation(operation)
    driver = Driver()
    with chosen_options(estimate=True):
        driver.launch(operation, args, kwargs)
    found = [
        estimate(each.compiled, each.recording, load_costs(each.compiled.target))
        for each in driver.runs.recorded.values()
    ]
    slowest = max(found, key=lambda each: each.microseconds.typical)  # devices run side by side
    times = slowest.microseconds
    return Bench(times.typical, times.best, times.worst, slowest)


def _not_an_operation(given: object) -> UsageError:
    message = f"bench() takes an operation, not a {type(given).__name__}"
    help_text = "give it what @ttl.operation made, and the arguments: bench(operation, x, y)"
    broken = codes.WRONG_ARGUMENT.broken(message, help_text)
    return UsageError(broken.at(calling_span()))


def _measure(
    operation: Operation,
    tensors: list[Any],
    args: tuple[object, ...],
    kwargs: dict[str, object],
    warm_ups: int,
    repeats: int,
) -> Bench:
    ttnn, device = module_of(tensors[0]), tensors[0].device()
    call: Callable[[], object] = partial(operation, *args, **kwargs)
    if isinstance(operation, Operation):
        call = operation.bind(*args, **kwargs)  # excludes the body's own time
    times = []
    for number in range(warm_ups + repeats):
        ttnn.synchronize_device(device)
        start = time.perf_counter()
        call()
        ttnn.synchronize_device(device)
        if number >= warm_ups:
            times.append(1e6 * (time.perf_counter() - start))
    return Bench(median(times), min(times), max(times))
