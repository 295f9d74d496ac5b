"""The specification's tensor slice and upsample examples, completed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ttl
from conformance.harness import empty, numbers, run, tensor
from ttl import ttnn


@ttl.operation(grid=(2, 2))
def sliced(A, Y):
    """Columns of tiles shared out to the nodes, in blocks of two rows; the body asks for node()."""
    g = 2  # granularity
    a_dfb = ttl.make_dataflow_buffer_like(A, shape=(g, 1))

    row_tiles = A.shape[0] // ttl.TILE_SHAPE[0]
    col_tiles = A.shape[1] // ttl.TILE_SHAPE[1]
    cols_per_node = math.ceil(col_tiles / (ttl.grid_size(dims=1)))

    node_num = ttl.node(dims=1)
    start_ct = node_num * cols_per_node
    end_ct = min(start_ct + cols_per_node, col_tiles)

    @ttl.datamovement()
    def dm():
        for ct in range(start_ct, end_ct):
            for rt in range(row_tiles // g):
                # acquire a_blk from a_dfb:
                with a_dfb.reserve() as a_blk:
                    # then copy from a tensor slice of matching shape:
                    row_slice = slice(rt * g, (rt + 1) * g)  # explicit row slice
                    a_xf = ttl.copy(
                        A[row_slice, ct : ct + 1],  # in-line col slice
                        a_blk,
                    )
                    a_xf.wait()

    @ttl.datamovement()
    def write():
        for ct in range(start_ct, end_ct):
            for rt in range(row_tiles // g):
                with a_dfb.wait() as a_blk:
                    ttl.copy(a_blk, Y[rt * g : (rt + 1) * g, ct : ct + 1]).wait()


@pytest.mark.rule("tensor-slices", "node")
def test_tensor_slices():
    values = numbers(128, 224)
    run(sliced, tensor(values), y := empty(128, 224))
    assert np.array_equal(ttnn.to_numpy(y), values)


@ttl.operation(grid=(1, 1))
def upsample(input_images, output_images, scale_y: int, scale_x: int):
    """Nearest neighbour upsample of row-major images."""
    scale_factor = (scale_y, scale_x)
    N, HI, WI, C = input_images.shape
    io_dfb = ttl.make_dataflow_buffer_like(input_images, shape=(C,), block_count=2)

    @ttl.datamovement()
    def reader():
        for n in range(N):
            for hi in range(HI):
                for wi in range(WI):
                    with io_dfb.reserve() as io_blk:
                        # Copy input pixel channels
                        xf = ttl.copy(input_images[n, hi, wi, :], io_blk)
                        xf.wait()

    @ttl.datamovement()
    def writer():
        for n in range(N):
            for hi in range(HI):
                for wi in range(WI):
                    with io_dfb.wait() as io_blk:
                        gxf = ttl.GroupTransfer()
                        for h_sf in range(scale_factor[0]):
                            for w_sf in range(scale_factor[1]):
                                # Copy output pixel channels
                                y, x = hi * scale_factor[0] + h_sf, wi * scale_factor[1] + w_sf
                                xf = ttl.copy(io_blk, output_images[n, y, x, :])
                                # Add transfer handle to a group
                                gxf.add(xf)
                        # Wait for all transfers to complete
                        gxf.wait_all()


@pytest.mark.rule("group-transfer", "row-major-copies", "copy-shapes", "tensor-slices")
@pytest.mark.parametrize("channels", [1, 5, 40])
def test_nearest_neighbour_upsample(channels):
    images = numbers(2, 3, 4, channels)
    y = empty(2, 6, 12, channels, layout=ttnn.ROW_MAJOR_LAYOUT)
    run(upsample, tensor(images, layout=ttnn.ROW_MAJOR_LAYOUT), y, scale_y=2, scale_x=3)
    assert np.array_equal(ttnn.to_numpy(y), images.repeat(2, axis=1).repeat(3, axis=2))
