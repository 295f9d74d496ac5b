"""The functions of the vector unit, against their definitions on a table of inputs.

A result is what the function gives in double precision, rounded once to float32. A 16-bit DST then
has it rounded to nearest even, or cut off where the chip's code has no rounding of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import ml_dtypes
import numpy as np
import pytest

INF, NAN = np.inf, np.nan
BF16 = ml_dtypes.bfloat16


def bits(value: float) -> str:
    return f"{int(np.float32(value).view(np.uint32)):#x}u"


@dataclass(frozen=True)
class Row:
    init: str
    call: str
    meaning: Callable[..., np.ndarray]
    cut: bool = False


def scalar(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of the standard library, with NaN where it refuses."""

    def total(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return NAN

    return np.vectorize(total, otypes=[np.float64])


def row(name: str, meaning: Callable[..., np.ndarray], *parameters: str, cut: bool = False) -> Row:
    arguments = ", ".join(("0", *parameters))
    return Row(f"{name}_init()", f"{name}({arguments})", meaning, cut)


def rounding(name: str, meaning: Callable[..., np.ndarray], *parameters: str) -> Row:
    return Row("rounding_op_tile_init()", f"{name}({', '.join(('0', *parameters))})", meaning, True)


def with_scalar(name: str, meaning: Callable[..., np.ndarray], p: float, cut: bool = True) -> Row:
    return Row("binop_with_scalar_tile_init()", f"{name}(0, {bits(p)})", meaning, cut)


def one_if(condition: np.ndarray) -> np.ndarray:
    return np.where(condition, 1.0, 0.0)


def erf_based_gelu(x: np.ndarray) -> np.ndarray:
    return x * scalar(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))(x)


def softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def elu(alpha: float, inverse: float, x: np.ndarray) -> np.ndarray:
    return np.where(x >= 0, x, np.float32(alpha) * np.expm1(x * np.float32(inverse)))


def comparisons(name: Callable[[str], str], meaning: Callable[..., np.ndarray]) -> list[Row]:
    return [
        row(name(short), partial(lambda f, x: one_if(meaning(f, x)), function), *(), cut=True)
        for short, function in COMPARE.items()
    ]


COMPARE = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
SIGNED = (-3.5, -2.0, -1.0, -0.75, -0.3, -0.0, 0.0, 0.25, 0.5, 1.0, 1.7, 2.5, 5.0, 12.0)
SPECIAL = (INF, -INF, NAN)
POSITIVE = (0.0, 0.0078125, 0.3, 0.5, 1.0, 1.1, 2.0, 3.0, 10.0, 77.0, INF)
UNIT = (-1.0, -0.9, -0.5, -0.1, 0.0, 0.1, 0.5, 0.9, 1.0)
FROM_ONE = (1.0, 1.5, 2.0, 10.0, 50.0)
TIES = (-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, -0.25, 0.75, 7.0, 1e6, -1e6, 3.0e38, 0.0)

GROUPS: dict[str, tuple[tuple[str, ...], tuple[float, ...], list[Row]]] = {
    "trigonometry": (
        ("eltwise_unary/trigonometry.h",),
        SIGNED,
        [
            row("sin_tile", np.sin),
            row("cos_tile", np.cos),
            row("tan_tile", np.tan),
            row("atan_tile", np.arctan),
            row("sinh_tile", np.sinh),
            row("cosh_tile", np.cosh),
            row("asinh_tile", np.arcsinh),
        ],
    ),
    "inverse functions on -1..1": (
        ("eltwise_unary/trigonometry.h",),
        UNIT,
        [
            row("asin_tile", np.arcsin),
            row("acos_tile", np.arccos),
            row("atanh_tile", np.arctanh),
        ],
    ),
    "acosh": (("eltwise_unary/trigonometry.h",), FROM_ONE, [row("acosh_tile", np.arccosh)]),
    "roots and logarithms": (
        (
            "eltwise_unary/recip.h",
            "eltwise_unary/rsqrt.h",
            "eltwise_unary/sqrt.h",
            "eltwise_unary/log1p.h",
            "eltwise_unary/cbrt.h",
            "compute_kernel_api.h",
        ),
        POSITIVE,
        [
            row("recip_tile", np.reciprocal),
            row("sqrt_tile", np.sqrt),
            row("rsqrt_tile", lambda x: 1 / np.sqrt(x)),
            row("cbrt_tile", np.cbrt),
            row("log_tile", np.log),
            row("log1p_tile", np.log1p),
            row("log_with_base_tile", lambda x: np.log(x) * np.float32(2.5), bits(2.5)),
            row("power_tile", lambda x: np.power(x, 2.5), bits(2.5)),
        ],
    ),
    "exponentials": (
        ("compute_kernel_api.h", "eltwise_unary/rpow.h"),
        (*SIGNED, -130.0, -127.5, 127.0, 128.0, 1e-4, -1e-4),
        [
            row("exp2_tile", lambda x: np.where(x < -126, 0, np.exp2(x))),
            row("expm1_tile", np.expm1),
            row("tanh_tile", np.tanh),
            row("sigmoid_tile", lambda x: 1 / (1 + np.exp(-x))),
            row("silu_tile", lambda x: x / (1 + np.exp(-x))),
            row("rpow_tile", lambda x: np.power(float(np.float32(1.7)), x), bits(1.7)),
        ],
    ),
    "activations": (
        (
            "eltwise_unary/gelu.h",
            "eltwise_unary/elu.h",
            "eltwise_unary/selu.h",
            "eltwise_unary/activations.h",
            "eltwise_unary/softplus.h",
            "eltwise_unary/mish.h",
            "eltwise_unary/erf_erfc.h",
        ),
        SIGNED,
        [
            Row("gelu_tile_init<false>()", "gelu_tile<false>(0)", erf_based_gelu),
            row(
                "gelu_tanh_tile",
                lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
            ),
            row("elu_tile", partial(elu, 1.1, 1.0), bits(1.1)),
            row("celu_tile", partial(elu, 1.1, 1 / 1.1), bits(1.1), bits(1 / 1.1)),
            row(
                "selu_tile",
                lambda x: np.float64(np.float32(1.05)) * elu(1.67, 1.0, x),
                bits(1.05),
                bits(1.67),
            ),
            row(
                "softplus_tile",
                lambda x: np.where(1.5 * x <= 6, softplus(1.5 * x) * np.float32(1 / 1.5), x),
                bits(1.5),
                bits(1 / 1.5),
                bits(6.0),
            ),
            Row(
                "mish_tile_init<false>()",
                "mish_tile<false>(0)",
                lambda x: x * np.tanh(softplus(x)),
            ),
            row("softsign_tile", lambda x: x / (1 + np.abs(x)), cut=True),
            row("erf_tile", scalar(math.erf), cut=True),
            row("erfc_tile", scalar(math.erfc), cut=True),
            row(
                "hardsigmoid_tile",
                lambda x: np.clip(np.float32(x) * np.float32(1 / 6) + np.float32(0.5), 0, 1),
                cut=True,
            ),
        ],
    ),
    "rectifiers": (
        (
            "eltwise_unary/prelu.h",
            "eltwise_unary/clamp.h",
            "eltwise_unary/hardtanh.h",
            "eltwise_unary/threshold.h",
            "eltwise_unary/activations.h",
        ),
        (*SIGNED, INF, -INF),
        [
            row("relu_tile", lambda x: np.maximum(x, 0), cut=True),
            row("relu_min_tile", lambda x: np.maximum(x, np.float32(0.3)), bits(0.3), cut=True),
            row("relu_max_tile", lambda x: np.clip(x, 0, np.float32(1.7)), bits(1.7), cut=True),
            row(
                "leaky_relu_tile",
                lambda x: np.where(x < 0, x * np.float32(0.3), x),
                bits(0.3),
                cut=True,
            ),
            row(
                "prelu_tile", lambda x: np.where(x < 0, x * np.float32(0.3), x), bits(0.3), cut=True
            ),
            row(
                "clamp_tile",
                lambda x: np.clip(x, np.float32(-0.3), np.float32(1.7)),
                bits(-0.3),
                bits(1.7),
                cut=True,
            ),
            row("hardtanh_tile", lambda x: np.clip(x, -1.0, 1.0), bits(-1.0), bits(1.0), cut=True),
            row(
                "threshold_tile",
                lambda x: np.where(x <= np.float32(0.3), np.float32(0.7), x),
                bits(0.3),
                bits(0.7),
                cut=True,
            ),
            row(
                "softshrink_tile",
                lambda x: np.where(x > 0.5, x - 0.5, np.where(x < -0.5, x + 0.5, 0)),
                bits(0.5),
                cut=True,
            ),
            row("hardshrink_tile", lambda x: np.where(np.abs(x) > 0.5, x, 0), bits(0.5), cut=True),
        ],
    ),
    "rounding": (
        ("eltwise_unary/rounding.h",),
        TIES,
        [
            rounding("floor_tile", np.floor),
            rounding("ceil_tile", np.ceil),
            rounding("trunc_tile", np.trunc),
            rounding("frac_tile", lambda x: x - np.trunc(x)),
            rounding("round_tile", np.rint, "0"),
            rounding("round_tile", lambda x: np.rint(np.float32(x) / 10) * 10, "-1"),
        ],
    ),
    "signs": (
        ("compute_kernel_api.h", "eltwise_unary/negative.h", "eltwise_unary/identity.h"),
        (*SIGNED, INF, -INF),
        [
            row("abs_tile", np.abs),
            row("negative_tile", np.negative),
            row("identity_tile", np.positive),
            row("sign_tile", np.sign),
            row("signbit_tile", lambda x: one_if(np.signbit(x))),
            row("square_tile", np.square),
            row("heaviside_tile", lambda x: np.heaviside(x, 0.25), bits(0.25)),
            row("power_iterative_tile", lambda x: x**3, "3u", cut=True),
            row("power_iterative_tile", np.ones_like, "0u", cut=True),
            row("unary_max_tile", lambda x: np.maximum(x, np.float32(0.3)), bits(0.3), cut=True),
            row("unary_min_tile", lambda x: np.minimum(x, np.float32(0.3)), bits(0.3), cut=True),
        ],
    ),
    "scalars": (
        ("eltwise_unary/binop_with_scalar.h", "eltwise_unary/rsub.h"),
        SIGNED,
        [
            with_scalar("add_unary_tile", lambda x: x + np.float32(0.3), 0.3),
            with_scalar("sub_unary_tile", lambda x: x - np.float32(0.3), 0.3),
            with_scalar("mul_unary_tile", lambda x: x * np.float32(0.3), 0.3),
            with_scalar("div_unary_tile", lambda x: x * np.float32(0.3), 0.3),
            with_scalar("rsub_unary_tile", lambda x: np.float32(0.3) - x, 0.3, cut=False),
            row("rsub_tile", lambda x: np.float32(0.3) - x, bits(0.3)),
        ],
    ),
    "remainders": (
        ("eltwise_unary/remainder.h", "eltwise_unary/fmod.h"),
        (-20.0, -3.0, -2.0, -1.5, -0.5, 0.0, 0.5, 1.5, 2.0, 3.0, 20.0),
        [
            Row(
                f"remainder_tile_init({bits(1.5)}, {bits(1 / 1.5)})",
                "remainder_tile(0)",
                lambda x: np.mod(x, 1.5),
                True,
            ),
            Row(
                f"remainder_tile_init({bits(-1.5)}, {bits(-1 / 1.5)})",
                "remainder_tile(0)",
                lambda x: np.mod(x, -1.5),
                True,
            ),
            Row(
                f"fmod_tile_init({bits(1.5)}, {bits(1 / 1.5)})",
                "fmod_tile(0)",
                lambda x: np.fmod(x, 1.5),
                True,
            ),
        ],
    ),
    "comparisons": (
        ("eltwise_unary/comp.h", "eltwise_unary/isinf_isnan.h"),
        (*SIGNED, *SPECIAL),
        [
            *comparisons(lambda short: f"{short}z_tile", lambda f, x: f(x, 0)),
            *(
                row(f"unary_{short}_tile", partial(lambda f, x: one_if(f(x, 1)), f), bits(1.0))
                for short, f in COMPARE.items()
            ),
            row("isinf_tile", lambda x: one_if(np.isinf(x))),
            row("isnan_tile", lambda x: one_if(np.isnan(x))),
            row("isposinf_tile", lambda x: one_if(x == INF)),
            row("isneginf_tile", lambda x: one_if(x == -INF)),
            row("isfinite_tile", lambda x: one_if(np.isfinite(x))),
        ],
    ),
}


def kernel_of(rows: list[Row], copies: int) -> str:
    """A section for each row: operands into slots 0.., the call, slot 0 out."""
    copied = "copy_init(0);" + "".join(f"copy_tile({i}, 0, {i});" for i in range(copies))
    waits = "".join(f"cb_wait_front({i}, 1);" for i in range(copies))
    pops = "".join(f"cb_pop_front({i}, 1);" for i in range(copies))
    sections = "\n".join(
        f"tile_regs_acquire();{copied}{row.init};\n{row.call};\ntile_regs_commit();"
        f"tile_regs_wait();pack_tile(0, {copies});tile_regs_release();"
        for row in rows
    )
    count = len(rows)
    return f"""compute_kernel_hw_startup(0, {copies});
{waits}cb_reserve_back({copies}, {count});
{sections}
cb_push_back({copies}, {count});{pops}"""


def expected(row: Row, wide: bool, *operands: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        exact = row.meaning(*(x.astype(np.float64) for x in operands)).astype(np.float32)
    if wide:
        return exact
    if row.cut:
        return (exact.view(np.uint32) & 0xFFFF0000).view(np.float32)
    return exact.astype(BF16).astype(np.float32)


def tile_of(values: tuple[float, ...], wide: bool) -> np.ndarray:
    """The values again and again, as float32 or bfloat16."""
    tile = np.resize(np.array(values, np.float32), 1024)
    return tile if wide else tile.astype(BF16).astype(np.float32)


def assert_same(result: np.ndarray, wanted: np.ndarray, ulps: int, what: str) -> None:
    assert (np.isnan(result) == np.isnan(wanted)).all(), what
    known = ~np.isnan(wanted)
    difference = np.abs(
        result[known].view(np.int32).astype(np.int64) - wanted[known].view(np.int32)
    )
    is_zero = (result[known] == 0) & (wanted[known] == 0)
    assert (difference[~is_zero] <= ulps).all(), (what, result[:16], wanted[:16])


@pytest.mark.parametrize("wide", [False, True], ids=["16-bit", "32-bit"])
@pytest.mark.parametrize("group", GROUPS)
def test_functions_of_one_slot(run_compute, group, wide):
    headers, values, rows = GROUPS[group]
    x = tile_of(values, wide)
    data_format = "Float32" if wide else "BFloat16"
    results = run_compute(
        kernel_of(rows, 1),
        [[x]],
        output_tiles=len(rows),
        formats=[data_format],
        output_format=data_format,
        headers=headers,
        fp32_dest_acc_en=wide,
        unpack_to_dest=wide,
    )
    for result, table_row in zip(results, rows, strict=True):
        # The last bit of a float32 is the C library's to choose; 16 bits have room for its doubt.
        wanted = expected(table_row, wide, x)
        assert_same(result, wanted, 1 if wide else 0, table_row.call)


PAIRS = [
    row_of
    for row_of in (
        Row("div_binary_tile_init()", "div_binary_tile(0, 1, 0)", np.divide),
        Row("rsub_binary_tile_init()", "rsub_binary_tile(0, 1, 0)", lambda a, b: b - a, True),
        Row("power_binary_tile_init()", "power_binary_tile(0, 1, 0)", np.power),
        Row("binary_max_tile_init()", "binary_max_tile(0, 1, 0)", np.maximum),
        Row("binary_min_tile_init()", "binary_min_tile(0, 1, 0)", np.minimum),
        Row("fmod_binary_tile_init()", "fmod_binary_tile(0, 1, 0)", np.fmod),
        Row("remainder_binary_tile_init()", "remainder_binary_tile(0, 1, 0)", np.mod),
        *(
            Row(
                f"{short}_binary_tile_init()",
                f"{short}_binary_tile(0, 1, 0)",
                partial(lambda f, a, b: one_if(f(a, b)), f),
            )
            for short, f in COMPARE.items()
        ),
    )
]


@pytest.mark.parametrize("wide", [False, True], ids=["16-bit", "32-bit"])
def test_functions_of_two_slots(run_compute, wide):
    left, right = np.meshgrid((0.3, 1.0, 2.0, 3.0, 7.5), (-2.0, 0.5, 1.0, 2.0, 2.5))
    a = tile_of(tuple(left.ravel()), wide)
    b = tile_of(tuple(right.ravel()), wide)
    data_format = "Float32" if wide else "BFloat16"
    results = run_compute(
        kernel_of(PAIRS, 2),
        [[a], [b]],
        output_tiles=len(PAIRS),
        formats=[data_format] * 2,
        output_format=data_format,
        headers=("binary_max_min.h", "binary_fmod.h", "binary_remainder.h"),
        fp32_dest_acc_en=wide,
        unpack_to_dest=wide,
    )
    for result, table_row in zip(results, PAIRS, strict=True):
        assert_same(result, expected(table_row, wide, a, b), 1 if wide else 0, table_row.call)


def test_rdiv_rounds_the_reciprocal_and_cuts_off_the_product(run_compute):
    # 1 / 3 is 0x3eaaaaab: rounded 0x3eab = 0.333984375; times 1.7 = 0.56777..: cut off 0x3f11
    calls = "rdiv_tile(0, {v});", "rdiv_tile<RoundingMode::Floor>(0, {v});"
    rows = [Row("rdiv_tile_init()", call.format(v=bits(1.7)), np.positive) for call in calls]
    headers = (
        "eltwise_unary/binop_with_scalar.h",
        "eltwise_unary/elu.h",
        "eltwise_unary/rounding.h",
        "eltwise_unary/rdiv.h",
    )
    tile = np.resize(np.array([3.0, 0.5], np.float32), 1024)
    narrow = run_compute(kernel_of(rows, 1), [[tile]], output_tiles=2, headers=headers)
    assert narrow[0, :2].tolist() == [float(np.uint32(0x3F110000).view(np.float32)), 3.390625]
    assert narrow[1, :2].tolist() == [0.0, 3.0]


# c, a, b, then what is left of a where the bits of c are zero
SELECT = [(0.0, 1.0, 2.0), (1.0, 3.0, 4.0), (-0.0, 5.0, 6.0), (-2.0, 7.0, 8.0)]
SELECTED = [2.0, 3.0, 5.0, 7.0]  # minus zero has a bit


@pytest.mark.parametrize("wide", [False, True], ids=["16-bit", "32-bit"])
def test_selection(run_compute, wide):
    data_format = "Float32" if wide else "Float16_b"
    c, a, b = (tile_of(column, True) for column in zip(*SELECT, strict=True))
    rows = [
        Row(
            "where_tile_init()",
            f"where_tile<DataFormat::{data_format}>(0, 1, 2, 0)",
            np.positive,
        ),
        Row(
            "copy_dest_values_init()",
            f"copy_dest_values<DataFormat::{data_format}>(2, 0)",
            np.positive,
        ),
        Row("logical_not_tile_init()", "logical_not_tile<DataFormat::Float16_b>(0)", np.positive),
        # the mask stands in the slot after the data: here c is the data and a the mask
        Row("mask_tile_init()", "mask_tile(0, 3)", np.positive),
    ]
    operand_format = "Float32" if wide else "BFloat16"
    results = run_compute(
        kernel_of(rows, 3),
        [[c], [a], [b]],
        output_tiles=len(rows),
        formats=[operand_format] * 3,
        output_format=operand_format,
        headers=(
            "eltwise_unary/where.h",
            "copy_dest_values.h",
            "eltwise_unary/logical_not.h",
            "mask.h",
        ),
        fp32_dest_acc_en=wide,
        unpack_to_dest=wide,
    )
    assert results[0, :4].tolist() == SELECTED
    assert results[1, :4].tolist() == [2.0, 4.0, 6.0, 8.0]
    assert results[2, :4].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert results[3, :4].tolist() == [0.0, 1.0, 0.0, -2.0]


def test_masks(run_compute):
    data, mask = tile_of((1.0, 2.0, 3.0, 4.0), True), tile_of((0.0, 1.0, -0.0, 5.0), True)
    rows = [
        Row("mask_tile_init()", "mask_tile(0, 1, DataFormat::Float16_b)", np.positive),
        Row("mask_tile_init()", "mask_posinf_tile(0, 1)", np.positive),
        Row("mask_tile_init()", "mask_tile(0, 1, DataFormat::Float32)", np.positive),
    ]
    results = run_compute(kernel_of(rows, 2), [[data], [mask]], output_tiles=3, headers=("mask.h",))
    assert results[0, :4].tolist() == [0.0, 2.0, 0.0, 4.0]
    assert results[1, :4].tolist() == [INF, 2.0, INF, 4.0]
    assert results[2, :4].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_a_narrow_copy_of_a_wide_slot_is_cut_off(run_compute):
    x = tile_of((1.0 + 2.0**-8 + 2.0**-9, -1.0 - 2.0**-7 - 2.0**-8), True)
    calls = [f"copy_dest_values<DataFormat::{name}>(0, 1)" for name in ("Float16_b", "Float32")]
    rows = [
        Row(
            "copy_dest_values_init()",
            f"{call};copy_dest_values<DataFormat::Float32>(1, 0)",
            np.positive,
        )
        for call in calls
    ]
    results = run_compute(
        kernel_of(rows, 1),
        [[x]],
        output_tiles=2,
        formats=["Float32"],
        output_format="Float32",
        headers=("copy_dest_values.h",),
        fp32_dest_acc_en=True,
    )
    assert results[0, :2].tolist() == [1.0, -1.0 - 2.0**-7]
    assert results[1, :2].tolist() == x[:2].tolist()
