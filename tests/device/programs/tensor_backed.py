"""Dataflow buffers in the shards of tensors: whole, from an offset on, and in place.

Runs unchanged with the embedded and the real ttnn; prints sums of what the operations write.
"""

import numpy as np
import ttnn

import ttl

CORES = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, 0))])
SHARDS = ttnn.MemoryConfig(
    ttnn.TensorMemoryLayout.HEIGHT_SHARDED,
    ttnn.BufferType.L1,
    ttnn.ShardSpec(CORES, (64, 64), ttnn.ShardOrientation.ROW_MAJOR),
)


def doubled_from(tile):
    @ttl.operation(grid=(2, 1))
    def doubled(x, y):
        tile_bytes = 4096 if x.dtype == ttnn.float32 else 2048
        offset = {"byte_offset": tile * tile_bytes}
        x_dfb = ttl.make_tensor_backed_dfb(x, shape=(1, 2), block_count=2 - tile // 2, **offset)
        y_dfb = ttl.make_tensor_backed_dfb(y, shape=(1, 2), block_count=2 - tile // 2, **offset)

        @ttl.compute()
        def compute():
            for _ in range(2 - tile // 2):
                with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                    y_blk.store(x_blk + x_blk)

        @ttl.datamovement()
        def publish():
            x_dfb.publish()

    return doubled


def main():
    device = ttnn.open_device(device_id=0)
    numbers = np.random.default_rng(0).uniform(-8, 8, (128, 64))
    for kind in (ttnn.bfloat16, ttnn.float32):
        options = {"dtype": kind, "device": device, "memory_config": SHARDS}
        x, y, z = (ttl.from_numpy(each, **options) for each in (numbers, 0 * numbers, numbers))
        for operation, tensors in (
            (doubled_from(0), (x, y)),
            (doubled_from(0), (z, y)),  # the same program at other addresses
            (doubled_from(2), (y, z)),
            (doubled_from(0), (x, x)),
        ):
            operation(*tensors)
            sums = [ttl.to_numpy(tensor).astype(np.float64).sum() for tensor in tensors]
            print(operation.__name__, *sums)


if __name__ == "__main__":
    main()
