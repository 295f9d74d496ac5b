"""The ten programs that the specification prints, completed and not corrected.

What they leave out ("write data into blk") is filled in; what they do write stays as it is printed:
sizes of one dimension, `fill(y_blk, 0)`, a result of three dimensions plus a bias of two,
`buffer_factor`. Two of them send and wait before they post: they are refused.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import ttl
from conformance.harness import empty, numbers, refused, run, small, tensor, tile_numbers, tiles
from ttl import grid_size, ttnn

TILE_SIZE = 32
ROW_MAJOR = ttnn.ROW_MAJOR_LAYOUT


# Element-wise with broadcast ----------------------------------------------------------------------


@ttl.operation(grid=(1, 1))
def elementwise(A, B, Y, Z):
    NT = A.shape[0] // TILE_SIZE

    a_dfb = ttl.make_dataflow_buffer_like(A, shape=(1,))
    b_dfb = ttl.make_dataflow_buffer_like(B, shape=(1,))
    y_dfb = ttl.make_dataflow_buffer_like(Y, shape=(1,))
    z_dfb = ttl.make_dataflow_buffer_like(Z, shape=(1,))

    @ttl.datamovement()
    def elwise_read():
        for nt in range(NT):
            # acquire a_blk and b_blk from a_dfb and b_dfb:
            with (
                a_dfb.reserve() as a_blk,
                b_dfb.reserve() as b_blk,
            ):
                # then copy:
                a_xf = ttl.copy(A[nt], a_blk)
                b_xf = ttl.copy(B[0], b_blk)
                a_xf.wait()
                b_xf.wait()

    @ttl.compute()
    def elwise_compute():
        for _ in range(NT):
            with (
                a_dfb.wait() as a_blk,
                b_dfb.wait() as b_blk,
                y_dfb.reserve() as y_blk,
                z_dfb.reserve() as z_blk,
            ):
                # then compute y = sqrt(a^2 + b^2) and z = sqrt(a^2 - b^2):
                a_squared = a_blk**2
                b_squared = b_blk**2
                y = ttl.math.sqrt(a_squared + ttl.math.broadcast(b_squared, y_blk, dims=[0]))
                z = ttl.math.sqrt(a_squared - ttl.math.broadcast(b_squared, z_blk, dims=[0]))
                y_blk.store(y)
                z_blk.store(z)

    @ttl.datamovement()
    def elwise_write():
        for nt in range(NT):
            with (
                y_dfb.wait() as y_blk,
                z_dfb.wait() as z_blk,
            ):
                # then copy:
                y_xf = ttl.copy(y_blk, Y[nt])
                z_xf = ttl.copy(z_blk, Z[nt])
                y_xf.wait()
                z_xf.wait()


@pytest.mark.rule(
    "printed-programs",
    "with-release",
    "several-buffers",
    "broadcast-spellings",
    "broadcast",
    "rows-of-tiles",
)
def test_elementwise_with_broadcast():
    a = np.abs(small(96)) + 10
    run(elementwise, tensor(a), tensor([3.0]), y := empty(96), z := empty(96))
    assert np.allclose(ttl.to_numpy(y), np.sqrt(a**2 + 9), rtol=1e-6)
    assert np.allclose(ttl.to_numpy(z), np.sqrt(a**2 - 9), rtol=1e-6)


# Matmul -------------------------------------------------------------------------------------------


@ttl.operation(grid=(1, 1))
def matmul(A, B, C, Y):
    IT = A.shape[0]
    MT, KT, NT = A.shape[1] // TILE_SIZE, A.shape[2] // TILE_SIZE, B.shape[1] // TILE_SIZE

    a_dfb = ttl.make_dataflow_buffer_like(A, shape=(1, 1, 1))
    b_dfb = ttl.make_dataflow_buffer_like(B, shape=(1, 1))
    c_dfb = ttl.make_dataflow_buffer_like(C, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(Y, shape=(1, 1, 1))

    @ttl.datamovement()
    def matmul_read():
        for it in range(IT):
            for mt in range(MT):
                for nt in range(NT):
                    # acquire c_blk from c_dfb:
                    with c_dfb.reserve() as c_blk:
                        # then copy:
                        c_xf = ttl.copy(C[mt, nt], c_blk)
                        c_xf.wait()
                    for kt in range(KT):
                        with (
                            a_dfb.reserve() as a_blk,
                            b_dfb.reserve() as b_blk,
                        ):
                            # then copy:
                            a_xf = ttl.copy(A[it, mt, kt], a_blk)
                            b_xf = ttl.copy(B[kt, nt], b_blk)
                            a_xf.wait()
                            b_xf.wait()

    @ttl.compute()
    def matmul_compute():
        for _ in range(IT):
            for _ in range(MT):
                for _ in range(NT):
                    # acquire y_blk from y_dfb:
                    with y_dfb.reserve() as y_blk:
                        y = ttl.math.fill(y_blk, 0)
                        for _ in range(KT):
                            with (
                                a_dfb.wait() as a_blk,
                                b_dfb.wait() as b_blk,
                            ):
                                y += a_blk @ b_blk
                        with c_dfb.wait() as c_blk:
                            y = y + c_blk
                        y_blk.store(y)

    @ttl.datamovement()
    def matmul_write():
        for it in range(IT):
            for mt in range(MT):
                for nt in range(NT):
                    with y_dfb.wait() as y_blk:
                        # then copy:
                        y_xf = ttl.copy(y_blk, Y[it, mt, nt])
                        y_xf.wait()


@pytest.mark.rule(
    "printed-programs", "block-expressions", "matmul", "fill-spellings", "copy-shapes"
)
@pytest.mark.parametrize("dtype", [ttnn.float32, ttnn.bfloat16])
def test_matmul_with_bias(dtype):
    a, b, c = small(2, 64, 96), small(96, 64), small(64, 64)
    if dtype is ttnn.bfloat16:
        a, b = np.sign(a), np.sign(b)  # sums stay exact
    y = empty(2, 64, 64, dtype=dtype)
    run(matmul, tensor(a, dtype), tensor(b, dtype), tensor(c, dtype), y)
    assert np.array_equal(ttl.to_numpy(y).astype(np.float32), a @ b + c)


# Pipes --------------------------------------------------------------------------------------------


def every_node(grid):
    """A tile for each node, in the order of node(1)."""
    return tensor(tiles(*range(1, grid[0] * grid[1] + 1)))


@ttl.operation(grid=(4, 3))
def gather(a, out):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

    # gather from row y to (0, y) with unicast
    grid_x, grid_y = ttl.grid_size()
    net = ttl.PipeNet(
        [ttl.Pipe(src=(x, y), dst=(0, y)) for x in range(1, grid_x) for y in range(grid_y)]
    )

    @ttl.datamovement()
    def dm():
        with dfb.reserve() as blk:

            def pipe_src(pipe):
                # write data into blk
                ttl.copy(a[0, ttl.node(dims=1)], blk).wait()
                # then copy blk to pipe:
                xf = ttl.copy(blk, pipe)
                xf.wait()

            def pipe_dst(pipe):
                # copy blk from pipe:
                xf = ttl.copy(pipe, blk)
                xf.wait()
                # then read data from blk
                x, y = pipe.src
                ttl.copy(blk, out[0, x * grid_y + y]).wait()

            net.if_src(pipe_src)
            net.if_dst(pipe_dst)


@pytest.mark.rule("printed-programs")
def test_gather():
    run(gather, every_node((4, 3)), out := tensor(tiles(*[0] * 12)))
    assert tile_numbers(out) == [0, 0, 0, *range(4, 13)]


@ttl.operation(grid=(4, 3))
def scatter(a, out):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

    # scatter from (x, 0) to column x with multicast
    grid_x, grid_y = ttl.grid_size()
    net = ttl.PipeNet([ttl.Pipe(src=(x, 0), dst=(x, slice(1, grid_y))) for x in range(grid_x)])

    @ttl.datamovement()
    def dm():
        with dfb.reserve() as blk:

            def pipe_src(pipe):
                # write data into blk
                ttl.copy(a[0, ttl.node(dims=1)], blk).wait()
                # then copy blk to pipe:
                xf = ttl.copy(blk, pipe)
                xf.wait()

            def pipe_dst(pipe):
                # copy blk from pipe:
                xf = ttl.copy(pipe, blk)
                xf.wait()
                # then read data from blk
                ttl.copy(blk, out[0, ttl.node(dims=1)]).wait()

            net.if_src(pipe_src)
            net.if_dst(pipe_dst)


@pytest.mark.rule("printed-programs")
def test_scatter():
    run(scatter, every_node((4, 3)), out := tensor(tiles(*[0] * 12)))
    assert tile_numbers(out) == [0, 1, 1, 0, 4, 4, 0, 7, 7, 0, 10, 10]


def scatter_gather(grid):
    @ttl.operation(grid=grid)
    def operation(a, out):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        # scatter-gather column x with multicast/loopback
        grid_x, grid_y = ttl.grid_size()
        net = ttl.PipeNet(
            [
                ttl.Pipe(src=(x, y), dst=(x, slice(0, grid_y)))
                for x in range(grid_x)
                for y in range(grid_y)
            ]
        )

        @ttl.datamovement()
        def dm():
            with dfb.reserve() as blk:

                def pipe_src(pipe):
                    # write data into blk
                    ttl.copy(a[0, ttl.node(dims=1)], blk).wait()
                    # then copy blk to pipe:
                    xf = ttl.copy(blk, pipe)
                    xf.wait()

                def pipe_dst(pipe):
                    # copy blk from pipe:
                    xf = ttl.copy(pipe, blk)
                    xf.wait()
                    # then read data from blk
                    ttl.copy(blk, out[0, ttl.node(dims=1)]).wait()

                net.if_src(pipe_src)
                net.if_dst(pipe_dst)

    return operation


def forward(grid):
    @ttl.operation(grid=grid)
    def operation(a, out):
        dfb_to_send = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        dfb_received = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        # forward to a +1 neighbor in a column x
        grid_x, grid_y = ttl.grid_size()
        net = ttl.PipeNet(
            [
                ttl.Pipe(src=(x, y), dst=(x, (y + 1) % grid_y))
                for x in range(grid_x)
                for y in range(grid_y)
            ]
        )

        @ttl.datamovement()
        def dm():
            with (
                dfb_to_send.reserve() as blk_to_send,
                dfb_received.reserve() as blk_received,
            ):

                def pipe_src(pipe):
                    # write data into blk_to_send
                    ttl.copy(a[0, ttl.node(dims=1)], blk_to_send).wait()
                    # then copy blk to blk_to_send:
                    xf = ttl.copy(blk_to_send, pipe)
                    xf.wait()

                def pipe_dst(pipe):
                    # copy blk_received from pipe:
                    xf = ttl.copy(pipe, blk_received)
                    xf.wait()
                    # then read data from blk_received
                    ttl.copy(blk_received, out[0, ttl.node(dims=1)]).wait()

                net.if_src(pipe_src)
                net.if_dst(pipe_dst)

    return operation


@pytest.mark.rule("printed-programs", "send-before-post")
@pytest.mark.parametrize("grid", [(1, 1), (4, 1)])
def test_what_only_its_own_node_receives_runs(grid):
    """The data is in the block already that it sends."""
    out = tensor(tiles(*[0] * grid[0]))
    run(scatter_gather(grid), every_node(grid), out)
    assert tile_numbers(out) == tile_numbers(every_node(grid))


@pytest.mark.rule("printed-programs", "send-before-post")
@pytest.mark.parametrize(
    ("program", "grid"),
    [
        *((scatter_gather, grid) for grid in [(1, 4), (2, 2), (3, 2)]),
        *((forward, grid) for grid in [(1, 1), (1, 4), (4, 1), (3, 2)]),
    ],
)
def test_what_sends_before_it_posts_is_refused(program, grid):
    nodes = grid[0] * grid[1]
    text = refused(program(grid), every_node(grid), empty(32, 32 * nodes), slug="deadlock")
    assert "xf.wait()" in text and "^" in text
    assert "this order works:" in text and "net.if_dst(pipe_dst)" in text


# Tensor slices and copies -------------------------------------------------------------------------


@ttl.operation(grid=(2, 2))
def sliced(A, Y):
    g = 2  # granularity
    a_dfb = ttl.make_dataflow_buffer_like(A, shape=(g, 1))
    row_tiles = A.shape[0] // ttl.TILE_SHAPE[0]
    col_tiles = A.shape[1] // ttl.TILE_SHAPE[1]
    cols_per_node = math.ceil(col_tiles / (grid_size(dims=1)))
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


@pytest.mark.rule("printed-programs", "tensor-slices", "node")
def test_tensor_slices():
    values = numbers(128, 224)
    run(sliced, tensor(values), y := empty(128, 224))
    assert np.array_equal(ttl.to_numpy(y), values)


@ttl.operation(grid=(1, 1))
def upsample(input_images, output_images, scale_factor):
    N, HI, WI, C = input_images.shape
    input_t, output = input_images, output_images

    io_dfb = ttl.make_dataflow_buffer_like(input_images, shape=(C,), buffer_factor=2)

    @ttl.datamovement()
    def reader():
        for n in range(N):
            for hi in range(HI):
                for wi in range(WI):
                    with io_dfb.reserve() as io_blk:
                        # Copy input pixel channels
                        xf = ttl.copy(input_t[n, hi, wi, :], io_blk)
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
                                xf = ttl.copy(
                                    io_blk,
                                    output[
                                        n,
                                        hi * scale_factor[0] + h_sf,
                                        wi * scale_factor[1] + w_sf,
                                        :,
                                    ],
                                )
                                # Add transfer handle to a group
                                gxf.add(xf)
                        # Wait for all transfers to complete
                        gxf.wait_all()


@pytest.mark.rule(
    "printed-programs", "group-transfer", "row-major-copies", "copy-shapes", "tensor-slices"
)
@pytest.mark.parametrize("channels", [1, 5, 40])
def test_nearest_neighbour_upsample(channels):
    images = numbers(2, 3, 4, channels)
    y = empty(2, 6, 12, channels, layout=ROW_MAJOR)
    run(upsample, tensor(images, layout=ROW_MAJOR), y, scale_factor=(2, 3))
    assert np.array_equal(ttl.to_numpy(y), images.repeat(2, axis=1).repeat(3, axis=2))


# Semaphores ---------------------------------------------------------------------------------------


@ttl.operation(grid=(2, 3))
def one_to_many(a, out):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

    node_num = ttl.node(dims=1)
    my_barrier = ttl.Semaphore()
    all_barrier = my_barrier.get_remote_multicast()

    @ttl.datamovement()
    def dm():
        if node_num == 0:
            # do something on node 0 while non-0 nodes wait...
            with dfb.reserve() as blk:
                ttl.copy(a[0, 0], blk).wait()
                ttl.copy(blk, out[0, 0]).wait()
            all_barrier.set(1)
        else:
            my_barrier.wait_eq(1)
            # node 0 is done
            with dfb.reserve() as blk:
                ttl.copy(out[0, 0], blk).wait()
                ttl.copy(blk, out[0, node_num]).wait()


@pytest.mark.rule("printed-programs")
def test_one_to_many_barrier():
    run(one_to_many, tensor(tiles(7)), out := empty(32, 6 * 32))
    assert tile_numbers(out) == [7] * 6


@ttl.operation(grid=(2, 3))
def many_to_one(a, out):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

    node_num = ttl.node(dims=1)
    my_barrier = ttl.Semaphore()
    node_0_barrier = my_barrier.get_remote((0, 0))
    non_0_node_count = grid_size(dims=1) - 1

    @ttl.datamovement()
    def dm():
        if node_num != 0:
            # do something on non-0 nodes while node 0 waits...
            with dfb.reserve() as blk:
                ttl.copy(a[0, node_num], blk).wait()
                ttl.copy(blk, out[0, node_num]).wait()
            node_0_barrier.inc(1)
        else:
            my_barrier.wait_eq(non_0_node_count)
            # non-0 nodes are done
            with dfb.reserve() as blk:
                ttl.copy(out[0, 5], blk).wait()
                ttl.copy(blk, out[0, 0]).wait()


@pytest.mark.rule("printed-programs")
def test_many_to_one_barrier():
    run(many_to_one, every_node((2, 3)), out := empty(32, 6 * 32))
    assert tile_numbers(out) == [6, 2, 3, 4, 5, 6]
