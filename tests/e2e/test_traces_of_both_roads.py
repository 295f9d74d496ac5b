"""Pipes and semaphores in traces: the simulator and the executor tell the same of a program."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from ttl.cli import main
from ttl.trace.difference import first_difference
from ttl.trace.reader import read_trace

pytestmark = pytest.mark.usefixtures("put_back")

EXAMPLES = Path(__file__).parents[2] / "examples"
NODES_TALK = ("multicast_matmul", "split_sum", "ring_all_reduce", "barrier")
KINDS = ("pipe_", "semaphore_")


def traces(tmp_path: Path, program: Path) -> list[list[dict]]:
    found = []
    for name, options in (("sim", []), ("host", ["--host"])):
        file = tmp_path / f"{name}.json"
        assert main(["run", *options, "--trace", str(file), str(program)]) == 0
        found.append(read_trace(file))
    return found


def streams(records: list[dict]) -> dict[tuple, list[tuple]]:
    """What a kernel does with one end of a pipe or with a semaphore, in order."""
    found = defaultdict(list)
    for record in records:
        if record["kind"].startswith(KINDS):
            role = record["kind"].removesuffix("_end")
            of = role if role.startswith("pipe_") else "semaphore"
            key = (*record["node"], record["kernel"], record["subject"], of)
            found[key].append((record["kind"], record["value"], record["line"]))
    return found


@pytest.mark.parametrize("name", NODES_TALK)
def test_pipes_and_semaphores_are_told_alike(name, tmp_path, capsys) -> None:
    simulated, compiled = traces(tmp_path, EXAMPLES / f"{name}.py")
    assert streams(simulated)
    assert streams(compiled) == streams(simulated)
    assert first_difference(simulated, compiled, ([], [])) is None
    waits = [r for r in compiled if r["kind"] == "kernel_blocked" and r["line"]]
    subjects = {key[3] for key in streams(simulated)}
    assert subjects & {record["subject"] for record in waits}, "who waits for whom is told"


PROGRAM = """
import ttl
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)


@ttl.operation(grid=(4, 1))
def gather(a, y):
    net = ttl.PipeNet([ttl.Pipe(src=(x, 0), dst=(0, 0)) for x in range(1, 4)])
    own = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    got = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=4)
    there = ttl.Semaphore(2)

    @ttl.datamovement()
    def read():
        x, _ = ttl.node(dims=2)
        if x > 0:
            with own.reserve() as block:
                ttl.copy(a[0, x], block).wait()
            with own.wait() as block:
                group = ttl.GroupTransfer()
                net.if_src(lambda pipe: group.add(ttl.copy(block, pipe)))
                group.wait_all()
        if x == 3:
            there.get_remote((0, 0)).inc(x)

    @ttl.datamovement()
    def write():
        x, _ = ttl.node(dims=2)
        if x == 0:

            def receive(pipe):
                with got.reserve() as block:
                    ttl.copy(pipe, block).wait()

            net.if_dst(receive)
            there.wait_ge(5)
            for i in range(3):
                with got.wait() as block:
                    ttl.copy(block, y[0, i]).wait()


a = ttnn.full((32, 128), 2.0, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
y = ttnn.zeros((32, 96), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
gather(a, y)
"""


def test_several_pipes_of_a_node_keep_their_names(tmp_path, capsys) -> None:
    program = tmp_path / "gather.py"
    program.write_text(PROGRAM)
    simulated, compiled = traces(tmp_path, program)
    assert streams(compiled) == streams(simulated)
    counts = Counter(r["subject"] for r in compiled if r["kind"] == "pipe_receive_end")
    assert len(counts) == 3 and set(counts.values()) == {1}


def test_a_difference_in_a_pipe_is_found(tmp_path, capsys) -> None:
    simulated, compiled = traces(tmp_path, EXAMPLES / "multicast_matmul.py")
    position = next(n for n, r in enumerate(compiled) if r["kind"] == "pipe_receive_end")
    found = first_difference(simulated, [*compiled[:position], *compiled[position + 1 :]], ([], []))
    assert found is not None and f"pipe_receive_end (line {compiled[position]['line']})" in found
