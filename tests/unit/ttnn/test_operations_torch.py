"""The operations against torch: float32 and bfloat16, whole and ragged tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from ttl import ttnn
from ttl.diagnostics import UsageError

DEVICE = ttnn.open_device(device_id=0)
DTYPES = {"bfloat16": ttnn.bfloat16, "float32": ttnn.float32}
SHAPES = [(32, 64), (100, 100), (2, 3, 40, 33)]
# float32 results may differ in the last places of the sums; bfloat16 ones by one unit, where the
# unrounded results lie on different sides of a tie.
TOLERANCES = {
    ttnn.float32: {"rtol": 2e-5, "atol": 1e-6},
    ttnn.bfloat16: {"rtol": 8e-3, "atol": 1e-6},
}


def random(*shape: int, low: float = -3.0, high: float = 3.0, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, generator=generator) * (high - low) + low


def make(values: torch.Tensor, dtype: Any) -> tuple[Any, torch.Tensor]:
    """A tensor and what it holds, as float32."""
    tensor = ttnn.from_torch(values, dtype=dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    return tensor, ttnn.to_torch(tensor).float()


def check(result: Any, expected: torch.Tensor, dtype: Any) -> None:
    """The result has the dtype, the shape, and the values, rounded once."""
    assert result.dtype is dtype
    assert tuple(result.shape) == tuple(expected.shape)
    rounded = ttnn.to_torch(ttnn.from_torch(expected, dtype=dtype, layout=ttnn.TILE_LAYOUT)).float()
    found = ttnn.to_torch(result).float()
    torch.testing.assert_close(found, rounded, equal_nan=True, **TOLERANCES[dtype])


# name: (torch function, lowest and highest input)
UNARY: dict[str, tuple[Callable[..., torch.Tensor], float, float]] = {
    "abs": (torch.abs, -3, 3),
    "acos": (torch.acos, -0.9, 0.9),
    "acosh": (torch.acosh, 1.1, 5),
    "asin": (torch.asin, -0.9, 0.9),
    "asinh": (torch.asinh, -3, 3),
    "atan": (torch.atan, -3, 3),
    "atanh": (torch.atanh, -0.9, 0.9),
    "ceil": (torch.ceil, -3, 3),
    "cos": (torch.cos, -1.4, 1.4),
    "cosh": (torch.cosh, -3, 3),
    "eqz": (lambda x: (x == 0).float(), -3, 3),
    "erf": (torch.erf, -3, 3),
    "erfc": (torch.erfc, -3, 3),
    "erfinv": (torch.erfinv, -0.9, 0.9),
    "exp": (torch.exp, -3, 3),
    "exp2": (torch.exp2, -3, 3),
    "expm1": (torch.expm1, -3, 3),
    "floor": (torch.floor, -3, 3),
    "frac": (torch.frac, -3, 3),
    "gez": (lambda x: (x >= 0).float(), -3, 3),
    "gtz": (lambda x: (x > 0).float(), -3, 3),
    "isfinite": (lambda x: torch.isfinite(x).float(), -3, 3),
    "isinf": (lambda x: torch.isinf(x).float(), -3, 3),
    "isnan": (lambda x: torch.isnan(x).float(), -3, 3),
    "lez": (lambda x: (x <= 0).float(), -3, 3),
    "log": (torch.log, 0.1, 0.9),
    "log10": (torch.log10, 1.2, 30),
    "log1p": (torch.log1p, 0.1, 3),
    "log2": (torch.log2, 1.2, 9),
    "logical_not": (lambda x: torch.logical_not(x).float(), -3, 3),
    "ltz": (lambda x: (x < 0).float(), -3, 3),
    "neg": (torch.neg, -3, 3),
    "nez": (lambda x: (x != 0).float(), -3, 3),
    "reciprocal": (torch.reciprocal, 0.1, 3),
    "round": (torch.round, -3, 3),
    "rsqrt": (torch.rsqrt, 0.1, 3),
    "sign": (torch.sign, -3, 3),
    "signbit": (lambda x: torch.signbit(x).float(), -3, 3),
    "sin": (torch.sin, -3, 3),
    "sinh": (torch.sinh, -3, 3),
    "sqrt": (torch.sqrt, 0, 3),
    "square": (torch.square, -3, 3),
    "tan": (torch.tan, -1, 1),
    "tanh": (torch.tanh, -3, 3),
    "trunc": (torch.trunc, -3, 3),
    "celu": (torch.celu, -3, 3),
    "elu": (F.elu, -3, 3),
    "gelu": (F.gelu, -3, 3),
    "hardsigmoid": (F.hardsigmoid, -5, 5),
    "hardswish": (F.hardswish, -5, 5),
    "hardtanh": (F.hardtanh, -3, 3),
    "leaky_relu": (F.leaky_relu, -3, 3),
    "log_sigmoid": (F.logsigmoid, -3, 3),
    "mish": (F.mish, -3, 3),
    "relu": (torch.relu, -3, 3),
    "relu6": (F.relu6, -3, 9),
    "selu": (torch.selu, -3, 3),
    "sigmoid": (torch.sigmoid, -3, 3),
    "silu": (F.silu, -3, 3),
    "softplus": (F.softplus, -3, 30),
    "softsign": (F.softsign, -3, 3),
    "swish": (F.silu, -3, 3),
}


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor(name: str, dtype: Any) -> None:
    expected, low, high = UNARY[name]
    for shape in SHAPES:
        tensor, values = make(random(*shape, low=low, high=high), dtype)
        parameters = (0.01,) if name == "leaky_relu" else ()
        check(getattr(ttnn, name)(tensor, *parameters), expected(values), dtype)


def test_every_function_of_one_tensor_is_compared() -> None:
    elsewhere = {"bitwise_not", "clamp", "clip", "fill", "identity"}
    assert UNARY.keys() | elsewhere == {
        *ttnn.operations.OPERATIONS["elementwise"],
        *ttnn.operations.OPERATIONS["activations"],
    }


SPECIAL = torch.tensor([[float("inf"), float("-inf"), float("nan"), 0.0, -0.0, 1.0, -1.0, 200.0]])


@pytest.mark.parametrize(
    "name",
    [
        "exp",
        "log",
        "sqrt",
        "rsqrt",
        "reciprocal",
        "isnan",
        "isinf",
        "isfinite",
        "sigmoid",
        "relu",
        "tanh",
        "silu",
        "softplus",
        "signbit",
        "floor",
        "relu6",
        "log_sigmoid",
    ],
)
def test_infinities_and_nan(name: str) -> None:
    tensor, values = make(SPECIAL, ttnn.float32)
    check(getattr(ttnn, name)(tensor), UNARY[name][0](values), ttnn.float32)


BINARY: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add,
    "atan2": torch.atan2,
    "div": torch.div,
    "divide": torch.div,
    "eq": torch.eq,
    "floor_div": torch.floor_divide,
    "fmod": torch.fmod,
    "ge": torch.ge,
    "gt": torch.gt,
    "le": torch.le,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
    "lt": torch.lt,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "mul": torch.mul,
    "multiply": torch.mul,
    "ne": torch.ne,
    "pow": torch.pow,
    "remainder": torch.remainder,
    "rsub": torch.rsub,
    "squared_difference": lambda a, b: (a - b) ** 2,
    "sub": torch.sub,
    "subtract": torch.sub,
}
PAIRS = [
    ((32, 64), (32, 64)),
    ((100, 100), (100, 100)),
    ((100, 100), (1, 100)),
    ((100, 1), (1, 70)),
    ((2, 1, 40, 33), (3, 1, 33)),
]


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_tensors(name: str, dtype: Any) -> None:
    low = 0.5 if name == "pow" else -3.0
    for left, right in PAIRS:
        # Halves, so that comparisons find equal elements, and zeros.
        a, a_values = make(torch.round(random(*left, low=low) * 2) / 2, dtype)
        b, b_values = make(torch.round(random(*right, seed=1) * 2) / 2, dtype)
        if name in ("div", "divide", "floor_div", "fmod", "remainder"):
            b, b_values = make(torch.where(b_values == 0, 1.5, b_values), dtype)
        check(getattr(ttnn, name)(a, b), BINARY[name](a_values, b_values).float(), dtype)


BITS: dict[str, Callable[..., torch.Tensor]] = {
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "bitwise_left_shift": torch.bitwise_left_shift,
    "bitwise_right_shift": torch.bitwise_right_shift,
    "logical_right_shift": lambda x, y: (x.long() & 0xFFFFFFFF).bitwise_right_shift(y.long()).int(),
}


@pytest.mark.parametrize("name", BITS)
def test_bits(name: str) -> None:
    generator = torch.Generator().manual_seed(3)
    values = torch.randint(-(2**31), 2**31, (40, 33), generator=generator, dtype=torch.int32)
    counts = torch.randint(0, 31, (40, 33), generator=generator, dtype=torch.int32)
    options = {"dtype": ttnn.int32, "layout": ttnn.TILE_LAYOUT, "device": DEVICE}
    a, b = (ttnn.from_torch(each, **options) for each in (values, counts))
    found = ttnn.to_torch(getattr(ttnn, name)(a, b))
    assert torch.equal(found, BITS[name](values, counts))


def test_bitwise_not() -> None:
    values = torch.tensor([[0, 1, -1, 2**31 - 1, -(2**31)]], dtype=torch.int32)
    tensor = ttnn.from_torch(values, dtype=ttnn.int32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    assert torch.equal(ttnn.to_torch(ttnn.bitwise_not(tensor)), ~values)


def test_every_function_of_two_tensors_is_compared() -> None:
    in_place = {name for name in ttnn.operations.OPERATIONS["arithmetic"] if name.endswith("_")}
    elsewhere = {"addcdiv", "addcmul", "isclose", "lerp", "where", *BITS}
    assert BINARY.keys() | in_place | elsewhere == {*ttnn.operations.OPERATIONS["arithmetic"]}


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("name", [name for name in BINARY if name != "atan2"])
def test_a_number_as_the_second_operand(name: str, dtype: Any) -> None:
    a, values = make(random(40, 33, low=0.5), dtype)
    for number in (2, 1.5):
        expected = BINARY[name](values, torch.tensor(float(number))).float()
        check(getattr(ttnn, name)(a, number), expected, dtype)


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


@pytest.mark.parametrize("sign", OPERATORS)
def test_operators(sign: str) -> None:
    evaluate = OPERATORS[sign]
    a, a_values = make(random(50, 40, low=0.5), ttnn.float32)
    b, b_values = make(random(50, 40, low=0.5, seed=1), ttnn.float32)
    check(evaluate(a, b), evaluate(a_values, b_values).float(), ttnn.float32)
    check(evaluate(a, 2.5), evaluate(a_values, 2.5).float(), ttnn.float32)
    check(evaluate(2.5, a), evaluate(2.5, a_values).float(), ttnn.float32)


def test_other_operators() -> None:
    a, values = make(random(50, 40), ttnn.bfloat16)
    check(a @ ttnn.transpose(a, 0, 1), values @ values.T, ttnn.bfloat16)


# Integers, where torch keeps them; also negative ones, which round differently.
@pytest.mark.parametrize(
    "name",
    ["add", "subtract", "multiply", "maximum", "minimum", "floor_div", "remainder", "fmod", "eq"],
)
def test_integers_stay_integers(name: str) -> None:
    a_values = torch.randint(-50, 50, (40, 33), dtype=torch.int32)
    b_values = torch.randint(1, 9, (33,), dtype=torch.int32) * torch.tensor([1, -1, 1] * 11)
    a, b = (
        ttnn.from_torch(values.int(), layout=ttnn.TILE_LAYOUT, device=DEVICE)
        for values in (a_values, b_values)
    )
    expected = BINARY[name](a_values, b_values.int()).int()
    result = getattr(ttnn, name)(a, b)
    assert result.dtype is ttnn.int32
    assert torch.equal(ttnn.to_torch(result), expected)
    result = getattr(ttnn, name)(a, 3)
    assert torch.equal(ttnn.to_torch(result), BINARY[name](a_values, torch.tensor(3)).int())


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_where_and_clamp(dtype: Any) -> None:
    x, values = make(random(100, 100), dtype)
    y, y_values = make(random(1, 100, seed=1), dtype)
    check(ttnn.where(x > y, x, y), torch.maximum(values, y_values), dtype)
    check(ttnn.where(x > 0, 1.0, y), torch.where(values > 0, 1.0, y_values), dtype)
    check(ttnn.where(x > 0, 1.0, 2.0), torch.where(values > 0, 1.0, 2.0), dtype)
    check(ttnn.clamp(x, -1, 0.5), torch.clamp(values, -1, 0.5), dtype)
    check(ttnn.clip(x, min=-1), torch.clamp(values, min=-1), dtype)
    check(ttnn.clamp(x, max=y), torch.minimum(values, y_values), dtype)


def test_functions_of_three_tensors() -> None:
    (a, av), (b, bv), (c, cv) = (
        make(random(33, 40, low=0.5, seed=seed), ttnn.float32) for seed in range(3)
    )
    check(ttnn.addcmul(a, b, c, value=0.5), torch.addcmul(av, bv, cv, value=0.5), ttnn.float32)
    check(ttnn.addcdiv(a, b, c), torch.addcdiv(av, bv, cv), ttnn.float32)
    check(ttnn.lerp(a, b, 0.25), torch.lerp(av, bv, 0.25), ttnn.float32)
    check(ttnn.isclose(a, a), torch.ones(33, 40), ttnn.float32)
    check(
        ttnn.addmm(a, b, ttnn.ones((40, 40), ttnn.float32, ttnn.TILE_LAYOUT, DEVICE)),
        av + bv @ torch.ones(40, 40),
        ttnn.float32,
    )
    check(ttnn.cumprod(a, 0), av.cumprod(0), ttnn.float32)
    check(ttnn.fill(a, 2.5), torch.full((33, 40), 2.5), ttnn.float32)
    check(ttnn.identity(a), av, ttnn.float32)


def test_parameters_of_activations() -> None:
    x, values = make(random(33, 40), ttnn.float32)
    check(ttnn.leaky_relu(x, 0.2), F.leaky_relu(values, 0.2), ttnn.float32)
    check(ttnn.elu(x, alpha=0.5), F.elu(values, 0.5), ttnn.float32)
    check(ttnn.celu(x, alpha=2.0), F.celu(values, 2.0), ttnn.float32)
    check(ttnn.hardtanh(x, min_val=-2, max_val=1), F.hardtanh(values, -2, 1), ttnn.float32)
    check(ttnn.softplus(x, beta=2.0, threshold=3.0), F.softplus(values, 2, 3), ttnn.float32)
    check(ttnn.round(x, decimals=1), torch.round(values, decimals=1), ttnn.float32)
    check(
        ttnn.div(x, 0.7, rounding_mode="floor"),
        torch.div(values, torch.tensor(0.7), rounding_mode="floor"),
        ttnn.float32,
    )
    check(
        ttnn.div(x, 0.7, rounding_mode="trunc"),
        torch.div(values, torch.tensor(0.7), rounding_mode="trunc"),
        ttnn.float32,
    )


REDUCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "sum": torch.sum,
    "mean": torch.mean,
    "max": torch.amax,
    "min": torch.amin,
    "var": torch.var,
    "std": torch.std,
}


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("keepdim", [True, False])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str, keepdim: bool, dtype: Any) -> None:
    for shape in SHAPES:
        # All positive: the sum must not take padding in, nor cancel.
        x, values = make(random(*shape, low=0.5), dtype)
        for dim in (0, -1, -2, (-2, -1), [0, 1]):
            expected = REDUCTIONS[name](values, dim=dim, keepdim=keepdim)
            check(getattr(ttnn, name)(x, dim=dim, keepdim=keepdim), expected, dtype)
        every = tuple(range(len(shape)))
        check(getattr(ttnn, name)(x), REDUCTIONS[name](values, dim=every), dtype)


def test_reductions_of_negative_numbers_leave_padding_out() -> None:
    x, values = make(random(33, 40, low=-3, high=-1), ttnn.float32)
    check(ttnn.max(x, -1), values.amax(-1), ttnn.float32)
    check(ttnn.max(x, dim=0, keepdim=True), values.amax(0, keepdim=True), ttnn.float32)


def test_other_reductions() -> None:
    x, values = make(random(3, 33, 40, low=0.8, high=1.2), ttnn.float32)
    check(ttnn.prod(x, dim=1), values.prod(1), ttnn.float32)
    check(ttnn.prod(x, 1, True), values.prod(1, keepdim=True), ttnn.float32)
    check(ttnn.cumsum(x, dim=-1), values.cumsum(-1), ttnn.float32)
    check(ttnn.var(x, -1, correction=False), values.var(-1, correction=0), ttnn.float32)
    check(ttnn.sum(x, dim=-1, scalar=0.5), values.sum(-1) * 0.5, ttnn.float32)
    for arguments in ((-1,), (0, True)):
        result = ttnn.argmax(x, *arguments)
        assert result.dtype is ttnn.uint32
        assert torch.equal(ttnn.to_torch(result).long(), torch.argmax(values, *arguments))


PRODUCTS = [
    ((32, 64), (64, 96)),
    ((100, 70), (70, 50)),
    ((2, 3, 40, 33), (33, 20)),
    ((3, 40, 33), (3, 33, 20)),
    ((2, 1, 40, 33), (3, 33, 20)),
]


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize(("left", "right"), PRODUCTS)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...], dtype: Any) -> None:
    a, a_values = make(random(*left, low=0.1), dtype)
    b, b_values = make(random(*right, low=0.1, seed=1), dtype)
    expected = a_values @ b_values
    check(ttnn.matmul(a, b), expected, dtype)
    a_turned, b_turned = ttnn.transpose(a, -1, -2), ttnn.transpose(b, -1, -2)
    check(ttnn.matmul(a_turned, b, transpose_a=True), expected, dtype)
    check(ttnn.matmul(a, b_turned, transpose_b=True, activation="silu"), F.silu(expected), dtype)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_linear(dtype: Any) -> None:
    x, x_values = make(random(100, 70, low=0.1), dtype)
    w, w_values = make(random(70, 50, low=0.1, seed=1), dtype)
    bias, bias_values = make(random(1, 50, low=0.1, seed=2), dtype)
    expected = x_values @ w_values + bias_values
    check(ttnn.linear(x, w, bias=bias), expected, dtype)
    check(ttnn.linear(x, w), x_values @ w_values, dtype)
    turned = ttnn.transpose(w, 0, 1)
    result = ttnn.linear(x, turned, bias=bias, transpose_b=True, activation="gelu")
    check(result, F.gelu(expected), dtype)


# name: what ttnn and torch do to the same tensor of shape (2, 3, 40, 33)
ARRANGEMENTS: dict[str, tuple[Callable[[Any], Any], Callable[[torch.Tensor], torch.Tensor]]] = {
    "transpose": (lambda x: ttnn.transpose(x, 1, -1), lambda x: x.transpose(1, -1)),
    "permute": (lambda x: ttnn.permute(x, (0, 2, -1, 1)), lambda x: x.permute(0, 2, 3, 1)),
    "reshape": (lambda x: ttnn.reshape(x, (6, -1, 11)), lambda x: x.reshape(6, -1, 11)),
    "method": (lambda x: x.reshape(1, 6, 40, 33), lambda x: x.reshape(1, 6, 40, 33)),
    "method, tuple": (lambda x: x.reshape((6, 40, 33)), lambda x: x.reshape(6, 40, 33)),
    "concat": (lambda x: ttnn.concat([x, x], dim=-1), lambda x: torch.cat([x, x], -1)),
    "stack": (lambda x: ttnn.stack([x, x], dim=1), lambda x: torch.stack([x, x], 1)),
    "unsqueeze": (lambda x: ttnn.unsqueeze(x, -1), lambda x: x.unsqueeze(-1)),
    "squeeze": (lambda x: ttnn.squeeze(x[:1], 0), lambda x: x[:1].squeeze(0)),
    "squeeze all": (lambda x: ttnn.squeeze(x[:1, :1]), lambda x: x[:1, :1].squeeze()),
    "to 4D": (lambda x: ttnn.unsqueeze_to_4D(x[0, 0]), lambda x: x[:1, :1]),
    "repeat": (lambda x: ttnn.repeat(x, (1, 2, 1, 3)), lambda x: x.repeat(1, 2, 1, 3)),
    "interleave": (
        lambda x: ttnn.repeat_interleave(x, 2, dim=1),
        lambda x: x.repeat_interleave(2, 1),
    ),
    "expand": (
        lambda x: ttnn.expand(x[:, :1], (5, 2, 3, -1, 33)),
        lambda x: x[:, :1].expand(5, 2, 3, -1, 33),
    ),
    "pad": (
        lambda x: ttnn.pad(x, ((0, 3), (0, 2)), 5.0),
        lambda x: F.pad(x, (0, 2, 0, 3), value=5),
    ),
    "slice": (
        lambda x: ttnn.slice(x, (0, 1, 3, 0), (2, 3, 35, 33), (1, 1, 2, 1)),
        lambda x: x[0:2, 1:3, 3:35:2],
    ),
    "index": (lambda x: x[1, ..., -1, 2:-4], lambda x: x[1, ..., -1, 2:-4]),
    "index from the front": (lambda x: x[-1, 1], lambda x: x[-1, 1]),
    "index from the end": (lambda x: x[..., 5], lambda x: x[..., 5]),
    "tilize": (lambda x: ttnn.tilize(ttnn.untilize(x[..., :32, :32])), lambda x: x[..., :32, :32]),
    "tril": (lambda x: ttnn.tril(x), torch.tril),
    "triu": (lambda x: ttnn.triu(x, diagonal=2), lambda x: torch.triu(x, 2)),
}


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_arrangements(name: str, dtype: Any) -> None:
    ours, theirs = ARRANGEMENTS[name]
    x, values = make(random(2, 3, 40, 33), dtype)
    result = ours(x)
    assert result.dtype is dtype and result.layout is ttnn.TILE_LAYOUT
    assert torch.equal(ttnn.to_torch(result).float(), theirs(values))


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_embedding(dtype: Any) -> None:
    weight, values = make(random(50, 33), dtype)
    indices = torch.randint(50, (3, 5), generator=torch.Generator().manual_seed(0))
    given = ttnn.from_torch(
        indices.int(), dtype=ttnn.uint32, layout=ttnn.TILE_LAYOUT, device=DEVICE
    )
    check(ttnn.embedding(given, weight), F.embedding(indices, values), dtype)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_split_and_chunk(dim: int) -> None:
    x, values = make(random(2, 7, 33), ttnn.float32)
    for parts, expected in [
        (ttnn.split(x, 2, dim=dim), values.split(2, dim)),
        (ttnn.chunk(x, 3, dim=dim), values.chunk(3, dim)),
    ]:
        assert len(parts) == len(expected)
        for part, values_of_part in zip(parts, expected, strict=True):
            check(part, values_of_part, ttnn.float32)
    sizes = [part.shape for part in ttnn.split(x, [3, 4], dim=1)]
    assert sizes == [(2, 3, 33), (2, 4, 33)]


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_normalizations(shape: tuple[int, ...], dtype: Any) -> None:
    columns = shape[-1]
    x, values = make(random(*shape), dtype)
    r, r_values = make(random(*shape, seed=3), dtype)
    weight, w_values = make(random(1, columns, low=0.5, seed=1), dtype)
    bias, b_values = make(random(columns, seed=2), dtype)
    w_values = w_values.reshape(columns)
    for dim in (-1, 0):
        check(ttnn.softmax(x, dim=dim), values.softmax(dim), dtype)
    plain = F.layer_norm(values.double(), (columns,), eps=1e-5).float()
    check_loosely(ttnn.layer_norm(x, epsilon=1e-5), plain, dtype)
    sums = (values + r_values).double()
    expected = F.layer_norm(sums, (columns,), w_values.double(), b_values.double(), 1e-5).float()
    result = ttnn.layer_norm(x, epsilon=1e-5, weight=weight, bias=bias, residual_input_tensor=r)
    check_loosely(result, expected, dtype)
    expected = F.rms_norm(values, (columns,), w_values, 1e-5)
    check_loosely(ttnn.rms_norm(x, epsilon=1e-5, weight=weight), expected, dtype)


def test_a_weight_that_fills_its_tiles() -> None:
    """The chip reads the first row of them."""
    x, values = make(random(2, 40, 64), ttnn.float32)
    weight, w_values = make(random(32, 64, seed=1), ttnn.float32)
    expected = F.rms_norm(values, (64,), w_values[0], 1e-5)
    check_loosely(ttnn.rms_norm(x, epsilon=1e-5, weight=weight), expected, ttnn.float32)


def check_loosely(result: Any, expected: torch.Tensor, dtype: Any) -> None:
    """Where the bias or the mean cancels, few digits are left."""
    check_shape = (result.dtype, tuple(result.shape))
    assert check_shape == (dtype, tuple(expected.shape))
    tolerance = 1e-5 if dtype is ttnn.float32 else 2e-2
    found = ttnn.to_torch(result).float()
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("factors", [2, [3, 1]])
def test_upsample(factors: Any) -> None:
    x, values = make(random(2, 3, 4, 5), ttnn.float32)
    channels_first = values.permute(0, 3, 1, 2)
    expected = F.interpolate(channels_first, scale_factor=factors, mode="nearest")
    check(ttnn.upsample(x, factors), expected.permute(0, 2, 3, 1), ttnn.float32)
    with pytest.raises(UsageError, match="mode='bilinear'"):
        ttnn.upsample(x, 2, mode="bilinear")
