"""The model: laws it must keep, whatever the numbers are."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import ttl
from timed_operations import chain, exponential, stream, zeros
from ttl.studio.estimate import (
    Estimate,
    estimate,
    estimate_text,
    estimate_values,
    steady,
    timeline,
    timeline_events,
)
from ttl.studio.estimate.result import Model
from ttl.target.costs import load_costs
from ttl.trace.calls import TENSOR, kind_of

COSTS = load_costs("wormhole_b0")


def estimated(record: Any, operation: Any, *arguments: Any) -> Estimate:
    found = record(operation, *arguments)
    return estimate(found.compiled, found.recording, load_costs(found.compiled.target))


def test_the_calls_of_all_nodes_are_recorded_with_their_operands(record: Any) -> None:
    found = record(exponential((2, 1), 3), zeros(64, 96), zeros(64, 96))
    recording = found.recording
    for node in range(2):
        names = Counter(recording.sites[row[0]].name for row in recording.of(node))
        assert names["noc_async_read_page"] == names["noc_async_write_page"] == 3
        assert names["exp_tile"] == 3 and names["cb_push_back"] == 6
    reads = [
        row for row in recording.of(1) if recording.sites[row[0]].name == "noc_async_read_page"
    ]
    assert [int(row[1]) & 0xFFFFFF for row in reads] == [3, 4, 5]
    assert all(kind_of(int(row[1])) == TENSOR and row[2] == 2048 for row in reads)


def test_recording_leaves_the_tensors_as_they_are(record: Any) -> None:
    x, y = zeros(32, 96), zeros(32, 96)
    before = np.array(y.storage.elements)
    record(exponential((1, 1), 3), x, y)
    assert np.array_equal(y.storage.elements, before)


@pytest.mark.parametrize("tiles", [12, 24])  # as many in each bank
def test_a_stream_takes_its_latency_and_the_slower_of_issue_and_link(
    record: Any, tiles: int
) -> None:
    found = record(stream(tiles), zeros(32, 32 * tiles), zeros(32, 32 * tiles))
    model = Model(found.compiled, found.recording, COSTS)
    costs = model.costs()
    (reader,) = [t for t in model.run(costs).nodes[0].threads if t.plan.role == "reader"]
    latency, issue, rate = (
        costs[f"noc.dram_read.{key}"]
        for key in ("latency_cycles", "issue_cycles", "bytes_per_cycle")
    )
    calls = 2 * costs["processor.buffer_call_cycles"]
    expected = latency + tiles * max(issue, 2048 / rate) + calls
    assert reader.time - costs["processor.kernel_start_cycles"] == pytest.approx(expected, rel=0.01)


def test_nodes_that_do_the_same_are_one_class(record: Any) -> None:
    found = record(exponential((8, 8), 2), zeros(2048, 64), zeros(2048, 64))
    model = Model(found.compiled, found.recording, COSTS)
    classes = model.run(model.costs()).streams.classes
    assert [len(each.nodes) for each in classes] == [64]


def test_a_node_of_a_chain_ends_after_the_one_before_it(record: Any) -> None:
    """Nodes 1 and 3 are alike, and 2 and 4: taken as one they would wait for each other."""
    found = record(chain(6), zeros(32, 32), zeros(32, 192))
    model = Model(found.compiled, found.recording, COSTS)
    machine = model.run(model.costs())
    ends = [max(t.time for t in node.threads if t.plan.role == "writer") for node in machine.nodes]
    assert model.is_each_alone and ends == sorted(ends) and ends[0] < ends[-1]


def test_more_nodes_share_the_memory(record: Any) -> None:
    one = estimated(record, exponential((1, 1), 8), zeros(32, 256), zeros(32, 256))
    all_of_them = estimated(record, exponential((8, 8), 8), zeros(2048, 256), zeros(2048, 256))
    assert all_of_them.microseconds.typical >= one.microseconds.typical
    assert all_of_them.read_bytes == 64 * one.read_bytes == 64 * 8 * 2048


def test_two_blocks_overlap_what_one_does_not(record: Any) -> None:
    one = estimated(record, exponential((1, 1), 8, 1, ttl.math.abs), zeros(32, 256), zeros(32, 256))
    two = estimated(record, exponential((1, 1), 8, 2, ttl.math.abs), zeros(32, 256), zeros(32, 256))
    assert two.microseconds.typical < one.microseconds.typical
    assert any("block_count" in change.text for change in one.changes)


def test_the_same_run_gives_the_same_estimate(record: Any) -> None:
    found = record(exponential((2, 2), 4), zeros(128, 128), zeros(128, 128))
    first, second = (estimate(found.compiled, found.recording, COSTS) for _ in range(2))
    assert estimate_values(first) == estimate_values(second)


def test_a_range_and_its_reasons_are_shown(record: Any) -> None:
    found = estimated(record, exponential((1, 1), 8), zeros(32, 256), zeros(32, 256))
    times = found.microseconds
    assert times.best <= times.typical <= times.worst
    assert found.bound == "math"
    text = estimate_text(found)
    assert "bound  math" in text and "not known:" in text and "dispatch" in text
    exp_line = next(line for line in found.lines if line.thread == "math")
    assert exp_line.times >= 8 and exp_line.share > 0.5


def test_blackhole_has_its_own_costs(record: Any) -> None:
    found = record(exponential((1, 1), 2), zeros(32, 64), zeros(32, 64), target="blackhole")
    made = estimate(found.compiled, found.recording, load_costs("blackhole"))
    assert made.chip == "blackhole" and made.clock_ghz == 1.35


@pytest.mark.parametrize("tiles", [80, 81])  # the reader has rounds of two blocks
def test_a_long_loop_is_extrapolated_to_what_all_of_it_takes(
    record: Any, tiles: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steady, "LEAST_RUNS", 0)
    found = record(exponential((2, 1), tiles), zeros(64, 32 * tiles), zeros(64, 32 * tiles))
    short, full = (Model(found.compiled, found.recording, COSTS) for _ in range(2))
    assert short.shortened is not None and short.shortened.factor > 1
    full.shortened = None
    one, other = short.run(short.costs()), full.run(full.costs())
    assert one.end == pytest.approx(other.end, rel=1e-6)
    assert one.dram.read_bytes == other.dram.read_bytes == 2 * tiles * 2048
    for thread, whole in zip(one.nodes[0].threads, other.nodes[0].threads, strict=True):
        assert sum(each.times for each in thread.spent.values()) == sum(
            each.times for each in whole.spent.values()
        )


def test_the_timeline_has_a_slice_for_each_step_in_microseconds(record: Any) -> None:
    found = record(exponential((2, 1), 3), zeros(64, 96), zeros(64, 96))
    events, end = timeline_events(found.compiled, found.recording, COSTS, 10.0)
    slices = [event for event in events if event["ph"] == "X"]
    names = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert {"read: reader", "compute: math", "write: writer"} <= names
    assert min(event["ts"] for event in slices) >= 10.0
    assert max(event["ts"] + event["dur"] for event in slices) == pytest.approx(end)
    for track in {event["tid"] for event in slices}:
        own = sorted((e for e in slices if e["tid"] == track), key=lambda e: e["ts"])
        for one, next_one in pairwise(own):
            assert one["ts"] + one["dur"] <= next_one["ts"] + 1e-9
    reads = [event for event in slices if event["name"] == "noc_async_read_page"]
    assert sum(event["args"]["bytes"] for event in reads) == 3 * 2048


def test_steps_tell_what_they_waited_for(record: Any) -> None:
    found = record(exponential((1, 1), 3), zeros(32, 96), zeros(32, 96))
    made = timeline(found.compiled, found.recording, COSTS)
    told = estimate(found.compiled, found.recording, COSTS)
    for thread in told.threads:
        (kernel,) = [each for each in made.kernels if each.kernel == thread.kernel]
        steps = [step for step in kernel.steps if step.thread == thread.thread]
        for reason, share in thread.waits:
            waited = sum(step.waited for step in steps if step.reason == reason)
            assert waited == pytest.approx(share * made.microseconds)
        assert all(step.waited <= step.end - step.begin + 1e-9 for step in steps)
        assert all(bool(step.reason) == bool(step.waited) for step in steps)
