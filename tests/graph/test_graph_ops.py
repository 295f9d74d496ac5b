"""Every operation of the table, through ttir, ttnn, the flatbuffer and the runtime."""

from __future__ import annotations

from math import erf, sqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

import ttl
from graph_texts import binary, parsed
from ttgraph.along import ALONG
from ttgraph.flatbuffer import Runtime, compile_module
from ttgraph.flatbuffer.schema import ENUMS, STRUCTS, TABLES, UNIONS, slots
from ttgraph.graph_ops import BINARY, GRAPH_OPS, REDUCTIONS, UNARY

_ERF = np.vectorize(erf)
_ERFINV = np.vectorize(lambda x: NormalDist().inv_cdf((x + 1) / 2) / sqrt(2) if x < 1 else np.nan)

UNARY_MEANINGS = {
    "abs": np.abs,
    "neg": np.negative,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "sign": np.sign,
    "erf": _ERF,
    "erfc": lambda x: 1 - _ERF(x),
    "logical_not": np.logical_not,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cosh": np.cosh,
    "sinh": np.sinh,
    "erfinv": _ERFINV,
    "gelu": lambda x: x * (1 + _ERF(x / sqrt(2))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu_tanh": lambda x: x * (1 + np.tanh(sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
}
BINARY_MEANINGS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "pow": np.power,
    "fmod": np.fmod,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "eq": np.equal,
    "ne": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
    "atan2": np.arctan2,
}
OF_BITS = {
    "bitwise_not": np.invert,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_left_shift": np.left_shift,
    "bitwise_right_shift": np.right_shift,
    "logical_right_shift": lambda a, b: (a.astype(np.uint32) >> b).astype(np.int32),
}
REDUCTION_MEANINGS = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}

WIDE, ROW, SMALL = "tensor<4x40xf32>", "tensor<40xf32>", "tensor<4xf32>"


def test_every_operation_is_here() -> None:
    assert {*UNARY_MEANINGS, *BINARY_MEANINGS, *OF_BITS} == {*UNARY, *BINARY}
    assert set(REDUCTION_MEANINGS) == set(REDUCTIONS)


WIRE_NUMBERS = Path(__file__).with_name("wire_numbers.txt")


def wire_numbers() -> set[str]:
    """Every number that a file depends on, a line each."""
    enums = {f"{e}:{width} {n} = {i}" for e, (width, ns) in ENUMS.items() for n, i in ns.items()}
    unions = {f"{union} {n} = {i}" for union, members in UNIONS.items() for n, i in members.items()}
    fields = {f"{t} {n} : {type} = {slot}" for t in TABLES for n, type, _, slot in slots(t)}
    structs = {
        f"{name} {field} : {type} = {position}"
        for name, fields in STRUCTS.items()
        for position, (field, type) in enumerate(fields)
    }
    return enums | unions | fields | structs


def test_a_wire_number_never_changes() -> None:
    """Files that were written before stay readable: the list only grows."""
    assert wire_numbers() == set(WIRE_NUMBERS.read_text("utf-8").splitlines())


def test_no_two_operations_have_one_wire_number() -> None:
    for enum in ("UnaryKind", "BinaryKind", "ReductionKind"):
        assert len(set(ENUMS[enum][1].values())) == len(ENUMS[enum][1])
    tags = {op.table.name: op.table.tag for op in GRAPH_OPS.values()}
    assert len(set(UNIONS["OpType"].values())) == len(UNIONS["OpType"])
    assert tags.items() <= UNIONS["OpType"].items()


def module(lines: list[str], types: list[str]) -> str:
    names = ", ".join(f"%{n}" for n in range(len(lines)))
    body = "\n".join(f"%{n} = {line}" for n, line in enumerate(lines))
    head = f"func.func @main(%a: {WIDE}, %b: {ROW}) -> ({', '.join(types)})"
    return f"{head} {{\n{body}\nreturn {names} : {', '.join(types)}\n}}"


def test_elementwise_and_reductions() -> None:
    """The second operand of a binary operation is broadcast."""
    ttir = {name: op.ttir for name, op in GRAPH_OPS.items()}
    unary, binary_names = list(UNARY_MEANINGS), list(BINARY_MEANINGS)
    lines = [f"ttir.{ttir[name]}(%a) : ({WIDE}) -> {WIDE}" for name in unary]
    lines += [f"ttir.{ttir[name]}(%a, %b) : ({WIDE}, {ROW}) -> {WIDE}" for name in binary_names]
    dims = "{dim_arg = array<i64: 1>, keep_dim = false}"
    lines += [f"ttir.{ttir[name]}(%a) {dims} : ({WIDE}) -> {SMALL}" for name in REDUCTIONS]
    count = len(unary) + len(binary_names)
    text = module(lines, [WIDE] * count + [SMALL] * len(REDUCTIONS))
    generator = np.random.default_rng(0)
    a = generator.uniform(0.1, 1.4, (4, 40)).astype(np.float32)
    b = generator.choice(a[0], 40).astype(np.float32)
    found = Runtime(binary(text)).run([a, b])
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):  # what has no arc is no number in both
        wanted = [UNARY_MEANINGS[name](wide_a) for name in unary]
    wanted += [BINARY_MEANINGS[name](wide_a, wide_b) for name in binary_names]
    wanted += [REDUCTION_MEANINGS[name](wide_a, axis=1) for name in REDUCTIONS]
    for name, array, right in zip((*unary, *binary_names, *REDUCTIONS), found, wanted, strict=True):
        np.testing.assert_allclose(array, right, rtol=3e-6, atol=3e-7, err_msg=name)


def test_bits_of_whole_numbers() -> None:
    type = "tensor<4x40xi32>"
    calls = {name: "(%a)" if name == "bitwise_not" else "(%a, %b)" for name in OF_BITS}
    types = {name: ", ".join([type] * (1 + call.count(","))) for name, call in calls.items()}
    lines = [f"ttir.{name}{calls[name]} : ({types[name]}) -> {type}" for name in OF_BITS]
    text = module(lines, [type] * len(lines)).replace(WIDE, type).replace(ROW, type)
    generator = np.random.default_rng(0)
    a = generator.integers(-(2**31), 2**31, (4, 40)).astype(np.int32)
    b = generator.integers(0, 32, (4, 40)).astype(np.int32)
    found = Runtime(binary(text)).run([a, b])
    for (name, right), array in zip(OF_BITS.items(), found, strict=True):
        wanted = right(a) if name == "bitwise_not" else right(a, b)
        assert np.array_equal(array, wanted), name


def test_elements_that_the_chip_has_not_are_refused() -> None:
    type = "tensor<4xcomplex<f32>>"
    text = f"func.func @main(%a: {type}) -> {type} {{\nreturn %a : {type}\n}}"
    with pytest.raises(ttl.CompileError, match="there is no element type complex<f32>"):
        compile_module(parsed(text))


# Operations that stand for many -------------------------------------------------------------------


Shapes = list[tuple[int, ...]]


def fused(line: str, shapes: Shapes, result: tuple[int, ...]) -> tuple[list, np.ndarray]:
    """Random inputs, and what one operation gives for them."""
    types = [f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in (*shapes, result)]
    names = [f"%a{n}" for n in range(len(shapes))]
    head = ", ".join(f"{name}: {type}" for name, type in zip(names, types, strict=False))
    name, _, attributes = line.partition(" ")
    signature = f"({', '.join(types[:-1])}) -> {types[-1]}"
    call = f"ttir.{name}({', '.join(names)}) {attributes} : {signature}"
    text = f"func.func @main({head}) -> {types[-1]} {{\n%0 = {call}\nreturn %0 : {types[-1]}\n}}"
    generator = np.random.default_rng(0)
    inputs = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    (found,) = Runtime(binary(text)).run(inputs)
    return [each.astype(np.float64) for each in inputs], found


def near(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_softmax_and_normalization() -> None:
    (x,), found = fused("softmax {dim = 1 : i64}", [(4, 40)], (4, 40))
    near(found, softmax(x))
    shapes = [(2, 4, 40), (40,), (1, 40)]
    epsilon = "{epsilon = 1.0e-3 : f64}"
    (x, weight), found = fused(f"rms_norm {epsilon}", shapes[:2], shapes[0])
    near(found, x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-3) * weight)
    (x, weight, bias), found = fused(f"layer_norm {epsilon}", shapes, shapes[0])
    centred = x - x.mean(-1, keepdims=True)
    near(found, centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-3) * weight + bias)


def test_linear() -> None:
    shapes = [(2, 4, 40), (8, 40), (8,)]
    (a, b, bias), found = fused("linear {transpose_b = true}", shapes, (2, 4, 8))
    near(found, a @ b.T + bias)
    (a, b), found = fused("linear {transpose_b = false}", [(3, 4, 5), (3, 5, 6)], (3, 4, 6))
    near(found, a @ b)


@pytest.mark.parametrize("is_causal", [True, False])
def test_attention_with_fewer_heads_of_keys(is_causal: bool) -> None:
    shapes = [(2, 4, 8, 16), (2, 2, 8, 16), (2, 2, 8, 16), (2, 1, 8, 8)]
    shapes = shapes[:3] if is_causal else shapes
    attributes = f"{{is_causal = {str(is_causal).lower()}, scale = 0.25 : f64}}"
    inputs, found = fused(f"scaled_dot_product_attention {attributes}", shapes, shapes[0])
    query, key, value, *mask = inputs
    key, value = (np.repeat(each, 2, axis=1) for each in (key, value))
    scores = query @ key.swapaxes(-1, -2) * 0.25
    scores += np.triu(np.full((8, 8), -np.inf), 1) if is_causal else mask[0]
    near(found, softmax(scores) @ value)


def test_rotary_embedding() -> None:
    (x, cosine, sine), found = fused(
        "rotary_embedding", [(2, 3, 32, 64), (1, 1, 32, 64), (1, 1, 32, 64)], (2, 3, 32, 64)
    )
    turned = np.concatenate([-x[..., 32:], x[..., :32]], -1)
    near(found, x * cosine + turned * sine)


@pytest.mark.parametrize(
    ("line", "shapes", "result"),
    [
        ("rms_norm {epsilon = 0.1 : f64}", [(4, 8), (4,)], (4, 8)),
        ("linear {transpose_b = true}", [(4, 8), (8, 3)], (4, 3)),
        ("linear {transpose_b = false}", [(4, 8), (8, 3), (4,)], (4, 3)),
        ("rotary_embedding", [(1, 2, 4, 8), (1, 1, 4, 4), (1, 1, 4, 4)], (1, 2, 4, 8)),
        (
            "scaled_dot_product_attention {is_causal = false, scale = 1.0 : f64}",
            [(1, 4, 8, 8), (1, 3, 8, 8), (1, 3, 8, 8)],
            (1, 4, 8, 8),
        ),
    ],
)
def test_operands_that_do_not_fit_are_refused(
    line: str, shapes: list[tuple[int, ...]], result: tuple[int, ...]
) -> None:
    with pytest.raises(ttl.TTLError):
        fused(line, shapes, result)


@pytest.mark.parametrize("wrong", [-1, 4])
def test_an_index_outside_of_its_dimension_is_refused(wrong: int) -> None:
    index = np.array([[0, wrong]])
    with pytest.raises(ttl.UsageError, match=f"TTL1045.*index {wrong} of the 4 elements"):
        ALONG["gather"](np.zeros((1, 4), np.float32), index, 1)
