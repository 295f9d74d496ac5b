# fuzz: {"kind": "mutants", "seed": 30063, "failure": "check: internal error: KeyError: '@'"}
import ttl, ttnn
@ttl.operation(grid=(1, 1))
def operation(y):
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
    @ttl.compute()
    def compute():
        with y_dfb.reserve() as out:
            if ttl.node(dims=1) @ 2:
                out.store(ttl.math.fill(1.0))
            else:
                out.store(ttl.math.fill(2.0))
    @ttl.datamovement()
    def write():
        with y_dfb.wait() as blk:
            ttl.copy(blk, y[0, 0]).wait()
operation(ttnn.zeros((32, 32), dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=ttnn.open_device(device_id=0)))
