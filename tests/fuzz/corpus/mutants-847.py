# fuzz: {"kind": "mutants", "seed": 847, "failure": "host: TTL5005 without a place: race: tile (0, 0) of `y` is written on node (0, 0) and written on node (1, 0), in no order"}
import numpy as np
import ttnn
import ttl

@ttl.operation(grid=(2, 1))
def move(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

    @ttl.datamovement
    def read():
        with dfb.reserve() as block:
            ttl.copy(a[0, ttl.node(dims=1)], block).wait()

    @ttl.datamovement
    def write():
        with dfb.wait() as block:
            ttl.copy(block, y[0, 0]).wait()
            ttl.copy(block, y[0, 0]).wait()
device = ttnn.open_device(device_id=0)
a = ttl.from_numpy(np.arange(32 * 64).reshape(32, 64), dtype=ttnn.bfloat16, device=device)
move(a, ttnn.zeros((32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device))
