"""The guide's path 2, ttnn calls in a pykernel function, and outputs that are streamed."""

import numpy as np
import pytest
import ttnn

from pykernel.d2m_api import *
from stages_d2m import initial
from ttl.diagnostics import UsageError


@pytest.fixture(params=["sim", "host"])
def backend(request, monkeypatch):
    monkeypatch.setenv("TTL_BACKEND", request.param)


def numbers(*shape):
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(np.float32)


X, Y = numbers(64, 96), numbers(96, 64)


# Path 2 -------------------------------------------------------------------------------------------


@pykernel_gen(grid=(2, 2))
def product_and_more(lhs, rhs, more, out):
    product = ttnn.matmul(lhs, rhs)
    streamed = Stream(product)

    @compute()
    async def add(product_cb: CircularBuffer, more_cb: CircularBuffer, out_cb: CircularBuffer):
        out_cb.reserve().store(product_cb.pop() + more_cb.pop())
        out_cb.pop()

    @datamovement()
    async def read(product_cb: CircularBuffer, more_cb: CircularBuffer, out_cb: CircularBuffer):
        dma(streamed[core_index(0), core_index(1)], product_cb.reserve()).wait()

    return Program(add, read)(product, more, out)


def test_a_result_of_ttnn_is_an_operand(backend):
    more, out = numbers(64, 64), np.zeros((64, 64), np.float32)
    product_and_more(X, Y, more, out)
    np.testing.assert_array_equal(out, X @ Y + more)


def test_tensors_of_torch_and_of_ttnn(backend):
    torch = pytest.importorskip("torch")
    more = numbers(64, 64)
    arrays = [X, Y, more, np.zeros_like(more)]
    tensors = [torch.from_numpy(each.copy()) for each in arrays]
    product_and_more(*tensors)
    np.testing.assert_array_equal(tensors[-1].numpy(), X @ Y + more)
    device = ttnn.open_device(device_id=0)
    how = dict(dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device)
    tensors = [ttnn.from_torch(torch.from_numpy(each.copy()), **how) for each in arrays]
    product_and_more(*tensors)
    np.testing.assert_array_equal(ttnn.to_torch(tensors[-1]).numpy(), X @ Y + more)


def softmax(x):
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


CALLS = {
    "scaled": (
        lambda x: ttnn.relu(ttnn.add(ttnn.multiply(x, x), -3.0)),
        lambda x: np.maximum(x * x - 3, 0),
    ),
    "turned": (lambda x: ttnn.matmul(x, x, transpose_b=True), lambda x: x @ x.T),
    "mean": (lambda x: ttnn.mean(x, dim=1, keepdim=True), lambda x: x.mean(1, keepdims=True)),
    "largest": (lambda x: ttnn.max(x, dim=-1), lambda x: x.max(-1)),
    "softmax": (lambda x: ttnn.softmax(x, dim=-1), softmax),
}


@pytest.mark.parametrize("name", CALLS)
def test_ttnn_alone(name, backend):
    call, meaning = CALLS[name]

    @pykernel_gen(grid=(1, 1))
    def kernel(x, out):
        return call(x)

    out = np.zeros_like(meaning(X))
    kernel(X, out)
    np.testing.assert_allclose(out, meaning(X), rtol=1e-3, atol=1e-3)


REFUSED = {
    "does not become threads": lambda x: ttnn.erfinv(x),
    "with `memory_config` in a": lambda x: ttnn.exp(x, memory_config=ttnn.L1_MEMORY_CONFIG),
    "with `activation` in a": lambda x: ttnn.matmul(x, x, transpose_b=True, activation="relu"),
    "the output, has shape": lambda x: ttnn.sum(x),
    "without a tensor": lambda x: ttnn.add(1, 2),
}


@pytest.mark.parametrize("message", REFUSED)
def test_calls_that_are_refused(message, backend):
    @pykernel_gen(grid=(1, 1))
    def kernel(x, out):
        return REFUSED[message](x)

    with pytest.raises(UsageError, match=message) as error:
        kernel(X, np.zeros_like(X))
    assert error.value.diagnostics[0].primary.span.file == __file__
    assert error.value.code == ("TTL7020" if "threads" in message else error.value.code)


def test_calls_elsewhere_are_those_of_ttnn(backend):
    product_and_more(X, Y, numbers(64, 64), np.zeros((64, 64), np.float32))
    with pytest.raises(UsageError, match="takes a ttnn tensor"):
        ttnn.relu(X)


# Output streams -----------------------------------------------------------------------------------


@pykernel_gen(grid=(2, 2))
def turned_over(lhs, out):
    """Each core writes its block to the core above or below."""
    lhs_stream, out_stream = Stream(lhs), Stream(out)

    @compute()
    async def double(lhs_cb: CircularBuffer, out_cb: CircularBuffer):
        for _ in range(2):
            block = lhs_cb.pop()
            out_cb.reserve().store(block + block)
            out_cb.pop()

    @datamovement()
    async def read(lhs_cb: CircularBuffer, out_cb: CircularBuffer):
        for _ in range(2):
            dma(lhs_stream[core_index(0), core_index(1)], lhs_cb.reserve()).wait()

    @datamovement()
    async def write(lhs_cb: CircularBuffer, out_cb: CircularBuffer):
        cy = core_index(0)
        for _ in range(2):
            shard = out_cb.pop()
            tx = dma(shard, out_stream[1 - cy, core_index(1)])
            tx.wait()

    return Program(double, read, write)(lhs, out)


def test_a_streamed_output(backend):
    x = numbers(128, 128)
    out = np.zeros_like(x)
    turned_over(x, out)
    np.testing.assert_array_equal(out, 2 * np.concatenate([x[64:], x[:64]]))


def test_a_streamed_output_in_the_ir(monkeypatch, tmp_path):
    text = initial(turned_over, monkeypatch, tmp_path, count=2)
    assert text.count("d2m.stream_layout") == 2
    assert "%out: tensor<64x64xf32> {d2m.stream = true}" in text


def test_a_streamed_output_that_nobody_takes(backend):
    @pykernel_gen(grid=(1, 1))
    def kernel(x, out):
        out_stream = Stream(out)

        @compute()
        async def copy(x_cb: CircularBuffer, out_cb: CircularBuffer):
            out_cb.reserve().store(x_cb.pop())
            out_cb.pop()

        @datamovement()
        async def other(x_cb: CircularBuffer, out_cb: CircularBuffer):
            if core_index(0) == 1:
                dma(x_cb.reserve(), out_stream[0, 0]).wait()

        return Program(copy, other)(x, out)

    with pytest.raises(UsageError, match="the streamed output, and no thread pops it"):
        kernel(numbers(32, 32), numbers(32, 32))


def test_a_streamed_output_without_its_buffer(backend):
    """A thread of data movement writes what it takes from an input."""

    @pykernel_gen(grid=(1, 1))
    def kernel(x, out):
        out_stream = Stream(out)

        @datamovement()
        def move(x_cb: CircularBuffer, out_cb: CircularBuffer):
            dma(x_cb.pop(), out_stream[0, 0]).wait()

        return Program(move)(x, out)

    x, out = numbers(32, 64), np.zeros((32, 64), np.float32)
    kernel(x, out)
    np.testing.assert_array_equal(out, x)
