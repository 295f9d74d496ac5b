"""The functions made from the table: names, signatures, help."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import ttl
from language_names import BLOCK, MATH, OPERATORS
from ttl.diagnostics import UsageError
from ttl.semantics.ops import BLOCK_OPS, BY_OPERATOR, NAMESPACES


def test_the_language_is_complete() -> None:
    assert set(ttl.math.NAMES) >= set(MATH) and set(ttl.block.NAMES) >= set(BLOCK)
    assert BY_OPERATOR.keys() >= set(OPERATORS)


def test_both_namespaces_have_the_same_functions() -> None:
    for name in ttl.block.NAMES:
        in_block, in_math = getattr(ttl.block, name), getattr(ttl.math, name)
        assert inspect.signature(in_block) == inspect.signature(in_math)
        assert (in_block.__module__, in_math.__module__) == ("ttl.block", "ttl.math")


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("exp2", "(x)"),
        ("exp", "(x, *, scale=1.0, approx=False, skip_clamp_check=False, iterations=8)"),
        ("max", "(a, b)"),
        ("rsub", "(a, b)"),
        ("pow", "(x, n)"),
        ("round", "(x, decimals=0)"),
        ("celu", "(x, alpha, alpha_recip)"),
        ("softplus", "(x, beta, beta_reciprocal, threshold)"),
        ("hardtanh", "(x, min, max)"),
        ("where", "(c, a, b)"),
        ("mask", "(x, m)"),
        ("typecast", "(x, dtype)"),
        ("fill", "(value, shape=None, dtype=None)"),
        ("broadcast", "(x, dims, shape=None)"),
        ("reduce_sum", "(x, scaler=1, *, dims, shape=None, exact_f32=False)"),
    ],
)
def test_signatures(name: str, signature: str) -> None:
    shown = str(inspect.signature(getattr(ttl.math, name)))
    assert shown.partition(" -> ")[0] == signature


@pytest.mark.parametrize("name", ttl.math.NAMES)
def test_every_function_says_what_it_does(name: str) -> None:
    text = inspect.getdoc(getattr(ttl.math, name))
    assert text is not None and re.match(r".+\.\n", text) and "Works on" in text
    assert getattr(ttl.math, name).__name__ == name


def test_unknown_names_are_explained() -> None:
    with pytest.raises(UsageError, match=r"ttl\.block has no `broadkast`"):
        ttl.block.broadkast  # noqa: B018
    with pytest.raises(UsageError, match=r"ttl\.math\.tanh\(\) works only in a kernel"):
        ttl.math.tanh(1)


def test_functions_are_named_once() -> None:
    """The name of a function stands in the table and in no other place of the language."""
    sources = Path(ttl.__file__).parent.glob("language/*.py")
    text = "\n".join(path.read_text() for path in sources)
    assert not re.search(r"\b(softplus|hardtanh|mask_posinf|reduce_sum|logp1)\b", text)


def test_every_operation_can_be_reached() -> None:
    functions = {name for space in NAMESPACES.values() for name in space}
    operators = {op.name for op in BY_OPERATOR.values()}
    assert functions | operators == BLOCK_OPS.keys()
