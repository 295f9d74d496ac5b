"""ttl stats: the tables of a trace."""

from __future__ import annotations

import json
from itertools import count

import pytest

from ttl.cli import main, stats_main

TICKS = count()


def event(kind: str, kernel: str = "", subject: str = "", value: int = 0, node=(0, 0)) -> str:
    return json.dumps(
        {
            "tick": next(TICKS),
            "kind": kind,
            "node": node,
            "kernel": kernel,
            "subject": subject,
            "value": value,
            "line": 1,
        }
    )


TRACE = "\n".join(
    [
        event("operation_start", subject="add"),
        event("kernel_start", "read"),
        event("kernel_start", "read", node=(1, 0)),
        event("kernel_start", "write"),
        event("kernel_blocked", "write", "a_dfb", 0),
        event("copy_start", "read", "a", 2048),
        event("buffer_push", "read", "a_dfb", 1),
        event("buffer_push", "read", "a_dfb", 2),
        event("buffer_pop", "write", "a_dfb", 1),
        event("kernel_resumed", "write", "a_dfb", 1),
        event("pipe_send", "read", "pipe (0, 0) -> (1, 0)", 2048),
        event("pipe_receive", "read", "pipe (0, 0) -> (1, 0)", 2048),
    ]
)

EXPECTED = """\
Kernels
kernel  nodes  events (ticks)  times blocked  blocked (ticks)  on (ticks)  bytes moved
read        2               7              0                0                     4096
write       1               2              1                5  a_dfb 5               0

Dataflow buffers
dataflow buffer  pushes  pops  high water  kernels blocked
a_dfb                 2     1           2                1

Copies
tensor or buffer  copies  bytes
a                      1   2048

Pipes
pipe                   sends  receives  bytes sent
pipe (0, 0) -> (1, 0)      1         1        2048

A tick is an event, not a time; for times: ttl run --trace OUT --times FILE
"""


@pytest.mark.parametrize("command", [lambda file: main(["stats", file]), lambda f: stats_main([f])])
def test_tables(command, tmp_path, capsys) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text(TRACE)
    assert command(str(trace)) == 0
    assert capsys.readouterr().out == EXPECTED


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "line 1 is not JSON"), (event("kernel_start") + "\n[]", "line 2 is not an event")],
)
def test_what_is_not_a_trace_is_refused(text: str, message: str, tmp_path, capsys) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text(text)
    assert main(["stats", str(trace)]) == 1
    assert message in capsys.readouterr().err
    assert main(["stats", str(tmp_path / "none")]) == 1
