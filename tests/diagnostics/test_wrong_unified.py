"""Wrong unified operations: each is caught with its code and line, by every backend; none hangs."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import process_variables
from ttl.diagnostics import TTLError

FRAME = """
import random
import ttnn
import ttl

{around}
@ttl.operation(grid={grid})
def operation(a, b, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)
{body}
"""
LOAD = """\
with a_dfb.reserve() as blk:
    ttl.copy(a[0, 0], blk).wait()
"""
STORE = """\
with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
    y_blk.store(a_blk + 1)
"""
SAVE = """\
with y_dfb.wait() as blk:
    ttl.copy(blk, y[0, 0]).wait()
"""
INNER = """\
@ttl.operation(grid=(1, 1))
def inner(x, x_dfb):
    with x_dfb.reserve() as blk:
        ttl.copy(x[0, 0], blk).wait()
"""
MARK = "  # <-"


@dataclass(frozen=True)
class Wrong:
    """A body; `# <-` marks the line that the error names."""

    name: str
    code: str
    body: str
    around: str = ""
    grid: tuple[int, int] = (1, 1)
    calls: str = "operation"

    def __str__(self) -> str:
        return self.name

    @property
    def text(self) -> str:
        body = indent(self.body, "    ")
        return FRAME.format(around=self.around, grid=self.grid, body=body)

    @property
    def line(self) -> int:
        marked = [n for n, line in enumerate(self.text.splitlines(), 1) if line.endswith("# <-")]
        assert len(marked) == 1, self.name
        return marked[0]


def _wrong() -> Iterator[Wrong]:
    yield Wrong(
        "a value is copied",
        "TTL1021",
        LOAD
        + """\
with a_dfb.wait() as a_blk:
    ttl.copy(a_blk + a_blk, y[0, 0]).wait()  # <-
""",
    )
    yield Wrong(
        "a named value is copied",
        "TTL1021",
        LOAD
        + """\
with a_dfb.wait() as a_blk:
    value = a_blk * 2
    ttl.copy(value, y[0, 0]).wait()  # <-
""",
    )
    yield Wrong(
        "a function moves and computes",
        "TTL1021",
        LOAD
        + """\
work(a_dfb, a, y_dfb)  # <-
""",
        around="""\
def work(dfb, x, y_dfb):
    with dfb.wait() as blk, y_dfb.reserve() as y_blk:
        ttl.copy(x[0, 0], blk).wait()
        y_blk.store(blk)

""",
    )
    yield Wrong(
        "a slice is stored",
        "TTL1002",
        LOAD
        + """\
with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
    y_blk.store(a_blk + a[0, 0])  # <-
"""
        + SAVE,
    )
    yield Wrong(
        "a block is loaded and computed with",
        "TTL1022",
        """\
with a_dfb.reserve() as blk, y_dfb.reserve() as y_blk:  # <-
    ttl.copy(a[0, 0], blk).wait()
    y_blk.store(blk)
"""
        + SAVE,
    )
    yield Wrong(
        "nobody uses a block",
        "TTL1022",
        LOAD
        + """\
with a_dfb.wait() as a_blk:  # <-
    pass
""",
    )
    yield Wrong(
        "a block is only released",
        "TTL1022",
        LOAD
        + """\
blk = a_dfb.wait()  # <-
blk.pop()
""",
    )
    yield Wrong(
        "a buffer is waited for on two threads",
        "TTL1022",
        LOAD
        + LOAD
        + """\
with a_dfb.wait() as blk:  # <-
    ttl.copy(blk, y[0, 0]).wait()
"""
        + STORE,
    )
    yield Wrong(
        "a block is passed on through an alias",
        "TTL1022",
        LOAD
        + """\
blk = a_dfb.wait()  # <-
same = blk
ttl.copy(same, b[0, 0]).wait()
with y_dfb.reserve() as y_blk:
    y_blk.store(blk)
same.pop()
"""
        + SAVE,
    )
    yield Wrong(
        "a list holds a block for two",
        "TTL1022",
        """\
held = [a_dfb.reserve()]  # <-
ttl.copy(a[0, 0], held[0]).wait()
with y_dfb.reserve() as y_blk:
    y_blk.store(held[0])
held[0].push()
"""
        + SAVE,
    )
    yield Wrong(
        "one block is sent and received",
        "TTL1022",
        """\
net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
blk = a_dfb.reserve()
net.if_src(lambda pipe: ttl.copy(blk, pipe).wait())  # <-
net.if_dst(lambda pipe: ttl.copy(pipe, blk).wait())
blk.push()
"""
        + STORE
        + SAVE,
        grid=(2, 1),
    )
    yield Wrong(
        "a call of something unknown with a block",
        "TTL1023",
        LOAD
        + """\
with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
    y_blk.store(random.choice([a_blk]))  # <-
"""
        + SAVE,
    )
    yield Wrong(
        "a random number in a kernel",
        "TTL1023",
        """\
for i in range(2):
    place = random.randint(i, i)  # <-
    with a_dfb.reserve() as blk:
        ttl.copy(a[0, place], blk).wait()
"""
        + STORE
        + STORE
        + SAVE
        + SAVE,
    )
    yield Wrong(
        "a method of something unknown",
        "TTL1023",
        LOAD
        + STORE
        + SAVE
        + """\
random.Random(0).wait()  # <-
""",
    )
    yield Wrong(
        "a buffer is given to an object",
        "TTL1023",
        LOAD
        + """\
print_it = Keeper(a_dfb)  # <-
"""
        + STORE
        + SAVE,
        around="""\
class Keeper:
    def __init__(self, dfb):
        self.dfb = dfb

""",
    )
    yield Wrong(
        "a kernel beside statements",
        "TTL1024",
        """\
with a_dfb.reserve() as blk:  # <-
    ttl.copy(a[0, 0], blk).wait()

@ttl.compute()
def compute():
    with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
        y_blk.store(a_blk)
""",
    )
    element = (
        LOAD
        + """\
with a_dfb.wait() as blk:
    first = ttl.raw_element_read(blk, 0, 0)
with b_dfb.reserve() as blk:
    ttl.copy(b[0, 0], blk).wait()
"""
    )
    yield Wrong(
        "compute multiplies by an element",
        "TTL1025",
        element
        + """\
with b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
    y_blk.store(b_blk * first)  # <-
"""
        + SAVE,
    )
    yield Wrong(
        "compute depends on an element",
        "TTL1025",
        element
        + """\
with b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
    if first > 0:
        y_blk.store(b_blk)  # <-
    else:
        y_blk.store(b_blk + 1)
"""
        + SAVE,
    )
    yield Wrong(
        "compute counts to an element",
        "TTL1025",
        element
        + """\
count = int(first) + 1
for _ in range(count):
    with b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
        y_blk.store(b_blk)  # <-
"""
        + SAVE,
    )
    branch = """\
for _ in range(2):
    with a_dfb.reserve() as blk:
        ttl.copy(a[0, 0], blk).wait()
        if ttl.raw_element_read(blk, 0, 0) > 0:
            {}
    with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
        y_blk.store(a_blk + 1)  # <-
    with y_dfb.wait() as blk:
        ttl.copy(blk, y[0, 0]).wait()
"""
    for jump in ("break", "continue", "return"):
        yield Wrong(f"an element decides about a {jump}", "TTL1025", branch.format(jump))
    yield Wrong(
        "an element decides what a number is",
        "TTL1025",
        """\
with a_dfb.reserve() as blk:
    ttl.copy(a[0, 0], blk).wait()
    factor = 1
    if ttl.raw_element_read(blk, 0, 0) > 0:
        factor = 2
with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
    y_blk.store(a_blk * factor)  # <-
"""
        + SAVE,
    )
    yield Wrong(
        "a block that compute waits for decides about a copy",
        "TTL1025",
        LOAD
        + """\
if a_dfb.can_wait():
    with b_dfb.reserve() as blk:
        ttl.copy(b[0, 0], blk).wait()  # <-
"""
        + STORE
        + SAVE,
    )
    yield Wrong(
        "an operation calls itself",
        "TTL1026",
        LOAD
        + """\
operation(a, b, y)  # <-
""",
    )
    yield Wrong(
        "two operations call each other",
        "TTL1026",
        LOAD
        + """\
other(a, b, y)
"""
        + STORE
        + SAVE,
        around="""\
@ttl.operation(grid=(1, 1))
def other(a, b, y):
    operation(a, b, y)  # <-

""",
    )
    yield Wrong("a parameter is missing", "TTL1026", "inner(a)  # <-\n" + STORE + SAVE, INNER)
    yield Wrong(
        "a parameter too many", "TTL1026", "inner(a, a_dfb, 1)  # <-\n" + STORE + SAVE, INNER
    )
    yield Wrong(
        "arguments are unpacked",
        "TTL1026",
        "both = (a, a_dfb)\ninner(*both)  # <-\n" + STORE + SAVE,
        INNER,
    )
    yield Wrong(
        "a parameter gets another value",
        "TTL1026",
        "inner(a, a_dfb)\n" + STORE + SAVE,
        INNER.replace("    with", "    x = x  # <-\n    with"),
    )
    yield Wrong(
        "the result of an operation is used",
        "TTL1026",
        "done = inner(a, a_dfb)  # <-\n" + STORE + SAVE,
        INNER,
    )
    yield Wrong(
        "an operation is called in a function",
        "TTL1026",
        "def load():\n    inner(a, a_dfb)  # <-\nload()\n" + STORE + SAVE,
        INNER,
    )
    yield Wrong(
        "a block is given to an operation",
        "TTL1026",
        LOAD
        + """\
with a_dfb.wait() as blk:
    inner(a, blk)  # <-
""",
        INNER,
    )
    yield Wrong(
        "a buffer of a loop is given to an operation",
        "TTL1026",
        """\
dfbs = [a_dfb, b_dfb]
for dfb in dfbs:
    inner(a, dfb)  # <-
"""
        + STORE
        + SAVE,
        INNER,
    )
    yield Wrong(
        "an operation is defined in the body",
        "TTL1026",
        """\
@ttl.operation()
def own(x_dfb):  # <-
    with x_dfb.reserve() as blk:
        ttl.copy(a[0, 0], blk).wait()
own(a_dfb)
"""
        + STORE
        + SAVE,
    )
    yield Wrong(
        "a multi-kernel operation is called",
        "TTL1026",
        "kernels(a)  # <-\n" + LOAD + STORE + SAVE,
        """\
@ttl.operation(grid=(1, 1))
def kernels(a):
    @ttl.datamovement()
    def read():
        pass

""",
    )
    yield Wrong(
        "an operation with a buffer is called",
        "TTL1026",
        LOAD + STORE + SAVE,
        INNER.replace("e() as blk:", "e() as blk:  # <-"),
        calls="inner",
    )
    yield Wrong(
        "a buffer is made in a loop",
        "TTL1001",
        """\
for i in range(2):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))  # <-
    with dfb.reserve() as blk:
        ttl.copy(a[0, 0], blk).wait()
""",
    )
    yield Wrong(
        "a buffer depends on the node",
        "TTL1001",
        """\
node = ttl.node(dims=1)
dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1 + node))  # <-
"""
        + LOAD
        + STORE
        + SAVE,
    )
    yield Wrong(
        "the name of a buffer is used again",
        "TTL1043",
        """\
dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))  # <-
with dfb.reserve() as blk:
    ttl.copy(a[0, 0], blk).wait()
dfb = dfb.wait()
with y_dfb.reserve() as y_blk:
    y_blk.store(dfb)
"""
        + SAVE,
    )
    yield Wrong(
        "an operation returns a value",
        "TTL1043",
        LOAD
        + STORE
        + SAVE
        + """\
return 1  # <-
""",
    )
    yield Wrong(
        "an exception is caught",
        "TTL7003",
        LOAD
        + """\
try:  # <-
    pass
finally:
    pass
"""
        + STORE
        + SAVE,
    )
    yield Wrong(
        "nobody stores",
        "TTL5001",
        LOAD
        + """\
with y_dfb.wait() as blk:  # <-
    ttl.copy(blk, y[0, 0]).wait()
""",
    )
    yield Wrong(
        "shapes differ",
        "TTL2001",
        """\
with a_dfb.reserve() as blk:
    ttl.copy(a[0, 0:2], blk).wait()  # <-
"""
        + STORE
        + SAVE,
    )
    yield Wrong(
        "a name does not exist",
        "TTL1004",
        LOAD
        + """\
with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
    y_blk.store(ttl.math.expp(a_blk))  # <-
"""
        + SAVE,
    )


WRONG = list(_wrong())
DEVICE = ttnn.open_device(device_id=0)


def test_there_are_at_least_thirty() -> None:
    assert len(WRONG) >= 30


def _load(wrong: Wrong, folder: Path) -> ModuleType:
    file = folder / "program.py"
    file.write_text(wrong.text, encoding="utf-8")
    linecache.clearcache()
    module = ModuleType("program")
    exec(compile(wrong.text, str(file), "exec"), module.__dict__)
    return module


def _tensors() -> list[Any]:
    ones = np.ones((32, 64), np.float32)
    return [ttl.from_numpy(ones, dtype=ttnn.bfloat16, device=DEVICE) for _ in range(3)]


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_it_is_caught_where_it_stands(wrong: Wrong, backend: str, tmp_path: Path) -> None:
    module = _load(wrong, tmp_path)
    operation = getattr(module, wrong.calls)
    given = _tensors()[: len(operation.signature.parameters)]
    with process_variables({"TTL_BACKEND": backend}), pytest.raises(TTLError) as caught:
        operation(*given)
    first = caught.value.diagnostics[0]
    assert first.code.code == wrong.code, str(caught.value)
    assert first.primary is not None and first.primary.span.line == wrong.line, str(caught.value)
    assert first.helps, str(caught.value)
    assert not re.search("Traceback", str(caught.value))
