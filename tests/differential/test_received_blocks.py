"""A receive into a block from wait(): the table of block states decides, on every way to run."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz.engines import check, run, with_tail

PROGRAM = """\
import ttl


@ttl.operation(grid=(4, 1))
def operation(x, y):
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count={count})
    net = ttl.PipeNet([{pipe}])

    @ttl.datamovement()
    def read():
        n, _ = ttl.node(dims=2)
        for i in range(3):
            with dfb.reserve() as block:
                ttl.copy(x[i, n], block).wait()

    @ttl.datamovement()
    def move():
        n, _ = ttl.node(dims=2)
        for i in range(3):
            with dfb.wait() as block:
                {first}

                def receive(pipe):
                    ttl.copy(pipe, block).wait()
                    ttl.copy(block, y[i, n]).wait()

                net.if_src(lambda pipe: ttl.copy(block, pipe).wait())
                net.if_dst(receive)
"""
READS = "ttl.copy(block, y[i, n]).wait()"
PIPES = {
    "unicast": ("ttl.Pipe((0, 0), (1, 0))", (1,)),
    "multicast": ("ttl.Pipe((1, 0), (slice(2, 4), 0))", (2, 3)),
    "several": ("ttl.Pipe((0, 0), (2, 0)), ttl.Pipe((3, 0), (1, 0))", (2, 1)),
}
SENDERS = {"unicast": (0,), "multicast": (1, 1), "several": (0, 3)}
RUNS = [("sim", None), ("sim", 1), ("host", None), ("host", 1), ("host", 2)]


def program(pipes: str, first: str, count: int = 2) -> str:
    text = PROGRAM.format(pipe=PIPES[pipes][0], first=first, count=count)
    return with_tail(text, [((96, 128), "float32", -99, 99, 1)] * 2)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("pipes", PIPES)
def test_a_waited_block_that_was_read_may_be_received_into(pipes: str, count: int) -> None:
    text = program(pipes, READS, count)
    outcome, found = check(text)
    assert not found and outcome.kind == "ended"
    for backend, seed in RUNS:
        ended = run(text, backend, seed)
        assert ended.kind == "ended", (backend, seed, ended)
        x, y = ended.results
        wanted = x.copy()
        for source, receiver in zip(SENDERS[pipes], PIPES[pipes][1], strict=True):
            wanted[:, 32 * receiver : 32 * receiver + 32] = x[:, 32 * source : 32 * source + 32]
        np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("pipes", PIPES)
def test_one_that_was_not_read_may_not(pipes: str) -> None:
    text = program(pipes, "pass")
    _, found = check(text)
    assert "TTL3001" in {each.code.code for each in found}
    for backend, seed in RUNS:
        assert run(text, backend, seed).codes[:1] == ("TTL3001",), backend
