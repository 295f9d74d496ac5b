"""Blocks between tensors, nodes and dataflow buffers."""

import ttnn

import ttl


@ttl.operation()
def load(x: ttnn.Tensor, row: int, column: int, dfb: ttl.DataflowBuffer) -> None:
    """The block of `x` whose first tile is at (row, column), into `dfb`."""
    height, width = dfb.shape
    with dfb.reserve() as block:
        ttl.copy(x[row : row + height, column : column + width], block).wait()


@ttl.operation()
def store(dfb: ttl.DataflowBuffer, y: ttnn.Tensor, row: int, column: int) -> None:
    """The next block of `dfb` to the place (row, column) of `y`."""
    height, width = dfb.shape
    with dfb.wait() as block:
        ttl.copy(block, y[row : row + height, column : column + width]).wait()


@ttl.operation()
def multicast_load(
    x: ttnn.Tensor,
    row: int,
    column: int,
    net: ttl.PipeNet,
    sent_dfb: ttl.DataflowBuffer,
    dfb: ttl.DataflowBuffer,
) -> None:
    """Like load(), but only the source of `net` reads `x`; the others, and it, receive.

    The pipes of the net contain their sources.
    """
    if net.is_src():
        load(x, row, column, sent_dfb)
        with sent_dfb.wait() as block:
            net.if_src(lambda pipe: ttl.copy(block, pipe).wait())
    with dfb.reserve() as block:
        net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())


@ttl.operation()
def ring_reduce(
    x_dfb: ttl.DataflowBuffer,
    ring: ttl.PipeNet,
    nodes: int,
    sent_dfb: ttl.DataflowBuffer,
    got_dfb: ttl.DataflowBuffer,
    y_dfb: ttl.DataflowBuffer,
) -> None:
    """The sum of the blocks that the nodes of a ring have, on each of them."""
    with x_dfb.wait() as own, sent_dfb.reserve() as first:
        total = own * 1
        first.store(own)
    for step in range(nodes - 1):
        with sent_dfb.wait() as leaving:
            ring.if_src(lambda pipe: ttl.copy(leaving, pipe).wait())
        with got_dfb.reserve() as coming:
            ring.if_dst(lambda pipe: ttl.copy(pipe, coming).wait())
        with got_dfb.wait() as got:
            total += got
            if step < nodes - 2:
                with sent_dfb.reserve() as following:
                    following.store(got)
    with y_dfb.reserve() as y:
        y.store(total)
