"""Type rules, rounding and the DST rule."""

from __future__ import annotations

import numpy as np
import pytest

from ttl.diagnostics import RuleBroken
from ttl.semantics.compiler_options import parse_options
from ttl.semantics.dtypes import (
    DTYPES,
    DType,
    bfloat4_b,
    bfloat8_b,
    bfloat16,
    float16,
    float32,
    int32,
    round_to,
)
from ttl.semantics.kernel_config import Sum, dest_dtype, needs_fp32_dest
from ttl.semantics.ops import BY_OPERATOR, FUNCTIONS, store_type
from ttl.semantics.types import BlockType, element_shape, tiles_of

A = BlockType((2, 3), bfloat16)


@pytest.mark.parametrize("operator", ["+", "-", "*"])
def test_elementwise_operands_agree(operator: str) -> None:
    rule = BY_OPERATOR[operator].type_rule
    assert rule(A, BlockType((2, 3), bfloat16)) == A


@pytest.mark.parametrize("operator", ["+", "-", "*"])
@pytest.mark.parametrize(
    ("other", "slug"),
    [
        (BlockType((3, 2), bfloat16), "shape-mismatch"),
        (BlockType((1, 1), bfloat16), "shape-mismatch"),
        (BlockType((2, 3), int32), "dtype-mismatch"),
    ],
)
def test_elementwise_operands_differ(operator: str, other: BlockType, slug: str) -> None:
    with pytest.raises(RuleBroken) as caught:
        BY_OPERATOR[operator].type_rule(A, other)
    assert caught.value.code.slug == slug


@pytest.mark.parametrize("fill", [BlockType(None, None), BlockType((2, 3), None)])
def test_a_fill_adapts_to_the_other_operand(fill: BlockType) -> None:
    assert BY_OPERATOR["+"].type_rule(A, fill) == A
    assert BY_OPERATOR["+"].type_rule(fill, A) == A


def test_a_fill_with_a_shape_must_have_the_right_one() -> None:
    with pytest.raises(RuleBroken, match=r"\(2, 3\).*\(3, 3\)"):
        BY_OPERATOR["+"].type_rule(A, BlockType((3, 3), None))


def test_matmul() -> None:
    rule = BY_OPERATOR["@"].type_rule
    assert rule(A, BlockType((3, 5), bfloat16)) == BlockType((2, 5), bfloat16)
    batched = rule(BlockType((4, 2, 3), float32), BlockType((4, 3, 1), float32))
    assert batched == BlockType((4, 2, 1), float32)
    assert rule(BlockType((5, 4, 2, 3), float32), BlockType((3, 1), float32)) == BlockType(
        (5, 4, 2, 1), float32
    )


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (bfloat16, float32, float32),
        (bfloat16, bfloat8_b, bfloat16),
        (bfloat4_b, bfloat8_b, bfloat16),
        (bfloat16, float16, float32),
        (bfloat8_b, float16, float32),
    ],
)
def test_floats_of_two_types(one: DType, other: DType, found: DType) -> None:
    """The name of a type that holds both; the values have the format of DST."""
    for left, right in ((one, other), (other, one)):
        for operator in ("+", "@"):
            types = BlockType((2, 2), left), BlockType((2, 2), right)
            assert BY_OPERATOR[operator].type_rule(*types) == BlockType((2, 2), found)


@pytest.mark.parametrize(
    ("right", "slug"),
    [
        (BlockType((2, 3), bfloat16), "matmul-shapes"),
        (BlockType((1, 3, 5), bfloat16), "matmul-shapes"),
        (BlockType((3, 5), int32), "dtype-mismatch"),
        (BlockType(None, None), "shapeless-fill"),
    ],
)
def test_matmul_operands_that_do_not_fit(right: BlockType, slug: str) -> None:
    with pytest.raises(RuleBroken) as caught:
        BY_OPERATOR["@"].type_rule(A, right)
    assert caught.value.code.slug == slug


def test_unary_functions_keep_the_type() -> None:
    assert [FUNCTIONS[name].type_rule(A) for name in ("exp", "relu")] == [A, A]


def test_a_store_converts_the_element_type_and_not_the_shape() -> None:
    assert store_type(BlockType((2, 3), float32), A) == A
    assert store_type(BlockType(None, None), A) == A
    with pytest.raises(RuleBroken, match=r"\(3, 2\) is stored into a block of shape \(2, 3\)"):
        store_type(BlockType((3, 2), bfloat16), A)


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (1.0, 1.0),
        (1.00390625, 1.0),  # 1 + 2**-8 is halfway: to even, down
        (1.01171875, 1.015625),  # 1 + 3 * 2**-8 is halfway: to even, up
        (1.00390637, 1.0078125),  # just above halfway
        (257.0, 256.0),
        (3.4e38, np.inf),
        (-(2.0**-134), -0.0),  # half of the least denormal
        (np.inf, np.inf),
    ],
)
def test_bfloat16_rounds_to_nearest_even(value: float, rounded: float) -> None:
    with np.errstate(all="ignore"):
        result = round_to(np.array([value], np.float32), bfloat16)
    assert result.dtype == np.float32
    assert result.tobytes() == np.array([rounded], np.float32).tobytes()


def test_rounding_keeps_nan_and_leaves_float32_alone() -> None:
    assert np.isnan(round_to(np.array([np.nan], np.float32), bfloat16)[0])
    values = np.array([1.00390637, np.pi], np.float32)
    assert np.array_equal(round_to(values, float32), values)


@pytest.mark.parametrize("dtype", DTYPES.values())
def test_rounding_twice_is_rounding_once(dtype: object) -> None:
    values = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
    once = round_to(values, dtype)  # type: ignore[arg-type]
    assert np.array_equal(round_to(once, dtype), once)  # type: ignore[arg-type]


def test_tile_geometry() -> None:
    assert tiles_of((1, 33)) == (1, 2)
    assert tiles_of((3, 64, 65)) == (3, 2, 3)
    assert element_shape((3, 2, 1)) == (3, 64, 32)
    assert tiles_of((33,)) == (2,)
    assert element_shape((2,)) == (32, 64)


@pytest.mark.parametrize(
    ("explicit", "sums", "dtypes", "options", "wide"),
    [
        (None, [], [bfloat16], "", False),
        (None, [], [bfloat16, float32], "", True),
        (None, [Sum.MATMUL], [bfloat16], "", True),
        (None, [Sum.REDUCTION], [bfloat16], "", True),
        (False, [Sum.MATMUL], [float32], "", False),
        (False, [Sum.REDUCTION], [float32], "", False),
        (True, [], [bfloat16], "", True),
        (None, [Sum.REDUCTION], [bfloat16], "--no-ttl-reduce-full-fp32", False),
        (None, [Sum.MATMUL], [bfloat16], "--no-ttl-reduce-full-fp32", True),
        (None, [Sum.MATMUL], [bfloat16], "--no-ttl-matmul-full-fp32", False),
        (None, [Sum.REDUCTION], [float32], "--no-ttl-reduce-full-fp32", True),
        (True, [Sum.REDUCTION], [bfloat16], "--no-ttl-reduce-full-fp32", True),
    ],
)
def test_the_width_of_dst(
    explicit: bool | None, sums: list, dtypes: list, options: str, wide: bool
) -> None:
    chosen = needs_fp32_dest(explicit, sums, dtypes, parse_options(options))
    assert chosen is wide
    assert dest_dtype(chosen) is (float32 if wide else bfloat16)
