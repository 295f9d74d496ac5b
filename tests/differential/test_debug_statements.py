"""print() of what holds no data, signposts, `+=` on a new block: alike on every way to run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuzz.engines import check, run, with_tail

PROGRAM = """\
import ttl


@ttl.operation(grid=(1, 1))
def operation(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():
        for i in range(5):
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                {compute}

    @ttl.datamovement()
    def read():
        for i in range(5):
            with x_dfb.reserve() as blk:
                {read}

    @ttl.datamovement()
    def write():
        for i in range(5):
            with y_dfb.wait() as blk:
                ttl.copy(blk, y[i, 0]).wait()
"""
LOAD, STORE = "ttl.copy(x[i, 0], blk).wait()", "y_blk.store(x_blk)"
ENDS = [("sim", None), ("sim", 1), ("host", None), ("host", 1)]


def program(compute: str = STORE, read: str = LOAD) -> str:
    parts = {"compute": compute, "read": read}
    text = PROGRAM.format(
        **{name: part.replace("\n", "\n" + " " * 16) for name, part in parts.items()}
    )
    return with_tail(text, [((160, 32), "float32", -9, 9, 1)] * 2)


def codes_of(text: str) -> list[str]:
    return [each.code.code for each in check(text)[1]]


@pytest.mark.parametrize("part", ["compute", "read"])
def test_a_block_without_data_is_printed_as_unset(part: str, capsys: Any) -> None:
    """Before its first value, and again after it."""
    name, value = ("y_blk", STORE) if part == "compute" else ("blk", LOAD)
    printing = f"print('before', i, {name}, 'end')\n{value}\nprint('after', {name})"
    text = program(**{part: printing})
    assert codes_of(text) == ["TTL3025"]
    shown = []
    for backend, seed in ENDS:
        capsys.readouterr()
        assert run(text, backend, seed).kind == "ended"
        out, err = capsys.readouterr()
        assert err.count("warning[TTL3025]") == 1
        shown.append(out)
        buffer = "y_dfb" if part == "compute" else "x_dfb"
        for i in range(5):
            first = f"(0, 0) {part}: before {i} the block of `{buffer}` (1, 1) float32:\n"
            assert first + "unset end\n" in out
        assert out.count("unset") == out.count("after") == 5
    assert len(set(shown)) == 1


def test_a_copy_under_way_is_unset() -> None:
    text = program(read="transfer = ttl.copy(x[i, 0], blk)\nprint(blk)\ntransfer.wait()")
    assert codes_of(text) == ["TTL3025"]
    assert all(run(text, *each).kind == "ended" for each in ENDS)


def test_a_block_that_was_released_is_not_printed() -> None:
    text = program().replace(
        "with y_dfb.wait() as blk:\n", "blk = y_dfb.wait()\n            if True:\n"
    )
    text = text.replace(
        "y[i, 0]).wait()", "y[i, 0]).wait()\n                blk.pop()\n                print(blk)"
    )
    assert codes_of(text) == ["TTL3001"]
    assert all(run(text, *each).codes == ("TTL3001",) for each in ENDS)


def test_the_help_of_an_unset_block_is_right() -> None:
    """Print it after the wait() of the copy that writes it."""
    text = program(read=f"{LOAD}\nprint(blk)")
    assert codes_of(text) == []
    assert all(run(text, *each).kind == "ended" for each in ENDS)


def test_data_on_some_paths_only_is_not_compiled() -> None:
    text = program(compute=f"if i % 2:\n    {STORE}\nprint(y_blk)\nif i % 2 == 0:\n    {STORE}")
    assert run(text, "sim").kind == "ended"
    assert run(text, "host").codes == ("TTL7001",)


# Signposts


@pytest.mark.parametrize("part", ["compute", "read"])
def test_a_signpost_is_the_head_of_a_with(part: str) -> None:
    value = STORE if part == "compute" else LOAD
    text = program(**{part: f'ttl.signpost("load")\n{value}'})
    assert codes_of(text) == ["TTL1040"]
    assert all(run(text, *each).codes == ("TTL1040",) for each in ENDS)
    ((found,),) = [check(text)[1]]
    (help_text,) = found.helps
    head = help_text[help_text.index("`") + 1 : help_text.rindex("`")]
    right = program(**{part: f"{head}\n    {value}"})
    assert codes_of(right) == []
    assert all(run(right, *each).kind == "ended" for each in ENDS)


def test_a_signpost_with_a_name_is_entered_later() -> None:
    text = program(read=f'region = ttl.signpost("load")\nwith region:\n    {LOAD}')
    assert codes_of(text) == []
    assert all(run(text, *each).kind == "ended" for each in ENDS)


# A sum in a block that was just reserved starts from 0: MW -> MR


@pytest.mark.parametrize("more", ["", "\ny_blk += x_blk\ny_blk += x_blk"])
def test_a_sum_in_a_new_block_starts_from_nothing(more: str) -> None:
    """In every round, also when the memory of the block was used before."""
    text = program(compute=f"y_blk += x_blk{more}")
    assert codes_of(text) == []
    for backend, seed in ENDS:
        x, y = run(text, backend, seed).results
        np.testing.assert_array_equal(y, x * (3 if more else 1))
