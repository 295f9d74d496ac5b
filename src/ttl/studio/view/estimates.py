"""Prepares an operation's estimate for a page: numbers, costs of lines, estimated times."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ttl.artifact import CompiledOperation
from ttl.studio.estimate import (
    KernelTimeline,
    StepTime,
    Timeline,
    estimate,
    estimate_values,
    timeline,
)
from ttl.target.costs import load_costs
from ttl.trace.calls import Recording

from .columns import deltas, pack
from .sources import PageValues

MOST_CALLS = 2_000_000  # with more calls, steps are not shown
PER_MICROSECOND = 10_000  # the unit of begins and lengths: 0.1 ns


def make_estimate(compiled: CompiledOperation, recording: Recording, times: int) -> PageValues:
    values: PageValues = estimate_values(
        estimate(compiled, recording, load_costs(compiled.target), times)
    )
    return values


def timeline_of(compiled: CompiledOperation, recording: Recording) -> Timeline | None:
    """Make the timeline; None if it would be too long."""
    if len(recording.calls) > MOST_CALLS:
        return None
    return timeline(compiled, recording, load_costs(compiled.target))


def timeline_columns(made: Timeline) -> tuple[PageValues, bytes]:
    """Return a description, and columns: begin, length, wait, duration of a transfer, shape,
    value.
    """
    tracks = list(_tracks(made))
    shapes: dict[tuple[object, ...], int] = {}
    steps = [step for _, _, own in tracks for step in own]
    counts = np.array([len(own) for _, _, own in tracks], np.int64)
    firsts = (np.cumsum(counts) - counts)[counts > 0]
    begin, end, waited, arrives = (
        np.array([round(getattr(step, name) * PER_MICROSECOND) for step in steps], np.int64)
        for name in ("begin", "end", "waited", "arrives")
    )
    said = [(each.name, each.details.get("buffer", ""), each.line, each.reason) for each in steps]
    shape = np.array([shapes.setdefault(each, len(shapes)) for each in said], np.int64)
    values = [each.details.get("bytes", each.details.get("pages", 0)) for each in steps]
    value = np.array([int(each) for each in values], np.int64)
    flights = np.maximum(arrives - begin, 0)
    planes, data = pack((deltas(begin, firsts), end - begin, waited, flights, shape, value))
    described = {
        "tracks": [
            {"node": _nodes_text(kernel), "kernel": f"{kernel.kernel}: {thread}", "count": len(own)}
            for kernel, thread, own in tracks
        ],
        "shapes": list(shapes),
        "planes": planes,
        "end": made.microseconds,
        "unit": 1 / PER_MICROSECOND,
    }
    return described, data


def _tracks(made: Timeline) -> Iterator[tuple[KernelTimeline, str, list[StepTime]]]:
    """Yield the threads of kernels on one node of each kind, with their steps in order."""
    for kernel in sorted(made.kernels, key=lambda each: each.nodes[0][::-1]):
        for thread in dict.fromkeys(step.thread for step in kernel.steps):
            own = [step for step in kernel.steps if step.thread == thread]
            yield kernel, thread, sorted(own, key=lambda step: step.begin)


def _nodes_text(kernel: KernelTimeline) -> str:
    more = len(kernel.nodes) - 1
    first = f"({', '.join(map(str, kernel.nodes[0]))})"
    return f"{first} and {more} like it" if more else first
