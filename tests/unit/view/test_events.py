"""Events as columns: a page gets all of them back."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import numpy as np
import pytest

from ttl.studio.view.columns import as_text, deltas, pack
from ttl.studio.view.events import Events, read_events
from ttl.trace import EventKind, Recorder
from ttl.trace.files import append_events
from ttl.trace.reader import read_trace

KINDS = [kind.value for kind in EventKind]


def unpacked(planes: list[int], data: bytes, count: int) -> list[np.ndarray]:
    """As base.js does it."""
    columns, start = [], 0
    for own in planes:
        words = np.zeros(count, np.uint32)
        for plane in range(own):
            part = np.frombuffer(data, np.uint8, count, start)
            words |= part.astype(np.uint32) << np.uint32(8 * plane)
            start += count
        columns.append(words.view(np.int32))
    assert start == len(data)
    return columns


def restored(events: Events) -> list[tuple[object, ...]]:
    """(tick, kind, node, kernel, subject, value, line) of each, in the order of the run."""
    described, data = events.columns()
    count = sum(track["count"] for track in described["tracks"])
    ticks, shapes, values, *_ = unpacked(described["planes"], data, count)
    found, place = [], 0
    for track in described["tracks"]:
        tick = 0
        for n in range(place, place + track["count"]):
            tick = tick + int(ticks[n]) if n > place else int(ticks[n])
            kind, subject, line = described["shapes"][shapes[n]]
            where = (tuple(track["node"]), track["kernel"])
            found.append((tick, described["kinds"][kind], *where, subject, int(values[n]), line))
        place += track["count"]
    return sorted(found)


@pytest.fixture
def recorder() -> Recorder:
    made = Recorder()
    made.record(EventKind.OPERATION_START, (), "", "double")
    for step in range(5):
        for node in ((0, 0), (1, 0)):
            made.record(EventKind.BUFFER_PUSH, node, "read", 'x"dfb', step, 7)
            made.record(EventKind.COPY_START, node, "write", "y", 70_000 * step, 9)
    made.record(EventKind.SEMAPHORE_SET, (1, 0), "write", "ready", -1, 11)
    made.record(EventKind.OPERATION_END, (), "", "double")
    return made


@pytest.mark.parametrize("name", ["trace.jsonl", "trace.json"])
def test_both_forms_give_all_events(recorder: Recorder, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    append_events(file, recorder)
    append_events(file, recorder, recorder.size)
    wanted = [
        (r["tick"], r["kind"], tuple(r["node"]), r["kernel"], r["subject"], r["value"], r["line"])
        for r in read_trace(file)
    ]
    assert restored(read_events(file)) == sorted(wanted)
    assert len(wanted) == 2 * recorder.size


def test_parts_of_copies_and_other_spellings(tmp_path: Path) -> None:
    record = {
        "tick": 3,
        "kind": "copy_start",
        "node": [0],
        "kernel": "k",
        "subject": "x",
        "value": 4,
        "line": 5,
        "part": [[0, 0], [1, 1]],
    }
    file = tmp_path / "trace.jsonl"
    lines = [json.dumps(record), json.dumps(record, separators=(",", ":"))]
    file.write_text("".join(f"{line}\n" for line in lines))
    assert restored(read_events(file)) == [(3, "copy_start", (0,), "k", "x", 4, 5)] * 2


def test_estimated_times_of_events(recorder: Recorder, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    append_events(file, recorder)
    records = read_trace(file)
    for record in records:
        record["us"] = 0.25 * record["tick"]
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    described, data = read_events(file).columns()
    assert described["endTime"] == 0.25 * (len(records) - 1)
    *_, times = unpacked(described["planes"], data, len(records))
    ticks = unpacked(described["planes"], data, len(records))[0]
    assert np.allclose(times * described["unit"], 0.25 * ticks, atol=described["unit"])

    del records[3]["us"]  # of an operation that has no estimate
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert len(read_events(file).columns()[0]["planes"]) == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("hello\n", "not JSON"),
        ("[]\n", "not an event"),
        ('{"tick": 1, "kind": "other", "value": 0, "line": 1}\n', "not an event"),
        ('{"tick": 1, "kind": "other", "node": 1, "value": 0, "line": 1}\n', "not an event"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_text(text)
    with pytest.raises(ValueError, match=problem):
        read_events(file)


def test_columns_have_only_the_planes_they_need() -> None:
    columns = [np.array(each) for each in ([1, 2], [256, 0], [-1, 5], [0, 0])]
    planes, data = pack(columns)
    assert planes == [1, 2, 4, 0]
    for one, other in zip(unpacked(planes, data, 2), columns, strict=True):
        assert one.tolist() == other.tolist()
    assert zlib.decompress(base64.b64decode(as_text(data))) == data


def test_each_track_begins_anew() -> None:
    ticks = np.array([5, 9, 2, 3], np.int64)
    assert deltas(ticks, np.array([0, 2])).tolist() == [5, 4, 2, 1]
