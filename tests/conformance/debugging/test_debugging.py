"""Signposts and print()."""

from __future__ import annotations

import json

import numpy as np
import pytest

import ttl
from conformance.harness import empty, moving, refused, run, tensor, tiles


@ttl.operation(grid=(1, 1))
def signposted(A, Y):
    """The specification's example, as far as one tensor goes."""
    a_dfb = ttl.make_dataflow_buffer_like(A, shape=(1, 1))

    @ttl.datamovement()
    def matmul_read():
        for it in range(2):
            # Measure the entire iteration
            with ttl.signpost("i_m_n iteration"):  # noqa: SIM117  as printed
                # Measure from reserve to push
                with ttl.signpost("push a"):
                    with a_dfb.reserve() as a_blk:
                        # Measure only copy
                        with ttl.signpost("read a"):
                            a_xf = ttl.copy(A[0, it], a_blk)
                            a_xf.wait()

    @ttl.datamovement()
    def write():
        for it in range(2):
            with a_dfb.wait() as a_blk, ttl.signpost("schreiben: 100 % äöü/\"'"):
                ttl.copy(a_blk, Y[0, it]).wait()


@pytest.mark.rule("signpost")
def test_signposts_measure_regions_and_change_nothing(monkeypatch, tmp_path):
    trace = tmp_path / "trace.jsonl"
    run(signposted, tensor(tiles(1, 2)), y := empty(32, 64))
    assert ttl.to_numpy(y)[0, ::32].tolist() == [1, 2]
    monkeypatch.setenv("TTL_TRACE", str(trace))
    signposted(tensor(tiles(1, 2)), y)
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    posts = [event for event in events if "signpost" in json.dumps(event).lower()]
    text = [json.dumps(event, ensure_ascii=False) for event in posts]
    for name in ("i_m_n iteration", "push a", "read a", "schreiben: 100 % äöü/"):
        assert sum(name in line for line in text) == 4, name


@pytest.mark.rule("signpost")
@pytest.mark.parametrize("name", ["", 3, None])
def test_a_signpost_is_named_by_a_string(name):
    def body(a, y, dfb):
        with ttl.signpost(name):
            pass

    refused(moving(body, (1, 1)), empty(32, 32), empty(32, 32), slug="wrong-argument")


def printed(capsys, show):
    def body(a, y, dfb):
        with dfb.reserve() as blk:
            ttl.copy(a[0:1, 0:1], blk).wait()
            show(a, blk, dfb)
        with dfb.wait() as blk:
            ttl.copy(blk, y[0:1, 0:1]).wait()

    moving(body, (1, 1))(tensor(tiles(5, 6)), empty(32, 32))
    return capsys.readouterr().out


@pytest.mark.rule("print-scalars")
def test_print_takes_strings_scalars_and_loop_variables(capsys):
    def show(a, blk, dfb):
        for it in range(2):
            print("it=", it, " twice=", it * 2, 1.5, True)

    lines = printed(capsys, show).splitlines()
    assert len(lines) == 2
    assert "it= 0" in lines[0] and "twice= 0" in lines[0] and "1.5 True" in lines[0]
    assert "it= 1" in lines[1] and "twice= 2" in lines[1]


@pytest.mark.rule("print-tensor")
def test_print_of_a_tensor_shows_its_first_pages(capsys):
    one = printed(capsys, lambda a, blk, dfb: print("A: ", a))
    assert "A: " in one and "5." in one and "6." not in one
    two = printed(capsys, lambda a, blk, dfb: print("A: ", a, num_pages=2))
    assert "5." in two and "6." in two


@pytest.mark.rule("print-block")
def test_print_of_a_block_shows_its_content(capsys):
    text = printed(capsys, lambda a, blk, dfb: print("blk: ", blk))
    assert "blk: " in text and "5." in text and "6." not in text


@pytest.mark.rule("print-buffer")
def test_print_of_a_dataflow_buffer_shows_its_state(capsys):
    text = printed(capsys, lambda a, blk, dfb: print("dfb after reserve: ", dfb))
    assert "dfb after reserve: " in text
    for field in ("size=8192", "page_size=4096", "rd_ptr=0", "wr_ptr=0", "wr_tile_ptr="):
        assert field in text, text


@pytest.mark.rule("print-one-object")
@pytest.mark.parametrize(
    "show",
    [
        lambda a, blk, dfb: print(a, blk),
        lambda a, blk, dfb: print(dfb, "and", blk),
        lambda a, blk, dfb: print(a, a),
    ],
)
def test_print_takes_one_object_of_the_language(show):
    def body(a, y, dfb):
        with dfb.reserve() as blk:
            ttl.copy(a[0, 0], blk).wait()
            show(a, blk, dfb)

    refused(moving(body, (1, 1)), tensor(tiles(5)), empty(32, 32), slug="wrong-argument")


@pytest.mark.rule("print-thread")
@pytest.mark.parametrize("thread", ["unpack", "math", "pack", None])
def test_print_from_a_thread_of_the_compute_kernel(thread, capsys):
    printing(thread)(y := empty(32, 32))
    assert (ttl.to_numpy(y) == 7).all()
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "text" in line] == ["(0, 0) compute: text 7"]
    assert "block" in lines[1] and "7." in lines[2]


@pytest.mark.rule("print-thread")
def test_a_thread_that_no_kernel_has_is_refused():
    text = refused(printing("dst"), empty(32, 32), slug="wrong-argument")
    assert "unpack, math, pack" in text


def printing(thread):
    @ttl.operation(grid=(1, 1))
    def operation(y):
        dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with dfb.reserve() as blk:
                blk.store(ttl.math.fill(7))
                print("text", 7, thread=thread)
                print("block", blk, thread=thread)

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, 0]).wait()

    return operation


@pytest.mark.rule("print-scalars", "print-block")
def test_print_in_a_compute_kernel(capsys):
    @ttl.operation(grid=(1, 1))
    def operation(y):
        dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with dfb.reserve() as blk:
                blk.store(ttl.math.fill(7))
                print("block", blk)

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, 0]).wait()

    operation(y := empty(32, 32))
    assert "7." in capsys.readouterr().out
    assert np.array_equal(ttl.to_numpy(y), np.full((32, 32), 7))
