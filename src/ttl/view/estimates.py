"""The estimate of an operation as a page shows it: numbers, costs of lines, estimated times."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.artifact import CompiledOperation
from ttl.estimate import estimate, estimate_values, timeline_events
from ttl.target.costs import load_costs
from ttl.trace.calls import Recording

from .columns import deltas, packed

MOST_CALLS = 2_000_000  # of which all steps are shown
PER_MICROSECOND = 10_000  # begins and lengths are whole numbers of this unit: 0.1 ns


def estimate_shown(
    compiled: CompiledOperation, recording: Recording, times: int
) -> tuple[dict[str, Any], dict[str, Any] | None, bytes]:
    """The numbers; the tracks of its timeline, if it is not too long, and their columns."""
    costs = load_costs(compiled.target)
    values = estimate_values(estimate(compiled, recording, costs, times))
    if len(recording.calls) > MOST_CALLS:
        return values, None, b""
    events, end = timeline_events(compiled, recording, costs, 0.0)
    described, columns = timeline_columns(events)
    return values, {**described, "end": end, "unit": 1 / PER_MICROSECOND}, columns


def timeline_columns(events: list[dict[str, Any]]) -> tuple[dict[str, Any], bytes]:
    """Slices of each track in their order: begin, length, shape and value."""
    names = {(e["pid"], e["tid"], e["name"]): e["args"] for e in events if e["ph"] == "M"}
    slices = [e for e in events if e["ph"] == "X"]
    keys = sorted({(e["pid"], e["tid"]) for e in slices})
    numbers = {key: number for number, key in enumerate(keys)}
    shapes: dict[tuple[Any, ...], int] = {}
    track = np.array([numbers[e["pid"], e["tid"]] for e in slices], np.int64)
    begin = np.array([round(e["ts"] * PER_MICROSECOND) for e in slices], np.int64)
    length = np.array([round(e["dur"] * PER_MICROSECOND) for e in slices], np.int64)
    shape = np.array([shapes.setdefault(_shape(e), len(shapes)) for e in slices], np.int64)
    value = np.array([e["args"].get("bytes", e["args"].get("pages", 0)) for e in slices], np.int64)
    order = np.lexsort((begin, track))
    counts = np.bincount(track, minlength=len(keys))
    firsts = (np.cumsum(counts) - counts)[counts > 0]
    described = {
        "tracks": [
            {
                "node": names[process, 0, "process_name"]["name"].removeprefix("node "),
                "kernel": names[process, thread, "thread_name"]["name"],
                "count": int(count),
            }
            for (process, thread), count in zip(keys, counts, strict=True)
        ],
        "shapes": list(shapes),
    }
    columns = (deltas(begin[order], firsts), length[order], shape[order], value[order])
    planes, data = packed(columns)
    return {**described, "planes": planes}, data


def _shape(event: dict[str, Any]) -> tuple[Any, ...]:
    args = event["args"]
    return event["name"], args.get("buffer", ""), args["line"]
