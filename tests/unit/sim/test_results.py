"""What operations compute, against numpy."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.semantics.current_engine import ENGINE
from ttl.semantics.ops import NO_PARAMETERS, BlockOp

DEVICE = ttnn.open_device(device_id=0)

EXAMPLES = Path(__file__).parents[3] / "examples"
BF16 = ml_dtypes.bfloat16


@pytest.fixture
def example(monkeypatch):
    def load(name: str) -> ModuleType:
        monkeypatch.setitem(sys.modules, "ttnn", ttnn)
        monkeypatch.syspath_prepend(EXAMPLES)  # as for `python examples/name.py`
        spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def rounded(values: np.ndarray) -> np.ndarray:
    return values.astype(BF16).astype(np.float32)


def test_elementwise_example_in_float32(example, simulate) -> None:
    a, b, c = (random(seed, 256, 384) for seed in range(3))
    tensors = [ttl.from_numpy(array, device=DEVICE) for array in (a, b, c)]
    y = ttnn.empty_like(tensors[0])
    simulate(example("elementwise").multiply_add_exp, *tensors, y)
    np.testing.assert_array_equal(ttl.to_numpy(y), a * b + np.exp(c))


def test_elementwise_example_rounds_after_every_operation_in_bfloat16(example, simulate) -> None:
    arrays = [rounded(random(seed, 256, 128)) for seed in range(3)]
    tensors = [ttl.from_numpy(array, dtype=ttnn.bfloat16, device=DEVICE) for array in arrays]
    y = ttnn.empty_like(tensors[0])
    simulate(example("elementwise").multiply_add_exp, *tensors, y)
    a, b, c = arrays
    reference = rounded(rounded(a * b) + rounded(np.exp(c)))
    np.testing.assert_array_equal(ttl.to_numpy(y).astype(np.float32), reference)
    at_the_end = rounded(a * b + np.exp(c))
    assert (reference != at_the_end).any()


@pytest.mark.parametrize("dtype", [ttnn.float32, ttnn.bfloat16])
def test_matmul_example(example, simulate, dtype) -> None:
    shapes = ((256, 192), (192, 128), (256, 128))
    arrays = [random(i, *shape) for i, shape in enumerate(shapes)]
    tensors = [ttl.from_numpy(array, dtype=dtype, device=DEVICE) for array in arrays]
    y = ttnn.empty((256, 128), dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    simulate(example("matmul_bias_relu").matmul_bias_relu, *tensors, y)
    a, b, bias = (ttl.to_numpy(tensor).astype(np.float64) for tensor in tensors)
    reference = np.maximum(a @ b + bias, 0)
    result = ttl.to_numpy(y).astype(np.float64)
    one_rounding = 2.0**-8 if dtype is ttnn.bfloat16 else 2.0**-24
    bound = one_rounding * np.abs(reference) + 192 * 2.0**-24 * (np.abs(a) @ np.abs(b) + 1)
    assert (np.abs(result - reference) <= bound).all()


def one_kernel(expression, *, grid=(1, 1), fp32=None, count=2):
    """y = expression(a, b) on blocks of one tile."""

    @ttl.operation(grid=grid, fp32_dest_acc_en=fp32)
    def operation(a, b, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=count)
        b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1), block_count=count)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=count)
        rows, columns = (-(-size // 32) for size in a.shape)

        @ttl.compute()
        def compute():
            for _ in range(rows * columns):
                with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
                    y_blk.store(expression(a_blk, b_blk))

        @ttl.datamovement()
        def read():
            for i in range(rows * columns):
                with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                    a_copy = ttl.copy(a[i // columns, i % columns], a_blk)
                    b_copy = ttl.copy(b[i // columns, i % columns], b_blk)
                    a_copy.wait()
                    b_copy.wait()

        @ttl.datamovement()
        def write():
            for i in range(rows * columns):
                with y_dfb.wait() as y_blk:
                    ttl.copy(y_blk, y[i // columns, i % columns]).wait()

    return operation


@pytest.mark.parametrize("count", [1, 2, 5])
def test_any_number_of_blocks_gives_the_same(simulate, count) -> None:
    a, b = random(1, 96, 64), random(2, 96, 64)
    y = ttnn.empty((96, 64), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    operation = one_kernel(lambda p, q: p - q, count=count)
    simulate(operation, ttl.from_numpy(a, device=DEVICE), ttl.from_numpy(b, device=DEVICE), y)
    np.testing.assert_array_equal(ttl.to_numpy(y), a - b)


def test_ragged_tensors_keep_their_padding_zero(simulate) -> None:
    a, b = random(1, 40, 70), random(2, 40, 70)
    y = ttnn.empty((40, 70), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    operation = one_kernel(lambda p, q: ttl.math.exp(p) + q)  # 1 in the padding
    simulate(operation, ttl.from_numpy(a, device=DEVICE), ttl.from_numpy(b, device=DEVICE), y)
    np.testing.assert_array_equal(ttl.to_numpy(y), np.exp(a) + b)
    assert np.count_nonzero(y.storage.elements) == np.count_nonzero(ttl.to_numpy(y))


@pytest.mark.parametrize(
    ("expression", "reference"),
    [
        (lambda a, b: a + ttl.math.fill(2.5), lambda a, b: a + 2.5),
        (lambda a, b: ttl.math.fill(2.5) - a, lambda a, b: 2.5 - a),
        (lambda a, b: ttl.math.fill(3), lambda a, b: np.full_like(a, 3)),
        (lambda a, b: ttl.math.fill(1) + ttl.math.fill(2) + a, lambda a, b: a + 3),
        (lambda a, b: ttl.math.fill(1, shape=(1, 1)) * b, lambda a, b: b),
        (lambda a, b: ttl.math.relu(a), lambda a, b: np.maximum(a, 0)),
        (lambda a, b: a, lambda a, b: a),
        (lambda a, b: a * a, lambda a, b: a * a),
    ],
)
def test_expressions(simulate, expression, reference) -> None:
    a, b = random(1, 32, 32), random(2, 32, 32)
    y = ttnn.empty((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)

    def reading_both(p, q):
        p * q  # every waited block must be read
        return expression(p, q)

    tensors = [ttl.from_numpy(array, device=DEVICE) for array in (a, b)]
    simulate(one_kernel(reading_both), *tensors, y)
    np.testing.assert_array_equal(ttl.to_numpy(y), reference(a, b).astype(np.float32))


def test_a_fill_is_rounded_to_dst(simulate) -> None:
    """257 is 256 in a 16-bit DST."""
    a = ttnn.full((32, 32), 256.0, ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    zero = ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT, device=DEVICE)

    def expression(p, q):
        return ttl.math.fill(257) - p + q

    for fp32, expected in ((False, 0.0), (True, 1.0)):
        y = ttnn.empty((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
        simulate(one_kernel(expression, fp32=fp32), a, zero, y)
        assert (ttl.to_numpy(y) == expected).all()


def test_a_block_stored_without_an_operator_passes_dst(simulate) -> None:
    a = ttnn.full((32, 32), 257.0, ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)

    def expression(p, q):
        p * q  # both are to be read
        return p

    for fp32, expected in ((False, 256.0), (True, 257.0)):
        y = ttnn.empty((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
        simulate(one_kernel(expression, fp32=fp32), a, a, y)
        assert (ttl.to_numpy(y) == expected).all()


def test_a_store_rounds_to_the_type_of_the_block(simulate) -> None:
    """259 lies between the bfloat16 values 258 and 260; read back, 260 - 256 is 4."""

    @ttl.operation(grid=(1, 1), fp32_dest_acc_en=True)
    def operation(y):
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with y_dfb.reserve() as y_blk:
                y_blk.store(ttl.math.fill(259))
                y_blk.store(y_blk - ttl.math.fill(256))

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, 0]).wait()

    y = ttnn.empty((32, 32), layout=ttnn.TILE_LAYOUT, device=DEVICE)
    simulate(operation, y)
    assert (ttl.to_numpy(y) == 4).all()


def test_dst_is_wide_when_a_buffer_of_the_kernel_is(simulate) -> None:
    """256 + 1 + 1: 258 in a wide DST, 256 when every step rounds to bfloat16."""
    a, one = (
        ttnn.full((32, 32), 256.0, layout=ttnn.TILE_LAYOUT, device=DEVICE),
        ttnn.ones((32, 32), layout=ttnn.TILE_LAYOUT, device=DEVICE),
    )

    def expression(p, q):
        return p + q + q

    results = {}
    for dtype in (ttnn.bfloat16, ttnn.float32):
        y = ttnn.empty((32, 32), dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE)
        simulate(one_kernel(expression), a, one, y)
        results[dtype.spelling] = set(ttl.to_numpy(y).astype(np.float32).ravel().tolist())
    assert results == {"bfloat16": {256.0}, "float32": {258.0}}


def test_an_infinite_result_warns_nobody(simulate, recwarn) -> None:
    a = ttnn.full((32, 32), 1000.0, ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    y = ttnn.empty((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    simulate(one_kernel(lambda p, q: ttl.math.exp(p) - ttl.math.exp(q)), a, a, y)
    assert np.isnan(ttl.to_numpy(y)).all()
    assert not recwarn.list


def test_a_value_outlives_the_block_it_was_read_from(simulate, tensor) -> None:
    """The single slot of `a_dfb` is released and overwritten before the value is stored."""

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=1)

        @ttl.compute()
        def compute():
            with a_dfb.wait() as a_blk:
                first = ttl.math.relu(a_blk)
            with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk - first)

        @ttl.datamovement()
        def read():
            for i in range(2):
                with a_dfb.reserve() as a_blk:
                    ttl.copy(a[0, i], a_blk).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, 0]).wait()

    a, y = (
        tensor(32, 64),
        ttnn.empty((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE),
    )
    simulate(operation, a, y)
    values = ttl.to_numpy(a)
    np.testing.assert_array_equal(ttl.to_numpy(y), values[:, 32:] - values[:, :32])


def test_reserved_space_is_poisoned_every_time(simulate, tensor) -> None:
    seen = []

    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)

        @ttl.datamovement()
        def move():
            for _ in range(2):
                with dfb.reserve() as block:
                    seen.append(bool(np.isnan(block.array).all()))
                    ttl.copy(a[0, 0], block).wait()
                with dfb.wait() as block:
                    ttl.copy(block, a[0, 0]).wait()

    simulate(operation, tensor())
    assert seen == [True, True]


@pytest.mark.parametrize("meaning", [lambda x: x, lambda x: x[...]])
def test_an_operation_may_return_its_operand(simulate, tensor, meaning) -> None:
    """The value must still not change when the block is overwritten."""
    same = BlockOp("same", 1, lambda type: type, meaning, "x itself")

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with dfb.reserve() as block:
                block.store(ttl.math.fill(1))
                before = ENGINE.get().apply(same, (block,), NO_PARAMETERS)
                block.store(ttl.math.fill(5))
                block + before
                block.store(before)

        @ttl.datamovement()
        def write():
            with dfb.wait() as block:
                ttl.copy(block, y[0, 0]).wait()

    y = ttnn.empty((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    simulate(operation, tensor(), y)
    assert (ttl.to_numpy(y) == 1).all()


def test_values_stored_into_blocks_can_be_read_and_replaced(simulate, tensor) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk)
                a_blk.store(y_blk + y_blk)  # 2a, in place of the waited block
                y_blk.store(a_blk + y_blk)  # 3a

        @ttl.datamovement()
        def move():
            with a_dfb.reserve() as a_blk:
                ttl.copy(a[0, 0], a_blk).wait()
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, 0]).wait()

    a, y = tensor(), ttnn.empty((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    simulate(operation, a, y)
    np.testing.assert_array_equal(ttl.to_numpy(y), 3 * ttl.to_numpy(a))


def test_data_moves_when_the_transfer_is_waited_for(simulate, tensor) -> None:
    """The second copy is waited for first and changes what the first one reads."""

    @ttl.operation(grid=(1, 1))
    def operation(a, b):
        one = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        two = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def move():
            with one.reserve() as block:
                ttl.copy(b[0, 0], block).wait()
            with one.wait() as b_blk:
                with two.reserve() as block:
                    late = ttl.copy(a[0, 0], block)
                    ttl.copy(b_blk, a[0, 0]).wait()
                    late.wait()
                with two.wait() as block:
                    ttl.copy(block, b[0, 1]).wait()

    a, b = tensor(), ttnn.full((32, 64), 7.0, ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    simulate(operation, a, b)
    assert (ttl.to_numpy(b) == 7).all()


def test_items_of_one_with_are_released_oldest_first(simulate, tensor) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=3)

        @ttl.datamovement()
        def read():
            with dfb.reserve() as one, dfb.reserve() as two, dfb.reserve() as three:
                for i, block in enumerate((one, two, three)):
                    ttl.copy(a[0, i], block).wait()

        @ttl.datamovement()
        def write():
            with dfb.wait() as one, dfb.wait() as two:
                ttl.copy(one, y[0, 0]).wait()
                ttl.copy(two, y[0, 1]).wait()
            with dfb.wait() as three:
                ttl.copy(three, y[0, 2]).wait()

    a, y = (
        tensor(32, 96),
        ttnn.empty((32, 96), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE),
    )
    simulate(operation, a, y)
    np.testing.assert_array_equal(ttl.to_numpy(y), ttl.to_numpy(a))


def test_nodes_know_where_they_are(simulate) -> None:
    seen = []

    @ttl.operation(grid=(3, 2))
    def operation(a):
        @ttl.datamovement()
        def move():
            seen.append((ttl.node(1), ttl.node(2), ttl.grid_size(1), ttl.grid_size(2)))

    simulate(operation, ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT, device=DEVICE))
    assert sorted(flat for flat, *_ in seen) == list(range(6))
    assert (4, (2, 0), 6, (3, 2)) in seen and (3, (1, 1), 6, (3, 2)) in seen
