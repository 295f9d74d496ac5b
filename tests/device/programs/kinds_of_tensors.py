"""Tensors of every element type, in tiles and in rows, whole and padded, in DRAM, L1 and shards.

Runs unchanged with the embedded and the real ttnn; prints sums of what the operations write.
"""

import numpy as np
import ttnn

import ttl

FLOATS = (ttnn.bfloat16, ttnn.float32, ttnn.bfloat8_b, ttnn.bfloat4_b)
INTEGERS = (ttnn.int32, ttnn.uint32, ttnn.uint16)
CORES = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, 0))])
SHARDS = ttnn.MemoryConfig(
    ttnn.TensorMemoryLayout.HEIGHT_SHARDED,
    ttnn.BufferType.L1,
    ttnn.ShardSpec(CORES, (32, 64), ttnn.ShardOrientation.ROW_MAJOR),
)


@ttl.operation(grid=(1, 1))
def doubled(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(2, 2))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(2, 2))

    @ttl.compute()
    def compute():
        with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
            y_blk.store(x_blk + x_blk)

    @ttl.datamovement()
    def read():
        with x_dfb.reserve() as x_blk:
            copied = ttl.copy(x[0:2, 0:2], x_blk)
            copied.wait()

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as y_blk:
            copied = ttl.copy(y_blk, y[0:2, 0:2])
            copied.wait()


@ttl.operation(grid=(1, 1))
def copied_rows(x, y):
    dfb = ttl.make_dataflow_buffer_like(x, shape=(8, 64))

    @ttl.datamovement()
    def read():
        for row in range(0, x.shape[0], 8):
            with dfb.reserve() as block:
                copied = ttl.copy(x[row : row + 8, 0:64], block)
                copied.wait()

    @ttl.datamovement()
    def write():
        for row in range(0, y.shape[0], 8):
            with dfb.wait() as block:
                copied = ttl.copy(block, y[row : row + 8, 0:64])
                copied.wait()


def run(operation, numbers, **options):
    x = ttl.from_numpy(numbers, **options)
    y = ttl.from_numpy(np.zeros(numbers.shape), **options)
    operation(x, y)
    sums = [ttl.to_numpy(tensor).astype(np.float64).sum() for tensor in (x, y)]
    print(operation.__name__, *numbers.shape, *sums)


def main():
    device = ttnn.open_device(device_id=0)
    generator = np.random.default_rng(0)
    for kind in FLOATS:
        for shape in ((64, 64), (40, 50)):
            numbers = generator.uniform(-8, 8, shape)
            run(doubled, numbers, dtype=kind, device=device)
    for kind in INTEGERS:
        run(doubled, generator.integers(0, 1000, (64, 64)), dtype=kind, device=device)
    for memory in (ttnn.DRAM_MEMORY_CONFIG, ttnn.L1_MEMORY_CONFIG, SHARDS):
        numbers = generator.uniform(-8, 8, (64, 64))
        for kind in (ttnn.bfloat16, ttnn.float32):
            options = {"dtype": kind, "device": device, "memory_config": memory}
            run(doubled, numbers, **options)
            run(copied_rows, numbers, layout=ttnn.ROW_MAJOR_LAYOUT, **options)


if __name__ == "__main__":
    main()
