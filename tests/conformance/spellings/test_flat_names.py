"""The functions of the op table directly under `ttl`."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

import ttl
from conformance.harness import evaluate, refused_expression, small
from ttl.semantics.ops import BLOCK_OPS, NAMESPACES

OPERATORS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "mod": lambda a, b: a % b,
    "floordiv": lambda a, b: a // b,
}
X, POSITIVE = small(32, 64), np.abs(small(32, 64)) + 1


@pytest.mark.rule("flat-names")
@pytest.mark.parametrize("name", BLOCK_OPS)
def test_every_row_of_the_table_is_there(name: str) -> None:
    scope: dict[str, object] = {}
    exec(f"from ttl import {name} as found", scope)
    assert scope["found"] is getattr(ttl, name)
    for space in ("block", "math"):  # it has moved to the first that has it
        if name in NAMESPACES[space]:
            assert getattr(ttl, name) is getattr(getattr(ttl, space), name)
            break


@pytest.mark.rule("flat-names")
def test_nothing_of_python_is_hidden_by_importing_all() -> None:
    assert not {*ttl.__all__} & {*vars(builtins)}
    assert {"max", "round", "abs"} <= {*vars(ttl)}


@pytest.mark.rule("flat-names")
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_by_their_names(name: str) -> None:
    by_name, sign = getattr(ttl, name), OPERATORS[name]
    found = evaluate(lambda a, b: by_name(a, b), X, POSITIVE)
    assert np.array_equal(found, evaluate(sign, X, POSITIVE))
    if name in ("add", "mul"):
        assert np.array_equal(evaluate(lambda a: by_name(a, 2), X), sign(X, 2))


FUNCTIONS = {
    "exp": lambda x: ttl.exp(x),
    "max": lambda x: ttl.max(x, -x),
    "reduce_sum": lambda x: ttl.broadcast(ttl.reduce_sum(x, dims=[-1]), dims=[-1], shape=(1, 1)),
    "where": lambda x: ttl.where(ttl.gt(x, 0), ttl.relu(x), ttl.fill(0)),
}


@pytest.mark.rule("flat-names")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_without_their_namespace(name: str) -> None:
    expected = {
        "exp": lambda x: ttl.math.exp(x),
        "max": lambda x: ttl.math.max(x, -x),
        "reduce_sum": lambda x: ttl.math.broadcast(
            ttl.math.reduce_sum(x, dims=[-1]), dims=[-1], shape=(1, 1)
        ),
        "where": lambda x: ttl.math.where(ttl.math.gt(x, 0), ttl.math.relu(x), ttl.math.fill(0)),
    }
    found = evaluate(FUNCTIONS[name], small(32, 32))
    assert np.array_equal(found, evaluate(expected[name], small(32, 32)))


@pytest.mark.rule("flat-names")
@pytest.mark.parametrize("space", [ttl, ttl.math])
def test_matmul(space) -> None:
    a, b = small(32, 64), small(64, 96)
    found = evaluate(lambda a, b: space.matmul(a, b), a, b, out_shape=(32, 96))
    assert np.array_equal(found, a @ b)
    for name in ("transpose_b", "transpose_rhs"):
        given = {name: True}
        transposed = evaluate(
            lambda a, b, given=given: space.matmul(a, b, **given), a, b.T.copy(), out_shape=(32, 96)
        )
        assert np.array_equal(transposed, a @ b)


@pytest.mark.rule("flat-names")
def test_matmul_has_the_registers_of_the_operator() -> None:
    """A product of bf16 makes the registers wide, however it is written."""
    a = np.full((32, 64), 1 + 2**-7, np.float32)
    b = np.eye(64, dtype=np.float32)
    options = {"dtype": ttl.ttnn.bfloat16, "out_dtype": ttl.ttnn.float32}
    found = evaluate(lambda a, b: ttl.matmul(a, b) * a, a, b, **options)
    assert np.array_equal(found, evaluate(lambda a, b: (a @ b) * a, a, b, **options))
    assert np.array_equal(found, a * a)


@pytest.mark.rule("flat-names")
@pytest.mark.parametrize(
    ("call", "slug"),
    [
        (lambda x: ttl.add(x), "wrong-argument"),
        (lambda x: ttl.add(x, x, x), "wrong-argument"),
        (lambda x: ttl.matmul(x, 2), "wrong-argument"),
        (lambda x: ttl.matmul(x, x, transposed=True), "wrong-argument"),
        (lambda x: ttl.exponential(x), "unknown-name"),
    ],
)
def test_wrong_calls(call, slug: str) -> None:
    refused_expression(call, small(32, 32), slug=slug)
