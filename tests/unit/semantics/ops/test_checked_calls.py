"""bind() remembers calls it has checked; only those that are alike are one call."""

from __future__ import annotations

import numpy as np
import pytest

from ttl.diagnostics import RuleBroken
from ttl.semantics.ops import BLOCK_OPS, FILL_BLOCK, bind


def test_zeros_of_both_signs_are_two_values() -> None:
    for value in (0.0, -0.0, 0.0):
        _, parameters = bind(FILL_BLOCK, (), {"value": value, "shape": (1, 1)})
        assert np.signbit(parameters["value"]) == np.signbit(value)


@pytest.mark.parametrize("shape", [(1.0, 1), (True, 1), [True, 1]])
def test_a_shape_that_equals_a_checked_one_is_checked_too(shape) -> None:
    bind(FILL_BLOCK, (), {"value": 1, "shape": (1, 1)})
    with pytest.raises(RuleBroken, match="takes a shape"):
        bind(FILL_BLOCK, (), {"value": 1, "shape": shape})


def test_dims_that_equal_checked_ones_are_checked_too() -> None:
    op = BLOCK_OPS["reduce_sum"]
    block = object()
    operands, parameters = bind(op, (block,), {"dims": [1]})
    assert operands == (block, 1)
    assert bind(op, (block,), {"dims": [1]})[1] is parameters
    with pytest.raises(RuleBroken, match="dims"):
        bind(op, (block,), {"dims": [True]})
