"""One mistake has one code, whoever finds it: the simulator, the check, or compiled kernels."""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import pytest

from golden.example_programs import TARGET, load_file
from ttl import ttnn
from ttl.config import process_variables
from ttl.diagnostics import TTLError
from ttl.diagnostics.pages import PAGES
from ttl.driver.check import check_operation

ROW = re.compile(r"\|---\|---\|---\|\n\| (.*?) \| (.*?) \| (.*?) \|")
NOT_A_MISTAKE = {"nothing", "TTL5006"}  # TTL5006: a note that something is not proven
# Pages whose programs have another mistake too, which compiling finds first.
BESIDE = {"TTL3007": {"TTL1016"}}


@pytest.mark.parametrize("page", sorted(PAGES.glob("TTL*.md")), ids=lambda page: page.stem)
def test_every_backend_finds_the_code_of_the_page(page: Path) -> None:
    for row in ROW.findall(page.read_text(encoding="utf-8")):
        cells = [set(cell.split(", ")) - NOT_A_MISTAKE for cell in row]
        alike = set.intersection(*cells)  # another mistake of the program, which all find
        found = set.union(*cells) - alike - {page.stem}
        assert found <= BESIDE.get(page.stem, set()), row


# What Python itself refuses when a kernel runs, and what ends it. Each is the body of a kernel.
BODIES = {
    "import nowhere": "TTL5002",
    "for i in range(1, 2, 0):\n            pass": "TTL5002",
    "range()": "TTL5002",
    "helper()": "TTL5002",
    "assert SIZE == 3": "TTL5002",
    "half = SIZE // 0": "TTL5002",
    "half = row // 0": "TTL5002",
    "half = ~(row + 0.5)": "TTL5002",
    "half = (row + 0.5) << 1": "TTL5002",
    "x = {'one': 1}['two']": "TTL5002",
    "one, two, three = ttl.node(dims=2)": "TTL5002",
    "one, two = row": "TTL5002",
    "x = list(zip((1, 2), (1,), strict=True))": "TTL5002",
    "raise ValueError('no')": "TTL5002",
    "raise ValueError": "TTL5002",
    "raise 3": "TTL5002",
    "raise": "TTL5002",
    "x = later\n        later = 1": "TTL5002",
    "if SIZE == 3:\n            other = 1\n        x = other": "TTL5002",
    "x = SIZE.missing": "TTL5002",
    "from math import missing": "TTL5002",
    "import sys\n        sys.exit(3)": "TTL5002",
    "raise KeyboardInterrupt": "TTL5002",
    "raise BaseException('no')": "TTL5002",
    "x = row.missing": "TTL5002",
    "row.y = 3": "TTL5002",
    "row.real = 3": "TTL5002",
    "row.y += 3": "TTL5002",
    "del row.y": "TTL5002",
    "row[0] = 3": "TTL5002",
    "del row[0]": "TTL5002",
    "SIZE.y = 3": "TTL5002",
    "SIZE[0] = 3": "TTL5002",
    "x = (1, 2)\n        x[0] = 3": "TTL5002",
    "x = [1, 2]\n        x.y = 3": "TTL5002",
    "with dfb.reserve() as blk:\n            blk.y = 3": "TTL1004",
    "x = dict(5)": "TTL5002",
    "for i in row:\n            pass": "TTL5002",
    "net.if_src(lambda: None)": "TTL1003",
    "net.if_src(row)": "TTL1003",
    "x = missing": "TTL1004",
    "while True:\n            with dfb.wait():\n                pass": "TTL5001",
}
PROGRAM = """import ttl

SIZE = 2


def helper(block):
    return block


@ttl.operation(grid=(1, 2))
def operation(a):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    net = ttl.PipeNet([ttl.Pipe((0, 0), (0, 1))])

    @ttl.datamovement()
    def read():
        column, row = ttl.node(dims=2)
        BODY
"""


# A block in the place of something else.
OF_BLOCKS = (
    "x = min(blk)",
    "x = max(blk)",
    "x = sum(blk)",
    "x = sorted(blk)",
    "x = range(blk)",
    "x = range(0, blk)",
    "x = int(blk)",
    "x = float(blk)",
    "x = list(blk)",
    "x = dict(blk)",
    "x = divmod(blk, 2)",
    "x = blk()",
    "x = 1 in blk",
    "x = not blk",
    "x = ~blk",
    "x = blk << 1",
    "x = 2 ** blk",
    "x = blk and 1",
    "x, y = blk",
    "x = [*blk]",
    "blk -= 1",
    "assert blk",
    "for x in blk: pass",
    "while blk: pass",
    "import math; x = math.exp(blk)",
    "import numpy; x = numpy.exp(blk)",
    "x = [i for i in a[0, 0]]",
)
INDEXED = (
    "x = blk[0]",
    "x = blk[row]",
    "x = blk[0, 0]",
    "x = blk[0:1]",
    "x = blk[:, 0:1]",
    "blk[0] = 1",
    "blk[0, 0] += 1",
    "del blk[0]",
    "x = a[0, 0][0]",
)
LATE = "if row == 1:\n            raise ValueError('late')"


def found_by(backends: tuple[str, ...], body: str, folder: Path, text: str = PROGRAM) -> list[str]:
    """The first code that each reports; `check` is the compiler without a run."""
    path = folder / "program.py"
    path.write_text(text.replace("BODY", body))
    linecache.clearcache()
    operation = load_file(path).operation
    device = ttnn.open_device(device_id=0)
    tensor = ttnn.zeros((32, 32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    found = []
    for backend in backends:
        if backend == "check":
            program = operation.program((tensor,), {}, TARGET.default_grid)
            found.append(check_operation(program, TARGET)[0].code.code)
            continue
        with process_variables({"TTL_BACKEND": backend}), pytest.raises(TTLError) as caught:
            operation(tensor)
        found.append(caught.value.code)
    return found


@pytest.mark.parametrize("body", BODIES)
def test_a_kernel_that_python_refuses(body: str, tmp_path: Path) -> None:
    assert found_by(("sim", "check"), body, tmp_path) == [BODIES[body]] * 2


@pytest.mark.parametrize("use", OF_BLOCKS)
def test_a_block_for_something_else(use: str, tmp_path: Path) -> None:
    body = f"with dfb.reserve() as blk:\n            {use}"
    assert found_by(("sim", "host", "check"), body, tmp_path) == ["TTL1042"] * 3


@pytest.mark.parametrize("call", ["store(2)", "push()", "pop()", "store(2, acc=True)"])
def test_an_expression_has_no_methods_of_blocks(call: str, tmp_path: Path) -> None:
    """`blk = blk + blk` in a `with`: the name is no block any more."""
    lines = ("with dfb.reserve() as blk:", "blk.store(ttl.math.fill(1.0))", "blk = blk + blk")
    body = "\n            ".join([*lines, f"blk.{call}"])
    text = PROGRAM.replace("datamovement", "compute")
    assert found_by(("sim", "host", "check"), body, tmp_path, text) == ["TTL1004"] * 3


@pytest.mark.parametrize("use", INDEXED)
def test_a_block_that_is_indexed(use: str, tmp_path: Path) -> None:
    body = f"with dfb.reserve() as blk:\n            {use}"
    assert found_by(("sim", "host", "check"), body, tmp_path) == ["TTL1041"] * 3


def test_an_exception_that_only_the_run_knows_of(tmp_path: Path) -> None:
    assert found_by(("sim", "host"), LATE, tmp_path) == ["TTL5002"] * 2
