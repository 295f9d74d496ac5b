"""Both examples on their four inputs: simulator, compiled on the host, and a reference.

Program 1 with exp replaced by its argument is the same on both roads bit for bit; exp itself may be
off by the bound in the op table, which the addition behind it carries on. Program 2 may be off by
the op table's bound of a float32 sum of 256 products, and by the rounding of the output.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from golden.example_programs import EXAMPLES, load_file, operation_of, sample_inputs
from property.expressions import Approximate, Expression, evaluate
from ttl import ttnn
from ttl.language import Operation

DEVICE = ttnn.open_device(device_id=0)

INPUTS = dict(sample_inputs())
PRODUCT = ("*", ("a",), ("b",))


def run(operation: Operation, arrays: list[Any], backend: str) -> Any:
    """What the operation writes, on a road that the driver chooses by the environment."""
    tensors = [ttnn.from_numpy(array, dtype=ttnn.bfloat16, device=DEVICE) for array in arrays]
    output = ttnn.full((256, 256), float("nan"), ttnn.bfloat16, device=DEVICE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTL_BACKEND", backend)
        operation(*tensors, output)
    return ttnn.to_numpy(output)


def reference(expression: Expression, names: str, arrays: list[Any], dst: str) -> Approximate:
    values = [ttnn.to_numpy(ttnn.from_numpy(x, dtype=ttnn.bfloat16, device=DEVICE)) for x in arrays]
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
