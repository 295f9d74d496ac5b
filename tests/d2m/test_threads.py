"""C3: the output, its stores and who takes it; threads that share a processor; what is released."""

import numpy as np
import pytest

from op_samples import coarse
from pykernel.d2m_api import *
from ttl.diagnostics import TTLError


def uniform(*shape):
    """With as many digits as the matrix unit has."""
    return coarse(np.random.default_rng(9).uniform(1, 2, shape))


def test_semantics_a_store_replaces_the_last(backend):
    @pykernel_gen(grid=(1, 1))
    def kernel(x, out):
        @compute()
        def twice(x_cb: CircularBuffer, out_cb: CircularBuffer):
            o = out_cb.reserve()
            block = x_cb.pop()
            o.store(block @ block)  # a sum, not rounded yet
            o.store(block)
            o.store(block + block)
            out_cb.pop()

        return Program(twice)(x, out)

    x, out = uniform(64, 64), np.zeros((64, 64), np.float32)
    kernel(x, out)
    np.testing.assert_array_equal(out, x + x)


def carrying(lines):
    """A program that stores x, then what a branch, a loop or a function carries."""
    body = ["a, b = x_cb.pop(), y_cb.pop()", "o = out_cb.reserve()", "o.store(a)", "v = a", *lines]
    return "TIMES = 1\ndef times(a, b): return a @ b\n" + wrong([*body, "o.store(v)"])


@pytest.mark.parametrize(
    "lines",
    [
        ["if TIMES == 1:", "    v = a @ b"],
        ["for _ in range(1):", "    v = a @ b"],
        ["v = times(a, b)"],
    ],
)
def test_semantics_a_product_adds_wherever_it_was_made(lines, backend, run_file):
    x, y, out = uniform(32, 32), uniform(32, 32), np.zeros((32, 32), np.float32)
    run_file(carrying(lines))["kernel"](x, y, out)
    np.testing.assert_allclose(out, x + x @ y, rtol=2e-6)


@pytest.mark.parametrize(
    "lines",
    [
        ["if core_index(0) == 0:", "    v = a @ b"],
        ["v = a @ b if core_index(0) == 0 else a"],
        ["for _ in range(1 - core_index(0)):", "    v = a @ b"],
    ],
)
def test_semantics_a_product_of_one_path(lines, backend, run_file):
    """Compiled for adding or for replacing, the kernel would be wrong on a path."""
    x, y, out = uniform(32, 32), uniform(32, 32), np.zeros((32, 32), np.float32)
    kernel = run_file(carrying(lines))["kernel"]
    if backend == "host":
        with pytest.raises(TTLError, match=r"TTL7001.*of a product that a branch or loop carries"):
            kernel(x, y, out)
    else:
        kernel(x, y, out)
        np.testing.assert_allclose(out, x + x @ y, rtol=2e-6)


@pykernel_gen(grid=(1, 2))
def squares(x, y, out):
    """Each block of x squared, by way of the output, into y; the last one stays in the output."""
    x_stream = Stream(x)
    y_stream = Stream(y)

    @compute()
    def square(x_cb: CircularBuffer, y_cb: CircularBuffer, out_cb: CircularBuffer):
        for _ in range(2):
            block = x_cb.pop()
            o = out_cb.reserve()
            o.store(block * block)
            out_cb.pop()

    @datamovement()
    def read(x_cb: CircularBuffer, y_cb: CircularBuffer, out_cb: CircularBuffer):
        for i in range(2):
            dma(x_stream[0, i], x_cb.reserve()).wait()

    @datamovement()
    def take(x_cb: CircularBuffer, y_cb: CircularBuffer, out_cb: CircularBuffer):
        for i in range(2):
            block = out_cb.pop()
            if core_index(1) == 0:
                dma(block, y_stream[0, i]).wait()

    return Program(square, read, take)(x, y, out)


def test_semantics_data_movement_takes_the_output(backend):
    x, y, out = uniform(32, 64), np.zeros((32, 64), np.float32), np.zeros((32, 64), np.float32)
    squares(x, y, out)
    np.testing.assert_array_equal(out, np.tile(x[:, 32:] ** 2, 2))


def sharing(column):
    @pykernel_gen(grid=(1, 2))
    def kernel(x, y, out):
        x_stream = Stream(x)
        y_stream = Stream(y)

        @compute()
        def subtract(x_cb: CircularBuffer, y_cb: CircularBuffer, out_cb: CircularBuffer):
            out_cb.reserve().store(x_cb.pop() - y_cb.pop())
            out_cb.pop()

        @datamovement()
        def nothing(x_cb: CircularBuffer, y_cb: CircularBuffer, out_cb: CircularBuffer):
            pass

        @datamovement()
        def left(x_cb: CircularBuffer, y_cb: CircularBuffer, out_cb: CircularBuffer):
            dma(x_stream[0, core_index(1)], x_cb.reserve()).wait()

        @datamovement()
        def right(x_cb: CircularBuffer, y_cb: CircularBuffer, out_cb: CircularBuffer):
            dma(y_stream[0, column], y_cb.reserve()).wait()

        return Program(subtract, nothing, left, right)(x, y, out)

    return kernel


def test_semantics_threads_share_a_processor(backend):
    """Each captures a number of its own: what was compiled for another is not used again."""
    x, y, out = uniform(32, 64), uniform(32, 64), np.zeros((32, 64), np.float32)
    for column in range(2):
        sharing(column)(x, y, out)
        part = y[:, column * 32 : column * 32 + 32]
        np.testing.assert_array_equal(out, x - np.tile(part, 2))


def test_semantics_a_block_may_be_left_unread(backend):
    """Core 0 sends its own shard to both cores; the other's is only popped."""

    @pykernel_gen(grid=(1, 2))
    def kernel(x, y, out):
        @compute()
        def copy(
            x_cb: CircularBuffer,
            y_cb: CircularBuffer,
            out_cb: CircularBuffer,
            ready: Semaphore,
            sent: Semaphore,
        ):
            out_cb.reserve().store(y_cb.pop())

        @datamovement()
        def send(
            x_cb: CircularBuffer,
            y_cb: CircularBuffer,
            out_cb: CircularBuffer,
            ready: Semaphore,
            sent: Semaphore,
        ):
            y_block = y_cb.reserve()
            x_block = x_cb.pop()
            if core_index(1) == 0:
                ready.wait(1, reset=0)
                dma(x_block, y_block, core=(0, 0), mcast=(1, 2)).wait()
                sent.set(1, core=(0, 0), mcast=(1, 2))
            else:
                ready.inc(1, core=(0, 0))
            sent.wait(1, reset=0)

        return Program(copy, send)(x, y, out)

    x, out = uniform(32, 64), np.zeros((32, 64), np.float32)
    kernel(x, np.zeros_like(x), out)
    np.testing.assert_array_equal(out, np.tile(x[:, :32], 2))


def test_semantics_one_dimension(backend):
    @pykernel_gen(grid=(1, 1))
    def kernel(x, out):
        @compute()
        def double(x_cb: CircularBuffer, out_cb: CircularBuffer):
            block = x_cb.pop()
            out_cb.reserve().store(block + block)

        return Program(double)(x, out)

    x, out = uniform(50), np.zeros(50, np.float32)
    kernel(x, out)
    np.testing.assert_array_equal(out, x + x)


def in_bodies(is_taken):
    """Blocks in bodies that do not become regions: loops of one step, branches that are known."""

    @pykernel_gen(grid=(1, 1))
    def kernel(x, out):
        x_stream = Stream(x)
        ONE = 1

        @compute()
        def store(x_cb: CircularBuffer, out_cb: CircularBuffer):
            for _ in range(ONE):
                out_cb.reserve().store(x_cb.pop())
            if ONE == 1:
                block = x_cb.pop()
                out_cb.reserve().store(block)
                out_cb.pop()
            for _ in range(ONE):
                for _ in range(2):
                    block = x_cb.pop()
                    out_cb.reserve().store(block + block)

        @datamovement()
        def read(x_cb: CircularBuffer, out_cb: CircularBuffer):
            for _ in range(4):
                dma(x_stream[0, 0], x_cb.reserve()).wait()

        @datamovement()
        def take(x_cb: CircularBuffer, out_cb: CircularBuffer):
            for _ in range(ONE):
                out_cb.pop()
            if ONE == 1:
                out_cb.pop()
            for _ in range(2):
                out_cb.pop()

        return Program(store, read, *([take] if is_taken else []))(x, out)

    return kernel


@pytest.mark.parametrize("is_taken", [False, True])
def test_c11_released_at_the_end_of_every_body(is_taken, backend):
    x, out = uniform(32, 32), np.zeros((32, 32), np.float32)
    in_bodies(is_taken)(x, out)
    np.testing.assert_array_equal(out, x + x)


# Mistakes: where they are and what they are called ------------------------------------------------


def wrong(body, kind="compute"):
    """A program of x, y and out with one thread, whose body starts in line 7."""
    lines = [
        "from pykernel.d2m_api import *",
        "@pykernel_gen(grid=(1, 1))",
        "def kernel(x, y, out):",
        "    x_stream = Stream(x)" if any("x_stream" in line for line in body) else "    ONE = 1",
        f"    @{kind}()",
        "    def thread(x_cb: CircularBuffer, y_cb: CircularBuffer, out_cb: CircularBuffer):",
        *(f"        {line}" for line in body),
        "    return Program(thread)(x, y, out)",
    ]
    return "\n".join(lines)


WRONG = [
    (
        ["a = x_cb.pop()", "out_cb.reserve().store(a)", "y_cb.reserve().store(a)"],
        "compute",
        ValueError,
        "TTL3007",
        "a second output",
        6,
    ),
    (["a = y_cb.pop()"], "compute", ValueError, "TTL3007", "unwritten", 6),
    (["out_cb.reserve().store(x_cb.pop(2))"], "compute", TypeError, "TTL1003", "no argument", 7),
    (
        ["dma(x_stream[0:1, 0], x_cb.reserve()).wait()"],
        "datamovement",
        ValueError,
        "TTL2004",
        "index slice",
        7,
    ),
    (
        ["dma(x_stream[0, 0], x_cb.reserve()).wait()", "dma(3, y_cb.reserve()).wait()"],
        "datamovement",
        TTLError,
        "TTL1003",
        "dma() moves blocks, not",
        8,
    ),
    (
        ["i = 0", "dma(x_stream[0, 0], x_cb.reserve()).wait()", "y_cb.reserve()"],
        "datamovement",
        TTLError,
        "TTL3001",
        "nothing has been written",
        9,
    ),
    (
        ["x_cb.pop()", "out_cb.reserve()"],
        "compute",
        TTLError,
        "TTL3001",
        "nothing has been written",
        6,
    ),
    (
        ["a = out_cb.reserve()", "a += x_cb.pop()"],
        "compute",
        TTLError,
        "TTL3001",
        "nothing has been written",
        8,
    ),
    (
        ["a = x_cb.pop()", "if core_index(0) == 1:", "    out_cb.reserve().store(a)"],
        "compute",
        TTLError,
        "TTL3001",
        "nothing has been written",
        6,
    ),
    (["out_cb.reserve().store(3)", "x_cb.pop()"], "compute", TTLError, "TTL1003", "block", 7),
    (["a = x_cb.wait()"], "compute", TTLError, "TTL1004", "a circular buffer has no `wait`", 7),
    (["a = x_stream.shape"], "datamovement", TTLError, "TTL1004", "a stream has no `shape`", 7),
    (
        [
            "a = x_cb.reserve()",
            "dma(x_stream[0, 0], a).wait()",
            "dma(a, a, core=(0, 5), mcast=(1, 1)).wait()",
        ],
        "datamovement",
        TTLError,
        "TTL1008",
        "is not in the grid",
        9,
    ),
    (
        ["for i in range(1):", "    a = x_cb.pop()", "out_cb.reserve().store(a)"],
        "compute",
        TTLError,
        "TTL3001",
        "it was released",
        9,
    ),
    (
        [
            "if core_index(0) == 0:",
            "    a = x_cb.pop()",
            "else:",
            "    a = x_cb.pop()",
            "out_cb.reserve().store(a)",
        ],
        "compute",
        TTLError,
        "TTL3001",
        "it was released",
        11,
    ),
    (
        ["out_cb.reserve().store(transpose(x_cb.pop()) @ y_cb.pop())"],
        "compute",
        ValueError,
        "TTL2003",
        "rows",
        7,
    ),
]


@pytest.mark.parametrize(("body", "kind", "error", "code", "text", "line"), WRONG)
def test_c2_mistakes(body, kind, error, code, text, line, backend, run_file):
    kernel = run_file(wrong(body, kind))["kernel"]
    with pytest.raises(error) as raised:
        kernel(uniform(64, 32), uniform(32, 32), uniform(64, 32))
    found = raised.value.diagnostics[0]
    assert (found.code.code, found.primary.span.line) == (code, line)
    assert text in found.message


def test_c2_helps_speak_of_threads(run_file):
    kernel = run_file(wrong(["x_stream[0, 0]", "dma(x_stream[0, 0], y_cb.pop())"]))["kernel"]
    with pytest.raises(TTLError) as raised:
        kernel(*(uniform(32, 32) for _ in range(3)))
    assert raised.value.diagnostics[0].helps == ("move it to a @datamovement() thread",)
