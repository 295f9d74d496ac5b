"""Damaged traces are refused with the place and the field, by every command in the same words."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest

from ttl.cli import main
from ttl.trace.difference import _differ
from ttl.trace.reader import read_trace
from ttl.trace.results import Result, append_results, read_results
from ttl.trace.stats import tables

EVENT = {
    "tick": 0,
    "kind": "buffer_push",
    "node": [0, 0],
    "kernel": "read",
    "subject": "a_dfb",
    "value": 1,
    "line": 3,
}
WRONG = {
    "tick": (-1, 2**31, 1.0, "0", None, True, [0], 10**30),
    "kind": ("", "buffer", None, 1, [], {}),
    "node": (None, 0, "00", [None], ["0"], [-1], [True], [2**20], [0] * 9, {"x": 0}),
    "kernel": (None, 0, ["read"], {}, "\ud800"),
    "subject": (None, 0, [], "half of a pair \udfff"),
    "value": (None, "1", 1.5, 2**63, True),
    "line": (None, "3", -1, 2**31, 1e3),
    "part": (None, [], [[0]], [[0], [1, 2]], [[0], ["1"]], [[-1], [1]], "x"),
    "us": (None, "1", -1, float("inf"), float("nan"), 1e300, [1]),
}
CASES = [(name, value) for name, values in WRONG.items() for value in values]
FILES = ("t.jsonl", "t.json")


def written(folder: Path, name: str, event: dict) -> Path:
    """The event in a trace of that form; a good one comes before it."""
    file = folder / name
    if name == "t.jsonl":
        file.write_text("".join(json.dumps(each) + "\n" for each in (EVENT, event)))
        return file
    args = {key: event[key] for key in event if key not in ("node", "kernel")}
    track = {"pid": 1, "tid": 2}
    entries = [
        {"ph": "M", **track, "name": "process_name", "args": {"node": event.get("node")}},
        {"ph": "M", **track, "name": "thread_name", "args": {"kernel": event.get("kernel")}},
        {"ph": "i", **track, "name": "push", "args": args},
    ]
    file.write_text(json.dumps({"traceEvents": entries}))
    return file


def commands(file: Path) -> list[list[str]]:
    page = str(file.with_suffix(".html"))
    return [
        ["stats", str(file)],
        ["diff", str(file), str(file)],
        ["view", "--no-open", "-o", page, str(file)],
    ]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(("field", "value"), CASES)
def test_a_wrong_field_is_refused_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, field: str, value: object
) -> None:
    said = set()
    for command in commands(written(tmp_path, name, {**EVENT, field: value})):
        assert main(command) == 1
        said.add(capsys.readouterr().err.splitlines()[0])
    (text,) = said
    assert f"`{field}` is not" in text or (field == "kind" and "is not an event" in text)


@pytest.mark.parametrize("field", EVENT)
def test_a_field_that_is_missing_is_named(tmp_path: Path, field: str) -> None:
    event = {name: value for name, value in EVENT.items() if name != field}
    wanted = "line 2 is not an event" if field == "kind" else f"line 2 has no `{field}`"
    with pytest.raises(ValueError, match=wanted):
        read_trace(written(tmp_path, "t.jsonl", event))


DAMAGED = {
    "cut off": json.dumps(EVENT).encode()[:-5],
    "another encoding": json.dumps(EVENT).encode("utf-16"),
    "no text": bytes(range(256)),
    "deep": b"[" * 100_000,
    "a number of many digits": b'{"tick": ' + b"9" * 5000 + b"}",
    "a list": b"[1]",
    "of another version": b'{"trace_version": []}',
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGED)
def test_what_is_no_json_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, damage: str
) -> None:
    file = tmp_path / name
    file.write_bytes(DAMAGED[damage])
    for command in commands(file):
        assert main(command) == 1
        assert "[TTL" in capsys.readouterr().err


WHOLES = (
    {},
    {"traceEvents": None},
    {"traceEvents": [1]},
    {"traceEvents": [{}]},
    {"traceEvents": [{"args": {}, "pid": []}]},
    {"traceEvents": [{"args": {"kind": "x"}}]},
    {"traceEvents": [], "otherData": {"trace_version": "1"}},
)


@pytest.mark.parametrize("whole", WHOLES, ids=str)
def test_other_files_for_perfetto_are_refused(tmp_path: Path, whole: dict) -> None:
    (tmp_path / "t.json").write_text(json.dumps(whole))
    with pytest.raises(ValueError, match=r"something else|no name|trace_version"):
        read_trace(tmp_path / "t.json")


def test_a_kernel_that_goes_on_after_something_else(tmp_path: Path) -> None:
    """It was blocked on one buffer and resumed on another: the time is that of the first."""
    kinds = (("kernel_blocked", "a"), ("kernel_resumed", "b"))
    records = [
        {**EVENT, "tick": tick, "kind": kind, "subject": subject}
        for tick, (kind, subject) in enumerate(kinds)
    ]
    assert "a 1" in "\n".join(tables(records)[0].lines())


def test_unsigned_numbers_are_compared_as_numbers() -> None:
    one, other = np.array([3, 200], np.uint8), np.array([5, 200], np.uint8)
    assert not _differ(one, other, 0.1).any()  # -2, not 254
    assert not _differ(one > 0, other > 0, 0.1).any()


def results(folder: Path) -> Path:
    values = np.ones((2, 2), np.float32)
    append_results(folder / "t.jsonl", [Result(0, "x", False, values)], is_first=True)
    return folder / "t.npz"


def test_results_are_read_by_their_size(tmp_path: Path) -> None:
    """A header that asks for more than the file has gets no memory."""
    file = results(tmp_path)
    with ZipFile(file) as archive:
        (name,) = archive.namelist()
        content = archive.read(name)
    assert len(read_results(tmp_path / "t.jsonl")) == 1
    large = content.replace(b"(2, 2), }       ", b"(999999999, 9), }")
    assert large != content
    for data in (large, content[:-1], content[:20], b"", content.replace(b"<f4", b"|O8")):
        with ZipFile(file, "w") as archive:
            archive.writestr(name, data)
        with pytest.raises(ValueError, match="does not hold results"):
            read_results(tmp_path / "t.jsonl")


@pytest.mark.parametrize("name", ["x", "x.y", "one.rows.x.npy", "0.rows~1~2.x.npy"])
def test_results_of_other_names(tmp_path: Path, name: str) -> None:
    with ZipFile(results(tmp_path)) as archive:
        content = archive.read(archive.namelist()[0])
    with ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr(name, content)
    with pytest.raises(ValueError, match="does not hold results"):
        read_results(tmp_path / "t.jsonl")


def test_results_that_would_grow_when_they_are_read(tmp_path: Path) -> None:
    with ZipFile(results(tmp_path), "w", ZIP_DEFLATED) as archive:
        archive.writestr("0.rows.x.npy", bytes(1 << 20))
    with pytest.raises(ValueError, match="is compressed"):
        read_results(tmp_path / "t.jsonl")
