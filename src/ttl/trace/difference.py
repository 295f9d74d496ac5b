"""Finds the first difference between two runs of a program, one of which may be compiled.

rule STREAM   compare a kernel's events on a node with one buffer, tensor, semaphore or end of a
              pipe in their order; the interleaving of streams, and waiting, may differ
rule AHEAD    a compiled kernel may reserve and begin to read a block before it has pushed the
              previous one: streams with equal counts of each kind are equal
rule KNOWN    subjects that only one run knows are not compared: buffers that the compiler adds
rule CALL     report the first call that differs: its events, otherwise its tensors afterwards
rule BOUND    elements may differ by the bounds that the op table has for the operations of a call,
              unless a tolerance is given
rule WRITER   an element is traced back to the copy that wrote its tile last, if a trace has slices
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ttl.semantics.dtypes import Array
from ttl.target.data_formats import TILE_SIZE

from .events import EventKind, Record
from .results import Result

Stream = tuple[tuple[int, ...], str, str, str]  # node, kernel, subject, end of a pipe
IGNORED = {EventKind.KERNEL_BLOCKED.value, EventKind.KERNEL_RESUMED.value}


def first_difference(
    one: Sequence[Record],
    other: Sequence[Record],
    results: tuple[Sequence[Result], Sequence[Result]],
    tolerance: float | None = None,
) -> str | None:
    """Describe the first difference, with the lines of the user's program, or return None."""
    calls = (_calls(one), _calls(other))
    for number, (events, others) in enumerate(zip(*calls, strict=False)):
        found = _events_differ(events, others) or _results_differ(
            [result for result in results[0] if result.call == number],
            [result for result in results[1] if result.call == number],
            (*events, *others),
            tolerance,
        )
        if found is not None:
            name = next((r["subject"] for r in events), "")
            return f"call {number + 1} of `{name}`: {found}"
    if len(calls[0]) != len(calls[1]):
        return f"{len(calls[0])} calls of operations in A, {len(calls[1])} in B"
    return None


def _calls(records: Sequence[Record]) -> list[list[Record]]:
    calls: list[list[Record]] = []
    for record in records:
        if record["kind"] == EventKind.OPERATION_START.value:
            calls.append([])
        if calls:
            calls[-1].append(record)
    return calls


def _streams(records: Sequence[Record]) -> dict[Stream, list[Record]]:
    streams: dict[Stream, list[Record]] = defaultdict(list)
    for record in records:
        if record["kind"] not in IGNORED:
            kind = record["kind"]
            # A kernel that sends to itself may post before or after sending.
            end = kind.removesuffix("_end") if kind.startswith("pipe_") else ""
            key = (tuple(record["node"]), record["kernel"], record["subject"], end)
            streams[key].append(record)
    return streams


def _select_common(
    one: dict[Stream, list[Record]], other: dict[Stream, list[Record]]
) -> tuple[dict[Stream, list[Record]], dict[Stream, list[Record]]]:  # rule KNOWN
    subjects = {key[2] for key in one} & {key[2] for key in other}
    known = [{key: own[key] for key in own if key[2] in subjects} for own in (one, other)]
    return known[0], known[1]


def _events_differ(one: Sequence[Record], other: Sequence[Record]) -> str | None:
    streams = _select_common(_streams(one), _streams(other))
    found = sorted(_pairs(*streams), key=lambda pair: pair[0])
    if not found:
        return None
    _, (node, kernel, subject, _), number, first, second = found[0]
    where = f"kernel `{kernel}` on node {node}"
    what = f"`{subject}`" if subject else "itself"
    texts = [
        "nothing more" if record is None else f"{record['kind']} (line {record['line']})"
        for record in (first, second)
    ]
    return f"{where}, event {number + 1} with {what}: {texts[0]} in A, {texts[1]} in B"


def _pairs(
    one: Mapping[Stream, Sequence[Record]], other: Mapping[Stream, Sequence[Record]]
) -> Iterator[tuple[int, Stream, int, Record | None, Record | None]]:
    """Yield the first difference of each stream, with its tick to find the earliest."""
    for stream in sorted({*one, *other}):
        ours, theirs = one.get(stream, ()), other.get(stream, ())
        if _kinds(ours) == _kinds(theirs):
            continue
        for number in range(max(len(ours), len(theirs))):
            first = ours[number] if number < len(ours) else None
            second = theirs[number] if number < len(theirs) else None
            if first is None or second is None or first["kind"] != second["kind"]:
                tick = next(record["tick"] for record in (first, second) if record is not None)
                yield tick, stream, number, first, second
                break


def _kinds(records: Sequence[Record]) -> Counter[str]:
    """Count events by kind (rule AHEAD)."""
    return Counter(record["kind"] for record in records)


def _results_differ(
    one: Sequence[Result],
    other: Sequence[Result],
    events: Sequence[Record],
    tolerance: float | None,
) -> str | None:
    theirs = {result.tensor: result for result in other}
    for result in one:
        if result.tensor not in theirs:
            continue
        values, others = result.values, theirs[result.tensor].values
        allowed = find_tolerance(result) if tolerance is None else tolerance
        differ = _differ(values, others, allowed)
        if differ.any():
            return _element(result, values, others, differ, events)
    return None


def find_tolerance(result: Result) -> float:
    """Return the bound relative to the largest element (rule BOUND)."""
    return 0.0 if result.bound is None else result.bound.relative


def _differ(one: Array, other: Array, tolerance: float) -> NDArray[np.bool_]:
    if one.shape != other.shape:
        return np.ones(one.shape, bool)
    same: NDArray[np.bool_] = (one == other) | (np.isnan(one) & np.isnan(other))
    if tolerance:
        one, other = one.astype(np.float64), other.astype(np.float64)  # unsigned 3 - 5 would wrap
        with np.errstate(all="ignore"):
            largest = np.abs(one[np.isfinite(one)]).max(initial=0.0)
            same |= np.abs(one - other) <= tolerance * largest
    return np.logical_not(same)


def _element(
    result: Result,
    values: Array,
    others: Array,
    differ: NDArray[np.bool_],
    events: Sequence[Record],
) -> str:
    element = tuple(int(index) for index in np.argwhere(differ)[0])
    tile = (*element[:-2], *[index // TILE_SIZE for index in element[-2:]])
    unit = tile if result.is_tiled else element
    what = f"tile {tile}, " if result.is_tiled else ""
    message = (
        f"`{result.tensor}`, {what}element {element}: {values[element]} in A, {others[element]} "
        f"in B; {int(differ.sum())} of {differ.size} elements differ"
    )
    writer = _writer(events, result.tensor, unit)
    if writer is None:
        return message
    who = f"`{writer['kernel']}` on node {tuple(writer['node'])}"
    return f"{message}; {who} wrote it in line {writer['line']}"


def _writer(events: Sequence[Record], tensor: str, unit: tuple[int, ...]) -> Record | None:
    """Return the copy that wrote an element last (rule WRITER); only written tensors differ."""
    for record in reversed(events):
        part = record.get("part")
        is_copy = record["kind"] == EventKind.COPY_START.value and record["subject"] == tensor
        if is_copy and part and _holds(part, unit):
            return record
    return None


def _holds(part: Sequence[Sequence[int]], unit: tuple[int, ...]) -> bool:
    starts, sizes = part
    bounds = zip(starts, sizes, unit, strict=False)
    return all(start <= index < start + size for start, size, index in bounds)
