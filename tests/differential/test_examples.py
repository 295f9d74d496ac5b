"""The examples on their four inputs: simulator, compiled on the host, and a reference.

Program 1 with exp replaced by its argument is the same on both backends bit for bit; exp itself may
be off by the bound in the op table, which the addition after it carries on. Program 2 may be off by
the op table's bound of a float32 sum of 256 products, and by the rounding of the output. The others
only move blocks and add them up, which is the same on both backends bit for bit, or are compared
with a bound that stands beside their reference.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttl
from golden.example_programs import EXAMPLES, OPERATIONS, load_file, operation_of, sample_inputs
from property.expressions import Approximate, Expression, evaluate
from ttl import ttnn
from ttl.language import Operation

DEVICE = ttnn.open_device(device_id=0)

INPUTS = dict(sample_inputs())
PRODUCT = ("*", ("a",), ("b",))


def run(operation: Operation, arrays: list[Any], backend: str) -> Any:
    """What the operation writes, on the backend that the driver chooses by the environment."""
    tensors = [ttl.from_numpy(array, dtype=ttnn.bfloat16, device=DEVICE) for array in arrays]
    output = ttnn.full(
        (256, 256), float("nan"), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTL_BACKEND", backend)
        operation(*tensors, output)
    return ttl.to_numpy(output)


def reference(expression: Expression, names: str, arrays: list[Any], dst: str) -> Approximate:
    values = [ttl.to_numpy(ttl.from_numpy(x, dtype=ttnn.bfloat16, device=DEVICE)) for x in arrays]
    exact = {
        name: Approximate(value.astype(np.float32), np.zeros(value.shape))
        for name, value in zip(names, values, strict=True)
    }
    with np.errstate(over="raise"):
        return evaluate(expression, exact, dst).rounded("bfloat16")


def assert_within(result: Any, expected: Approximate) -> None:
    off = np.abs(result.astype(np.float64) - expected.values)
    assert np.isfinite(expected.error).all()
    assert (off <= expected.error).all(), f"{(off > expected.error).sum()} elements are too far off"


@pytest.fixture(scope="module")
def without_exp(tmp_path_factory: pytest.TempPathFactory) -> Operation:
    source = (EXAMPLES / "elementwise.py").read_text()
    assert source.count("ttl.math.exp(c_blk)") == 1
    path = tmp_path_factory.mktemp("variant") / "elementwise_without_exp.py"
    path.write_text(source.replace("ttl.math.exp(c_blk)", "c_blk"))
    operation: Operation = load_file(Path(path)).multiply_add_exp
    return operation


@pytest.mark.parametrize("name", INPUTS)
def test_program_1_without_exp_bit_for_bit(name: str, without_exp: Operation) -> None:
    arrays = INPUTS[name]
    simulated, executed = (run(without_exp, arrays, backend) for backend in ("sim", "host"))
    assert simulated.tobytes() == executed.tobytes()
    expected = reference(("+", PRODUCT, ("c",)), "abc", arrays, "bfloat16")
    assert not expected.error.any()
    assert simulated.astype(np.float32).tobytes() == expected.values.tobytes()


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("name", INPUTS)
def test_program_1_within_the_bound_of_exp(name: str, backend: str) -> None:
    arrays = INPUTS[name]
    expected = reference(("+", PRODUCT, ("exp", ("c",))), "abc", arrays, "bfloat16")
    assert_within(run(operation_of("elementwise"), arrays, backend), expected)


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("name", INPUTS)
def test_program_2_within_the_bound_of_a_sum(name: str, backend: str) -> None:
    arrays = INPUTS[name]
    # `c` is the bias; the right operand of @ is called `w` there.
    total = ("+", ("@", ("a",)), ("c",))
    expected = reference(("relu", total), "awc", arrays, "float32")
    assert_within(run(operation_of("matmul_bias_relu"), arrays, backend), expected)


def test_the_reference_notices_swapped_tiles() -> None:
    """The distinct input: the same tiles elsewhere are not the same result."""
    arrays = INPUTS["distinct"]
    swapped = [arrays[0].copy(), *arrays[1:]]
    swapped[0][:32, :64] = np.roll(arrays[0][:32, :64], 32, axis=1)
    expected = reference(("+", ("@", ("a",)), ("c",)), "awc", arrays, "float32")
    other = reference(("+", ("@", ("a",)), ("c",)), "awc", swapped, "float32")
    with pytest.raises(AssertionError, match="too far off"):
        assert_within(other.values, expected)


# The other examples -------------------------------------------------------------------------------

Reference = Callable[..., tuple[np.ndarray, Any]]  # what is right, and how far a result may be off
UNIT = 2.0**-8  # the largest relative error of a rounding to bfloat16


def rotated_rows(x: np.ndarray) -> tuple[np.ndarray, Any]:
    return np.roll(x, -64, axis=0), 0


def product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, Any]:
    """In float32, rounded once."""
    exact = a @ b
    return exact, UNIT * np.abs(exact) + 256 * 2.0**-23 * (np.abs(a) @ np.abs(b))


def sum_of_groups(x: np.ndarray) -> tuple[np.ndarray, Any]:
    """Rounded after each of four additions."""
    groups = x.reshape(4, 64, 256)
    magnitude = np.abs(groups).sum(axis=0)
    return np.tile(groups.sum(axis=0), (4, 1)), np.tile(4 * UNIT * magnitude, (4, 1))


def row_softmax(x: np.ndarray) -> tuple[np.ndarray, Any]:
    """An error of the difference is a relative one of its power; five roundings more, and exp."""
    difference = x - x.max(axis=1, keepdims=True)
    powers = np.exp(difference)
    exact = powers / powers.sum(axis=1, keepdims=True)
    return exact, UNIT * (np.abs(difference) + 8) * exact


def sum_of_column_blocks(a: np.ndarray) -> tuple[np.ndarray, Any]:
    blocks = a.reshape(256, 4, 64)
    return blocks.sum(axis=1), 5 * UNIT * np.abs(blocks).sum(axis=1)


# The other tensors, the last of them the result.
OTHERS: dict[str, tuple[Reference, list[tuple[int, int]], bool]] = {
    # and whether both backends agree in every bit
    "barrier": (rotated_rows, [(256, 256)] * 2, True),
    "multicast_matmul": (product, [(256, 256)], False),
    "ring_all_reduce": (sum_of_groups, [(256, 256)], True),
    "softmax": (row_softmax, [(256, 256)], False),
    "split_sum": (sum_of_column_blocks, [(256, 256), (256, 64)], True),
}


def test_every_example_is_run() -> None:
    assert set(OTHERS) | {"elementwise", "matmul_bias_relu"} == set(OPERATIONS)


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("name", OTHERS)
def test_another_example(name: str, inputs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right, shapes, is_exact = OTHERS[name]
    operation = operation_of(name)
    count = len(operation.signature.parameters) - len(shapes)
    given = [
        ttl.from_numpy(array, dtype=ttnn.bfloat16, device=DEVICE)
        for array in INPUTS[inputs][:count]
    ]
    expected, allowed = right(*(ttl.to_numpy(tensor).astype(np.float64) for tensor in given))
    results = []
    for backend in ("sim", "host"):
        monkeypatch.setenv("TTL_BACKEND", backend)
        more = [
            ttnn.full(shape, float("nan"), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
            for shape in shapes
        ]
        operation(*given, *more)
        results.append(ttl.to_numpy(more[-1]))
        assert (np.abs(results[-1].astype(np.float64) - expected) <= allowed).all(), backend
    assert not is_exact or results[0].tobytes() == results[1].tobytes()
