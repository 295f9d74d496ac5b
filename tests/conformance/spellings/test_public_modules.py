"""The modules that programs for the public tools import beside the language."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import ttl
from conformance.harness import computing, small, tensor
from ttl import ttnn
from ttl.dtype_utils import (
    format_name_to_ttnn_dtype,
    is_ttnn_tensor,
    tile_bytes_from_dtype,
    torch_dtype_to_ttnn_datatype,
)
from ttl.utils.block_allocation import (
    get_large_matmul_params,
    get_number_of_nodes_from_ranges,
    split_work_to_nodes,
)
from ttl.utils.correctness import assert_allclose, assert_pcc, assert_with_ulp, comp_ulp, ulp

# Imports ------------------------------------------------------------------------------------------

IMPORTS = """
from sim import ttl, ttnn, TILE_SHAPE, copy
import sim, utils.correctness
from ttl import ttl as inner
from utils.block_allocation import split_work_to_nodes
import ttl.sim, ttl.utils
from sim.testing import assert_pcc
from sim.typedefs import Pipe
assert_pcc([1.0], [1.0])
assert ttl is inner is __import__("ttl") and sim is ttl.sim and utils is ttl.utils
assert utils.correctness is ttl.utils.correctness and copy is ttl.copy
assert ttnn is __import__("ttnn")
"""


def python(program: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.rule("sim-import", "public-helpers")
def test_the_modules_are_ours_under_their_other_names(tmp_path: Path) -> None:
    assert python(IMPORTS, tmp_path) == ""


@pytest.mark.rule("public-helpers")
@pytest.mark.parametrize("name", ["sim", "utils"])
def test_a_module_of_the_program_comes_first(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text("who = 'the program'\n")
    assert python(f"import ttnn, {name}; print({name}.who)", tmp_path) == "the program\n"


@pytest.mark.rule("public-names")
def test_the_error_of_the_public_compiler() -> None:
    from ttl.diagnostics import TTLangCompileError

    assert TTLangCompileError is ttl.TTLangCompileError
    operation, tensors = computing(lambda y, x: y.store(x @ ttl.math.transpose(x)), small(32, 64))
    with pytest.raises(TTLangCompileError, match="TTL2001"):
        operation(*tensors)


# Comparing results --------------------------------------------------------------------------------

HALF_UNIT = 2.0**-8  # of 1.0 in bf16


@pytest.mark.rule("public-helpers")
def test_ulp_is_the_distance_to_the_next_number() -> None:
    numbers = [0.0, 1e-40, 1.0, -3.0, 1e30]
    for dtype in (ml_dtypes.bfloat16, np.float16, np.float32):
        largest = float(ml_dtypes.finfo(dtype).max)
        x = np.array([number for number in numbers if number < largest], np.float32).astype(dtype)
        distance = np.nextafter(np.abs(x), np.array(np.inf, dtype)) - np.abs(x)
        assert np.array_equal(ulp(x), distance.astype(np.float64))
    assert np.isfinite(ulp(np.array([ml_dtypes.finfo(ml_dtypes.bfloat16).max]))).all()


@pytest.mark.rule("public-helpers")
def test_units_are_those_of_the_actual_type_at_the_expected_value() -> None:
    expected = np.array([1.0, 1.0 + HALF_UNIT], np.float32)
    actual = tensor([[1.0, 1.0]], ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT)
    assert comp_ulp(expected.reshape(1, 2), actual, 0.5) == (
        True,
        "at most 0.5 units in the last place off",
    )
    with pytest.raises(AssertionError, match=r"at most 0\.5 units"):
        assert_with_ulp(expected.reshape(1, 2), actual, ulp_threshold=0.25)


@pytest.mark.rule("public-helpers")
def test_numbers_that_are_not_finite() -> None:
    x = np.array([1.0, np.inf, np.nan], np.float32)
    assert_with_ulp(x, x, allow_nonfinite=True)
    with pytest.raises(AssertionError, match="infinities"):
        assert_with_ulp(x, x)
    with pytest.raises(AssertionError, match="not where they are expected"):
        assert_with_ulp(x, x[[1, 0, 2]], allow_nonfinite=True)
    with pytest.raises(AssertionError, match="shapes"):
        assert_with_ulp(x, x[:2])


@pytest.mark.rule("public-helpers")
def test_correlation_and_closeness() -> None:
    x = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)
    assert_pcc(x, 3 * x + 1)
    assert_pcc(np.ones(4), np.ones(4))
    with pytest.raises(AssertionError, match="correlation"):
        assert_pcc(x, x[::-1])
    assert_pcc(x, x + 0.1 * np.sin(50 * x), threshold=0.9)
    assert_allclose(x, x + 1e-9)
    with pytest.raises(AssertionError, match=r"(?s)1 of 64 elements.*at \(7, 7\): 2.0, and 1.0"):
        assert_allclose(np.where(x == 1, 2, x), x)
    with pytest.raises(AssertionError, match="shapes"):
        assert_allclose(x, x[0])


# Element types ------------------------------------------------------------------------------------


@pytest.mark.rule("public-helpers")
def test_element_types_by_other_names() -> None:
    assert torch_dtype_to_ttnn_datatype("torch.bfloat16") is ttnn.bfloat16
    assert format_name_to_ttnn_dtype("float32") is ttnn.float32
    assert tile_bytes_from_dtype(ttnn.bfloat8_b) == 1088
    assert tile_bytes_from_dtype(SimpleNamespace(name="UINT16")) == 2048  # of the real ttnn
    assert is_ttnn_tensor(tensor(small(32, 32))) and not is_ttnn_tensor(small(32, 32))
    for wrong in (lambda: format_name_to_ttnn_dtype("int4"), lambda: tile_bytes_from_dtype(int)):
        with pytest.raises(ValueError, match="not an element type"):
            wrong()


# Dividing work ------------------------------------------------------------------------------------


@pytest.mark.rule("public-helpers")
@pytest.mark.parametrize("row_wise", [True, False])
@pytest.mark.parametrize("units", [1, 4, 5, 7, 20, 33, 40, 41])
def test_work_is_divided_among_all_nodes_in_order(units: int, row_wise: bool) -> None:
    grid = (4, 5)
    used, first, second, more, less = split_work_to_nodes(grid, units, row_wise)
    counts = [get_number_of_nodes_from_ranges(each) for each in (first, second)]
    assert used == sum(counts) == min(units, 20)
    assert counts[0] * more + counts[1] * less == units
    assert not second or more == less + 1
    nodes = [
        (row, column)
        for (top, left), (bottom, right) in (*first, *second)
        for row in range(top, bottom + 1)
        for column in range(left, right + 1)
    ]
    in_order = sorted(nodes, key=lambda node: node if row_wise else node[::-1])
    assert len({*nodes}) == used
    assert in_order[-1] == (divmod(used - 1, 5) if row_wise else divmod(used - 1, 4)[::-1])


@pytest.mark.rule("public-helpers")
def test_work_on_a_line_of_nodes() -> None:
    assert split_work_to_nodes((64,), 100) == (64, [((0,), (35,))], [((36,), (63,))], 2, 1)


@pytest.mark.rule("public-helpers")
@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((20, 20, 8, 8, 2), (20, 4, 4, 2)),
        ((112, 96, 8, 8, 2), (16, 12, 4, 2)),
        ((11, 8, 8, 8, 2), (11, 8, 1, 8)),  # a prime that eight nodes cannot divide
        ((8, 22, 8, 8, 2), (8, 11, 8, 1)),
        ((64 * 17, 8, 8, 8, 2), (0, 0, 0, 0)),
    ],
)
def test_the_blocks_of_a_matrix_product(sizes, expected) -> None:
    found = get_large_matmul_params(*sizes)
    assert found == expected
    assert (found.block_h, found.block_w, found.subblock_h, found.subblock_w) == expected
