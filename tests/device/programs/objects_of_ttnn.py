"""Element types, layouts, shapes, memory configs and cores of ttnn, wherever they may stand.

Runs unchanged with the embedded and the real ttnn; prints sums of what the operations write.
"""

import numpy as np
import ttnn

import ttl

KIND = ttnn.float32
FROM = ttnn.CoreCoord(0, 0)
TO = ttnn.CoreRange(ttnn.CoreCoord(1, 0), ttnn.CoreCoord(2, 0))
ROW = ttnn.CoreRangeSet([ttnn.CoreRange(FROM, ttnn.CoreCoord(2, 0))])


@ttl.operation(grid=ttnn.CoreGrid(x=1, y=1), math_fidelity=ttnn.MathFidelity.HiFi4)
def typed(x, y, kind, sizes):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=ttnn.Shape([1, 2]))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=sizes)
    kinds = {ttnn.bfloat16: KIND}

    @ttl.compute()
    def compute():
        rows, columns = x.shape
        with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
            is_narrow = x_blk.dtype == ttnn.bfloat16 and kinds[x_blk.dtype] == y.dtype
            in_tiles = x_blk.layout == x.layout == ttnn.TILE_LAYOUT
            in_dram = x.memory_config().buffer_type == ttnn.BufferType.DRAM
            known = 1 if is_narrow and in_tiles and in_dram else 0
            cores = ROW.num_cores() + ttnn.CoreCoord(2, 5).y + len(x.shape)
            ones = ttl.math.fill(known, shape=ttnn.Shape([1, 2]), dtype=ttnn.float32)
            wide = ttl.math.typecast(x_blk, kind) + ttl.math.typecast(x_blk, dtype=y.dtype)
            added = ttl.math.fill(rows + columns + cores, shape=sizes, dtype=kinds[x.dtype])
            y_blk.store(wide * ones + added)

    @ttl.datamovement()
    def read():
        with x_dfb.reserve() as x_blk:
            copied = ttl.copy(x[0:1, 0:2], x_blk)
            copied.wait()

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as y_blk:
            copied = ttl.copy(y_blk, y[0:1, 0:2])
            copied.wait()


@ttl.operation(grid=lambda x, y: ROW)
def sent(x, y):
    net = ttl.PipeNet([ttl.Pipe(FROM, TO)])
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    arrived = ttl.Semaphore(0)

    @ttl.datamovement()
    def read():
        with dfb.reserve() as block:

            def send(pipe):
                copied = ttl.copy(x[0, 0], block)
                copied.wait()
                passed = ttl.copy(block, pipe)
                passed.wait()

            def receive(pipe):
                received = ttl.copy(pipe, block)
                received.wait()

            net.if_src(send)
            net.if_dst(receive)

    @ttl.datamovement()
    def write():
        column, _ = ttl.node(dims=2)
        with dfb.wait() as block:
            copied = ttl.copy(block, y[column, 0])
            copied.wait()
        arrived.get_remote(FROM).inc(1)
        if column == 0:
            arrived.wait_ge(ROW.num_cores())


@ttl.operation(grid=(2, 1))
def by_node(x, y):
    """Shapes that are made for each node."""
    column, _ = ttl.node(dims=2)
    place, same = ttnn.Shape([column, 1]), ttnn.Shape([1, 1])
    dfb = ttl.make_dataflow_buffer_like(x, shape=same)

    @ttl.datamovement()
    def read():
        with dfb.reserve() as block:
            copied = ttl.copy(x[0, column], block)
            copied.wait()

    @ttl.datamovement()
    def write():
        with dfb.wait() as block:
            copied = ttl.copy(block, y[same[0] - 1, 1 - place[0]])
            copied.wait()


def main():
    device = ttnn.open_device(device_id=0)
    numbers = np.random.default_rng(0).uniform(-1, 1, (32, 64))
    x = ttl.from_numpy(numbers, dtype=ttnn.bfloat16, device=device)
    y = ttl.from_numpy(np.zeros((32, 64)), dtype=KIND, layout=ttl.TILE_LAYOUT, device=device)
    for _ in range(2):  # compiled once
        typed(x, y, KIND, ttnn.Shape([1, 2]))
    print("typed", ttl.to_numpy(y).astype(np.float64).sum())
    y = ttl.from_numpy(np.zeros((32, 64)), dtype=ttnn.bfloat16, device=device)
    by_node(x, y)
    print("by_node", (ttl.to_numpy(y) == np.roll(ttl.to_numpy(x), 32, axis=1)).all())
    memory = ttnn.DRAM_MEMORY_CONFIG
    x = ttl.from_numpy(numbers[:, :32], device=device, memory_config=memory)
    y = ttl.from_numpy(np.zeros((96, 32)), dtype=ttnn.float32, device=device)
    sent(x, y)
    print("sent", ttl.to_numpy(y).astype(np.float64).sum())


if __name__ == "__main__":
    main()
