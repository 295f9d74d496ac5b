"""300 random whole programs: the compiled kernels write what the simulator writes."""

from __future__ import annotations

import linecache
from functools import cache
from itertools import count

import numpy as np
import pytest

import ttl
from property.drawn import drawn
from property.programs import (
    COLUMNS,
    PART_COLUMNS,
    PART_ROWS,
    ROWS,
    Program,
    operation_text,
    programs,
)
from ttl import ttnn
from ttl.language import Operation

DEVICE = ttnn.open_device(device_id=0)
NUMBERS = count()
COUNT = 300
TOGETHER = 10  # programs in one operation
GRIDS = ((1, 1), (2, 1))


@cache
def all_programs() -> list[Program]:
    return drawn(programs(), COUNT)


def load(text: str) -> Operation:
    """The operation of a program, whose source the compiler finds as it finds a notebook's."""
    name = f"<program {next(NUMBERS)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, object] = {}
    exec(compile(text, name, "exec"), namespace)
    operation = namespace["operation"]
    assert isinstance(operation, Operation)
    return operation


def run(text: str, tile_rows: int, backend: str) -> np.ndarray:
    values = np.random.default_rng(5).integers(-4, 5, (ROWS * 32, COLUMNS * 32))
    x = ttl.from_numpy(values.astype(np.float32), dtype=ttnn.float32, device=DEVICE)
    y = ttnn.zeros(
        (tile_rows * 32, PART_COLUMNS * 32),
        dtype=ttnn.float32,
        layout=ttnn.TILE_LAYOUT,
        device=DEVICE,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTL_BACKEND", backend)
        load(text)(x, y)
    return ttl.to_numpy(y)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", range(COUNT // TOGETHER))
def test_simulator_and_host_agree(number: int) -> None:
    parts = all_programs()[number * TOGETHER :][:TOGETHER]
    grid = GRIDS[number % len(GRIDS)]
    text = operation_text(parts, grid)
    simulated, compiled = (
        run(text, PART_ROWS * TOGETHER * grid[0], backend) for backend in ("sim", "host")
    )
    height = PART_ROWS * 32
    for row in range(0, len(simulated), height):
        part = parts[row // height % TOGETHER]
        alone = operation_text([part], grid)
        np.testing.assert_array_equal(
            compiled[row : row + height], simulated[row : row + height], err_msg=alone
        )
