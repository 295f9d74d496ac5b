"""Every operation of the table, through ttir, ttnn, the flatbuffer and the runtime."""

from __future__ import annotations

from math import erf, sqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

import ttl
from graph_texts import binary, parsed
from ttl.integrations.flatbuffer import Runtime, compile_module
from ttl.integrations.flatbuffer.schema import ENUMS, STRUCTS, TABLES, UNIONS, slots
from ttl.semantics.graph_ops import BINARY, GRAPH_OPS, REDUCTIONS, UNARY

_ERF = np.vectorize(erf)
_ERFINV = np.vectorize(lambda x: NormalDist().inv_cdf((x + 1) / 2) / sqrt(2) if x < 1 else np.nan)

UNARY_MEANINGS = {
    "abs": np.abs, "neg": np.negative, "exp": np.exp, "expm1": np.expm1, "log": np.log,
    "log1p": np.log1p, "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x), "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "floor": np.floor, "ceil": np.ceil, "round": np.round, "sign": np.sign,
    "erf": _ERF, "erfc": lambda x: 1 - _ERF(x), "logical_not": np.logical_not, "acos": np.arccos,
    "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "cosh": np.cosh, "sinh": np.sinh, "erfinv": _ERFINV,
}  # fmt: skip
BINARY_MEANINGS = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "maximum": np.maximum, "minimum": np.minimum, "pow": np.power, "fmod": np.fmod,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
    "eq": np.equal, "ne": np.not_equal, "gt": np.greater, "ge": np.greater_equal, "lt": np.less,
    "le": np.less_equal, "atan2": np.arctan2,
}  # fmt: skip
OF_BITS = {
    "bitwise_not": np.invert, "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor, "bitwise_left_shift": np.left_shift,
    "bitwise_right_shift": np.right_shift,
    "logical_right_shift": lambda a, b: (a.astype(np.uint32) >> b).astype(np.int32),
}  # fmt: skip
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
    for (name, right), array in zip(OF_BITS.items(), Runtime(binary(text)).run([a, b]), strict=True):
        wanted = right(a) if name == "bitwise_not" else right(a, b)
        assert np.array_equal(array, wanted), name


def test_elements_that_the_chip_has_not_are_refused() -> None:
    type = "tensor<4xcomplex<f32>>"
    text = f"func.func @main(%a: {type}) -> {type} {{\nreturn %a : {type}\n}}"
    with pytest.raises(ttl.CompileError, match="there is no element type complex<f32>"):
        compile_module(parsed(text))
