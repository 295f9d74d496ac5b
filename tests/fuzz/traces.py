"""Damaged traces, and damaged results beside them, through `ttl stats`, `ttl diff` and `ttl view`.

A case is a JSON object: the form of the trace, and the edits that damaged it. The three commands
read the same files, so they also agree on which they refuse.
"""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fuzz.files import BYTES, ODD, edited, paths, said
from fuzz.judging import Verdict
from ttl.trace import EventKind, Recorder
from ttl.trace.files import append_events
from ttl.trace.reader import read_trace
from ttl.trace.results import ErrorBound, Result, append_results

NODES = ((0, 0), (1, 0))
FORMS = {"lines": "trace.jsonl", "timed": "trace.jsonl", "perfetto": "trace.json"}
KINDS = tuple(kind.value for kind in EventKind)
LARGE = 1 << 20  # numbers that stand for positions in files
ODD_HERE = (*ODD, *KINDS[:4], "\ud800", [1, 2, 3], [[0, 0], [1, 1]], 2**31, -(2**63), 1e999)


def _recorder() -> Recorder:
    """Every kind of event, on two nodes."""
    found = Recorder()
    found.record(EventKind.OPERATION_START, (), "", "add")
    for node in NODES:
        for kernel in ("read", "write"):
            for line, kind in enumerate(EventKind, 3):
                if kind.category != "operation":
                    found.record(kind, node, kernel, f"{kind.category}_dfb", line, line)
    found.record(EventKind.OPERATION_END, (), "", "add")
    return found


@cache
def _text(form: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / FORMS[form]
        append_events(file, _recorder())
        if form != "timed":
            return file.read_text()
        records = read_trace(file)
    for number, record in enumerate(records):
        record["us"] = number / 4
        if record["kind"] == EventKind.COPY_START.value:
            record["part"] = [[0, 0], [1, 1]]
    return "".join(json.dumps(record) + "\n" for record in records)


@cache
def _results() -> bytes:
    values = np.arange(64, dtype=np.float32).reshape(8, 8)
    results = [
        Result(0, "x", True, values, ErrorBound(("exp",), 2.0**-8, 2.0**-8)),
        Result(0, "n", False, values.astype(np.uint8)),
    ]
    with tempfile.TemporaryDirectory() as folder:
        append_results(Path(folder) / "trace.jsonl", results, is_first=True)
        return (Path(folder) / "trace.npz").read_bytes()


def _values(form: str) -> Any:
    text = _text(form)
    return json.loads(text) if form == "perfetto" else list(map(json.loads, text.splitlines()))


@cache
def _paths(form: str) -> list[Any]:
    return list(paths(_values(form)))


def trace(seed: int) -> str:
    random = Random(seed)
    form = random.choice(sorted(FORMS))
    edits: list[list[Any]] = []
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        how = random.choice(("set", "set", "set", "near", "drop", "add", "byte", "cut", "results"))
        place, value = random.randrange(LARGE), random.choice((*BYTES, random.randrange(256)))
        if how == "cut":
            edits.append([how, place, random.choice((1, 7, 300, LARGE))])
        elif how in ("byte", "results"):
            edits.append([how, place, value])
        else:
            edits.append([how, random.choice(_paths(form)), random.choice(ODD_HERE)])
    return json.dumps({"form": form, "edits": edits})


def check_trace(text: str) -> Verdict:
    given, verdict = json.loads(text), Verdict()
    form, edits = given["form"], given["edits"]
    with tempfile.TemporaryDirectory() as name:
        good, damaged = Path(name, "good", FORMS[form]), Path(name, "damaged", FORMS[form])
        for file in (good, damaged):
            file.parent.mkdir()
            file.write_text(_text(form))
            file.with_suffix(".npz").write_bytes(_results())
        damaged.write_bytes(_damaged(form, edits))
        damaged.with_suffix(".npz").write_bytes(_damaged_results(edits))
        verdict.failure = _judged(good, damaged, Path(name, "page.html"), verdict)
    return verdict


def _damaged(form: str, edits: list[Any]) -> bytes:
    value = _values(form)
    for how, *rest in edits:
        if how in ("set", "near", "drop", "add"):
            edited(value, how, *rest)
    if form == "perfetto":
        data = bytearray(json.dumps(value).encode())
    else:
        data = bytearray("".join(json.dumps(each) + "\n" for each in value).encode())
    for how, place, *rest in edits:
        if how in ("byte", "cut") and data:
            _damage(data, how, place % len(data), rest[0])
    return bytes(data)


def _damaged_results(edits: list[Any]) -> bytes:
    data = bytearray(_results())
    for how, place, *rest in edits:
        if how == "results":
            _damage(data, "byte", place % len(data), rest[0])
    return bytes(data)


def _damage(data: bytearray, how: str, place: int, value: int) -> None:
    if how == "byte":
        data[place] = value
    else:
        del data[place : place + value]


def _judged(good: Path, damaged: Path, page: Path, verdict: Verdict) -> str:
    commands = {
        "stats": ["stats", str(damaged)],
        "diff": ["diff", str(damaged), str(good)],
        "other": ["diff", str(good), str(damaged), "--tolerance", "0.5"],
        "view": ["view", "--no-open", "-o", str(page), str(damaged)],
    }
    refused: dict[str, bool] = {}
    for name, command in commands.items():
        own = Verdict()
        failure = said(command, own)
        if failure and not (command[0] == "diff" and "without a diagnostic" in failure):
            return failure
        verdict.codes |= own.codes
        refused[name] = bool(own.codes)
    verdict.ending = "refused" if refused["stats"] else "ended"
    if refused["stats"] and not all(refused.values()):
        return f"traces: stats refuses what {[n for n in refused if not refused[n]]} reads"
    return ""
