"""A function that looks like a kernel, and is none."""

from __future__ import annotations

import ttl
from ttl import ttnn
from ttl.source.undeclared import find_undeclared_kernels

DEVICE = ttnn.open_device(device_id=0)


@ttl.operation(grid=(1, 1))
def copy(x, y):
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))

    @ttl.datamovement()
    def read():
        fill()

    def fill():  # called
        with dfb.reserve() as block:
            ttl.copy(x[0, 0], block).wait()

    def later(block):  # takes what a kernel would give it
        ttl.copy(block, y[0, 0]).wait()

    def unused():  # no block in it
        return 1

    def write():
        with dfb.wait() as block:
            ttl.copy(block, y[0, 0]).wait()


def test_only_what_would_be_a_kernel_is_found() -> None:
    x = ttnn.ones((32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    (found,) = find_undeclared_kernels(copy.program((x, x), {}, (1, 1)))
    assert found.message.startswith("`write` uses blocks")
    assert found.code.code == "TTL1033"
