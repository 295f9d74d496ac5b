"""The specification's elementwise and matmul examples, completed."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import empty, run, small, tensor
from ttl import ttnn


@ttl.operation(grid=(1, 1))
def elementwise_with_broadcast(A, B, Y, Z):
    """Y = sqrt(A^2 + B^2), Z = sqrt(A^2 - B^2), as printed."""
    NT = A.shape[0] // ttl.TILE_SIZE
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
                # release a_blk and b_blk

    @ttl.compute()
    def elwise_compute():
        for _ in range(NT):
            with (
                a_dfb.wait() as a_blk,
                b_dfb.wait() as b_blk,
                y_dfb.reserve() as y_blk,
                z_dfb.reserve() as z_blk,
            ):
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
                y_xf = ttl.copy(y_blk, Y[nt])
                z_xf = ttl.copy(z_blk, Z[nt])
                y_xf.wait()
                z_xf.wait()


@pytest.mark.rule(
    "with-release", "several-buffers", "broadcast-spellings", "broadcast", "rows-of-tiles"
)
def test_elementwise_with_broadcast():
    a = np.abs(small(128)) + 10
    b = np.array([3.0], np.float32)
    y, z = empty(128), empty(128)
    run(elementwise_with_broadcast, tensor(a), tensor(b), y, z)
    assert np.allclose(ttnn.to_numpy(y), np.sqrt(a**2 + 9), rtol=1e-6)
    assert np.allclose(ttnn.to_numpy(z), np.sqrt(a**2 - 9), rtol=1e-6)


@ttl.operation(grid=(1, 1))
def matmul_with_bias(A, B, C, Y):
    """Y = A @ B + C; A and Y have a leading dimension, which B and C have not."""
    IT, MT, KT = A.shape[0], A.shape[1] // ttl.TILE_SIZE, A.shape[2] // ttl.TILE_SIZE
    NT = B.shape[1] // ttl.TILE_SIZE
    a_dfb = ttl.make_dataflow_buffer_like(A, shape=(1, 1, 1))
    b_dfb = ttl.make_dataflow_buffer_like(B, shape=(1, 1))
    c_dfb = ttl.make_dataflow_buffer_like(C, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(Y, shape=(1, 1, 1))

    @ttl.datamovement()
    def matmul_read():
        for it in range(IT):
            for mt in range(MT):
                for nt in range(NT):
                    with c_dfb.reserve() as c_blk:
                        c_xf = ttl.copy(C[mt, nt], c_blk)
                        c_xf.wait()
                    for kt in range(KT):
                        with (
                            a_dfb.reserve() as a_blk,
                            b_dfb.reserve() as b_blk,
                        ):
                            a_xf = ttl.copy(A[it, mt, kt], a_blk)
                            b_xf = ttl.copy(B[kt, nt], b_blk)
                            a_xf.wait()
                            b_xf.wait()

    @ttl.compute()
    def matmul_compute():
        for _ in range(IT):
            for _ in range(MT):
                for _ in range(NT):
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
                        y_xf = ttl.copy(y_blk, Y[it, mt, nt])
                        y_xf.wait()


@pytest.mark.rule("block-expressions", "matmul", "fill-spellings", "copy-shapes")
@pytest.mark.parametrize("dtype", [ttnn.float32, ttnn.bfloat16])
def test_matmul_with_bias(dtype):
    a, b, c = small(2, 64, 96), small(96, 64), small(64, 64)
    y = empty(2, 64, 64, dtype=ttnn.float32)
    if dtype is ttnn.bfloat16:
        a, b = np.sign(a), np.sign(b)  # sums stay exact
        y = empty(2, 64, 64, dtype=dtype)
    run(matmul_with_bias, tensor(a, dtype), tensor(b, dtype), tensor(c, dtype), y)
    assert np.array_equal(ttnn.to_numpy(y).astype(np.float32), a @ b + c)
