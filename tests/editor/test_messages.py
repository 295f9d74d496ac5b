"""The language server goes on after messages that are damaged, or larger than any memory."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ttl.studio.lsp import messages
from ttl.studio.lsp.calls import last_run, record_of
from ttl.studio.lsp.messages import Messages


def framed(body: bytes, size: int | None = None) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body) if size is None else size, body)


def request(number: int, method: str, params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return framed(json.dumps(message).encode())


def note(method: str, params: Any) -> bytes:
    return framed(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())


def bodies(stream: bytes) -> list[bytes]:
    """As the server reads them."""
    given, found = Messages(io.BytesIO(stream)), []
    while header := given.readline():
        assert given.readline() == b"\r\n"
        found.append(given.read(int(header.partition(b": ")[2])))
    return found


ONE, TWO = framed(b"{1}"), framed(b"{2}")
STREAMS = {
    "plain": (ONE + TWO, [b"{1}", b"{2}"]),
    "another header": (b"Content-Type: x\r\n" + ONE + TWO, [b"{1}", b"{2}"]),
    "a length without end": (framed(b"{}", 10**15) + TWO, [b"{2}"]),
    "a length of many digits": (b"Content-Length: %b\r\n\r\n{}" % (b"9" * 50) + TWO, [b"{2}"]),
    "no length": (b"Content-Type: x\r\n\r\n{3}" + TWO, [b"{2}"]),
    "a length below 0": (framed(b"{3}", -3) + TWO, [b"{2}"]),
    "an empty message": (framed(b"") + TWO, [b"{2}"]),
    "a length that is too short": (framed(b"{333}", 1) + TWO, [b"{", b"{2}"]),
    "a large message": (framed(b"x" * 99) + TWO, [b"{2}"]),
    "a header that a part ends in": (framed(b"x" * 110) + TWO, [b"{2}"]),
    "cut off": (ONE + TWO[:-1], [b"{1}"]),
    "nothing": (b"", []),
    "other bytes": (bytes(range(256)) * 9 + TWO, [b"{2}"]),
}


@pytest.mark.parametrize("name", STREAMS)
def test_messages_of_a_stream(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "MOST_BYTES", 90)
    monkeypatch.setattr(messages, "LINE_BYTES", 64)
    stream, wanted = STREAMS[name]
    assert bodies(stream) == wanted


def answered(*given: bytes, variables: dict[str, str] | None = None) -> tuple[list[Any], str, int]:
    """What the server answers to these messages between a greeting and a question."""
    start = request(0, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    end = request(99, "shutdown", None) + note("exit", None)
    done = subprocess.run(
        [sys.executable, "-m", "ttl", "lsp"],
        input=start + note("initialized", {}) + b"".join(given) + end,
        env={**os.environ, **(variables or {})},
        capture_output=True,
        timeout=60,
    )
    return list(map(json.loads, bodies(done.stdout))), done.stderr.decode(), done.returncode


@pytest.mark.parametrize("size", [10**15, 10**12, 3 << 30])
def test_a_huge_length_does_not_end_the_server(size: int) -> None:
    answers, said, status = answered(framed(b"{}", size))
    assert [each["id"] for each in answers if "id" in each] == [0, 99]
    assert f"a message of {size} bytes is left out" in said and status == 0


def test_a_message_that_is_no_request_does_not_end_the_server() -> None:
    damaged = [b"{", b"[" * 100_000, b"[]", b"1", b'{"jsonrpc": "2.0"}', b"\xff\xfe", b"null"]
    answers, _, status = answered(*map(framed, damaged))
    assert [each["id"] for each in answers if "id" in each][-1] == 99 and status == 0


def test_a_file_that_is_not_open_is_not_read() -> None:
    at = {"textDocument": {"uri": "True"}, "position": {"line": 0, "character": 0}}
    context = {"context": {"diagnostics": []}, "range": {"start": at["position"]}}
    context["range"]["end"] = at["position"]
    given = (
        request(1, "textDocument/hover", at),
        request(2, "textDocument/codeAction", {**at, **context}),
        note("textDocument/didSave", at),
    )
    answers, said, _ = answered(*given)
    results = {each["id"]: each.get("result", "an error") for each in answers if "id" in each}
    assert (results[1], results[2]) == (None, []) and "Traceback" not in said


GOOD = {"shape": [32, 32], "dtype": "bfloat16", "layout": "TILE"}
RECORDS = (
    [],
    {},
    None,
    {"calls": {}},
    {"calls": []},
    {"calls": {"f": []}},
    {"calls": {"f": {"x": 1}}},
    {"calls": {"f": {"x": {}}}},
    {"calls": {"f": {"x": {**GOOD, "shape": [32, "32"]}}}},
    {"calls": {"f": {"x": {**GOOD, "dtype": []}}}},
    {"calls": {"f": {"x": {**GOOD, "layout": 1}}}},
)
CHIP = {"target": "wormhole_b0", "grid": None}


@pytest.mark.parametrize("record", RECORDS, ids=str)
def test_damaged_arguments_of_the_last_run_are_as_none(tmp_path: Path, record: Any) -> None:
    file = record_of(tmp_path, "program.py")
    file.parent.mkdir()
    file.write_text(json.dumps({**CHIP, **record} if isinstance(record, dict) else record))
    assert last_run(tmp_path, "program.py").calls == {}


@pytest.mark.parametrize("grid", [[1], [0, 8], ["8", "8"], "88", [8, 8, 8], {}])
def test_a_damaged_grid_of_the_last_run(tmp_path: Path, grid: Any) -> None:
    file = record_of(tmp_path, "program.py")
    file.parent.mkdir()
    for chosen, calls in ((grid, {}), ([8, 8], {"f": {"x": GOOD, "n": {"value": [1]}}})):
        file.write_text(json.dumps({**CHIP, "grid": chosen, "calls": {"f": calls.get("f", {})}}))
        assert bool(last_run(tmp_path, "program.py").calls) == (chosen == [8, 8])
