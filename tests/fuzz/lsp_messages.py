"""Random and damaged messages to the language server: it answers what comes after them.

A case is a JSON object: the messages between the greeting and the last question, each with what
damaged it. The server runs in this process, with streams in memory.
"""

from __future__ import annotations

import io
import json
import logging
from contextlib import redirect_stderr
from random import Random
from typing import Any, BinaryIO, cast

from fuzz.files import ODD, edited, paths
from fuzz.judging import Verdict

URI = "file:///nowhere/program.py"
TEXT = "import ttl\n\n\ndef f(x):\n    with x.wait() as block:\n        ttl.math.exp(block)\n"
AT = {"textDocument": {"uri": URI}, "position": {"line": 5, "character": 20}}
RANGE = {"start": {"line": 5, "character": 4}, "end": {"line": 5, "character": 9}}
DIAGNOSTIC = {"range": RANGE, "message": "did you mean `exp`?", "source": "ttl", "code": "TTL1001"}
PARAMS: dict[str, Any] = {
    "textDocument/didOpen": {
        "textDocument": {"uri": URI, "languageId": "python", "version": 1, "text": TEXT}
    },
    "textDocument/didChange": {
        "textDocument": {"uri": URI, "version": 2},
        "contentChanges": [{"range": RANGE, "text": "exq"}, {"text": TEXT}],
    },
    "textDocument/didSave": {"textDocument": {"uri": URI}},
    "textDocument/didClose": {"textDocument": {"uri": URI}},
    "textDocument/hover": AT,
    "textDocument/implementation": AT,
    "textDocument/codeAction": {
        "textDocument": {"uri": URI},
        "range": RANGE,
        "context": {"diagnostics": [DIAGNOSTIC]},
    },
    "workspace/executeCommand": {"command": "x", "arguments": []},
    "$/cancelRequest": {"id": 3},
    "initialize": {"processId": None, "rootUri": None, "capabilities": {}},
}
QUESTIONS = ("hover", "implementation", "codeAction", "executeCommand", "initialize")
LENGTHS = ("-1", "0", "1", "x", "", "999999999999999", "9" * 40, "1e3", "+7", " 12")
LAST = 999
OUR_FRAME = "ttl/studio/lsp/"
INTERNAL = -32603  # of JSON-RPC
# Notifications that follow the damage: a length that is a little too long takes some of them.
SACRIFICED = 4


def lsp(seed: int) -> str:
    random = Random(seed)
    messages = []
    for number in range(random.choice((1, 2, 4, 8))):
        method = random.choice(sorted(PARAMS))
        edits = [_edit(method, random) for _ in range(random.choice((0, 1, 1, 2)))]
        messages.append({"method": method, "id": number + 1, "edits": edits})
    return json.dumps({"edits": messages})


def _edit(method: str, random: Random) -> list[Any]:
    how = random.choice(("set", "set", "set", "drop", "add", "byte", "length", "more", "deep"))
    if how in ("byte", "more"):
        return [how, random.randrange(1 << 16), random.randrange(256)]
    if how == "length":
        return [how, random.choice(LENGTHS), 0]
    if how == "deep":
        return [how, random.choice((100, 100_000)), 0]
    where = random.choice([["params", *path] for path in paths(PARAMS[method])] + [["id"]])
    return [how, where, random.choice(ODD)]


def check_lsp(text: str) -> Verdict:
    verdict = Verdict()
    damaged = b"".join(map(_framed_message, json.loads(text)["edits"]))
    start = _framed({"id": 0, "method": "initialize", "params": PARAMS["initialize"]})
    start += _framed({"method": "initialized", "params": {}})
    rest = _framed({"method": "$/setTrace", "params": {"value": "off"}}) * SACRIFICED
    ask = _framed({"id": LAST, "method": "textDocument/hover", "params": AT})
    end = _framed({"id": LAST + 1, "method": "shutdown"}) + _framed({"method": "exit"})
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            answers = _answers(start + damaged + rest + ask + end)
    except BaseException as error:
        verdict.failure = f"lsp: {type(error).__name__}: {error}"[:300]
        return verdict
    verdict.ending = "refused" if any("error" in each for each in answers) else "ended"
    verdict.failure = _wrong(answers) or _traceback(said.getvalue())
    return verdict


def _wrong(answers: list[Any]) -> str:
    known = [each.get("id") for each in answers]
    if LAST not in known or LAST + 1 not in known:
        return f"lsp: no answer to the last questions, only to {known}"
    for each in answers:
        error = each.get("error") or {}
        about = json.dumps(error.get("data"))
        if error.get("code") == INTERNAL and OUR_FRAME in about:  # others are refusals of pygls
            return f"lsp: internal error: {error['message']} {about}"[:600]
    return ""


def _traceback(said: str) -> str:
    """Of a task that nobody waits for; those of pygls alone are its own."""
    return f"lsp: traceback: {said[-400:]}" if OUR_FRAME in said else ""


def _answers(stream: bytes) -> list[Any]:
    from ttl.studio.lsp.messages import Messages
    from ttl.studio.lsp.server import make_server

    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # it has a traceback for each refusal
    out = io.BytesIO()
    make_server().start_io(cast(BinaryIO, Messages(io.BytesIO(stream))), cast(BinaryIO, _Open(out)))
    given, found = Messages(io.BytesIO(out.getvalue())), []
    while header := given.readline():
        given.readline()
        found.append(json.loads(given.read(int(header.partition(b": ")[2]))))
    return found


class _Open:
    """A stream that stays open, to be read at the end."""

    def __init__(self, stream: io.BytesIO) -> None:
        self.write, self.flush = stream.write, stream.flush

    def close(self) -> None: ...


def _framed(message: dict[str, Any]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _framed_message(given: dict[str, Any]) -> bytes:
    message = {"jsonrpc": "2.0", "method": given["method"], "params": PARAMS[given["method"]]}
    if given["method"].endswith(QUESTIONS):
        message["id"] = given["id"]
    message = json.loads(json.dumps(message))
    for how, where, value in given["edits"]:
        if how in ("set", "drop", "add"):
            edited(message, how, where, value)
    body, length = bytearray(json.dumps(message).encode()), ""
    for how, where, value in given["edits"]:
        if how == "byte":
            body[where % len(body)] = value
        elif how == "deep":
            body[:] = b'{"jsonrpc": "2.0", "method": "x", "params": ' + b"[" * where
        elif how == "more":
            length = str(len(body) + value % 40)
        elif how == "length":
            length = where
    return b"Content-Length: %b\r\n\r\n%b" % ((length or str(len(body))).encode(), bytes(body))
