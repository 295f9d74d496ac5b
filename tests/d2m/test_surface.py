"""C-1, C-2, C-14, C-15, C-16: the surface of the DSL and its mistakes."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import ttnn

import ttl
from pykernel.d2m_api import *
from ttl.diagnostics import TTLError

PROGRAMS = Path(__file__).parent / "programs"


def ones(*shape):
    return np.ones(shape or (64, 64), np.float32)


def messages(error):
    return [(found.code.code, found.message) for found in error.value.diagnostics]


def lines(error):
    return [found.primary.span.line for found in error.value.diagnostics]


# C-1 ----------------------------------------------------------------------------------------------

WRONG_DECORATORS = [
    (dict(), ValueError, "needs a grid"),
    (dict(grid=(1, 1), num_outs=2), ValueError, "num_outs=2"),
    (dict(grid=(1, 1), memory_space="L2"), ValueError, "memory_space='L2'"),
    (dict(grid=(1, 1), tiled=1), TypeError, "tiled=1"),
    (dict(grid=(1, 1), iterator_types=["parallel"]), ValueError, "iterator_types"),
    (dict(grid=(1, 1), indexing_maps=3), TypeError, "indexing_maps=3"),
    (dict(grid=(1, 1), indexing_maps=[lambda i: (i,)]), ValueError, "something else"),
    (dict(grid=(1, 1), indexing_maps=[lambda i, j: (i, 1)]), ValueError, "something else"),
    (dict(grid=(1, 1), indexing_maps=[lambda i, j: (i + j, j)]), ValueError, "something else"),
    (dict(grid=(1, 1), indexing_maps=[lambda i, j: (i.x, j)]), ValueError, "something else"),
    (dict(grid=(1, 1), indexing_maps=[lambda i, j: (i, 0)]), ValueError, "of the output"),
    (
        dict(grid=(1, 1), indexing_maps=[lambda i, j: (i, j)], iterator_types=3),
        ValueError,
        "iterator_types=3",
    ),
    (
        dict(grid=(1, 1), indexing_maps=[lambda i, j, k: (i, k), lambda i, j: (i, j)]),
        ValueError,
        "different numbers of iterators",
    ),
    (
        dict(grid=(1, 1), indexing_maps=[lambda i, j: (i, j)], iterator_types=["reduction"] * 2),
        ValueError,
        "iterator_types",
    ),
    (dict(grid=(1, 1), tiled=False), NotImplementedError, "tiled=False"),
    (dict(grid=(1, 1), kernel_source_mode="keep"), ValueError, "keep"),
]


@pytest.mark.parametrize(("options", "kind", "text"), WRONG_DECORATORS)
def test_c1_decorator_is_checked(options, kind, text):
    with pytest.raises(kind, match=text) as error:
        pykernel_gen(**options)
    assert isinstance(error.value, TTLError)
    assert error.value.diagnostics[0].primary.span.file == __file__


def identity():
    """A function of x and out with threads that copy."""

    def function(x, out, block_factors=None, grid=None, memory_space=None, tiled=None):
        seen.append((block_factors, grid, memory_space, tiled))

        @compute()
        def copy(x_cb: CircularBuffer, out_cb: CircularBuffer):
            out_cb.reserve().store(x_cb.pop())

        return Program(copy)(x, out)

    seen = function.seen = []
    return function


def test_c1_callables_and_injected_arguments():
    function = identity()
    kernel = pykernel_gen(
        grid=lambda x, out: (x.shape[0] // 32, 1), block_factors=lambda x, out: [x.shape[1]]
    )(function)
    out = np.zeros((64, 64), np.float32)
    kernel(ones(), out)
    assert function.seen == [([64], (2, 1), "L1", True)]
    assert (out == 1).all()


def test_c1_default_block_factors_and_grid_of_a_wrong_kind():
    function = identity()
    pykernel_gen(grid=(1, 1), memory_space="DRAM")(function)(ones(), ones())
    assert function.seen == [([1, 1], (1, 1), "DRAM", True)]
    with pytest.raises(ValueError, match="grid=4"):
        pykernel_gen(grid=4)(identity())(ones(), ones())


@pytest.mark.parametrize("returned", [None, 1, "program"])
def test_c1_function_returns_a_program(returned):
    def function(x, out):
        @compute()
        def nothing(x_cb: CircularBuffer, out_cb: CircularBuffer):
            pass

        return Program(nothing) if returned == "program" else returned

    with pytest.raises(TypeError, match="not a program"):
        pykernel_gen(grid=(1, 1))(function)(ones(), ones())


# C-2 ----------------------------------------------------------------------------------------------


def test_c2_missing_and_wrong_annotations():
    with pytest.raises(TypeError) as error:

        @pykernel_gen(grid=(1, 1))
        def kernel(x, out):
            @compute()
            def thread(x_cb, out_cb: int):
                pass

            return Program(thread)(x, out)

        kernel(ones(), ones())
    assert [text for _, text in messages(error)] == [
        "parameter `x_cb` of thread `thread` has no annotation",
        "parameter `out_cb` of thread `thread` is annotated `int`",
    ]


def test_c2_what_threads_do_not_have():
    with pytest.raises(TTLError) as error:

        @pykernel_gen(grid=(1, 1))
        def kernel(x, out):
            @compute()
            def thread(x_cb: CircularBuffer, out_cb: CircularBuffer):
                while True:
                    pass

            return Program(thread)(x, out)

        kernel(ones(), ones())
    assert [code for code, _ in messages(error)] == ["TTL7003"]


def test_c2_a_thread_without_a_source():
    with pytest.raises(TypeError) as error:
        compute()(len)
    ((code, text),) = messages(error)
    assert (code, text) == ("TTL7002", "the source of 'len' is not available")


def test_c2_captures_are_integers_and_streams():
    @pykernel_gen(grid=(1, 1))
    def kernel(x, out):
        scale = 0.5

        @compute()
        def thread(x_cb: CircularBuffer, out_cb: CircularBuffer):
            out_cb.reserve().store(x_cb.pop() * scale)

        return Program(thread)(x, out)

    with pytest.raises(TypeError, match="captures `scale`, a float"):
        kernel(ones(), ones())


def test_c2_threads_have_the_same_parameters():
    @pykernel_gen(grid=(1, 1))
    def kernel(x, out):
        @compute()
        def one(x_cb: CircularBuffer, out_cb: CircularBuffer):
            pass

        @datamovement()
        def two(x_cb: CircularBuffer, out_cb: CircularBuffer, sem: Semaphore):
            pass

        return Program(one, two)(x, out)

    with pytest.raises(TypeError, match="different parameters"):
        kernel(ones(), ones())


def test_c2_buffers_are_not_handed_on():
    @pykernel_gen(grid=(1, 1))
    def kernel(x, out):
        @compute()
        def thread(x_cb: CircularBuffer, out_cb: CircularBuffer):
            other = x_cb
            out_cb.reserve().store(other.pop())

        return Program(thread)(x, out)

    with pytest.raises(TypeError, match="`x_cb` of thread `thread` is passed on"):
        kernel(ones(), ones())


def test_c2_verbose_threads_show_their_ir(monkeypatch, capsys):
    monkeypatch.setenv("TTLANG_COMPILE_ONLY", "1")

    @pykernel_gen(grid=(1, 1))
    def kernel(x, out):
        @compute(verbose=True)
        def loud(x_cb: CircularBuffer, out_cb: CircularBuffer):
            out_cb.reserve().store(x_cb.pop())

        @datamovement()
        def quiet(x_cb: CircularBuffer, out_cb: CircularBuffer):
            pass

        return Program(loud, quiet)(x, out)

    kernel(ones(), ones())
    shown = capsys.readouterr().err
    assert "thread `loud`:" in shown and "d2m.reserve %out_cb" in shown
    assert "quiet" not in shown


def test_c2_a_tensor_may_be_given_twice(backend):
    @pykernel_gen(grid=(1, 1))
    def kernel(x, y, out):
        @compute()
        def double(x_cb: CircularBuffer, y_cb: CircularBuffer, out_cb: CircularBuffer):
            out_cb.reserve().store(x_cb.pop() + y_cb.pop())

        return Program(double)(x, y, out)

    @pykernel_gen(grid=(1, 1))
    def one_streamed(x, y, out):
        y_stream = Stream(y)

        @compute()
        def double(x_cb: CircularBuffer, y_cb: CircularBuffer, out_cb: CircularBuffer):
            out_cb.reserve().store(x_cb.pop() + y_cb.pop())

        @datamovement()
        def read(x_cb: CircularBuffer, y_cb: CircularBuffer, out_cb: CircularBuffer):
            dma(y_stream[0, 0], y_cb.reserve()).wait()

        return Program(double, read)(x, y, out)

    for each in (kernel, one_streamed):
        x, out = ones(), np.zeros((64, 64), np.float32)
        each(x, x, out)
        assert (out == 2).all()


STREAMS = [
    (lambda x, out: Stream(x + 1), TypeError, "top level tensor argument"),
    (lambda x, out: Stream(x, num_buffers=4), NotImplementedError, "num_buffers=4"),
]


@pytest.mark.parametrize(("make", "kind", "text"), STREAMS)
def test_c2_streams_are_of_arguments(make, kind, text):
    with pytest.raises(kind, match=text):
        pykernel_gen(grid=(1, 1))(make)(ones(), ones())


def test_c2_element_types():
    with pytest.raises(TypeError, match="elements of int64"):
        pykernel_gen(grid=(1, 1))(identity())(np.ones((32, 32), np.int64), ones())


def read_only():
    array = ones()
    array.flags.writeable = False
    return array


def row_major():
    device = ttnn.open_device(device_id=0)
    return ttl.from_numpy(ones(), layout=ttnn.ROW_MAJOR_LAYOUT, device=device)


ARGUMENTS = [
    (lambda: (ones(),), TypeError, "called without `out`"),
    (lambda: (ones(), 3), TypeError, "argument `out` of function is a int"),
    (lambda: (ones(), read_only()), ValueError, "`out`, the output, cannot be written"),
    (lambda: (row_major(), ones()), ValueError, "`x` is a ttnn tensor of shape"),
    (lambda: (ones(), ones(), 1, 2, 3, 4, 5), TypeError, "too many positional arguments"),
]


@pytest.mark.parametrize(("make", "kind", "text"), ARGUMENTS)
def test_c2_arguments(make, kind, text):
    with pytest.raises(kind, match=text) as error:
        pykernel_gen(grid=(1, 1))(identity())(*make())
    assert isinstance(error.value, TTLError)


def test_c2_a_file_that_was_edited_and_run_again(backend, run_file):
    """Threads are read from the file, as it is now."""
    text = """
from pykernel.d2m_api import *

@pykernel_gen(grid=(1, 1))
def kernel(x, out):
    @compute()
    def multiply(x_cb: CircularBuffer, out_cb: CircularBuffer):
        out_cb.reserve().store(x_cb.pop() * FACTOR)

    return Program(multiply)(x, out)
"""
    kernels = []
    for factor in (2, 300):
        out = np.zeros((32, 32), np.float32)
        kernels.append(run_file(text.replace("FACTOR", str(factor)))["kernel"])
        kernels[-1](ones(32, 32), out)
        assert (out == factor).all()
    kernels[0](ones(32, 32), out)  # what runs is not what was edited
    assert (out == 2).all()


# C-14, C-16: the guide as printed -----------------------------------------------------------------


def test_c14_guide_add_as_printed():
    with pytest.raises(TTLError) as error:
        runpy.run_path(str(PROGRAMS / "guide_add_as_printed.py"))
    assert [text for _, text in messages(error)] == [
        "`lhs_stream` is not defined in thread `dm_reader`",
        "`rhs_stream` is not defined in thread `dm_reader`",
    ]
    assert lines(error) == [38, 42]


def test_c14_guide_add_with_streams(backend):
    with pytest.raises(TTLError) as error:
        runpy.run_path(str(PROGRAMS / "guide_add_with_streams.py"))
    ((code, text),) = messages(error)
    assert code == "TTL2004"
    assert "of the stream of `lhs`: dimension 0 of its grid has 2 rows, 0 to 1" in text
    assert lines(error) == [41]


def test_c16_flash_attention_as_printed():
    with pytest.raises(TTLError) as error:
        runpy.run_path(str(PROGRAMS / "flash_attention_as_printed.py"))
    found = [text for _, text in messages(error)]
    for thread in ("attention_compute", "dm_reader"):
        for name in ("Q_cb", "K_cb", "V_cb", "out_cb"):
            assert f"parameter `{name}` of thread `{thread}` has no annotation" in found
    for name in ("inf", "shape", "d_head"):
        assert f"`{name}` is not defined in thread `attention_compute`" in found
    assert len(found) == 11


# C-15: never a hang -------------------------------------------------------------------------------


def broken(what):
    """A program on 1x2 cores that leaves something out."""

    @pykernel_gen(grid=(1, 2))
    def kernel(x, out):
        x_stream = Stream(x)
        FILLED = int(what != "producer")
        SIGNALLED = int(what != "signal")
        COLUMN = 2 if what == "index" else 1
        INC = int(what != "unready")

        @compute()
        async def copy(
            x_cb: CircularBuffer, out_cb: CircularBuffer, ready: Semaphore, sent: Semaphore
        ):
            out_cb.reserve().store(x_cb.pop())
            out_cb.pop()

        @datamovement()
        async def move(
            x_cb: CircularBuffer, out_cb: CircularBuffer, ready: Semaphore, sent: Semaphore
        ):
            cx = core_index(1)
            if FILLED == 1:
                block = x_cb.reserve()
                if cx == 0:
                    dma(x_stream[0, 0], block).wait()
                    if INC == 1:
                        ready.wait(1, reset=0)
                    dma(block, block, core=(0, COLUMN), mcast=(1, 1)).wait()
                    if SIGNALLED == 1:
                        sent.set(1, core=(0, 1), mcast=(1, 1))
                else:
                    if INC == 1:
                        ready.inc(1, core=(0, 0))
                    sent.wait(1, reset=0)

        return Program(copy, move)(x, out)

    return kernel


MISTAKES = {
    "producer": ("TTL5001", "waits for a block in `x_cb`"),
    "signal": ("TTL5001", "waits for `sent` to be 1"),
    "index": ("TTL1008", "core=(0, 2), mcast=(1, 1) is not in the grid"),
}


def test_c15_right_program(backend):
    x, out = ones(32, 64), np.zeros((32, 64), np.float32)
    broken("nothing")(x, out)
    assert (out == 1).all()


@pytest.mark.parametrize("what", MISTAKES)
def test_c15_mistakes_are_reported(what):
    code, text = MISTAKES[what]
    with pytest.raises(TTLError) as error:
        broken(what)(ones(32, 64), ones(32, 64))
    assert error.value.diagnostics[0].code.code == code
    assert text in str(error.value)


@pytest.mark.parametrize("what", ["producer", "signal"])
def test_c15_mistakes_are_reported_compiled(what, monkeypatch):
    monkeypatch.setenv("TTL_BACKEND", "host")
    with pytest.raises(TTLError) as error:
        broken(what)(ones(32, 64), ones(32, 64))
    assert error.value.diagnostics[0].code.code == "TTL5001"


def test_c15_receiver_that_is_not_ready(backend):
    """Core 1 starts after core 0 has sent."""

    @pykernel_gen(grid=(1, 2))
    def kernel(x, out):
        x_stream = Stream(x)

        @compute()
        async def copy(x_cb: CircularBuffer, out_cb: CircularBuffer, sent: Semaphore):
            out_cb.reserve().store(x_cb.pop())

        @datamovement()
        async def move(x_cb: CircularBuffer, out_cb: CircularBuffer, sent: Semaphore):
            if core_index(1) == 0:
                block = x_cb.reserve()
                dma(x_stream[0, 0], block).wait()
                dma(block, block, core=(0, 1), mcast=(1, 1)).wait()
                sent.set(1, core=(0, 1), mcast=(1, 1))
            else:
                sent.wait(1)
                x_cb.reserve()

        return Program(copy, move)(x, out)

    with pytest.raises(TTLError, match="core \\(0, 1\\) has not reserved") as error:
        kernel(ones(32, 64), ones(32, 64))
    assert error.value.diagnostics[0].code.code == "TTL5010"
    (help_text,) = error.value.diagnostics[0].helps
    assert "reserve() first and signal it by a semaphore: sem.inc(1, core=sender)" in help_text


def test_c15_receiver_that_signals_that_it_is_ready(backend):
    """The help, applied."""

    @pykernel_gen(grid=(1, 2))
    def kernel(x, out):
        x_stream, out_stream = Stream(x), Stream(out)

        @compute()
        async def copy(x_cb: CircularBuffer, out_cb: CircularBuffer, a: Semaphore, b: Semaphore):
            out_cb.reserve().store(x_cb.pop())

        @datamovement()
        async def move(x_cb: CircularBuffer, out_cb: CircularBuffer, a: Semaphore, b: Semaphore):
            if core_index(1) == 0:
                block = x_cb.reserve()
                dma(x_stream[0, 0], block).wait()
                a.wait(1)
                dma(block, block, core=(0, 1), mcast=(1, 1)).wait()
                b.set(1, core=(0, 1), mcast=(1, 1))
            else:
                x_cb.reserve()
                a.inc(1, core=(0, 0))
                b.wait(1)

        @datamovement()
        async def write(x_cb: CircularBuffer, out_cb: CircularBuffer, a: Semaphore, b: Semaphore):
            dma(out_cb.pop(), out_stream[0, core_index(1)]).wait()

        return Program(copy, move, write)(x, out)

    x, out = ones(32, 64), 0 * ones(32, 64)
    kernel(x, out)
    assert (np.asarray(out) == 1).all()


ILLEGAL = {
    "dma(x_stream[0, 0], x_stream[0, 0])": "from a stream to a stream",
    "dma(x_stream[0, 0], block, core=(0, 0), mcast=(1, 1))": "have one end",
    "dma(block, block, core=(0, 0))": "with core alone",
    "sem.set(1, core=(0, 0))": "on a single other core",
    "sem.inc(1)": "on another core",
    "sem.inc(1, core=(0, 0), mcast=(1, 1))": "has no multicast",
    "core_index(2)": "core_index(2)",
    "iter_index(0)": "writes its loops itself",
    "dma(x_stream[0], block)": "1 indices",
}


@pytest.mark.parametrize("statement", ILLEGAL)
def test_c7_c8_illegal_calls(backend, statement, run_file):
    text = f"""
from pykernel.d2m_api import *

@pykernel_gen(grid=(1, 1))
def kernel(x, out):
    x_stream = Stream(x)

    @datamovement()
    async def move(x_cb: CircularBuffer, out_cb: CircularBuffer, sem: Semaphore):
        block = x_cb.reserve()
        dma(x_stream[0, 0], block).wait()
        {statement}

    return Program(move)(x, out)
"""
    kernel = run_file(text)["kernel"]
    with pytest.raises(TTLError) as error:
        kernel(ones(32, 32), ones(32, 32))
    found = error.value.diagnostics[0]
    assert ILLEGAL[statement] in found.message
    assert found.primary.span.file.endswith("program.py")
    assert found.primary.span.line == 12


# Found with programs of others --------------------------------------------------------------------

CB = CircularBuffer


def test_another_name_of_an_annotation():
    @pykernel_gen(grid=(1, 1), block_factors=[(1, 1)] * 2)
    def double(x, out, block_factors=None, grid=None):
        @compute()
        async def twice(x_cb: CB, out_cb: CB):
            block, result = x_cb.pop(), out_cb.reserve()
            result.store(block + block)
            out_cb.pop()

        return Program(twice)(x, out)

    x, out = ones(32, 32), np.zeros((32, 32), np.float32)
    double(x, out)
    assert (out == 2).all()


def test_a_stream_that_nobody_reads_is_no_shard():
    @pykernel_gen(grid=(1, 1), block_factors=[(1, 1)] * 2)
    def double(x, out, block_factors=None, grid=None):
        x_stream = Stream(x)  # noqa: F841

        @compute()
        async def twice(x_cb: CircularBuffer, out_cb: CircularBuffer):
            block, result = x_cb.pop(), out_cb.reserve()
            result.store(block + block)
            out_cb.pop()

        return Program(twice)(x, out)

    with pytest.raises(ValueError, match="no thread reads the stream and none fills its buffer"):
        double(ones(32, 32), ones(32, 32))


def test_a_popped_input_is_not_written():
    with pytest.raises(TTLError, match="writes a block that pop"):

        @compute()
        async def overwrites(x_cb: CircularBuffer, out_cb: CircularBuffer):
            block, result = x_cb.pop(), out_cb.reserve()
            block.store(block + block)
            result.store(block)
            out_cb.pop()

        Program(overwrites)


def test_nor_without_a_name():
    with pytest.raises(TTLError, match=r"`x_cb.pop\(\).store\(\)` writes a block that pop"):

        @compute()
        async def overwrites(x_cb: CircularBuffer, out_cb: CircularBuffer):
            x_cb.pop().store(fill(1.0, (1, 1)))

        Program(overwrites)


def test_two_threads_do_not_fill_one_buffer(backend):
    @pykernel_gen(grid=(1, 1))
    def copy(x, out, grid=None):
        stream = Stream(x)

        @compute()
        async def takes(x_cb: CircularBuffer, out_cb: CircularBuffer):
            out_cb.reserve().store(x_cb.pop())
            x_cb.reserve()

        @datamovement()
        async def fills(x_cb: CircularBuffer, out_cb: CircularBuffer):
            dma(stream[0, 0], x_cb.reserve()).wait()

        return Program(takes, fills)(x, out)

    with pytest.raises(TTLError, match="thread `takes` reserves `x_cb` beside thread `fills`"):
        copy(ones(32, 32), ones(32, 32))


def test_a_column_on_one_path_only_is_refused():
    with pytest.raises(TTLError, match=r"TTL2001.*with a column of values on one path only"):

        @compute()
        async def mixes(x_cb: CircularBuffer, out_cb: CircularBuffer):
            x = x_cb.pop()
            y = x
            for _ in range(2):
                y = rowmax(x - y)
            out_cb.reserve().store(x)

        Program(mixes)


def test_yield_is_of_the_older_spelling():
    with pytest.raises(TTLError, match="`yield` in thread `waits`"):

        @compute()
        async def waits(x_cb: CircularBuffer, out_cb: CircularBuffer):
            yield x_cb

        Program(waits)
