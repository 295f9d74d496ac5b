"""Which thread statements of a unified body get, and what the kernels that result compute."""

from __future__ import annotations

import gc
import sys
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import process_variables
from ttl.source.unified.unify import show_threads, threads_of

DEVICE = ttnn.open_device(device_id=0)
ROWS = 4


def tensor(seed: int = 0, rows: int = ROWS, dtype=ttnn.float32):
    numbers = np.random.default_rng(seed).random((32 * rows, 64), np.float32)
    return ttl.from_numpy(numbers, dtype=dtype, device=DEVICE)


def run(operation, backend: str, *inputs) -> np.ndarray:
    y = ttnn.zeros_like(inputs[0])
    with process_variables({"TTL_BACKEND": backend}):
        operation(*inputs, y)
    return ttl.to_numpy(y)


def kernels(operation, *given) -> dict[str, str]:
    """The text of each kernel, without its first lines."""
    names = dict(zip(operation.signature.parameters, given, strict=True))
    text = show_threads(operation, names)
    assert text is not None
    parts = text.partition("becomes\n")[2].split("    @ttl.")[1:]
    return {part.partition("def ")[2].partition("(")[0]: part for part in parts}


BACKENDS = pytest.mark.parametrize("backend", ["sim", "host"])


def buffers(*likes):
    return [ttl.make_dataflow_buffer_like(like, shape=(1, 2), block_count=2) for like in likes]


@BACKENDS
def test_straight_code(backend: str) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, y_dfb = buffers(x, y)
        block = x_dfb.reserve()
        ttl.copy(x[0, 0:2], block).wait()
        block.push()
        value = x_dfb.wait()
        result = y_dfb.reserve()
        doubled = value + value
        result.store(doubled)
        value.pop()
        result.push()
        out = y_dfb.wait()
        ttl.copy(out, y[0, 0:2]).wait()
        out.pop()

    x = tensor(rows=1)
    np.testing.assert_array_equal(run(operation, backend, x), 2 * ttl.to_numpy(x))


@BACKENDS
def test_releases_and_waits_may_be_left_out(backend: str) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, y_dfb = buffers(x, y)
        for row in range(ROWS):
            ttl.copy(x[row, 0:2], x_dfb.reserve())
            y_dfb.reserve().store(x_dfb.wait() + 1)
            ttl.copy(y_dfb.wait(), y[row, 0:2])

    x = tensor()
    np.testing.assert_array_equal(run(operation, backend, x), ttl.to_numpy(x) + 1)


@BACKENDS
def test_a_thread_gets_no_loop_that_it_does_nothing_in(backend: str) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, y_dfb = buffers(x, y)
        for i in range(ROWS):
            row = i
            with x_dfb.reserve() as blk:
                ttl.copy(x[row, 0:2], blk).wait()
        for _ in range(ROWS):
            with x_dfb.wait() as blk, y_dfb.reserve() as out:
                out.store(blk * 3)
        for i in range(ROWS):
            row = ROWS - 1 - i
            with y_dfb.wait() as blk:
                ttl.copy(blk, y[row, 0:2]).wait()

    x = tensor()
    expected = (3 * ttl.to_numpy(x)).reshape(ROWS, 32, 64)[::-1].reshape(-1, 64)
    np.testing.assert_array_equal(run(operation, backend, x), expected)
    found = kernels(operation, x, tensor())
    assert {name: text.count("for ") for name, text in found.items()} == {
        "compute": 1,
        "read": 1,
        "write": 1,
    }
    assert "row" not in found["compute"]


@BACKENDS
def test_conditions_on_nodes_are_copied_to_who_needs_them(backend: str) -> None:
    @ttl.operation(grid=(2, 1))
    def operation(x, y):
        x_dfb, y_dfb = buffers(x, y)
        node = ttl.node(dims=1)
        for i in range(2):
            row = node * 2 + i
            with x_dfb.reserve() as blk:
                ttl.copy(x[row, 0:2], blk).wait()
            with x_dfb.wait() as blk, y_dfb.reserve() as out:
                if node == 0:
                    out.store(blk + 1)
                else:
                    out.store(blk * 2)
            with y_dfb.wait() as blk:
                ttl.copy(blk, y[row, 0:2]).wait()

    x = tensor()
    numbers = ttl.to_numpy(x)
    expected = np.concatenate([numbers[:64] + 1, numbers[64:] * 2])
    np.testing.assert_array_equal(run(operation, backend, x), expected)
    found = kernels(operation, x, x)
    assert "if node == 0" in found["compute"]
    assert "if node" not in found["read"] + found["write"]
    assert "row" not in found["compute"]


@BACKENDS
def test_jumps_go_with_the_loops(backend: str) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, y_dfb = buffers(x, y)
        count = 0
        while True:
            if count == 3:
                break
            count += 1
            if count == 2:
                continue
            with x_dfb.reserve() as blk:
                ttl.copy(x[count, 0:2], blk).wait()
            with x_dfb.wait() as blk, y_dfb.reserve() as out:
                out.store(blk + 1)
            with y_dfb.wait() as blk:
                ttl.copy(blk, y[count, 0:2]).wait()
        if count > 100:
            return

    x = tensor()
    expected = np.zeros((128, 64), np.float32)
    for row in (1, 3):
        expected[32 * row : 32 * row + 32] = ttl.to_numpy(x)[32 * row : 32 * row + 32] + 1
    np.testing.assert_array_equal(run(operation, backend, x), expected)


def add_one(block):
    return block + 1


def load(x, row, dfb):
    with dfb.reserve() as blk:
        ttl.copy(x[row, 0:2], blk).wait()


def row_of(place, number):
    return place * 2 + number


@BACKENDS
def test_functions_are_read_where_they_are_called(backend: str) -> None:
    @ttl.operation(grid=(2, 1))
    def operation(x, y):
        x_dfb, y_dfb = buffers(x, y)
        node = ttl.node(dims=1)

        def save(row):
            with y_dfb.wait() as blk:
                ttl.copy(blk, y[row, 0:2]).wait()

        for i in range(2):
            row = row_of(node, i)
            load(x, row, x_dfb)
            with x_dfb.wait() as blk, y_dfb.reserve() as out:
                out.store(add_one(blk))
            save(row)

    x = tensor()
    np.testing.assert_array_equal(run(operation, backend, x), ttl.to_numpy(x) + 1)


@BACKENDS
def test_lists_of_buffers_and_transfers(backend: str) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, z, y):
        dfbs = [ttl.make_dataflow_buffer_like(t, shape=(1, 2), block_count=2) for t in (x, z, y)]
        for row in range(ROWS):
            transfers = []
            blocks = [dfb.reserve() for dfb in dfbs[0:2]]
            for block, given in zip(blocks, (x, z), strict=True):
                transfers.append(ttl.copy(given[row, 0:2], block))
            for transfer in transfers:
                transfer.wait()
            for block in blocks:
                block.push()
            with dfbs[0].wait() as one, dfbs[1].wait() as other, dfbs[2].reserve() as out:
                out.store(one + other)
            with dfbs[2].wait() as blk:
                ttl.copy(blk, y[row, 0:2]).wait()

    x, z = tensor(), tensor(1)
    expected = ttl.to_numpy(x) + ttl.to_numpy(z)
    np.testing.assert_array_equal(run(operation, backend, x, z), expected)


@BACKENDS
def test_an_element_decides_on_its_own_thread(backend: str) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, y_dfb, key_dfb = buffers(x, y, x)
        for row in range(ROWS):
            with key_dfb.reserve() as blk:
                ttl.copy(x[row, 0:2], blk).wait()
            with key_dfb.wait() as blk, x_dfb.reserve() as chosen:
                first = ttl.raw_element_read(blk, 0, 0)
                if first > 0.5:
                    ttl.copy(x[row, 0:2], chosen).wait()
                else:
                    ttl.copy(x[0, 0:2], chosen).wait()
            with x_dfb.wait() as blk, y_dfb.reserve() as out:
                out.store(blk)
            with y_dfb.wait() as blk:
                ttl.copy(blk, y[row, 0:2]).wait()

    x = tensor()
    numbers = ttl.to_numpy(x).reshape(ROWS, 32, 64)
    expected = np.stack([each if each[0, 0] > 0.5 else numbers[0] for each in numbers])
    np.testing.assert_array_equal(run(operation, backend, x), expected.reshape(-1, 64))


def test_prints_of_numbers_are_made_once(capsys: pytest.CaptureFixture[str]) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, y_dfb = buffers(x, y)
        for row in range(2):
            print("row", row)
            with x_dfb.reserve() as blk:
                ttl.copy(x[row, 0:2], blk).wait()
            with x_dfb.wait() as blk, y_dfb.reserve() as out:
                out.store(blk)
            with y_dfb.wait() as blk:
                ttl.copy(blk, y[row, 0:2]).wait()

    run(operation, "sim", tensor())
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[2] for line in lines] == ["row 0", "row 1"]


@BACKENDS
def test_signposts_and_constants_of_the_body(backend: str) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, y, adds=True):
        """What it does."""
        x_dfb, y_dfb = buffers(x, y)
        rows = 0
        for size in [x.shape[0]]:
            rows += size // 32
        if adds:  # noqa: SIM108 - the branches are what is tested
            term = 1.0
        else:
            term = 2.0
        for row in range(rows):
            with ttl.signpost("load"), x_dfb.reserve() as blk:
                ttl.copy(x[row, 0:2], blk).wait()
            with x_dfb.wait() as blk, y_dfb.reserve() as out, ttl.signpost("add"):
                out.store(blk + term)
            with y_dfb.wait() as blk:
                ttl.copy(blk, y[row, 0:2]).wait()

    x = tensor()
    np.testing.assert_array_equal(run(operation, backend, x), ttl.to_numpy(x) + 1)
    found = kernels(operation, x, tensor(), True)
    assert "signpost('load')" in found["read"]
    assert "signpost('add')" in found["compute"]
    assert "signpost" not in found["write"]


def doubling(factor):
    @ttl.operation(grid=(1, 1))
    def scale(x_dfb, y_dfb):
        with x_dfb.wait() as blk, y_dfb.reserve() as out:
            out.store(blk * factor)

    return scale


@ttl.operation(grid=(1, 1))
def load_row(x, row, dfb):
    with dfb.reserve() as blk:
        ttl.copy(x[row, 0:2], blk).wait()


@ttl.operation(grid=(1, 1))
def store_row(dfb, y, row):
    with dfb.wait() as blk:
        ttl.copy(blk, y[row, 0:2]).wait()


PIECES = SimpleNamespace(load=load_row)
SCALES = [doubling(2), doubling(3)]


@BACKENDS
def test_operations_of_factories_lists_and_objects_are_expanded(backend: str) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        a, b, c = buffers(x, x, x)
        for i in range(ROWS):
            PIECES.load(x, i, a)
            SCALES[0](a, b)
            SCALES[1](b, c)
            store_row(c, y, row=i)

    x = tensor()
    np.testing.assert_allclose(run(operation, backend, x), 6 * ttl.to_numpy(x), rtol=1e-6)


@BACKENDS
def test_each_expansion_has_buffers_of_its_own(backend: str) -> None:
    @ttl.operation(grid=(1, 1))
    def twice(x_dfb, y_dfb, like):
        inner = ttl.make_dataflow_buffer_like(like, shape=(1, 2), block_count=2)
        scale = SCALES[0]
        SCALES[0](x_dfb, inner)
        SCALES[1](inner, y_dfb)
        assert scale is not None

    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        a, b, c = buffers(x, x, x)
        for i in range(ROWS):
            load_row(x, i, a)
            twice(a, b, x)
            twice(b, c, x)
            store_row(c, y, i)

    x = tensor()
    np.testing.assert_allclose(run(operation, backend, x), 36 * ttl.to_numpy(x), rtol=1e-6)
    program = operation.program((x, x), {}, (1, 1))
    names = {"a", "b", "c", "twice_2_inner", "twice_3_inner"}
    assert {buffer.name for buffer in program.buffers} == names


def test_what_the_threads_are_does_not_depend_on_the_tensors() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, y_dfb = buffers(x, y)
        ttl.copy(x[0, 0:2], x_dfb.reserve())
        y_dfb.reserve().store(x_dfb.wait())
        ttl.copy(y_dfb.wait(), y[0, 0:2])

    x, y = tensor(), tensor(1)
    assert threads_of(operation, {"x": x, "y": y}) is threads_of(operation, {"x": y, "y": x})


def test_errors_and_traces_show_the_one_body(tmp_path) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, y_dfb = buffers(x, y)
        with x_dfb.reserve() as blk:
            ttl.copy(x[0, 0:2], blk).wait()
        with x_dfb.wait() as blk, y_dfb.reserve() as out:
            out.store(blk @ blk)

    with pytest.raises(ttl.TTLError) as caught:
        run(operation, "sim", tensor())
    assert "out.store(blk @ blk)" in str(caught.value)


def moving(large_load: bool):
    """Two copies from buffer to buffer, which have no side, beside a load and a save."""

    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        columns = 2 if large_load else 1
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, columns), block_count=2)
        part_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, columns), block_count=2)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 2), block_count=2)
        for row in range(2 if large_load else 1):
            with x_dfb.reserve() as blk:
                ttl.copy(x[row, 0:columns], blk).wait()
        for _ in range(1):
            with x_dfb.wait() as blk, part_dfb.reserve() as part:
                ttl.copy(blk, part).wait()
        with part_dfb.wait() as part, y_dfb.reserve() as out:
            out.store(ttl.block.broadcast(part, dims=[-1], shape=(1, 2)) if columns == 1 else part)
        with y_dfb.wait() as blk:
            ttl.copy(blk, y[0, 0:2]).wait()

    return operation


def test_what_has_no_side_goes_where_fewer_bytes_are_moved() -> None:
    x = tensor()
    found = kernels(moving(True), x, x)  # two loads of two tiles, a save of two
    assert "ttl.copy(blk, part)" in found["write"]
    found = kernels(moving(False), x, x)  # a load of one tile, a save of two
    assert "ttl.copy(blk, part)" in found["read"]


def adding(term):
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, term_dfb, y_dfb = buffers(x, term, y)
        ttl.copy(x[0, 0:2], x_dfb.reserve())
        ttl.copy(term[0, 0:2], term_dfb.reserve())
        y_dfb.reserve().store(x_dfb.wait() + term_dfb.wait())
        ttl.copy(y_dfb.wait(), y[0, 0:2])

    return operation


def test_operations_of_one_factory_have_captured_tensors_of_their_own() -> None:
    x = tensor(rows=1)
    for seed in (1, 2):
        term = tensor(seed, rows=1)
        expected = ttl.to_numpy(x) + ttl.to_numpy(term)
        np.testing.assert_array_equal(run(adding(term), "sim", x), expected)


def test_what_is_remembered_keeps_no_tensors() -> None:
    term, x = tensor(1, rows=1), tensor(rows=1)
    run(adding(term), "sim", x)
    alive = [weakref.ref(term), weakref.ref(x)]
    del term, x
    gc.collect()
    assert [each() for each in alive] == [None, None]


def test_an_operation_that_is_defined_again_is_expanded_again(tmp_path) -> None:
    text = """
import ttl

@ttl.operation()
def inner(x_dfb, y_dfb):
    with x_dfb.wait() as x, y_dfb.reserve() as y:
        y.store(x * FACTOR)

@ttl.operation()
def middle(x_dfb, y_dfb):
    inner(x_dfb, y_dfb)

@ttl.operation(grid=(1, 1))
def outer(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 2), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 2), block_count=2)
    ttl.copy(x[0, 0:2], x_dfb.reserve())
    middle(x_dfb, y_dfb)
    ttl.copy(y_dfb.wait(), y[0, 0:2])
"""
    file = tmp_path / "program.py"
    file.write_text(text)
    program: dict = {"FACTOR": 2}
    exec(compile(text, str(file), "exec"), program)
    x = tensor(rows=1)
    np.testing.assert_array_equal(run(program["outer"], "sim", x), 2 * ttl.to_numpy(x))
    again = text[: text.index("@ttl.operation()\ndef middle")].replace("FACTOR", "4")
    other = tmp_path / "again.py"
    other.write_text(again)
    exec(compile(again, str(other), "exec"), program)
    np.testing.assert_array_equal(run(program["outer"], "sim", x), 4 * ttl.to_numpy(x))


@BACKENDS
def test_arguments_are_checked_before_kernels_run(backend: str) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, y_dfb = buffers(x, y)
        rows = x.shape[0] // 32
        assert rows > 0, "no rows"
        if rows > 2:
            raise ValueError(f"{rows} rows are too many")
        for row in range(rows):
            ttl.copy(x[row, 0:2], x_dfb.reserve())
            y_dfb.reserve().store(x_dfb.wait() + 1)
            ttl.copy(y_dfb.wait(), y[row, 0:2])

    x = tensor(rows=2)
    np.testing.assert_array_equal(run(operation, backend, x), ttl.to_numpy(x) + 1)
    with pytest.raises(ValueError, match="4 rows are too many"):
        run(operation, backend, tensor())
    found = kernels(operation, x, x)
    assert not any("raise" in text or "assert" in text for text in found.values())


@BACKENDS
def test_lambdas_and_sums_of_lists(backend: str) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, y_dfb = buffers(x, y)
        row = 0
        part = lambda tensor: tensor[row, 0:2]  # noqa: E731 - it names a variable of the loop
        for number in range(2):
            row = number
            parts = []
            for _ in range(2):
                with x_dfb.reserve() as blk:
                    ttl.copy(part(x), blk).wait()
                with x_dfb.wait() as blk:
                    parts.append(blk * 2)
            with y_dfb.reserve() as out:
                out.store(sum(parts))
            with y_dfb.wait() as blk:
                ttl.copy(blk, part(y)).wait()

    x = tensor(rows=2)
    np.testing.assert_array_equal(run(operation, backend, x), 4 * ttl.to_numpy(x))


def test_a_body_without_a_source_is_refused() -> None:
    program: dict = {"ttl": ttl}
    exec(
        "@ttl.operation(grid=(1, 1))\ndef operation(x, y):\n"
        "    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 2))\n"
        "    ttl.copy(x[0, 0:2], dfb.reserve())\n    ttl.copy(dfb.wait(), y[0, 0:2])\n",
        program,
    )
    with pytest.raises(ttl.UsageError, match="TTL7002"):
        program["operation"](tensor(), tensor())


@BACKENDS
def test_a_loop_over_operations_is_unrolled(backend: str) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        a, y_dfb = buffers(x, y)
        for row in range(2):
            load_row(x, row, a)
            for scale in SCALES:
                scale(a, y_dfb)
                if row < 5:
                    store_row(y_dfb, y, row)
                load_row(x, row, a)
            with a.wait() as last, y_dfb.reserve() as out:
                out.store(last * 7)
            for save in (store_row,):
                save(y_dfb, y, row)

    x = tensor(rows=2)
    np.testing.assert_allclose(run(operation, backend, x), 7 * ttl.to_numpy(x), rtol=1e-6)


@pytest.mark.unwatched("a debugger asks for one call")
def test_a_debugger_stops_in_the_body_on_the_thread_of_the_next_statement(monkeypatch) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, y_dfb = buffers(x, y)
        with x_dfb.reserve() as block:
            breakpoint()
            ttl.copy(x[0, 0:2], block).wait()
        with x_dfb.wait() as block, y_dfb.reserve() as result:
            breakpoint()
            result.store(block + block)
        with y_dfb.wait() as block:
            ttl.copy(block, y[0, 0:2]).wait()

    stops = []

    def stop() -> None:
        frame = sys._getframe(1)
        stops.append((frame.f_code.co_name, frame.f_lineno, "block" in frame.f_locals))

    monkeypatch.setattr(sys, "breakpointhook", stop)
    run(operation, "sim", tensor(rows=1))
    first = operation.function.__code__.co_firstlineno
    assert sorted(stops) == [("compute", first + 7, True), ("read", first + 4, True)]
