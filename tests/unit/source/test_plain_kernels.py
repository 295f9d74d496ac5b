"""Which kernels a quick look is enough for: they leave out nothing, and none is missed."""

from __future__ import annotations

import ast
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import ttl
from ttl.language.buffer import DataflowBuffer
from ttl.source.plain_kernels import leaves_out_nothing

A_DFB: Any = object.__new__(DataflowBuffer)
TENSOR = ttl.from_numpy(np.zeros((32, 32), np.float32))


def helper(x: Any) -> Any:
    return x


AROUND = {
    "ttl": ttl, "a_dfb": A_DFB, "y": TENSOR, "COUNT": 4, "helper": helper, "helpers": [helper],
}  # fmt: skip

PLAIN = (
    """
    with a_dfb.wait() as blk, a_dfb.reserve() as out:
        out.store(ttl.math.exp(blk) + COUNT)
    """,
    """
    column, row = ttl.node(dims=2)
    for i in range(COUNT):
        with a_dfb.reserve() as blk:
            t = ttl.copy(y[row, i : i + 1], blk)
            u = ttl.copy(y[row, i], blk)
            t.wait()
            u.wait()
    """,
    """
    total = ttl.block.fill(0.0, shape=(1, 1))
    with a_dfb.wait() as blk:
        if COUNT > 2:
            total += blk @ blk
        else:
            ttl.copy(blk, y[0, 0]).wait()
    """,
)
NOT_PLAIN = (
    "blk = a_dfb.wait()",  # rule BLOCK
    "with a_dfb.wait() as blk, blk.other() as b: pass",
    "with y.wait() as blk: pass",
    "wait = a_dfb.wait",
    "ttl.copy(a_dfb, y[0, 0])",  # rule TRANSFER
    "t = ttl.copy(a_dfb, y[0, 0])",
    "t = ttl.copy(a_dfb, y[0, 0])\nt = ttl.copy(a_dfb, y[0, 0])\nt.wait()",
    "t = ttl.copy(a_dfb, y[0, 0])\nu = t\nt.wait()",
    "t = ttl.copy(a_dfb, y[0, 0])\nif COUNT: t.wait()",
    "with a_dfb.wait() as b:\n    t = ttl.copy(b, y[0, 0])\nt.wait()",
    "t, u = ttl.copy(a_dfb, y[0, 0]), 1\nt.wait()",
    "print(ttl.copy(a_dfb, y[0, 0]))",
    "t = ttl.copy(ttl.copy(a_dfb, y), y)\nt.wait()",
    "a_dfb.pop()",
    "helper(1)",  # rule CALL
    "helpers[0](1)",
    "x = helper",
    "x = ttl.copy\nx(a_dfb, y)",
    "print(unknown)",
    "for i in range(COUNT):\n    break",  # rule PATH
    "return",
    "while COUNT: pass",
    "def inner(): pass",
    "x = [i for i in range(COUNT)]",
    "x = lambda: 1",
    "global COUNT\nCOUNT = 1",
    "y[0] = 1",
    "yield",
)


def is_plain(body: str, parameters: str = "") -> bool:
    text = f"def kernel({parameters}):\n" + "\n".join(
        f"    {line}" for line in dedent(body).strip().splitlines()
    )
    names = dict(AROUND)
    exec(text, names)
    return leaves_out_nothing(names["kernel"], ast.parse(text).body[0])


@pytest.mark.parametrize("body", PLAIN)
def test_a_kernel_that_finishes_what_it_starts(body: str) -> None:
    assert is_plain(body)
    for parameters in ("given", "*given", "**given", "*, given"):
        assert not is_plain(body, parameters)


@pytest.mark.parametrize("body", NOT_PLAIN)
def test_another_is_read_as_a_whole(body: str) -> None:
    assert not is_plain(body)


@pytest.mark.parametrize("number", range(len(PLAIN)))
def test_without_one_of_its_lines_that_wait_it_is_another(number: int) -> None:
    lines = PLAIN[number].splitlines()
    for index, line in enumerate(lines):
        if line.strip().endswith(".wait()"):
            without = line.replace(".wait()", "")
            assert not is_plain("\n".join((*lines[:index], without, *lines[index + 1 :])))
