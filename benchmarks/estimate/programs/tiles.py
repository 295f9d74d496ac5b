"""`tiles.py KIND ROWS COLUMNS INPUT OUTPUT GRID_X GRID_Y`: one tile after the other, as ttnn's
element-wise kernels go: tiles are dealt out to the nodes, as even as can be.
"""

import sys

import ttnn

import ttl

KIND, ROWS, COLUMNS, INPUT, OUTPUT, GRID_X, GRID_Y = sys.argv[1:]
GRID = (int(GRID_X), int(GRID_Y))
NODES = GRID[0] * GRID[1]
TILES = int(ROWS) // 32 * (int(COLUMNS) // 32)
WIDTH = int(COLUMNS) // 32
FEW, REST = TILES // NODES, TILES % NODES  # tiles of a node; of the first REST nodes one more


@ttl.operation(grid=GRID)
def unary(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():
        column, row = ttl.node(dims=2)
        node = row * GRID[0] + column
        for _ in range(FEW + (1 if node < REST else 0)):
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                if KIND == "relu":
                    y_blk.store(ttl.math.relu(x_blk))
                elif KIND == "erf":
                    y_blk.store(ttl.math.erf(x_blk))
                elif KIND == "transpose":
                    y_blk.store(ttl.block.transpose(x_blk))
                else:
                    y_blk.store(ttl.math.typecast(x_blk, y.dtype))

    @ttl.datamovement()
    def read():
        column, row = ttl.node(dims=2)
        node = row * GRID[0] + column
        first = node * FEW + (node if node < REST else REST)
        for i in range(FEW + (1 if node < REST else 0)):
            r = (first + i) // WIDTH
            c = (first + i) % WIDTH
            with x_dfb.reserve() as x_blk:
                x_copy = ttl.copy(x[r : r + 1, c : c + 1], x_blk)
                x_copy.wait()

    @ttl.datamovement()
    def write():
        column, row = ttl.node(dims=2)
        node = row * GRID[0] + column
        first = node * FEW + (node if node < REST else REST)
        for i in range(FEW + (1 if node < REST else 0)):
            r = (first + i) // WIDTH
            c = (first + i) % WIDTH
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[r : r + 1, c : c + 1])
                y_copy.wait()


@ttl.operation(grid=GRID)
def add(a, b, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():
        column, row = ttl.node(dims=2)
        node = row * GRID[0] + column
        for _ in range(FEW + (1 if node < REST else 0)):
            with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk + b_blk)

    @ttl.datamovement()
    def read():
        column, row = ttl.node(dims=2)
        node = row * GRID[0] + column
        first = node * FEW + (node if node < REST else REST)
        for i in range(FEW + (1 if node < REST else 0)):
            r = (first + i) // WIDTH
            c = (first + i) % WIDTH
            with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                a_copy = ttl.copy(a[r : r + 1, c : c + 1], a_blk)
                b_copy = ttl.copy(b[r : r + 1, c : c + 1], b_blk)
                a_copy.wait()
                b_copy.wait()

    @ttl.datamovement()
    def write():
        column, row = ttl.node(dims=2)
        node = row * GRID[0] + column
        first = node * FEW + (node if node < REST else REST)
        for i in range(FEW + (1 if node < REST else 0)):
            r = (first + i) // WIDTH
            c = (first + i) % WIDTH
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[r : r + 1, c : c + 1])
                y_copy.wait()


def tensor(dtype):
    shape = (int(ROWS), int(COLUMNS))
    return ttnn.zeros(shape, dtype=getattr(ttnn, dtype), layout=ttnn.TILE_LAYOUT, device=DEVICE)


DEVICE = ttnn.open_device(device_id=0)
if KIND == "add":
    add(tensor(INPUT), tensor(INPUT), tensor(OUTPUT))
else:
    unary(tensor(INPUT), tensor(OUTPUT))
