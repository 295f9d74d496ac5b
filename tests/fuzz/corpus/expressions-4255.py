# fuzz: {"kind": "expressions", "seed": 4255, "failure": "the reference fails: TypeError(\"unsupported operand type(s) for ^: 'Block' and 'Block'\")"}
import ttl
import ttnn

@ttl.operation(grid=(1, 1))
def operation(a, b, w, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 2), block_count=1)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 2), block_count=1)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 2), block_count=1)

    @ttl.compute()
    def compute():
        with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
            with y_dfb.reserve() as y_blk:
                y_blk.store(a_blk)
            with y_dfb.reserve() as y_blk:
                y_blk.store(ttl.math.where(b_blk // 7 > b_blk, b_blk // 7, a_blk ^ b_blk))
            with y_dfb.reserve() as y_blk:
                y_blk.store(ttl.math.min(ttl.math.max(b_blk, b_blk), a_blk))
            with y_dfb.reserve() as y_blk:
                y_blk.store(ttl.math.relu(ttl.math.rsub(b_blk, b_blk)))
            with y_dfb.reserve() as y_blk:
                y_blk.store(a_blk + b_blk)

    @ttl.datamovement()
    def read():
        for i in range(1):
            with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                ttl.copy(a[i * 1:i * 1 + 1, 0:2], a_blk).wait()
                ttl.copy(b[i * 1:i * 1 + 1, 0:2], b_blk).wait()

    @ttl.datamovement()
    def write():
        for i in range(5):
            with y_dfb.wait() as y_blk:
                pass

INPUTS = [((32, 64), 'int32', -2147483648, 2147483648, 1), ((32, 64), 'int32', -2147483648, 2147483648, 1), ((64, 64), 'int32', -2147483648, 2147483648, 1), ((160, 64), 'int32', 0, 2, 1)]
MESH = None
EXACT = True


def make_tensors():
    """Shapes, formats, and numbers from low to high, divided by scale."""
    import numpy as np

    import ttnn

    device = ttnn.open_mesh_device(ttnn.MeshShape(*MESH)) if MESH else ttnn.open_device(device_id=0)
    options = {"mesh_mapper": ttnn.ShardTensorToMesh(device, dim=0)} if MESH else {}
    generator, tensors = np.random.default_rng(5), []
    for shape, dtype, low, high, scale in INPUTS:
        values = generator.integers(low, high, shape)
        values = values if scale == 1 else (values / scale).astype(np.float32)
        made = ttl.from_numpy(values, dtype=getattr(ttnn, dtype), device=device, **options)
        tensors.append(made)
    return tensors


if __name__ == "__main__":
    operation(*make_tensors())
