"""One statement in a kernel, right or wrong: every way ends alike, or refuses with one code.

What is compared, the plugin does while a program runs.
"""

from __future__ import annotations

import linecache
from contextlib import suppress
from pathlib import Path

import pytest

from golden.example_programs import load_file
from ttl import ttnn
from ttl.config import chosen_options
from ttl.diagnostics import TTLError

DEVICE = ttnn.open_device(device_id=0)
PROGRAM = """import ttl

SIZE = 2


def helper(block):
    return block


@ttl.operation(grid=(1, 2))
def operation(a):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    net = ttl.PipeNet([ttl.Pipe((0, 0), (0, 1))])
    sem = ttl.Semaphore(0)

    @ttl.datamovement()
    def read():
        column, row = ttl.node(dims=2)
        BODY
"""
BODIES = (
    "dfb.y = 3",
    "dfb.y += 3",
    "del dfb.y",
    "x = dfb.y",
    "dfb[0] = 3",
    "x = dfb[0]",
    "net.y = 3",
    "x = net.y",
    "net[0]",
    "a.y = 3",
    "x = a.y",
    "sem.y = 3",
    "x = sem.y",
    "x = dfb + 1",
    "x = net + 1",
    "x = a + 1",
    "x = sem + 1",
    "if dfb:\n            pass",
    "if net:\n            pass",
    "if a:\n            pass",
    "for i in dfb:\n            pass",
    "for i in a:\n            pass",
    "for i in net:\n            pass",
    "dfb()",
    "net()",
    "a()",
    "sem()",
    "x = len(dfb)",
    "x = len(a)",
    "x = len(net)",
    "x = int(dfb)",
    "x = float(a)",
    "x = dfb == dfb",
    "x = a == a",
    "x = net < net",
    "x = -dfb",
    "x = not dfb",
    "x = 1 in dfb",
    "print(dfb, net, sem)",
    "x = str(row)",
    "x = f'{row}'",
    "x = [row][3]",
    "x = {row: 1}[5]",
    "x = (1, 2)[row + 5]",
    "x = 'a' + row",
    "x = 'a' * 3",
    "x = row + 'a'",
    "x = row + None",
    "x = row + (1,)",
    "x = row < None",
    "x = row < 'a'",
    "x = row.bit_length()",
    "x = row.foo()",
    "x = abs('a')",
    "x = abs(row, 2)",
    "x = max()",
    "x = max(row)",
    "x = min(row, 'a')",
    "x = round(row, 1, 2)",
    "x = int('a')",
    "x = int(row, 2)",
    "x = range(row, 'a')",
    "x = divmod(row, 0)",
    "x = row % 0",
    "x = row / 0",
    "x = 1 / row",
    "x = 2 ** -row",
    "x = pow(row, 2, 3)",
    "x = row if row else missing",
    "x = sum(row)",
    "x = sorted(row)",
    "x = list(row)",
    "x = tuple(row)",
    "x = set(row)",
    "x = enumerate(row)",
    "x = zip(row)",
    "x = isinstance(row, 3)",
    "x = helper(1, 2)",
    "x = helper()",
    "x = helper(block=1, other=2)",
    "x = helper(1, block=2)",
    "x = lambda: missing\n        x()",
    "with row:\n            pass",
    "with 3:\n            pass",
    "with helper:\n            pass",
    "assert row < 0",
    "assert row < 0, row",
    "raise ValueError(row)",
    "try:\n            pass\n        finally:\n            pass",
    "yield 1",
    "return 1",
    "global SIZE\n        SIZE = 3",
    "import os\n        x = os.getpid()",
    "ttl.copy(a[0, 0], dfb)",
    "ttl.copy(dfb, a[0, 0])",
    "ttl.copy(1, 2)",
    "ttl.copy(a[0, 0], a[0, 0])",
    "ttl.copy()",
    "ttl.copy(a[0], 1, 2)",
    "ttl.wait()",
    "ttl.node(dims=0)",
    "ttl.node(dims='a')",
    "ttl.node(3, 4)",
    "x = ttl.grid_size(dims=0)",
    "x = ttl.foo()",
    "x = ttl.math.foo(1)",
    "x = ttl.math.exp(1)",
    "x = ttl.math.exp(row)",
    "x = ttl.block.fill(1)",
    "dfb.reserve(1)",
    "dfb.wait(1)",
    "dfb.push()",
    "dfb.pop()",
    "dfb.reserve().push()",
    "dfb.reserve().pop()",
    "dfb.wait().push()",
    "x = dfb.reserve()\n        x.wait()",
    "x = dfb.reserve()\n        x.store(1)",
    "x = dfb.reserve()\n        x = x + 1",
    "x = dfb.reserve()\n        x += 1",
    "x = dfb.reserve()\n        x[0, 0] = 1",
    "x = dfb.reserve()\n        ttl.copy(a[0, 0], x).foo()",
    "x = dfb.reserve()\n        ttl.copy(a[0, 0, 0], x).wait()",
    "x = dfb.reserve()\n        ttl.copy(a[0, 'a'], x).wait()",
    "x = dfb.reserve()\n        ttl.copy(a[0, 5], x).wait()",
    "x = dfb.reserve()\n        ttl.copy(a[0, -1], x).wait()",
    "x = dfb.reserve()\n        ttl.copy(a[0:1, 0:1], x).wait()",
    "x = dfb.reserve()\n        ttl.copy(a[0:1:2, 0], x).wait()",
    "x = dfb.reserve()\n        ttl.copy(a[0:2, 0], x).wait()",
    "x = dfb.reserve()\n        ttl.copy(a[0.5, 0], x).wait()",
    "x = dfb.reserve()\n        ttl.copy(a[None, 0], x).wait()",
    "x = dfb.reserve()\n        t = ttl.copy(a[0, 0], x)\n        t.wait()\n        t.wait()",
    "sem.set(1.5)",
    "sem.wait_eq('a')",
    "sem.inc((5, 5))",
    "sem.set(-1)",
    "sem.foo()",
    "sem.wait_eq(row, row)",
    "net.if_src(helper, 3)",
    "net.if_src()",
    "net.foo()",
    "ttl.signpost('a')",
    "ttl.signpost(3)",
    "with ttl.signpost('a'):\n            pass",
    "print(missing)",
    "x = ttl.raw_element_read(dfb, 0, 0)",
    "x = dfb.reserve()\n        y = ttl.raw_element_read(x, 0, 0)",
    "x = dfb.reserve()\n        ttl.raw_element_write(x, 0, 0, 1)",
    "x = dfb.reserve()\n        ttl.raw_element_write(x, 1, 0, 0)",
    "x = dfb.reserve()\n        ttl.raw_element_write(x, 1.0, 40, 0)",
    "match row:\n            case 1:\n                pass",
    "x = [i for i in row]",
    "x: int = 'a'",
    "x = (row := 3)",
    "x = *row, 1",
    "a, b = 1, 2, 3",
    "(a, b) = row",
    "x, *y = (1, 2)\n        z = x + y",
    "x = row @ row",
    "x = row << -1",
    "x = row >> 100",
    "x = row & 1.5",
    "x = ~1.5",
    "x = 'abc'[row + 7]",
    "x = {}\n        x[row] = 1\n        y = x[7]",
    "x = []\n        x.pop()",
    "x = []\n        x.foo()",
    "x = [1]\n        x.remove(5)",
    "x = (1, 2).index(7)",
    "x = 'a'.foo()",
    "x = complex(1)",
    "x = eval('1')",
    "x = type(row)",
    "x = hash(row)",
    "x = id(row)",
    "x = repr(row)",
    "x = getattr(row, 'foo')",
    "setattr(row, 'foo', 1)",
    "x = globals()",
    "x = __name__",
    "x = row.__class__",
    "x = super()",
    "del row\n        x = row",
    "del missing",
    "x = ...\n        y = x + 1",
    "x = True + row\n        assert x > 7",
)


@pytest.mark.sampled(40)
@pytest.mark.parametrize("body", BODIES)
def test_a_statement(body: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.replace("BODY", body), encoding="utf-8")
    linecache.clearcache()
    operation = load_file(file).operation
    for backend in ("sim", "host"):
        tensor = ttnn.zeros((32, 32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
        with chosen_options(backend=backend), suppress(TTLError):
            operation(tensor)
