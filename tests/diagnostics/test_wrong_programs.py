"""Forty-five programs that the public simulator gets wrong or says little about.

Each is caught with a code and a line, or it is legal in the language and gives the right result.
"""

from __future__ import annotations

import linecache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import Severity, TTLError, codes
from ttl.driver import PROCESS_DRIVER
from ttl.driver.remarks import Remarks

DEVICE = ttnn.open_device(device_id=0)

FRAME = """
import ttnn
import ttl

@ttl.operation(grid={grid}{options})
def operation(a, b, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape={shape}, block_count={count})
    b_dfb = ttl.make_dataflow_buffer_like(b, shape={shape}, block_count={count})
    y_dfb = ttl.make_dataflow_buffer_like(y, shape={shape}, block_count={count})
{declare}
    def helper(part, block):
        ttl.copy(part, block).wait()

    @ttl.compute()
    def compute():
{compute}

    @ttl.datamovement()
    def read():
{read}

    @ttl.datamovement()
    def write():
{write}
"""

LOAD_A = """\
with a_dfb.reserve() as blk:
    ttl.copy(a[0, 0], blk).wait()
"""
LOAD_B = LOAD_A.replace("a_dfb", "b_dfb").replace("a[", "b[")
LOAD = LOAD_A + LOAD_B
ADD = """\
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
    y_blk.store(a_blk + b_blk)
"""
COPY_A = """\
with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
    y_blk.store({value})
"""
SAVE = """\
with y_dfb.wait() as blk:
    ttl.copy(blk, y[0, 0]).wait()
"""
NET = "net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])"
SEND = """\
def send(pipe):
    with a_dfb.reserve() as blk:
        ttl.copy(a[0, 0], blk).wait()
        ttl.copy(blk, pipe).wait()
net.if_src(send)
"""
RECEIVE = """\
def receive(pipe):
    with a_dfb.reserve() as blk:
        ttl.copy(pipe, blk).wait()
net.if_dst(receive)
"""
TAKE = """\
with a_dfb.wait() as blk:
    ttl.copy(blk, y[0, ttl.node(dims=1)]).wait()
"""


def on_b(text: str) -> str:
    """The same through another net, with the other tensor and buffer."""
    return text.replace("a_dfb", "b_dfb").replace("a[", "b[").replace("net.", "other.")


A, B = 3.0, 5.0  # what the tensors are full of


def program(
    compute: str = "pass",
    read: str = "pass",
    write: str = "pass",
    *,
    declare: str = "",
    grid: str = "(1, 1)",
    shape: str = "(1, 1)",
    count: int = 2,
    options: str = "",
) -> str:
    def indented(text: str, depth: int) -> str:
        return "\n".join(" " * depth + line for line in text.splitlines())

    return FRAME.format(
        compute=indented(compute, 8),
        read=indented(read, 8),
        write=indented(write, 8),
        declare=indented(declare, 4),
        grid=grid,
        shape=shape,
        count=count,
        options=options,
    )


def copied(value: str, **more: Any) -> str:
    return program(COPY_A.format(value=value), LOAD_A, SAVE, **more)


def loop(text: str, times: int) -> str:
    return f"for i in range({times}):\n" + "".join(f"    {line}\n" for line in text.splitlines())


# Name: the program, then the code it gets or the value every element of y has afterwards.
PROGRAMS: dict[str, tuple[str, str | float]] = {
    "b01 push while a copy is in flight": (
        program(read="blk = a_dfb.reserve()\ntx = ttl.copy(a[0, 0], blk)\nblk.push()\ntx.wait()"),
        "block-state",
    ),
    "b02 no push and no pop": (
        program(
            "a_blk = a_dfb.wait()\ny_blk = y_dfb.reserve()\ny_blk.store(a_blk)",
            "blk = a_dfb.reserve()\nttl.copy(a[0, 0], blk).wait()",
            "blk = y_dfb.wait()\nttl.copy(blk, y[0, 0]).wait()",
        ),
        "supplied",
    ),
    "b03 a (2, 1) slice into a (1, 2) block": (
        program(read=LOAD_A.replace("a[0, 0]", "a[0:2, 0:1]"), shape="(1, 2)"),
        "shape-mismatch",
    ),
    "b04 a 2x2 slice into a 1x1 block": (
        program(read=LOAD_A.replace("a[0, 0]", "a[0:2, 0:2]")),
        "shape-mismatch",
    ),
    "b05 a buffer too small for the pattern": (
        program(
            "with a_dfb.wait() as one, a_dfb.wait() as two, y_dfb.reserve() as y_blk:\n"
            "    y_blk.store(one + two)",
            loop(LOAD_A, 2),
            SAVE,
            count=1,
        ),
        "deadlock",
    ),
    "b06 a wait for what is never sent": (program(ADD, LOAD_A, SAVE), "deadlock"),
    "b07 a double pop": (
        program(
            "a_blk = a_dfb.wait()\nwith y_dfb.reserve() as y_blk:\n    y_blk.store(a_blk)\n"
            "a_blk.pop()\na_blk.pop()",
            loop(LOAD_A, 2),
            SAVE,
        ),
        "block-state",
    ),
    "b08 reading a reserved block": (copied("a_blk + y_blk"), "block-state"),
    "b09 a slice outside the tensor": (
        program(read=LOAD_A.replace("a[0, 0]", "a[2, 0]")),
        "slice-out-of-range",
    ),
    "b10 a pipe without a receiver": (
        program(read=SEND, write=TAKE, declare=NET, grid="(2, 1)"),
        "deadlock",
    ),
    "b11 a receive without a send": (
        program(read=RECEIVE, write=TAKE, declare=NET, grid="(2, 1)"),
        "deadlock",
    ),
    "b12 four megabytes of buffers": (program(count=1000), "l1-budget"),
    "b13 thirty-three buffers": (
        program(
            declare="more = [ttl.make_dataflow_buffer_like(a, shape=(1, 1)) for _ in range(30)]"
        ),
        "too-many-buffers",
    ),
    "b14 an f32 tensor into a bf16 buffer": (
        program(read=LOAD_A).replace("like(a,", "like(y,"),
        "dtype-mismatch",
    ),
    "b15 an uneven grid drops the tail": (
        program(
            read=LOAD_A,
            write="with a_dfb.wait() as blk:\n    ttl.copy(blk, y[ttl.node(dims=1), 0]).wait()",
            grid="(2, 1)",
        ),
        "output-not-covered",
    ),
    "b16 three blocks pushed, two taken": (
        program(loop(COPY_A.format(value="a_blk"), 2), loop(LOAD_A, 3), loop(SAVE, 2), count=4),
        "buffer-leftover",
    ),
    "b17 a store into a waited block": (
        program("with a_dfb.wait() as a_blk:\n    a_blk.store(ttl.math.fill(1))", LOAD_A),
        "overwritten-unread",
    ),
    "b18 use after push": (
        program(
            read="blk = a_dfb.reserve()\nttl.copy(a[0, 0], blk).wait()\nblk.push()\n"
            "ttl.copy(a[0, 0], blk).wait()"
        ),
        "block-state",
    ),
    "b19 two nodes write one tile": (
        copied("a_blk", grid="(2, 1)"),
        "race",
    ),
    "b20 a read and a write of two nodes": (
        program(
            read=LOAD_A.replace("a[0, 0]", "a[0, ttl.node(dims=1)]"),
            write="with a_dfb.wait() as blk:\n    ttl.copy(blk, a[0, 1 - ttl.node(dims=1)]).wait()",
            grid="(2, 1)",
        ),
        "race",
    ),
    "b21 matmul of (1, 2) and (1, 2)": (
        program(ADD.replace("+", "@"), LOAD.replace("[0, 0]", "[0:1, 0:2]"), SAVE, shape="(1, 2)"),
        "matmul-shapes",
    ),
    "b22 a broadcast is missing": (
        program(
            ADD,
            LOAD,
            SAVE,
            declare="a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 2))",
        ).replace("a[0, 0]", "a[0:1, 0:2]"),
        "shape-mismatch",
    ),
    "b23 one data movement kernel (legal)": (
        program(
            COPY_A.format(value="a_blk"),
            LOAD_A + SAVE,
        ).replace("    @ttl.datamovement()\n    def write():\n        pass\n", ""),
        A,
    ),
    "b24 a block times 2.0 (legal)": (copied("a_blk * 2.0"), 2 * A),
    "b25 a message left in a pipe": (
        program(read=loop(SEND, 2) + RECEIVE, write=TAKE, declare=NET, grid="(2, 1)", count=4),
        "deadlock",
    ),
    "b26 two nets on one route (legal)": (
        program(
            "with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:\n"
            "    y_blk.store(b_blk - a_blk)",
            SEND + on_b(SEND) + RECEIVE + on_b(RECEIVE),
            "with y_dfb.wait() as blk:\n    ttl.copy(blk, y[0, 1 - ttl.node(dims=1)]).wait()",
            declare=NET + "\nother = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])",
            grid="(2, 1)",
        ),
        B - A,
    ),
    "b27 overwriting a block after its send (legal)": (
        program(
            read=SEND.replace("pipe).wait()", "pipe).wait()\n        ttl.copy(b[0, 0], blk).wait()")
            + RECEIVE,
            write=TAKE.replace("ttl.node(dims=1)", "1 - ttl.node(dims=1)"),
            declare=NET,
            grid="(2, 1)",
        ),
        A,
    ),
    "b28 a kernel that spins": (program(read="while True:\n    pass"), "spinning"),
    "b29 two consumers": (
        program(
            "with a_dfb.wait() as blk, y_dfb.reserve() as y_blk:\n    y_blk.store(blk)",
            loop(LOAD_A, 2),
            "with a_dfb.wait() as blk:\n    ttl.copy(blk, y[0, 0]).wait()",
        ),
        "buffer-ends",
    ),
    "b30 a pipe that leaves the grid": (
        program(read=SEND, declare=NET.replace("(1, 0)", "(7, 0)"), grid="(2, 1)"),
        "node-outside-grid",
    ),
    "b31 a copy in a compute kernel": (
        program("with a_dfb.reserve() as blk:\n    ttl.copy(a[0, 0], blk).wait()"),
        "wrong-kernel-kind",
    ),
    "b32 a forgotten wait (legal)": (
        program(
            COPY_A.format(value="a_blk"),
            "blk = a_dfb.reserve()\ntx = ttl.copy(a[0, 0], blk)\n",
            SAVE,
        ),
        "supplied",
    ),
    "b33 a copy added to a group (legal)": (
        program(
            COPY_A.format(value="a_blk"),
            "group = ttl.GroupTransfer()\nwith a_dfb.reserve() as blk:\n"
            "    group.add(ttl.copy(a[0, 0], blk))\n    group.wait_all()",
            SAVE,
        ),
        A,
    ),
    "b34 a captured list is written": (
        program(
            read=LOAD_A + "seen.append(1)",
            compute="with a_dfb.wait() as x, y_dfb.reserve() as y_blk:\n    y_blk.store(x)",
            write=SAVE,
            declare="seen = []",
        ),
        "captured-written",
    ),
    "b35 bf16 rounds (legal)": (
        copied("ttl.math.fill(256) + ttl.math.fill(1) + a_blk - a_blk"),
        256.0,
    ),
    "b36 waiting for one's own unpushed block": (
        program(
            read="blk = a_dfb.reserve()\nttl.copy(a[0, 0], blk).wait()\n"
            "with a_dfb.wait() as own:\n    ttl.copy(own, y[0, 0]).wait()\nblk.push()"
        ),
        "deadlock",
    ),
    "b37 options of the compiler (legal)": (
        copied("a_blk", options=', options="--no-ttl-maximize-dst"'),
        A,
    ),
    "b38 a ragged edge": (
        program(
            read="for i in range(0, 3, 2):\n    with a_dfb.reserve() as blk:\n"
            "        ttl.copy(a[0:1, i : i + 2], blk).wait()",
            compute="for _ in range(2):\n    with a_dfb.wait() as x, y_dfb.reserve() as y_blk:\n"
            "        y_blk.store(x)",
            write="for _ in range(2):\n    with y_dfb.wait() as blk:\n"
            "        ttl.copy(blk, y[0:1, 0:2]).wait()",
            shape="(1, 2)",
        ),
        "slice-out-of-range",
    ),
    "b39 padding joins a maximum": (
        copied("ttl.math.reduce_max(a_blk, dims=[-1])").replace("a[0, 0]", "a[1, 1]"),
        "padding-reduced",
    ),
    "b40 two reserves outstanding (legal)": (
        program(
            loop(COPY_A.format(value="a_blk"), 2),
            "one = a_dfb.reserve()\ntwo = a_dfb.reserve()\nttl.copy(a[0, 0], one).wait()\n"
            "ttl.copy(a[0, 0], two).wait()\none.push()\ntwo.push()",
            loop(SAVE, 2),
        ),
        A,
    ),
    "b41 shapes of a pipe differ, in a callback": (
        program(
            read=SEND + RECEIVE.replace("a_dfb", "wide"),
            declare=NET + "\nwide = ttl.make_dataflow_buffer_like(a, shape=(1, 2))",
            grid="(2, 1)",
        ),
        "shape-mismatch",
    ),
    "b42 a shape error in a helper": (
        program(read="with a_dfb.reserve() as blk:\n    helper(a[0:1, 0:2], blk)"),
        "shape-mismatch",
    ),
    "b43 a mismatched copy and a store": (
        program(
            "with a_dfb.wait() as x:\n    x.store(x + x)",
            LOAD_A.replace("a[0, 0]", "a[0:2, 0:1]"),
            shape="(1, 2)",
        ),
        "shape-mismatch",
    ),
    "b44 pushing an unwritten block": (
        program(read="with a_dfb.reserve():\n    pass"),
        "block-state",
    ),
    "b45 use after pop in an expression": (
        program(
            "a_blk = a_dfb.wait()\nwith y_dfb.reserve() as y_blk:\n    y_blk.store(a_blk)\n"
            "    a_blk.pop()\n    y_blk.store(a_blk + y_blk)",
            LOAD_A,
            SAVE,
        ),
        "block-state",
    ),
}

SHAPES = {"b39": (40, 40), "b15": (160, 32), "b38": (32, 96)}
WIDE = ("b26", "b27")  # two nodes write y
SLUGS = {code.slug: code for code in codes.CATALOGUE.values()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_caught_or_right(name: str, tmp_path: Path, monkeypatch, capsys) -> None:
    source, expected = PROGRAMS[name]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(PROCESS_DRIVER, "remarks", Remarks())
    Path("program.py").write_text(source)
    linecache.clearcache()
    module = ModuleType("program")
    said = ""
    number = name[:3]
    size = SHAPES.get(number, (64, 64))
    y_size = size if isinstance(expected, str) else (32, 64 if number in WIDE else 32)
    a, b, y = tensor(size, A, number == "b14"), tensor(size, B), tensor(y_size, 0.0)
    try:
        exec(compile(source, "program.py", "exec"), module.__dict__)
        module.operation(a, b, y)
    except TTLError as error:
        said = str(error)
    said = capsys.readouterr().err + said
    if isinstance(expected, float):
        assert said == ""
        assert (ttl.to_numpy(y)[:32, :32] == expected).all()
    else:
        code = SLUGS[expected]
        assert f"[{code.code}]: " in said, said
        assert "--> program.py:" in said
        assert "= help: " in said or code.severity is Severity.NOTE
        assert "/ttl/" not in said


def tensor(shape: tuple[int, int], value: float, is_float32: bool = False) -> Any:
    dtype = ttnn.float32 if is_float32 else ttnn.bfloat16
    return ttl.from_numpy(np.full(shape, value, np.float32), dtype=dtype, device=DEVICE)


def test_there_are_forty_five() -> None:
    assert sorted(name[:3] for name in PROGRAMS) == [f"b{number:02}" for number in range(1, 46)]
