"""`ttl run --trace FILE --times`, and what Perfetto gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ttl.cli import main

PROGRAM = """\
import ttnn
import ttl


@ttl.operation(grid=(2, 1))
def pass_on(x, y):
    net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(3):
            with dfb.wait() as blk, y_dfb.reserve() as y_blk:
                y_blk.store(blk + blk)

    @ttl.datamovement()
    def read():
        for i in range(3):
            with dfb.reserve() as blk:
                def send(pipe):
                    x_copy = ttl.copy(x[0:1, i : i + 1], blk)
                    x_copy.wait()
                    sent = ttl.copy(blk, pipe)
                    sent.wait()

                def receive(pipe):
                    received = ttl.copy(pipe, blk)
                    received.wait()

                net.if_src(send)
                net.if_dst(receive)

    @ttl.datamovement()
    def write():
        node, _ = ttl.node(dims=2)
        for i in range(3):
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[node : node + 1, i : i + 1])
                y_copy.wait()


device = ttnn.open_device(device_id=0)
x = ttnn.ones((32, 96), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
y = ttnn.ones((64, 96), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
pass_on(x, y)
assert (ttl.to_numpy(y) == 2).all()
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    file = tmp_path / "pass_on.py"
    file.write_text(PROGRAM)
    return str(file)


def traced(program: str, trace: Path, *options: str) -> Any:
    assert main(["run", *options, "--trace", str(trace), program]) == 0
    if trace.suffix == ".json":
        return json.loads(trace.read_text())["traceEvents"]
    return [json.loads(line) for line in trace.read_text().splitlines()]


def of_kind(records: Any, kernel: str, node: list[int], kind: str) -> list[float]:
    return [
        each["us"]
        for each in records
        if (each["kernel"], each["node"], each["kind"]) == (kernel, node, kind)
    ]


@pytest.mark.parametrize("backend", [(), ("--host",)])
def test_events_have_estimated_times(
    program: str, tmp_path: Path, backend: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.jsonl"
    records = traced(program, trace, "--times", *backend)
    assert [each["tick"] for each in records] == list(range(len(records)))
    assert records[0]["us"] == 0 and records[-1]["us"] == max(each["us"] for each in records)
    for node in ([0, 0], [1, 0]):
        pushed = of_kind(records, "read", node, "buffer_push")
        popped = of_kind(records, "compute", node, "buffer_pop")
        assert len(pushed) == len(popped) == 3 and pushed == sorted(pushed)
        assert all(one < other for one, other in zip(pushed, popped, strict=True))
    sent = of_kind(records, "read", [0, 0], "pipe_send")
    received = of_kind(records, "read", [1, 0], "pipe_receive_end")
    assert all(one < other for one, other in zip(sent, received, strict=True))
    capsys.readouterr()
    assert main(["stats", str(trace)]) == 0
    shown = capsys.readouterr().out
    assert "blocked (us)" in shown and "microseconds, estimated" in shown


def test_perfetto_has_transfers_sections_and_files(program: str, tmp_path: Path) -> None:
    events = traced(program, tmp_path / "trace.json", "--times")
    names = [event["name"] for event in events]
    assert names.count("DST section") == 2 * 3 * 2  # two nodes, which differ; begins and ends
    assert any("under way" in name for name in names)
    files = {event["args"].get("file") for event in events if event["ph"] == "i"}
    assert files == {"pass_on.py"}
    assert all(event["ts"] >= 0 for event in events if "ts" in event)


@pytest.mark.parametrize("options", [(), ("--times",)])
def test_perfetto_has_flows_and_an_order(
    program: str, tmp_path: Path, options: tuple[str, ...]
) -> None:
    trace = tmp_path / "trace.json"
    events = traced(program, trace, *options)
    sent = {event["id"]: event for event in events if event["ph"] == "s"}
    received = {event["id"]: event for event in events if event["ph"] == "f"}
    assert len(sent) == 3 and sent.keys() == received.keys()
    for number, event in sent.items():
        assert event["pid"] != received[number]["pid"] and event["ts"] < received[number]["ts"]
    order = [e for e in events if e["name"] == "thread_sort_index" and e["tid"] >= 2000]
    assert {event["args"]["sort_index"] for event in order} == {1, 2, 3}  # operations: 0
    labels = {e["args"]["labels"] for e in events if e["name"] == "process_labels"}
    assert labels == {"pass_on.py"}
    assert main(["stats", str(trace)]) == 0


@pytest.mark.parametrize("options", [[], ["--trace", "t.json", "--backend", "device"]])
def test_times_need_a_trace_and_no_device(program: str, options: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--times", *options, program])
