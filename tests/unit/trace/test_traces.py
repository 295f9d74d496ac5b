"""Traces on disk: what Perfetto loads, what is read back, and the first difference of two."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import numpy as np
import pytest

from ttl.cli import main
from ttl.trace import EventKind, Recorder
from ttl.trace.difference import first_difference
from ttl.trace.events import events_in
from ttl.trace.files import append_events
from ttl.trace.reader import read_trace
from ttl.trace.results import ErrorBound, Result, append_results, read_results

NODE = (1, 0)


def recorder(*events: tuple) -> Recorder:
    found = Recorder()
    found.record(EventKind.OPERATION_START, (), "", "add")
    found.record(EventKind.KERNEL_START, NODE, "read")
    for kind, *rest in events:
        found.record(kind, NODE, "read", *rest)
    found.record(EventKind.KERNEL_END, NODE, "read")
    found.record(EventKind.OPERATION_END, (), "", "add")
    return found


def recorded(found: Recorder) -> list[tuple]:
    return [
        (kind, found.tracks[track], subject, value, line)
        for kind, track, subject, value, _, line, _ in events_in(found.raw)
    ]


EVENTS = (
    (EventKind.BUFFER_RESERVE, "a_dfb", 0, 10),
    (EventKind.COPY_START, "a", 2048, 11),
    (EventKind.COPY_START, "a", 4096, 12),
    (EventKind.COPY_END, "a", 2048, 13),
    (EventKind.COPY_END, "a", 4096, 14),
    (EventKind.BUFFER_PUSH, "a_dfb", 1, 10),
    (EventKind.KERNEL_BLOCKED, 'odd "name"', 1, 15),
    (EventKind.KERNEL_RESUMED, 'odd "name"', 0, 15),
    (EventKind.SIGNPOST_BEGIN, "phase", 0, 16),
    (EventKind.SIGNPOST_END, "phase", 0, 17),
)


def perfetto(tmp_path: Path, calls: int = 1) -> list[dict]:
    file = tmp_path / "trace.json"
    found = recorder(*EVENTS)
    for call in range(calls):
        append_events(file, found, call * found.size)
    return json.loads(file.read_text())["traceEvents"]


def test_kernels_are_tracks_of_their_nodes(tmp_path) -> None:
    entries = perfetto(tmp_path)
    processes = {e["pid"]: e["args"]["name"] for e in entries if e["name"] == "process_name"}
    threads = {
        (e["pid"], e["tid"]): e["args"]["name"] for e in entries if e["name"] == "thread_name"
    }
    assert sorted(processes.values()) == ["node (1, 0)", "operations"]
    for entry in entries:
        if entry["ph"] in "BEi":
            track = (processes[entry["pid"]], threads[entry["pid"], entry["tid"]])
            is_operation = entry["cat"] == "operation"
            assert track == (("operations",) * 2 if is_operation else ("node (1, 0)", "read"))


def test_slices_are_nested_and_closed(tmp_path) -> None:
    open_slices: dict = {}
    for entry in perfetto(tmp_path, calls=2):
        stack = open_slices.setdefault((entry["pid"], entry.get("tid")), [])
        if entry["ph"] == "B":
            stack.append(entry["name"])
        elif entry["ph"] == "E":
            assert stack.pop() == entry["name"]
    assert not any(open_slices.values())


def test_transfers_are_asynchronous_and_paired_in_order(tmp_path) -> None:
    entries = [e for e in perfetto(tmp_path) if e["ph"] in "be"]
    assert [(e["ph"], e["name"], e["args"]["line"]) for e in entries] == [
        ("b", "copy a", 11),
        ("b", "copy a", 12),
        ("e", "copy a", 13),
        ("e", "copy a", 14),
    ]
    assert entries[0]["id"] == entries[2]["id"] != entries[1]["id"] == entries[3]["id"]


def test_the_occupancy_of_buffers_is_a_counter(tmp_path) -> None:
    counters = [e for e in perfetto(tmp_path) if e["ph"] == "C"]
    assert [(e["name"], e["args"]) for e in counters] == [("a_dfb", {"blocks": 1})]


def test_ticks_go_on_from_call_to_call(tmp_path) -> None:
    ticks = [e["ts"] for e in perfetto(tmp_path, calls=3) if e["ph"] != "M"]
    assert ticks == sorted(ticks)


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_both_forms_are_read_back(tmp_path, suffix) -> None:
    file = tmp_path / f"trace.{suffix}"
    found = recorder(*EVENTS)
    append_events(file, found)
    append_events(file, found, found.size)
    expected = [
        {
            "tick": tick,
            "kind": kind.value,
            "node": list(node),
            "kernel": kernel,
            "subject": subject,
            "value": value,
            "line": line,
        }
        for tick, (kind, (node, kernel), subject, value, line) in enumerate(recorded(found) * 2)
    ]
    assert read_trace(file) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [("{}", "a trace of something else"), ("{", "not JSON"), ('{"traceEvents": [1]}', "something")],
)
def test_other_files_are_refused(tmp_path, capsys, text, message) -> None:
    file = tmp_path / "trace.json"
    file.write_text(text)
    assert main(["stats", str(file)]) == 1
    assert message in capsys.readouterr().err


# Differences


def records(*events: tuple) -> list[dict]:
    return [
        {
            "tick": tick,
            "kind": kind.value,
            "node": node,
            "kernel": kernel,
            "subject": subject,
            "value": value,
            "line": line,
        }
        for tick, (kind, (node, kernel), subject, value, line) in enumerate(
            recorded(recorder(*events))
        )
    ]


def test_runs_that_are_alike() -> None:
    """Ticks, lines, waiting and the order of different subjects may differ."""
    other = (EVENTS[1], EVENTS[0], *EVENTS[2:6], *EVENTS[8:])
    assert first_difference(records(*EVENTS), records(*other), ([], [])) is None


def test_what_one_run_has_no_word_for_is_not_compared() -> None:
    more = (*EVENTS, (EventKind.BUFFER_PUSH, "compiler_0", 1, 0), (EventKind.PIPE_SEND, "p", 1, 0))
    assert first_difference(records(*EVENTS), records(*more), ([], [])) is None


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            (*EVENTS[:5], (EventKind.BUFFER_POP, "a_dfb", 0, 20), *EVENTS[6:]),
            "event 2 with `a_dfb`: buffer_push (line 10) in A, buffer_pop (line 20) in B",
        ),
        (
            (*EVENTS[:4], *EVENTS[5:]),
            "event 4 with `a`: copy_end (line 14) in A, nothing more in B",
        ),
    ],
)
def test_the_first_event_that_differs(other, message) -> None:
    found = first_difference(records(*EVENTS), records(*other), ([], []))
    assert found is not None
    assert found == f"call 1 of `add`: kernel `read` on node {NODE}, {message}"


def test_another_number_of_calls() -> None:
    one = records(*EVENTS)
    found = first_difference(one, one + one, ([], []))
    assert found is not None and found == "1 calls of operations in A, 2 in B"


@pytest.mark.parametrize(("tolerance", "is_found"), [(0.0, True), (0.1, True), (0.6, False)])
def test_the_first_element_that_differs(tolerance, is_found) -> None:
    values = np.ones((64, 64), np.float32)
    others = values.copy()
    others[40, 33:35] = 1.5
    events = records((EventKind.COPY_START, "y", 2048, 30))
    events[2]["part"] = ((1, 0), (1, 2))
    results = ([Result(0, "y", True, values)], [Result(0, "y", True, others)])
    found = first_difference(events, events, results, tolerance)
    assert (found is not None) is is_found
    if found is not None:
        assert found == (
            "call 1 of `add`: `y`, tile (1, 1), element (40, 33): 1.0 in A, 1.5 in B; 2 of 4096 "
            f"elements differ; `read` on node {NODE} wrote it in line 30"
        )


def test_elements_may_differ_by_the_bounds_of_the_op_table(tmp_path) -> None:
    values = np.ones((32, 32), np.float32)
    others = values + np.float32(2.0**-7)
    events = records((EventKind.COPY_START, "y", 2048, 30))

    def found_with(bound: ErrorBound | None, tolerance: float | None = None) -> str | None:
        results = [[Result(0, "y", True, each, bound)] for each in (values, others)]
        return first_difference(events, events, (results[0], results[1]), tolerance)

    exp = ErrorBound(("exp",), 2.0**-7, 2.0**-7)
    assert found_with(None) is not None
    assert found_with(exp) is None
    assert found_with(exp, tolerance=0.0) is not None  # what is asked for counts
    assert found_with(ErrorBound(("exp",), 2.0**-23, 2.0**-23)) is not None
    append_results(tmp_path / "t.jsonl", [Result(0, "a.b", True, values, exp)], is_first=True)
    (read,) = read_results(tmp_path / "t.jsonl")
    assert (read.tensor, read.bound, read.is_tiled) == ("a.b", exp, True)


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
@pytest.mark.parametrize("calls", [0, 1])
def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch, suffix, calls) -> None:
    file = tmp_path / f"trace{suffix}"
    events = recorder(*EVENTS)
    for _ in range(calls):
        append_events(file, events)
    before = file.read_bytes() if calls else b""

    def write(out, *rest):
        out.write(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ttl.trace.files.write_events", write)
    with pytest.raises(OSError, match="No space"):
        append_events(file, events)
    assert file.read_bytes() == before


def test_the_page_has_every_kind() -> None:
    page = (Path(__file__).parents[3] / "docs/reference/trace.md").read_text()
    assert [kind.value for kind in EventKind if f"`{kind.value}`" not in page] == []
