"""The embedded ttnn behaves as the real one: every row of the table in
tests/conformance/ttnn_real.toml, and every parameter of the operations.

Rows with a reason are those on which it does not; they must differ, so that the list stays true.
"""

from __future__ import annotations

import inspect
import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from conformance.ttnn_real import TABLE, Row, agrees, answer, table
from device.real_ttnn import NO_INTERPRETER, find_environment, run_in_environment
from ttl import ttnn
from ttl.ttnn.operations import NAMES
from ttl.ttnn.operations.run import EVERYWHERE

SCRIPT = TABLE.with_suffix(".py")
ROWS = table()
DEVICE = ttnn.open_device(device_id=0)


def tiles(array: Any, dtype: Any = ttnn.bfloat16) -> Any:
    return ttnn.from_numpy(array, dtype, ttnn.TILE_LAYOUT, DEVICE)


def rows(array: Any, dtype: Any = ttnn.bfloat16) -> Any:
    return ttnn.from_numpy(array, dtype, ttnn.ROW_MAJOR_LAYOUT, DEVICE)


def names_on_a_device() -> dict[str, Any]:
    ones = np.ones((32, 64), np.float32)
    return {
        "A": tiles(ones),
        "D": DEVICE,
        "F": tiles(ones, ttnn.float32),
        "I": tiles(ones, ttnn.int32),
        "R": rows(ones),
        "rows": rows,
        "tiles": tiles,
    }


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_embedded_ttnn_answers_as_the_real_one(row: Row) -> None:
    found = answer(ttnn, row.expression, names_on_a_device())
    assert agrees(found, row.real) == (not row.reason), found


@cache
def asked() -> dict[str, Any]:
    """What the published wheel answers, without a device."""
    if find_environment() is None:
        pytest.skip(NO_INTERPRETER)
    operations = [name for name in NAMES if name not in ONLY_PYTHON]
    printed = run_in_environment(SCRIPT, *operations).splitlines()[-1]
    found: dict[str, Any] = json.loads(printed)
    return found


@pytest.mark.parametrize("row", [row for row in ROWS if row.source == "wheel"], ids=str)
def test_the_real_ttnn_answers_as_the_table_has_it(row: Row) -> None:
    found = asked()["answers"][row.expression]
    assert agrees(found, row.real), found


ONLY_PYTHON = ("unsqueeze_to_4D",)  # without a signature that can be asked for
# Forms and keywords that the embedded operations do not have.
NOT_HERE = {
    "gather": {"out"},
    "prod": {"output_tensor", "dims"},
    "scatter": {"reduce"},
    "sort": {"out"},
    "topk": {"output_tensor"},
}
# Theirs alone.
ONLY_HERE = {"gather": {"out"}, "pad": {"last"}}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ONLY_PYTHON])
def test_operations_have_the_parameters_of_the_real_ones(name: str) -> None:
    forms = asked()["parameters"][name]
    real = {parameter for form in forms for names in form for parameter in names}
    function = getattr(ttnn, name)
    if not hasattr(function, "operation"):  # convolutions, which take all by name
        assert {*inspect.signature(function).parameters} == real
        return
    op = function.operation
    own = {*op.kinds, *op.options, *op.also}
    assert own - ONLY_HERE.get(name, set()) == real - NOT_HERE.get(name, set())
    by_position = [p.name for p in op.signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]
    assert any(_fits(by_position, form[0], op.also) for form in forms)
    assert not {*EVERYWHERE} & real


def _fits(own: list[str], real: list[str], also: dict[str, str]) -> bool:
    named = [also.get(name, name) for name in real]
    return own[: len(named)] == named
