"""print() in kernels, signposts, and seeds."""

from __future__ import annotations

import builtins
import sys

import pytest

import ttl
from recorded_events import events_of
from ttl import sim, ttnn
from ttl.target import load
from ttl.trace import EventKind, Recorder

DEVICE = ttnn.open_device(device_id=0)

TARGET = load("wormhole_b0")


def kernel_operation(body, grid=(1, 1)):
    """One data movement kernel that gets the tensor, a buffer and one of its blocks."""

    @ttl.operation(grid=grid)
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with dfb.reserve() as block:
                ttl.copy(a[0, ttl.node(dims=1)], block).wait()
                body(a, dfb, block)

        @ttl.datamovement()
        def drain():
            with dfb.wait() as block:
                ttl.copy(block, a[0, ttl.node(dims=1)]).wait()

    return operation


def test_strings_and_scalars(simulate, tensor, capsys) -> None:
    simulate(kernel_operation(lambda a, dfb, block: print("step", 3, 0.5)), tensor())
    assert capsys.readouterr().out == "(0, 0) read: step 3 0.5\n"


def test_a_block(simulate, tensor, capsys) -> None:
    simulate(kernel_operation(lambda a, dfb, block: print("got", block)), tensor())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "(0, 0) read: got the block of `dfb` (1, 1) float32:"
    assert lines[1].startswith("[[  0.   1. ...")


def test_a_dataflow_buffer(simulate, tensor, capsys) -> None:
    simulate(kernel_operation(lambda a, dfb, block: print(dfb)), tensor())
    fields = "size=8192 page_size=4096 num_pages=2 rd_ptr=0 wr_ptr=0 wr_tile_ptr=1 filled=0"
    assert capsys.readouterr().out == f"(0, 0) read: dataflow buffer `dfb`: {fields}\n"


def test_two_objects_are_refused(report, tensor) -> None:
    found = report(kernel_operation(lambda a, dfb, block: print(dfb, block)), tensor())
    assert "print() takes at most one tensor, block or dataflow buffer" in found.text


def test_a_block_without_data_is_unset(report, tensor, capsys) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            print(dfb.reserve())

    report(operation, tensor())  # nothing is ever written to it
    assert "the block of `dfb` (1, 1) float32:\nunset\n" in capsys.readouterr().out


def test_pythons_own_print_options_work_and_print_is_restored(simulate, tensor, capsys) -> None:
    """What leaves a line open is written when it is closed, or at the end of the run."""

    def body(a, dfb, block):
        print("x", "y", sep="-", end="!")
        print(1, flush=True)
        print("z", end="")
        print("to a file", file=sys.stderr)

    original = builtins.print
    simulate(kernel_operation(body), tensor())
    written = capsys.readouterr()
    assert written.out == "(0, 0) read: x-y!1\n(0, 0) read: z\n"
    assert written.err == "to a file\n"
    assert builtins.print is original


def test_signposts_are_events(simulate, tensor) -> None:
    def body(a, dfb, block):
        with ttl.signpost("load / first"):
            pass

    recorder = Recorder()
    simulate(kernel_operation(body), tensor(), recorder=recorder)
    kinds = (EventKind.SIGNPOST_BEGIN, EventKind.SIGNPOST_END)
    events = [event for event in events_of(recorder) if event.kind in kinds]
    assert [event.kind for event in events] == list(kinds)
    assert {event.subject for event in events} == {"load / first"}


def test_a_signpost_needs_a_name(report, tensor) -> None:
    found = report(kernel_operation(lambda a, dfb, block: ttl.signpost(3)), tensor())
    assert "a signpost is named by a string, not by 3" in found.text


def order_of_nodes(seed: int | None) -> list[tuple[int, ...]]:
    operation = kernel_operation(lambda a, dfb, block: None, grid=(4, 4))
    a = ttnn.ones((32, 16 * 32), dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    program = operation.program((a,), {}, TARGET.default_grid)
    recorder = Recorder()
    sim.run(program, target=TARGET, recorder=recorder, seed=seed)
    starts = [e for e in events_of(recorder) if e.kind is EventKind.KERNEL_START]
    return [event.node for event in starts]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_seed_shuffles_the_schedule_repeatably(seed: int) -> None:
    assert order_of_nodes(seed) == order_of_nodes(seed)
    assert order_of_nodes(seed) != order_of_nodes(None)
    assert sorted(order_of_nodes(seed)) == sorted(order_of_nodes(None))
