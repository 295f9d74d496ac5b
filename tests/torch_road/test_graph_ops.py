"""Every operation of the table, through ttir, ttnn, the flatbuffer and the runtime."""

from __future__ import annotations

from math import erf

import numpy as np
import pytest

import ttl
from graph_texts import binary, parsed
from ttl.integrations.flatbuffer import Runtime, compile_module
from ttl.integrations.flatbuffer.op_tables import OP_TABLES
from ttl.integrations.flatbuffer.schema import TABLES
from ttl.semantics.graph_ops import BINARY, GRAPH_OPS, REDUCTIONS, UNARY

_ERF = np.vectorize(erf)

UNARY_MEANINGS = {
    "abs": np.abs, "neg": np.negative, "exp": np.exp, "expm1": np.expm1, "log": np.log,
    "log1p": np.log1p, "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x), "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "floor": np.floor, "ceil": np.ceil, "round": np.round, "sign": np.sign,
    "erf": _ERF, "erfc": lambda x: 1 - _ERF(x), "logical_not": np.logical_not, "acos": np.arccos,
    "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "cosh": np.cosh, "sinh": np.sinh,
}  # fmt: skip
BINARY_MEANINGS = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "maximum": np.maximum, "minimum": np.minimum, "pow": np.power, "fmod": np.fmod,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
    "eq": np.equal, "ne": np.not_equal, "gt": np.greater, "ge": np.greater_equal, "lt": np.less,
    "le": np.less_equal,
}  # fmt: skip
REDUCTION_MEANINGS = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}

WIDE, ROW, SMALL = "tensor<4x40xf32>", "tensor<40xf32>", "tensor<4xf32>"


def test_every_operation_is_here() -> None:
    assert set(UNARY_MEANINGS) == set(UNARY)
    assert set(BINARY_MEANINGS) == set(BINARY)
    assert set(REDUCTION_MEANINGS) == set(REDUCTIONS)


def test_every_operation_has_a_table_with_its_fields() -> None:
    assert set(OP_TABLES) == set(GRAPH_OPS)
    for name, form in OP_TABLES.items():
        attributes = {key for key, _ in GRAPH_OPS[name].attributes} - {"shape"}
        assert attributes == set(form.attributes)
        fields = {field[0] for field in TABLES[form.table]}
        assert fields - {"type", "out"} == {*form.operands, *form.attributes}


def module(lines: list[str], types: list[str]) -> str:
    names = ", ".join(f"%{n}" for n in range(len(lines)))
    body = "\n".join(f"%{n} = {line}" for n, line in enumerate(lines))
    head = f"func.func @main(%a: {WIDE}, %b: {ROW}) -> ({', '.join(types)})"
    return f"{head} {{\n{body}\nreturn {names} : {', '.join(types)}\n}}"


def test_elementwise_and_reductions() -> None:
    """The second operand of a binary operation is broadcast."""
    ttir = {name: op.ttir for name, op in GRAPH_OPS.items()}
    lines = [f"ttir.{ttir[name]}(%a) : ({WIDE}) -> {WIDE}" for name in UNARY]
    lines += [f"ttir.{ttir[name]}(%a, %b) : ({WIDE}, {ROW}) -> {WIDE}" for name in BINARY]
    dims = "{dim_arg = array<i64: 1>, keep_dim = false}"
    lines += [f"ttir.{ttir[name]}(%a) {dims} : ({WIDE}) -> {SMALL}" for name in REDUCTIONS]
    count = len(UNARY) + len(BINARY)
    text = module(lines, [WIDE] * count + [SMALL] * len(REDUCTIONS))
    generator = np.random.default_rng(0)
    a = generator.uniform(0.1, 1.4, (4, 40)).astype(np.float32)
    b = generator.choice(a[0], 40).astype(np.float32)
    found = Runtime(binary(text)).run([a, b])
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):  # what has no arc is no number in both
        wanted = [UNARY_MEANINGS[name](wide_a) for name in UNARY]
    wanted += [BINARY_MEANINGS[name](wide_a, wide_b) for name in BINARY]
    wanted += [REDUCTION_MEANINGS[name](wide_a, axis=1) for name in REDUCTIONS]
    for name, array, right in zip((*UNARY, *BINARY, *REDUCTIONS), found, wanted, strict=True):
        np.testing.assert_allclose(array, right, rtol=3e-6, atol=3e-7, err_msg=name)


def test_elements_that_the_chip_has_not_are_refused() -> None:
    type = "tensor<4xcomplex<f32>>"
    text = f"func.func @main(%a: {type}) -> {type} {{\nreturn %a : {type}\n}}"
    with pytest.raises(ttl.CompileError, match="there is no element type complex<f32>"):
        compile_module(parsed(text))
