"""range() with bounds known only when the kernel runs; Python makes all other ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1, i64

from .builder import KernelBuilder
from .hir import RunTime, Scalar, StandIn, Value, is_run_time
from .in_python import in_python
from .scalars import as_kind, calculated, integer, negate, scalar_kinds


@dataclass(frozen=True, slots=True)
class RangeValue(StandIn):
    """A range of run-time values, or any range that a loop counts over."""

    described = "a range"
    is_of_run = True
    python_class = range

    start: Any
    stop: Any
    step: Any

    @property
    def bounds(self) -> tuple[object, object, object]:
        return self.start, self.stop, self.step

    @property
    def known(self) -> range | None:
        return None if is_run_time(self.bounds) else range(self.start, self.stop, self.step)

    @property
    def counts_up(self) -> bool:
        return not isinstance(self.step, RunTime) and self.step > 0


def steps_of(value: Value) -> RangeValue | None:
    """Return the range that a `for` iterates over; None for other values."""
    if isinstance(value, range):
        return RangeValue(value.start, value.stop, value.step)
    return value if isinstance(value, RangeValue) else None


def range_value(builder: KernelBuilder, *given: Value) -> Value:
    if not is_run_time(given):
        return in_python(range, *given)
    scalar_kinds(range, *given)
    start, stop = (0, given[0]) if len(given) == 1 else given[:2]
    step = given[2] if len(given) == 3 else 1
    return RangeValue(start, stop, step)


def upward(builder: KernelBuilder, steps: RangeValue) -> tuple[Scalar, Scalar, Scalar]:
    """Return bounds that count up: the range's own, or the number of its steps."""
    if steps.counts_up:
        lower, upper, step = (as_kind(builder, bound, int) for bound in steps.bounds)
        return lower, upper, step
    return builder.index(0), step_count(builder, steps), builder.index(1)


def step_count(builder: KernelBuilder, steps: RangeValue) -> Scalar:
    if steps.known is not None:
        return builder.index(len(steps.known))
    start, stop = (as_kind(builder, bound, int) for bound in (steps.start, steps.stop))
    if not isinstance(steps.step, RunTime):
        first, last = (start, stop) if steps.step > 0 else (stop, start)
        return _count(builder, first, last, builder.index(abs(steps.step)))
    step = as_kind(builder, steps.step, int)
    downward = negate(builder, step)
    greater = {"predicate": IntegerAttr(arith.CMPI_COMPARISON_OPERATIONS.index("sgt"), i64)}
    is_up = builder.scalar(arith.CmpiOp, [step, builder.index(0)], i1, greater)

    def chosen(one: Scalar, other: Scalar) -> Scalar:
        return calculated(builder, arith.SelectOp, is_up, one, other, type=one.type)

    return _count(builder, chosen(start, stop), chosen(stop, start), chosen(step, downward))


def _count(builder: KernelBuilder, first: Scalar, last: Scalar, size: Scalar) -> Scalar:
    distance = calculated(builder, arith.SubiOp, last, first)
    rounded = calculated(builder, arith.AddiOp, distance, size)
    rounded = calculated(builder, arith.SubiOp, rounded, builder.index(1))
    return calculated(builder, arith.DivSIOp, rounded, size)


def counted(
    builder: KernelBuilder, steps: RangeValue, number: Scalar, hint: str, from_zero: bool = False
) -> Scalar:
    """Compute the program's loop variable from the loop's counter."""
    is_itself = (steps.start, steps.step) == (0, 1) if from_zero else True
    if steps.counts_up and is_itself:
        return number
    number.hint = f"{hint}_step"
    way = integer(builder, arith.MuliOp, number, as_kind(builder, steps.step, int))
    value = calculated(builder, arith.AddiOp, as_kind(builder, steps.start, int), way)
    value.hint = hint
    return value
