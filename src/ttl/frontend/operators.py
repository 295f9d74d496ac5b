"""Operators on values: on constants now, on scalars and blocks in the kernel."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ttl.diagnostics import codes
from ttl.language.arguments import is_tensor
from ttl.language.block import block_as_exponent
from ttl.language.described import public_class
from ttl.semantics.ops import BLOCK_OPS, BY_OPERATOR

from . import scalars
from .block_math import block_math, is_block, math_function
from .builder import KernelBuilder
from .hir import VIEWS, BlockValue, RunTime, StandIn, Value, is_run_time, kind_of
from .in_python import in_python, refused
from .joins import choose
from .problems import describe, not_in_kernels
from .python_operators import BINARY, COMPARISONS
from .ranges import RangeValue
from .texts import known_text


def binary(builder: KernelBuilder, sign: str, left: Value, right: Value) -> Value:
    if sign in BY_OPERATOR and (is_block(left) or is_block(right)):
        if sign == "**":
            if not is_block(left):
                raise block_as_exponent()
            return math_function(BY_OPERATOR["**"], builder, left, right)
        return block_math(builder, BY_OPERATOR[sign], [left, right])
    left, right = known_text(builder, left), known_text(builder, right)
    if isinstance(left, StandIn) or isinstance(right, StandIn):
        return scalars.arithmetic(builder, sign, left, right)
    _refuse_tensors(sign, left, right)
    found = in_python(BINARY[sign].fold, left, right)
    return builder.new(found) if isinstance(found, (list, dict, set)) else found


def unary(builder: KernelBuilder, sign: str, value: Value) -> Value:
    if sign == "not":
        return scalars.negation(builder, value)
    if sign == "-" and is_block(value):
        return block_math(builder, BLOCK_OPS["neg"], [value])
    _refuse_tensors(sign, value)
    fold, of_numbers = UNARY[sign]
    return of_numbers(builder, value) if isinstance(value, StandIn) else in_python(fold, value)


UNARY: dict[str, tuple[Callable[..., object], Callable[..., Value]]] = {
    "-": (operator.neg, scalars.negate),
    "+": (operator.pos, scalars.plus),
    "~": (operator.invert, scalars.invert),
}


def compare(builder: KernelBuilder, sign: str, left: Value, right: object) -> Value:
    if (is_block(left) or is_block(right)) and sign in BY_OPERATOR:
        return block_math(builder, BY_OPERATOR[sign], [left, right])
    fold = COMPARISONS[sign].fold
    if sign.endswith("in") and isinstance(right, dict):
        right = dict.fromkeys(right)  # its values do not matter
    elif isinstance(right, VIEWS):
        right = [*right]
    if sign in ("is", "is not") and None in (kind_of(left), kind_of(right)):
        return in_python(fold, left, right)
    left, right = known_text(builder, left), known_text(builder, right)
    if sign.endswith("in") and (isinstance(right, RunTime) or is_tensor(right)):
        raise refused(right, "is not iterable")
    if is_run_time((left, right)):
        return _compare_at_run_time(builder, sign, left, right)
    if not sign.endswith("in"):
        _refuse_tensors(sign, left, right)
    return in_python(fold, left, right)


def _compare_at_run_time(builder: KernelBuilder, sign: str, left: Value, right: Any) -> Value:
    is_not = sign in ("!=", "not in")
    is_in = sign.endswith("in")
    if (isinstance(left, (tuple, list, dict)) and sign in ("==", "!=")) or (
        isinstance(left, (tuple, list, BlockValue)) and is_in
    ):
        items = list(right) if is_in else [right]
        found = logic(builder, False, [partial(_are_equal, builder, left, item) for item in items])
    elif isinstance(right, RangeValue) and is_in:
        found = _is_in_range(builder, left, right)
    else:
        return scalars.compare(builder, sign, left, right)
    return scalars.negation(builder, found) if is_not else found


def _refuse_tensors(sign: str, *operands: Value) -> None:
    """Refuse tensors, because ttnn would compute with them while compiling."""
    if any(public_class(each) is None and is_tensor(each) for each in operands):
        raise codes.OUTSIDE_OPERATION.broken(
            f"`{sign}` works on whole tensors, not in a kernel",
            "copy parts of the tensors to blocks and compute with these",
        )


def _is_in_range(builder: KernelBuilder, value: Value, steps: RangeValue) -> Value:
    """Evaluate `value in range(...)` without iterating."""
    if is_run_time(steps.step) or kind_of(value) is not int:
        raise not_in_kernels(f"`in` of a range for {describe(value)}, or with a run-time step")
    distance = binary(builder, "-", value, steps.start)
    rest = binary(builder, "%", distance, steps.step)
    first, last = (">=", "<") if steps.step > 0 else ("<=", ">")
    tests = [(first, value, steps.start), (last, value, steps.stop), ("==", rest, 0)]
    return logic(builder, True, [partial(compare, builder, *test) for test in tests])


def _are_equal(builder: KernelBuilder, left: Value, right: Value) -> Value:
    """Compare containers item by item, until two differ."""
    if isinstance(left, dict):
        if not isinstance(right, dict) or {*left} != {*right}:
            return False
        left, right = [*left.values()], [right[key] for key in left]
    if not isinstance(left, (tuple, list)):
        return compare(builder, "==", left, right)
    if type(left) is not type(right) or len(left) != len(right):
        return False
    pairs = zip(left, right, strict=True)
    return logic(builder, True, [partial(_are_equal, builder, *pair) for pair in pairs])


def logic(builder: KernelBuilder, is_and: bool, steps: Sequence[Callable[[], Value]]) -> Value:
    """Return the first false operand for `and`, the first true one for `or`, or the last."""
    if not steps:
        return is_and
    first, rest = steps[0](), steps[1:]
    if not rest:
        return first

    def others() -> Value:
        return logic(builder, is_and, rest)

    def itself() -> Value:
        return False if is_and and kind_of(first) is bool else first

    return choose(builder, first, *((others, itself) if is_and else (itself, others)))
