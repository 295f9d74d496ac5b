"""Measures how compile time grows with consecutive loops, statements, and nested loops.

Each size is a process's second compilation of an operation, from Python to C++, in CPU time. The
limits are for machines like those of continuous builds; a size that misses its limit is marked.
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEADER = "| operation | size | statements | compiled, ms | limit, ms |\n|---|---:|---:|---:|---:|"
PROGRAM = """
import ttl

@ttl.operation(grid=(1, 1))
def operation(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

    @ttl.datamovement()
    def read():
{read}

    @ttl.datamovement()
    def write():
{write}
"""
LOOP = ["for i in range(2):", "    with dfb.{0}() as block:", "        ttl.copy({1}).wait()"]


def loops_in_a_row(count: int) -> tuple[list[str], list[str]]:
    read = [line.format("reserve", "a[0, 0], block") for line in LOOP] * count
    return read, [line.format("wait", "block, y[0, 0]") for line in LOOP] * count


def statements(count: int) -> tuple[list[str], list[str]]:
    chain = ["x = ttl.node(dims=1)", *(f"x = x + {number}" for number in range(count))]
    use = ["with dfb.reserve() as block:", "    ttl.copy(a[0, x - x], block).wait()"]
    return [*chain, *use], ["with dfb.wait() as block:", "    ttl.copy(block, y[0, 0]).wait()"]


def loops_in_loops(depth: int) -> tuple[list[str], list[str]]:
    """Make a double-buffered reader: each iteration waits for the previous one's transfer."""
    inside = "    " * depth
    loops = [f"{'    ' * level}for i{level} in range(2):" for level in range(depth)]
    step = [
        "following = dfb.reserve()",
        "next_tx = ttl.copy(a[0, 0], following)",
        "tx.wait()",
        "block.push()",
        "block, tx = following, next_tx",
    ]
    start = ["block = dfb.reserve()", "tx = ttl.copy(a[0, 0], block)"]
    read = [*start, *loops, *(inside + line for line in step), "tx.wait()", "block.push()"]
    write = [
        f"for i in range({2**depth + 1}):",
        *(line.format("wait", "block, y[0, 0]") for line in LOOP[1:]),
    ]
    return read, write


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    make: Any
    sizes: tuple[int, ...]
    limits: tuple[int | None, ...]  # milliseconds


ROWS = (
    Row(
        "loops in a row, each of two kernels",
        loops_in_a_row,
        (1, 10, 50, 100),
        (None, None, None, 1200),
    ),
    Row("statements that build on each other", statements, (100, 500), (None, 400)),
    Row("loops in loops that carry a block", loops_in_loops, (1, 2, 3, 4), (None,) * 4),
)


def table() -> bool:
    """Print the table; return whether all limits were met."""
    print("compiling, CPU time, by size", HEADER, sep="\n", flush=True)
    is_good = True
    for row in ROWS:
        for size, limit in zip(row.sizes, row.limits, strict=True):
            read, write = row.make(size)
            spent = milliseconds(read, write)
            is_good = is_good and (limit is None or spent <= limit)
            mark = "" if limit is None else f"{limit}{' **missed**' if spent > limit else ''}"
            count = len(read) + len(write)
            print(f"| {row.title} | {size} | {count} | {spent:.0f} | {mark} |", flush=True)
    return is_good


def milliseconds(read: list[str], write: list[str]) -> float:
    from ttl.config import Config
    from ttl.driver.compile import compile_operation
    from ttl.target import load

    program, target = _program(read, write), load("wormhole_b0")
    compile_operation(program, target, Config())
    start = time.process_time()
    compile_operation(program, target, Config())
    return (time.process_time() - start) * 1000


def _program(read: list[str], write: list[str]) -> Any:
    import ttnn

    kernels = ("\n".join(f"        {line}" for line in lines) for lines in (read, write))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "operation.py"
        file.write_text(PROGRAM.format(**dict(zip(("read", "write"), kernels, strict=True))))
        spec = importlib.util.spec_from_file_location("operation", file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        device = ttnn.open_device(device_id=0)
        a = ttnn.zeros((32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
        tensors = (a, ttnn.zeros_like(a))
        return module.operation.program(tensors, {}, (8, 8))


if __name__ == "__main__":
    raise SystemExit(not table())
