"""A whole block with a row, a column and a single number, as numpy calculates them."""

from pykernel.d2m_api import *


@pykernel_gen(grid=(1, 1))
def calculate(x, row, column, one, out, grid=None):
    @compute()
    async def work(
        x_cb: CircularBuffer,
        row_cb: CircularBuffer,
        column_cb: CircularBuffer,
        one_cb: CircularBuffer,
        out_cb: CircularBuffer,
    ):
        x_block = x_cb.pop()
        row_block = row_cb.pop()
        column_block = column_cb.pop()
        one_block = one_cb.pop()
        result = x_block * row_block - column_block
        result += row_block * column_block
        result = maximum(one_block, result) - transpose(rowmax(x_block)) * one_block
        out_cb.reserve().store(result)

    return Program(work)(x, row, column, one, out)
