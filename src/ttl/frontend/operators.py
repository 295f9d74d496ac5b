"""Operators on values: constants are calculated now, scalars and blocks in the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from ttl.diagnostics import TTLError, codes, wrong_argument
from ttl.language.arguments import is_tensor
from ttl.language.block import block_as_exponent
from ttl.language.described import public_class
from ttl.language.mistakes import OPERATORS_OF_BLOCKS, SIGNS_OF_BLOCKS, WHOLE, impossible_use
from ttl.semantics.ops import BLOCK_OPS, BY_OPERATOR

from . import scalars
from .block_math import block_math, is_block
from .builder import KernelBuilder
from .hir import RunTime, SliceValue, Value, is_run_time, kind_of
from .joins import choose
from .node_values import differs, on_each_node
from .problems import describe, not_in_kernels, python_error
from .python_operators import BINARY, COMPARISONS
from .ranges import RangeValue
from .texts import known_text


def binary(builder: KernelBuilder, sign: str, left: Value, right: Value) -> Value:
    if is_block(left) or is_block(right):
        _refuse_slices(sign, left, right)
        if sign == "**" and is_block(right) and not is_block(left):
            raise block_as_exponent()
        if sign not in BY_OPERATOR:
            raise codes.BLOCK_IN_PYTHON.broken(
                f"{sign} does not work on {describe(left)} and {describe(right)}",
                OPERATORS_OF_BLOCKS,
            )
        return block_math(builder, BY_OPERATOR[sign], [left, right])
    if isinstance(left, RunTime) or isinstance(right, RunTime):
        return scalars.arithmetic(builder, sign, left, right)
    _refuse_tensors(sign, left, right)
    found = folded(f"{left!r} {sign} {right!r}", BINARY[sign].fold, left, right)
    return builder.new(found) if isinstance(found, (list, dict, set)) else found


def folded(
    text: str, function: Callable[..., Any], *operands: Value, about: Sequence[Value] = ()
) -> Any:
    """What Python makes of constants; `about`: those inside the operands."""
    try:
        return on_each_node(function, operands) if differs(operands) else function(*operands)
    except TTLError:
        raise
    except Exception as error:
        broken = impossible_use(error, [*operands, *about]) or python_error(f"{text}: {error}")
        raise broken from None


def unary(builder: KernelBuilder, sign: str, value: Value) -> Value:
    if sign == "not":
        return scalars.negation(builder, value)
    if is_block(value):
        if sign != "-":
            raise codes.BLOCK_IN_PYTHON.broken(
                f"unary {sign} does not work on {describe(value)}",
                SIGNS_OF_BLOCKS,
            )
        return block_math(builder, BLOCK_OPS["neg"], [value])
    _refuse_tensors(sign, value)
    if isinstance(value, RunTime):
        return UNARY[sign][1](builder, value)
    return folded(f"{sign}{value!r}", UNARY[sign][0], value)


UNARY: dict[str, tuple[Callable[[Any], Any], Callable[..., Value]]] = {
    "-": (lambda a: -a, scalars.negate),
    "+": (lambda a: +a, lambda builder, value: scalars.as_kind(
        builder, value, scalars.common_kind(*scalars.scalar_kinds("+", value), int))),
    "~": (lambda a: ~a, scalars.invert),
}  # fmt: skip


def compare(builder: KernelBuilder, sign: str, left: Value, right: Any) -> Value:
    if (is_block(left) or is_block(right)) and sign in BY_OPERATOR:
        return block_math(builder, BY_OPERATOR[sign], [left, right])
    if sign.endswith("in") and is_block(right):
        raise codes.BLOCK_IN_PYTHON.broken(f"{describe(right)} cannot be iterated over", WHOLE)
    if sign.endswith("in") and is_tensor(right):
        raise wrong_argument(f"{describe(right)} cannot be iterated over")
    if sign in ("is", "is not") and not _are_scalars(left, right):
        return folded(sign, lambda one, other: (one is other) is (sign == "is"), left, right)
    left, right = known_text(builder, left), known_text(builder, right)
    bounds = right.bounds if isinstance(right, RangeValue) else right
    if is_run_time(left) or is_run_time(bounds):
        if isinstance(left, (tuple, list)) and sign in ("==", "!=", "in", "not in"):
            items = list(right) if sign.endswith("in") else [right]
            found = _is_among(builder, left, items)
            return scalars.negation(builder, found) if "not" in sign or "!" in sign else found
        if isinstance(right, RangeValue):
            found = _is_in_range(builder, left, right)
            return scalars.negation(builder, found) if "not" in sign else found
        return scalars.compare(builder, sign, left, right)
    if isinstance(right, RangeValue):
        right = right.known
    if not sign.endswith("in"):
        _refuse_tensors(sign, left, right)
    return folded(f"{left!r} {sign} {right!r}", COMPARISONS[sign].fold, left, right)


def _refuse_slices(sign: str, *operands: Value) -> None:
    for each in operands:
        if isinstance(each, SliceValue):
            left, right = map(describe, operands)
            raise codes.BLOCK_IN_PYTHON.broken(f"{sign} does not work on {left} and {right}")


def _refuse_tensors(sign: str, *operands: Value) -> None:
    """ttnn would compute with them now, while the kernel is compiled."""
    if any(public_class(each) is None and is_tensor(each) for each in operands):
        raise codes.OUTSIDE_OPERATION.broken(
            f"`{sign}` works on whole tensors, not in a kernel",
            "copy parts of the tensors to blocks and compute with these",
        )


def _is_in_range(builder: KernelBuilder, value: Value, steps: RangeValue) -> Value:
    """`value in range(...)` without going over it."""
    if is_run_time(steps.step) or kind_of(value) is not int:
        raise not_in_kernels(f"`in` of a range for {describe(value)}, or with a run-time step")

    def compared(sign: str, one: Value, other: Value) -> Callable[[], Value]:
        return lambda: compare(builder, sign, one, other)

    first, last = (">=", "<") if steps.step > 0 else ("<=", ">")
    distance = binary(builder, "-", value, steps.start)
    rest = binary(builder, "%", distance, steps.step)
    tests = [compared(first, value, steps.start), compared(last, value, steps.stop),
             compared("==", rest, 0)]  # fmt: skip
    return reduce(
        lambda so_far, test: choose(builder, so_far, test, lambda: False), tests[1:], tests[0]()
    )


def _are_equal(builder: KernelBuilder, left: Value, right: Value) -> Value:
    """Of containers: item by item, until two differ."""
    if not isinstance(left, (tuple, list)):
        return compare(builder, "==", left, right)
    if type(left) is not type(right) or len(left) != len(right):
        return False
    if not left:
        return True
    first = _are_equal(builder, left[0], right[0])
    return choose(
        builder, first, lambda: _are_equal(builder, left[1:], right[1:]), lambda: False
    )


def _is_among(builder: KernelBuilder, value: Value, items: list[Value]) -> Value:
    if not items:
        return False
    first = _are_equal(builder, value, items[0])
    return choose(builder, first, lambda: True, lambda: _is_among(builder, value, items[1:]))


def _are_scalars(*values: Value) -> bool:
    return all(kind_of(value) is not None for value in values)
