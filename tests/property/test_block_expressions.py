"""Random block expressions over the whole language, on the simulator, against the reference.

An expression is a nested tuple of an operation's name and its operands; "a" and "b" are blocks of
2 x 2 tiles, and so is every value. The value of every operation is compared, given the values its
operands had: of one that is a single float32 operation or a choice between its operands every bit,
of others all but the last few bits before the rounding to the format of DST.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import op_samples
import ttl
from block_runs import run
from language_names import specified_operations
from property import reference as ref
from ttl import ttnn
from ttl.semantics.ops import BLOCK_OPS, BlockOp, Domain

Expression = tuple[Any, ...]
SIZE = 64
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 3.0, -2.0, 0.1, 20.0, 1e-6, -7.25]
WILD = [np.inf, -np.inf, np.nan, 3e38]
NUMBERS = [0.5, -1.5, 2, 0.3, 3]
PARTS = 8 * 2.0**-23  # how far float32 functions may be off
OPERATORS = ("+", "-", "*", "/", "%", "//", "^", "<", "<=", ">", ">=", "==", "!=")


@st.composite
def trees(draw: st.DrawFn, kinds: dict[str, tuple[str, ...]], depth: int) -> Expression:
    if depth == 0:
        return (draw(st.sampled_from("ab")),)
    smaller = trees(kinds, depth - 1)
    kind = draw(st.sampled_from(sorted(kinds)))
    name = draw(st.sampled_from(kinds[kind]))
    if kind == "binary":
        if name in ("mask", "mask_posinf"):
            return (name, draw(smaller), draw(smaller))
        operands = [draw(smaller), draw(smaller | st.sampled_from([(n,) for n in NUMBERS]))]
        return (name, *draw(st.permutations(operands)))
    if kind == "reduce":
        dims = draw(st.sampled_from([(1,), (0,), (0, 1)]))
        return (name, draw(smaller), dims, draw(st.sampled_from([1, 0.5, -3])))
    return (name, *(draw(smaller) for _ in range(COUNTS.get(kind, 1))))


COUNTS = {"where": 3, "product": 2}
# Operations that the specification does not have: what they mean is in the op table alone.
OTHERS = {
    name: op
    for name, op in BLOCK_OPS.items()
    if op.elementwise and op.domain is not Domain.INTEGERS and name not in specified_operations()
}


def others(operands: int, with_numbers: bool = False) -> tuple[str, ...]:
    return tuple(
        name
        for name, op in OTHERS.items()
        if op.operands == operands and bool(op.parameters) is with_numbers
    )


FLOAT_EXACT = {
    "binary": tuple(ref.EXACT_BINARY),
    "unary": tuple(ref.EXACT_UNARY),
    "numbers": tuple(ref.EXACT_NUMBERS),
    "where": ("where",),
}
FLOAT_ALL = {
    "binary": (*ref.EXACT_BINARY, *ref.CLOSE_BINARY, *others(2)),
    "unary": (*ref.EXACT_UNARY, *ref.CLOSE_UNARY, *others(1)),
    "numbers": (*ref.EXACT_NUMBERS, *ref.CLOSE_NUMBERS, *others(1, with_numbers=True)),
    "where": ("where",),
    "reduce": tuple(ref.REDUCTIONS),
    "product": ("@",),
}
INTEGER_ALL = {
    "binary": tuple(ref.INTEGER_BINARY),
    "unary": tuple(ref.INTEGER_UNARY),
    "numbers": tuple(ref.INTEGER_NUMBERS),
    "where": ("where",),
    "reduce": ("reduce_sum", "reduce_max", "reduce_min"),
}


class Evaluation:
    """Computes an expression of a kernel and keeps every operation, its operands and its value."""

    def __init__(self, blocks: dict[str, Any], numbers: dict[str, Any]):
        self.blocks = blocks
        self.numbers = numbers  # of operations that take some
        self.steps: list[tuple[Expression, list[Any], np.ndarray]] = []

    def value(self, expression: Expression) -> Any:
        head = expression[0]
        if len(expression) == 1:
            return self.blocks.get(head, head)
        if head in ref.REDUCTIONS:
            x = self.value(expression[1])
            _, _, dims, scaler = expression
            made = ttl.math.broadcast(getattr(ttl.math, head)(x, scaler, dims), dims, (2, 2))
            return self.keep(expression, [x], made)
        operands = [self.value(part) for part in expression[1:]]
        return self.keep(expression, operands, apply(head, operands, self.numbers.get(head, ())))

    def keep(self, expression: Expression, operands: list[Any], made: Any) -> Any:
        self.steps.append((expression, [array_of(x) for x in operands], array_of(made)))
        return made


def apply(name: str, operands: list[Any], numbers: tuple[float, ...]) -> Any:
    """As a user writes it."""
    x = operands[0]
    if name in (*OPERATORS, "@"):
        return eval(f"a {name} b", {}, {"a": x, "b": operands[1]})
    if name == "squeeze":
        return ttl.math.squeeze(ttl.block.unsqueeze(x, 0), 0)
    if name == "round 1":
        return ttl.math.round(x, 1)
    if name in ("% 7", "// -3"):
        return x % 7 if name == "% 7" else x // -3
    return getattr(ttl.math, name)(*operands, *numbers)


def numbers_of(table: dict[str, Any]) -> dict[str, Any]:
    return {name: numbers for name, (_, numbers) in table.items()}


FLOAT_NUMBERS = numbers_of(ref.EXACT_NUMBERS | ref.CLOSE_NUMBERS) | {
    name: tuple(op_samples.numbers_of(op).values()) for name, op in OTHERS.items()
}
INTEGER_NUMBERS = numbers_of(ref.INTEGER_NUMBERS)


def array_of(value: Any) -> np.ndarray:
    """The elements of a value as they are now; a number as float32 has it."""
    if not hasattr(value, "type"):
        return np.full((SIZE, SIZE), np.float32(value), np.float64)
    return np.broadcast_to(value.array, (SIZE, SIZE)).astype(np.float64)


def blocks_of(seed: int, wild: bool) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    arrays = []
    for _ in "ab":
        values = (random.standard_normal((SIZE, SIZE)) * 4).astype(np.float32)
        chosen = np.array(SPECIAL + WILD * wild, np.float32)
        picked = random.choice(chosen, (SIZE, SIZE))
        arrays.append(np.where(random.random((SIZE, SIZE)) < 0.5, picked, values))
    return arrays


def evaluate(
    tree: Expression, arrays: list[np.ndarray], numbers: Any = FLOAT_NUMBERS, **options: Any
) -> tuple[list, Any]:
    found: list[Evaluation] = []

    def expression(a: Any, b: Any) -> Any:
        found.append(Evaluation({"a": a, "b": b}, numbers))
        both = a * 0 + b * 0  # a block that is not read may not be popped
        value = found[0].value(tree)
        return value if len(tree) > 1 else both

    stored = run(expression, *arrays, **options)
    return found[0].steps, stored


def expected_of(expression: Expression, operands: list[np.ndarray], dst: str) -> tuple[Any, Any]:
    """The exact value, and how far float32 may be off; None says bit for bit."""
    name = expression[0]
    if name == "where":
        return ref.where(*operands), None
    if name in OTHERS:
        return other_value(OTHERS[name], operands)
    if name in ref.REDUCTIONS:
        _, _, dims, scaler = expression
        scaler = float(ref.rounded(np.float64(scaler), dst))
        value = ref.reduced_and_spread(operands[0], name, dims, scaler)
        magnitude = ref.reduced_and_spread(np.abs(operands[0]), name, dims, abs(scaler))
        return value, PARTS * magnitude
    if name == "@":
        a, b = operands
        return a @ b, SIZE * PARTS * (np.abs(a) @ np.abs(b))
    if name == "*" and dst != "float32":
        return ref.narrow_product(*operands), None
    for table in (ref.EXACT_BINARY, ref.EXACT_UNARY):
        if name in table:
            return table[name](*operands), None
    if name in ref.EXACT_NUMBERS:
        function, numbers = ref.EXACT_NUMBERS[name]
        return function(*operands, *map(np.float32, numbers)), None
    value = close_value(name, operands)
    return value, PARTS * np.abs(value) + 1e-37


def other_value(op: BlockOp, operands: list[np.ndarray]) -> tuple[Any, Any]:
    singles = [np.float32(operand) for operand in operands]
    value = op.meaning(*singles, **op_samples.numbers_of(op)).astype(np.float64)
    return value, None if op.bound is None else PARTS * np.abs(value) + 1e-37


def close_value(name: str, operands: list[np.ndarray]) -> Any:
    if name in ref.CLOSE_NUMBERS:
        function, numbers = ref.CLOSE_NUMBERS[name]
        return function(*operands, *numbers)
    return (ref.CLOSE_BINARY | ref.CLOSE_UNARY)[name](*operands)


def check(expression: Expression, operands: list[Any], value: np.ndarray, dst: str) -> None:
    with np.errstate(all="ignore"):
        # Numbers too: an operand is a value in the format of DST.
        operands = [ref.rounded(operand, dst) for operand in operands]
        exact, slack = expected_of(expression, operands, dst)
        if slack is None:
            np.testing.assert_array_equal(value, ref.rounded(exact, dst), str(expression[0]))
            return
        low, high = ref.rounded(exact - slack, dst), ref.rounded(exact + slack, dst)
        unknown = ~np.isfinite(slack) & np.isfinite(exact) if expression[0] == "@" else False
        overflows = np.abs(exact) + slack > 3e38  # where the order of a sum decides
        inside = (low <= value) & (value <= high) | (np.isnan(exact) & np.isnan(value))
        assert (inside | unknown | overflows | ~np.isfinite(exact) & (value == exact)).all(), (
            f"{expression[0]}: {value[~inside][:4]} for {exact[~inside][:4]} of "
            f"{[operand[~inside][:4] for operand in operands]}"
        )


def in_registers(operands: list[Any], dtype: str, dst: str) -> list[Any]:
    """A tile of 16 bits reaches registers of 32 through a sum with 0: there is no -0 then."""
    return [each + 0.0 for each in operands] if dtype != dst == "float32" else operands


FORMATS = st.sampled_from([("bfloat16", None), ("bfloat16", True), ("float32", None)])


@settings(max_examples=settings.default.max_examples // 2)
@given(tree=trees(FLOAT_EXACT, 4), seed=st.integers(0, 99), format=FORMATS)
def test_exact_operations_of_floats(tree: Expression, seed: int, format: Any) -> None:
    dtype, fp32 = format
    dst = "float32" if fp32 or dtype == "float32" else "bfloat16"
    arrays = blocks_of(seed, wild=True)
    steps, stored = evaluate(
        tree, arrays, dtype=getattr(ttnn, dtype), out_dtype=ttnn.float32, fp32=dst == "float32"
    )
    for expression, operands, value in steps:
        if len(expression) == 2 and len(expression[1]) == 1:  # of a block as it was loaded
            operands = in_registers(operands, dtype, dst)
        check(expression, operands, value, dst)
    np.testing.assert_array_equal(stored.astype(np.float64), steps[-1][2])


@given(tree=trees(FLOAT_ALL, 3), seed=st.integers(0, 99), format=FORMATS)
def test_all_operations_of_floats(tree: Expression, seed: int, format: Any) -> None:
    dtype, fp32 = format
    dst = "float32" if fp32 or dtype == "float32" else "bfloat16"
    arrays = blocks_of(seed, wild=False)
    steps, _ = evaluate(
        tree, arrays, dtype=getattr(ttnn, dtype), out_dtype=ttnn.float32, fp32=dst == "float32"
    )
    for step in steps:
        check(*step, dst)


@pytest.mark.parametrize(
    "name", [*ref.CLOSE_BINARY, *ref.CLOSE_UNARY, *ref.CLOSE_NUMBERS, *OTHERS, "@"]
)
@pytest.mark.parametrize("wild", [False, True])
def test_each_close_operation(name: str, wild: bool) -> None:
    """Each once, on infinities and NaN too."""
    is_binary = name in (*ref.CLOSE_BINARY, *others(2), "@")
    count = 2 if is_binary else 1
    tree = (name, ("a",), ("b",))[: 1 + count]
    steps, _ = evaluate(tree, blocks_of(7, wild=wild))
    for step in steps:
        check(*step, "float32")


@settings(max_examples=settings.default.max_examples // 2)
@given(tree=trees(INTEGER_ALL, 4), seed=st.integers(0, 99))
def test_all_operations_of_integers(tree: Expression, seed: int) -> None:
    random = np.random.default_rng(seed)
    limits = [-(2**31), 2**31 - 1, 0, 1, -1, 7]
    arrays = [
        np.where(
            random.random((SIZE, SIZE)) < 0.3,
            random.choice(limits, (SIZE, SIZE)),
            random.integers(-1000, 1000, (SIZE, SIZE)),
        )
        for _ in "ab"
    ]
    whole = whole_numbers(tree)
    _, stored = evaluate(whole, arrays, INTEGER_NUMBERS, dtype=ttnn.int32)
    names = dict(zip("ab", (array.astype(object) for array in arrays), strict=True))
    expected = integer_value(whole, names)
    last = expected if len(whole) > 1 else np.zeros_like(arrays[0])
    np.testing.assert_array_equal(stored, last.astype(np.int64), str(whole))


def whole_numbers(tree: Any) -> Any:
    """The same expression with numbers that integers can be beside."""
    if isinstance(tree, tuple):
        return tuple(whole_numbers(part) for part in tree)
    return tree if isinstance(tree, (str, int)) else int(tree * 10)


def integer_value(expression: Expression, names: dict[str, Any]) -> Any:
    head, *parts = expression
    if not parts:
        return names[head] if head in names else np.full((SIZE, SIZE), head, object)
    if head in ref.REDUCTIONS:
        x, (dims, scaler) = integer_value(parts[0], names), parts[1:]
        return ref.wrapped(ref.reduced_and_spread(x, head, dims, scaler))
    operands = [integer_value(part, names) for part in parts]
    if head == "where":
        return ref.where(*operands)
    if head in ref.INTEGER_NUMBERS:
        function, numbers = ref.INTEGER_NUMBERS[head]
        return ref.wrapped(function(*operands, *numbers))
    return ref.wrapped((ref.INTEGER_BINARY | ref.INTEGER_UNARY)[head](*operands))


def test_the_reference_knows_every_operation_of_the_language() -> None:
    spelled = {BLOCK_OPS[name].operator or name for name in specified_operations()}
    tables = [*FLOAT_ALL.values(), *INTEGER_ALL.values()]
    known = {name for names in tables for name in names} - OTHERS.keys()
    elsewhere = {"broadcast", "unsqueeze", "fill", "typecast", "**"}  # inside others, or by hand
    functions = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
    assert spelled - elsewhere - set(functions) <= known
