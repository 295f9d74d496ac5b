"""A reduction over the padding of a tensor whose columns do not fill their tiles is a warning."""

from __future__ import annotations

import numpy as np
import pytest

from pykernel.d2m_api import *

WARNING = "warning[TTL2008]"


def reducing(reduce):
    @pykernel_gen(grid=(1, 1), block_factors=[(1, 1), (1, 1)])
    def program(x, out, block_factors=None, grid=None):
        x_stream = Stream(x)

        if reduce == "softmax":

            @compute()
            async def work(x_cb: CircularBuffer, out_cb: CircularBuffer):
                block = x_cb.pop()
                result = out_cb.reserve()
                powers = exp(block - bcast(rowmax(block), block))
                result.store(powers * bcast(recip(rowsum(powers)), powers))
                out_cb.pop()

        else:

            @compute()
            async def work(x_cb: CircularBuffer, out_cb: CircularBuffer):
                block = x_cb.pop()
                result = out_cb.reserve()
                result.store(bcast(rowsum(block), block))
                out_cb.pop()

        @datamovement()
        async def read(x_cb: CircularBuffer, out_cb: CircularBuffer):
            dma(x_stream[0, 0], x_cb.reserve()).wait()

        return Program(work, read)(x, out)

    return program


@pytest.mark.parametrize(
    ("reduce", "columns", "count"), [("softmax", 20, 2), ("softmax", 32, 0), ("sum", 20, 0)]
)
def test_padded_softmax(reduce, columns, count, capsys) -> None:
    x = np.ones((32, columns), np.float32)
    reducing(reduce)(x, np.zeros_like(x))
    assert capsys.readouterr().err.count(WARNING) == count
