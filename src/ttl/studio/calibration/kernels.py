"""The program that `ttl calibrate` runs: small operations with a signpost around the timed part.

A signpost is named KIND_SIZE_COUNT: `dram_read_2048_16` are 16 reads of 2048 bytes and the wait for
them. `measured.py` looks for these names.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import sys
from collections.abc import Callable

import ttnn

import ttl
from ttl.studio.calibration.measured import LARGE, SMALL, TILE

REPEATS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
Operation = Callable[..., object]
IS_SHORT = sys.argv[2:3] == ["short"]  # enough to see that everything runs
COUNTS = (1, 16) if IS_SHORT else (1, 16, 64)
BYTES = {"bfloat4_b": SMALL, "bfloat16": TILE, "float32": LARGE}  # bytes of a tile
FEW, MANY = 4, 8  # tiles; their difference gives the cost of a tile
FUNCTIONS = ("abs", "exp", "tanh", "sigmoid", "sqrt", "rsqrt", "recip", "gelu", "relu")
FIDELITIES = ("LoFi", "HiFi4")
GRID_TILES = 32


def stream(where: str, dtype: str, tiles: int) -> Operation:
    """Make an operation in which one node reads and writes `tiles` tiles."""
    size = BYTES[dtype]

    @ttl.operation(grid=(1, 1))
    def stream(x, y):
        dfb = ttl.make_dataflow_buffer_like(x, shape=(1, tiles), block_count=1)

        @ttl.datamovement()
        def read():
            with dfb.reserve() as blk, ttl.signpost(f"{where}_read_{size}_{tiles}"):
                x_copy = ttl.copy(x[0:1, 0:tiles], blk)
                x_copy.wait()

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk, ttl.signpost(f"{where}_write_{size}_{tiles}"):
                y_copy = ttl.copy(blk, y[0:1, 0:tiles])
                y_copy.wait()

    return stream


def grid_stream(grid: tuple[int, int]) -> Operation:
    """Make an operation in which every node reads and writes a row of tiles."""

    @ttl.operation(grid=grid)
    def grid_stream(x, y):
        dfb = ttl.make_dataflow_buffer_like(x, shape=(1, GRID_TILES), block_count=1)

        @ttl.datamovement()
        def read():
            column, row = ttl.node(dims=2)
            node = row * grid[0] + column
            with dfb.reserve() as blk, ttl.signpost(f"grid_read_{TILE}_{GRID_TILES}"):
                x_copy = ttl.copy(x[node : node + 1, 0:GRID_TILES], blk)
                x_copy.wait()

        @ttl.datamovement()
        def write():
            column, row = ttl.node(dims=2)
            node = row * grid[0] + column
            with dfb.wait() as blk, ttl.signpost(f"grid_write_{TILE}_{GRID_TILES}"):
                y_copy = ttl.copy(blk, y[node : node + 1, 0:GRID_TILES])
                y_copy.wait()

    return grid_stream


def function(name: str, tiles: int) -> Operation:
    """Make an operation y = f(x) on `tiles` tiles."""
    applied = getattr(ttl.math, name)

    @ttl.operation(grid=(1, 1))
    def function(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, tiles), block_count=1)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, tiles), block_count=1)

        @ttl.compute()
        def compute():
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:  # noqa: SIM117
                with ttl.signpost(f"{name}_{TILE}_{tiles}"):
                    y_blk.store(applied(x_blk))

        @ttl.datamovement()
        def read():
            with x_dfb.reserve() as x_blk:
                x_copy = ttl.copy(x[0:1, 0:tiles], x_blk)
                x_copy.wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[0:1, 0:tiles])
                y_copy.wait()

    return function


def product(fidelity: str, depth: int) -> Operation:
    """Make an operation with 2 x 2 tiles of y, each a sum of `depth` products."""

    @ttl.operation(grid=(1, 1), math_fidelity=fidelity, fp32_dest_acc_en=False)
    def product(a, b, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(2, depth), block_count=1)
        b_dfb = ttl.make_dataflow_buffer_like(b, shape=(depth, 2), block_count=1)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(2, 2), block_count=1)

        @ttl.compute()
        def compute():
            with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:  # noqa: SIM117
                with ttl.signpost(f"{fidelity}_{TILE}_{4 * depth}"):
                    y_blk.store(a_blk @ b_blk)

        @ttl.datamovement()
        def read():
            with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                a_copy = ttl.copy(a[0:2, 0:depth], a_blk)
                b_copy = ttl.copy(b[0:depth, 0:2], b_blk)
                a_copy.wait()
                b_copy.wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[0:2, 0:2])
                y_copy.wait()

    return product


def ones(
    device: object, rows: int, columns: int, dtype: str = "bfloat16", memory: object = None
) -> object:
    return ttnn.ones(
        (32 * rows, 32 * columns),
        dtype=getattr(ttnn, dtype),
        layout=ttnn.TILE_LAYOUT,
        device=device,
        memory_config=memory or ttnn.DRAM_MEMORY_CONFIG,
    )


def main() -> None:
    device = ttnn.open_device(device_id=0)
    read_log = getattr(ttnn, "ReadDeviceProfiler", None)  # the embedded ttnn has no device

    def run(operation: Operation, *tensors: object) -> None:
        for _ in range(REPEATS):
            operation(*tensors)
        if read_log is not None:
            read_log(device)

    places = {"dram": ttnn.DRAM_MEMORY_CONFIG, "l1": ttnn.L1_MEMORY_CONFIG}
    for where, memory in places.items():
        for dtype in BYTES:
            for tiles in COUNTS:
                x, y = (ones(device, 1, tiles, dtype, memory) for _ in range(2))
                run(stream(where, dtype, tiles), x, y)
    for name in FUNCTIONS[:1] if IS_SHORT else FUNCTIONS:
        for tiles in (FEW, MANY):
            run(function(name, tiles), ones(device, 1, tiles), ones(device, 1, tiles))
    for fidelity in FIDELITIES:
        for depth in (FEW, MANY):
            a, b = ones(device, 2, depth), ones(device, depth, 2)
            run(product(fidelity, depth), a, b, ones(device, 2, 2))
    size = device.compute_with_storage_grid_size()
    nodes = size.x * size.y
    x, y = (ones(device, nodes, GRID_TILES) for _ in range(2))
    run(grid_stream((size.x, size.y)), x, y)
    ttnn.close_device(device)


if __name__ == "__main__":
    main()
