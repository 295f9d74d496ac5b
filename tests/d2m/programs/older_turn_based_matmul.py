"""A product in turns, as programs before circular buffers had names of their own were written.

In turn k column k of the cores sends its part of lhs along its row, and row k its part of rhs along
its column. A sender does not wait for its own signal, and nobody waits for a transfer.
"""

from pykernel.kernel_ast import *

SIDE = 2


@pykernel_gen(grid=(SIDE, SIDE), block_factors=[(1, 1)] * 3)
def product(lhs, rhs, out, block_factors=None, grid=None):
    rows, columns = grid
    left = Stream(lhs)
    right = Stream(rhs)

    @compute()
    async def multiply(
        a: Tensor,
        b: Tensor,
        c: Tensor,
        a_free: Semaphore,
        a_there: Semaphore,
        b_free: Semaphore,
        b_there: Semaphore,
    ):
        for turn in range(SIDE):
            await a
            await b
            c = a @ b
            yield c

    @datamovement()
    async def along_rows(
        a: Tensor,
        b: Tensor,
        c: Tensor,
        a_free: Semaphore,
        a_there: Semaphore,
        b_free: Semaphore,
        b_there: Semaphore,
    ):
        y = core_index(0)
        x = core_index(1)
        for turn in range(SIDE):
            if turn == x:
                a_free.wait(columns - 1, reset=0)
                sent = dma(a, a, core=(y, 0), mcast=(1, columns))
                a_there.set(1, core=(y, 0), mcast=(1, columns))
            else:
                a_free.inc(1, core=(y, turn))
                a_there.wait(1, reset=0)
            yield a

    @datamovement()
    async def along_columns(
        a: Tensor,
        b: Tensor,
        c: Tensor,
        a_free: Semaphore,
        a_there: Semaphore,
        b_free: Semaphore,
        b_there: Semaphore,
    ):
        y = core_index(0)
        x = core_index(1)
        for turn in range(SIDE):
            if turn == y:
                b_free.wait(rows - 1, reset=0)
                sent = dma(b, b, core=(0, x), mcast=(rows, 1))
                b_there.set(1, core=(0, x), mcast=(rows, 1))
            else:
                b_free.inc(1, core=(turn, x))
                b_there.wait(1, reset=0)
            yield b

    return Program(multiply, along_rows, along_columns)(lhs, rhs, out)
