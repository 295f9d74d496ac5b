"""Small kernels of the pykernel DSL that tests share."""

from pykernel.d2m_api import *


def elementwise(operator, grid=(1, 1), **options):
    """out = lhs <operator> rhs, one of + - * / @ and `chain` for (lhs + rhs) * lhs."""

    @pykernel_gen(grid=grid, **options)
    def kernel(lhs, rhs, out):
        lhs_stream = Stream(lhs)
        rhs_stream = Stream(rhs)

        @compute()
        async def add(lhs_cb: CircularBuffer, rhs_cb: CircularBuffer, out_cb: CircularBuffer):
            o = out_cb.reserve()
            o.store(lhs_cb.pop() + rhs_cb.pop())
            out_cb.pop()

        @compute()
        async def subtract(lhs_cb: CircularBuffer, rhs_cb: CircularBuffer, out_cb: CircularBuffer):
            o = out_cb.reserve()
            o.store(lhs_cb.pop() - rhs_cb.pop())
            out_cb.pop()

        @compute()
        async def multiply(lhs_cb: CircularBuffer, rhs_cb: CircularBuffer, out_cb: CircularBuffer):
            o = out_cb.reserve()
            o.store(lhs_cb.pop() * rhs_cb.pop())
            out_cb.pop()

        @compute()
        async def divide(lhs_cb: CircularBuffer, rhs_cb: CircularBuffer, out_cb: CircularBuffer):
            o = out_cb.reserve()
            o.store(lhs_cb.pop() / rhs_cb.pop())
            out_cb.pop()

        @compute()
        async def matmul(lhs_cb: CircularBuffer, rhs_cb: CircularBuffer, out_cb: CircularBuffer):
            o = out_cb.reserve()
            o.store(lhs_cb.pop() @ rhs_cb.pop())
            out_cb.pop()

        @datamovement()
        async def read(lhs_cb: CircularBuffer, rhs_cb: CircularBuffer, out_cb: CircularBuffer):
            cy = core_index(0)
            cx = core_index(1)
            dma(lhs_stream[cy, cx], lhs_cb.reserve()).wait()
            dma(rhs_stream[cy, cx], rhs_cb.reserve()).wait()

        threads = {"+": add, "-": subtract, "*": multiply, "/": divide, "@": matmul}
        return Program(threads[operator], read)(lhs, rhs, out)

    return kernel


@pykernel_gen(grid=(1, 1))
def chained_add(a, b, c, out):
    """(a + b) + c; the inputs are not streamed: their buffers are the core's shards."""

    @compute()
    async def add(
        a_cb: CircularBuffer, b_cb: CircularBuffer, c_cb: CircularBuffer, out_cb: CircularBuffer
    ):
        o = out_cb.reserve()
        o.store(a_cb.pop() + b_cb.pop() + c_cb.pop())
        out_cb.pop()

    return Program(add)(a, b, c, out)


@pykernel_gen(grid=(2, 2))
def passthrough(x, out):
    @compute()
    async def copy(x_cb: CircularBuffer, out_cb: CircularBuffer):
        out_cb.reserve().store(x_cb.pop())
        out_cb.pop()

    return Program(copy)(x, out)


@pykernel_gen(grid=(1, 2))
def loopback(x, y, out):
    """Core 0 sends its x to the buffer of y on both cores, its own too; out = y."""
    x_stream = Stream(x)

    @compute()
    async def take(
        x_cb: CircularBuffer,
        y_cb: CircularBuffer,
        out_cb: CircularBuffer,
        ready: Semaphore,
        sent: Semaphore,
    ):
        out_cb.reserve().store(y_cb.pop() + x_cb.pop())
        out_cb.pop()

    @datamovement()
    async def move(
        x_cb: CircularBuffer,
        y_cb: CircularBuffer,
        out_cb: CircularBuffer,
        ready: Semaphore,
        sent: Semaphore,
    ):
        cx = core_index(1)
        x_block = x_cb.reserve()
        dma(x_stream[0, cx], x_block).wait()
        y_block = y_cb.reserve()
        if cx == 0:
            ready.wait(1, reset=0)
            dma(x_block, y_block, core=(0, 0), mcast=(1, 2)).wait()
            sent.set(1, core=(0, 0), mcast=(1, 2))
        else:
            ready.inc(1, core=(0, 0))
        sent.wait(1, reset=0)

    return Program(take, move)(x, y, out)


@pykernel_gen(grid=(1, 2))
def every_dma(x, y, out):
    """Core 0 reads x, copies it to y, writes y to core 1's part of x, sends y to core 1."""
    x_stream = Stream(x)

    @compute()
    async def add(
        x_cb: CircularBuffer,
        y_cb: CircularBuffer,
        out_cb: CircularBuffer,
        ready: Semaphore,
        sent: Semaphore,
    ):
        out_cb.reserve().store(x_cb.pop() + y_cb.pop())
        out_cb.pop()

    @datamovement()
    async def move(
        x_cb: CircularBuffer,
        y_cb: CircularBuffer,
        out_cb: CircularBuffer,
        ready: Semaphore,
        sent: Semaphore,
    ):
        cx = core_index(1)
        x_block = x_cb.reserve()
        dma(x_stream[0, cx], x_block).wait()
        y_block = y_cb.reserve()
        if cx == 0:
            dma(x_block, y_block).wait()
            ready.wait(1, reset=0)
            dma(y_block, x_stream[0, 1]).wait()
            dma(y_block, y_block, core=(0, 1), mcast=(1, 1)).wait()
            sent.set(1, core=(0, 1), mcast=(1, 1))
        else:
            ready.inc(1, core=(0, 0))
            sent.wait(1, reset=0)

    return Program(add, move)(x, y, out)


@pykernel_gen(grid=(1, 1))
def repeated(x, out):
    """The block of x, read and added three times."""
    x_stream = Stream(x)

    @compute()
    async def add(x_cb: CircularBuffer, out_cb: CircularBuffer):
        o = out_cb.reserve()
        for _ in range(3):
            block = x_cb.pop()
            o.store(block + block)
        out_cb.pop()

    @datamovement()
    async def read(x_cb: CircularBuffer, out_cb: CircularBuffer):
        for _ in range(3):
            dma(x_stream[0, 0], x_cb.reserve()).wait()

    return Program(add, read)(x, out)
