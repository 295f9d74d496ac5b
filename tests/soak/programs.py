"""The operations of the soak: they double a tensor, by many nodes or in many statements."""

from __future__ import annotations

import linecache
from itertools import count
from textwrap import indent
from typing import Any

NUMBERS = count()
TEXT = """\
import ttl


@ttl.operation(grid={grid})
def double(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape={shape}, block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape={shape}, block_count=2)
    height, width = {shape}
    rows = a.shape[0] // 32 // height
    columns = a.shape[1] // 32 // width

    @ttl.compute()
    def compute():
        for _ in range(rows * columns // {nodes}):
            with a_dfb.wait() as block, y_dfb.reserve() as out:
{statements}

    @ttl.datamovement()
    def read():
        first = ttl.node(dims=1)
        for i in range(rows * columns // {nodes}):
            at = i * {nodes} + first
            with a_dfb.reserve() as block:
                row, column = at // columns * height, at % columns * width
                ttl.copy(a[row : row + height, column : column + width], block).wait()

    @ttl.datamovement()
    def write():
        first = ttl.node(dims=1)
        for i in range(rows * columns // {nodes}):
            at = i * {nodes} + first
            with y_dfb.wait() as block:
                row, column = at // columns * height, at % columns * width
                ttl.copy(block, y[row : row + height, column : column + width]).wait()
"""
DOUBLED = "out.store(block + block)"


def doubling(
    grid: tuple[int, ...] = (1, 1), shape: tuple[int, int] = (1, 1), statements: int = 1
) -> Any:
    """An operation that doubles a tensor, whose blocks the nodes divide among them; so many
    statements compute a block, and give the same."""
    nodes = 1
    for size in grid:
        nodes *= size
    body = DOUBLED
    if statements > 1:
        chain = [f"value = value + {(-1) ** n}" for n in range((statements - 2) // 2 * 2)]
        body = "\n".join(["value = block + block", *chain, "out.store(value)"])
    lines = indent(body, " " * 16)
    return _loaded(TEXT.format(grid=grid, shape=shape, nodes=nodes, statements=lines))


def missing_push() -> Any:
    """One that is refused, so that what a refusal leaves is counted, too."""
    text = TEXT.format(grid=(1, 1), shape=(1, 1), nodes=1, statements=" " * 16 + "pass")
    return _loaded(text)


def _loaded(text: str) -> Any:
    name = f"<soak {next(NUMBERS)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {}
    exec(compile(text, name, "exec"), names)
    return names["double"]
