"""Random block expressions: how they are written, what they mean, how far engines may be off.

An expression is a nested tuple: ("a",), ("fill", 0.5), ("+", x, y), ("exp", x), ("@", x).
The right operand of @ is always the block `w`, so that shapes agree for blocks of any shape.
A Store computes a value `t`, which its second expression may use any number of times, and stores
that; or it assigns the second expression to `t` again and again in a loop, and stores `t`.

`evaluate` is written without the op table: float32 arithmetic, each result rounded to the format of
the DST registers. With the value it gives what an engine may differ by: nothing, until an exp or a
sum of products is involved; from there on the bound of the operation, carried through what follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

from ttl.semantics.dtypes import TF32_STEP
from ttl.semantics.ops import BLOCK_OPS
from ttl.semantics.ops.special_values import LEAST_NORMAL

Expression = tuple[Any, ...]
Array = np.ndarray[Any, Any]

FILLS = [("fill", value) for value in (0.0, 0.5, -1.5, 3.0, 0.3)]


@st.composite
def trees(draw: st.DrawFn, names: str, products: bool, depth: int) -> Expression:
    """At most `depth` operations on each other, so that exp does not overflow.

    No operation works on fills alone: that is refused, and would refuse most of the trees.
    """
    blocks = st.sampled_from([(name,) for name in names])
    if depth == 0:
        return draw(blocks)
    smaller = trees(names, products, depth - 1)
    head = draw(st.sampled_from(["block", "+", "-", "*", "exp", "relu", *("@" * products)]))
    if head == "block":
        return draw(blocks)
    if head in ("exp", "relu"):
        return (head, draw(smaller))
    if head == "@":
        return (head, draw(blocks | smaller))
    operands = [draw(smaller), draw(smaller | st.sampled_from(FILLS))]
    return (head, *draw(st.permutations(operands)))


@dataclass(frozen=True)
class Store:
    value: Expression  # of `t`
    body: Expression
    rounds: int  # 0: store the body; else assign it to `t` so often and store `t`


def stores(products: bool) -> st.SearchStrategy[Store]:
    value, body = trees("ab", products, 2), trees("abtt", products, 3)
    return st.builds(Store, value, body, st.sampled_from([0, 0, 2]))


def source(expression: Expression) -> str:
    """The expression as a user writes it, with parentheses everywhere."""
    head, *parts = expression
    if head in ("a", "b"):
        return f"{head}_blk"
    if head == "t":
        return "t"
    if head == "fill":
        return f"ttl.math.fill({parts[0]})"
    if head == "@":
        return f"({source(parts[0])} @ w_blk)"
    if head in ("exp", "relu"):
        return f"ttl.math.{head}({source(parts[0])})"
    return f"({source(parts[0])} {head} {source(parts[1])})"


def statements(store: Store) -> list[str]:
    """The store as a user writes it."""
    first = f"t = {source(store.value)}"
    if not store.rounds:
        return [first, f"y_blk.store({source(store.body)})"]
    loop = [f"for _ in range({store.rounds}):", f"    t = {source(store.body)}"]
    return [first, *loop, "y_blk.store(t)"]


def uses_matmul(expression: Expression) -> bool:
    return expression[0] == "@" or any(
        uses_matmul(part) for part in expression[1:] if isinstance(part, tuple)
    )


# Of the DST registers. Where all buffers have 16 bits the compiler keeps values of 32-bit registers
# in buffers that are read as TF32: each may have been kept.
KEPT = "float32, read as TF32"
FORMATS = {
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float32": np.dtype(np.float32),
    KEPT: np.dtype(np.float32),
}
SPACING = {"bfloat16": 2.0**-7, "float32": 2.0**-23, KEPT: 2.0**-23}  # of the numbers from 1 to 2


@dataclass(frozen=True)
class Approximate:
    """Values, and how far each may be off; zero means bit for bit, infinity says nothing."""

    values: Array
    error: Array

    def rounded(self, dtype: str) -> Approximate:
        """Where something may be off already, it may be rounded to the other neighbour too."""
        values = self.values.astype(FORMATS[dtype]).astype(np.float32)
        step = TF32_STEP if dtype == KEPT else SPACING[dtype]
        off = self.error + step * (np.abs(values) + self.error)
        off = np.where((self.error == 0) & (dtype != KEPT), 0.0, off)
        far = ~(np.abs(values) + off < 1e30)  # overflow, or not a number
        return Approximate(np.where(far, np.float32(0), values), np.where(far, np.inf, off))


def evaluate_store(store: Store, blocks: dict[str, Array], dst: str) -> Approximate:
    with np.errstate(over="ignore", invalid="ignore"):
        return _evaluate_store(store, blocks, dst)


def _evaluate_store(store: Store, blocks: dict[str, Array], dst: str) -> Approximate:
    names = {name: _exact(values) for name, values in blocks.items()}
    names["t"] = evaluate(store.value, names, dst)
    for _ in range(store.rounds):
        names["t"] = evaluate(store.body, names, dst)
    return names["t"] if store.rounds else evaluate(store.body, names, dst)


def evaluate(expression: Expression, names: dict[str, Approximate], dst: str) -> Approximate:
    head, *parts = expression
    if head in names:
        return names[head]
    if head == "fill":
        return _exact(np.full_like(names["a"].values, parts[0])).rounded(dst)
    operands = [evaluate(part, names, dst) for part in parts]
    if head == "@":
        operands.append(names["w"])
    return MEANINGS[head](SPACING[dst], *operands).rounded(dst)


def _exact(values: Array) -> Approximate:
    return Approximate(values.astype(np.float32), np.zeros(values.shape))


def _add(spacing: float, x: Approximate, y: Approximate) -> Approximate:
    return Approximate(x.values + y.values, x.error + y.error)


def _subtract(spacing: float, x: Approximate, y: Approximate) -> Approximate:
    return Approximate(x.values - y.values, x.error + y.error)


def _multiply(spacing: float, x: Approximate, y: Approximate) -> Approximate:
    error = np.abs(x.values) * y.error + np.abs(y.values) * x.error + x.error * y.error
    return Approximate(x.values * y.values, error)


def _relu(spacing: float, x: Approximate) -> Approximate:
    return Approximate(np.where(x.values > 0, x.values, np.float32(0)), x.error)


def _exp(spacing: float, x: Approximate) -> Approximate:
    exact = np.exp(x.values.astype(np.float64))
    bound = BLOCK_OPS["exp"].bound
    assert bound is not None
    error = bound(spacing, x.values + x.error) + exact * np.expm1(x.error)
    error += np.where(exact - error < LEAST_NORMAL, LEAST_NORMAL, 0.0)  # below, it is 0
    return Approximate(exact.astype(np.float32), error)


def _matmul(spacing: float, x: Approximate, y: Approximate) -> Approximate:
    left, right = (operand.values.astype(np.float64) for operand in (x, y))
    bound = BLOCK_OPS["matmul"].bound
    assert bound is not None
    # The bound is stated for float32 sums, whatever the products are stored in.
    error = bound(spacing, np.abs(left) + x.error, right) + x.error @ np.abs(right)
    return Approximate((left @ right).astype(np.float32), error)


MEANINGS = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "relu": _relu,
    "exp": _exp,
    "@": _matmul,
}
