"""The steps of a kernel's walk: calculate, follow branches and loops, record events.

rule REPEATED  equal consecutive iterations of a loop are stored once, with a count
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from xdsl.dialects import arith, scf
from xdsl.ir import Operation

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.ttkernel import name_of

from ..module_pass import kernel_of
from .symbolic import UNKNOWN, LoopExpression, Number, lift, variable_of

FAILURES = (ArithmeticError, ValueError)  # of a calculation: division by zero, a wrong shift

DIVISIONS = (arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp)
MOST_DIVISORS = 10_000  # most divisors searched for a zero

Item = Any  # an event, or Repeat
Items = tuple[Item, ...]
Faults = list[tuple[Operation, RuleBroken]]


class Repeat(NamedTuple):
    """Items that repeat several times in a row."""

    times: int
    items: Items


class BudgetSpent(Exception):
    """Raised when the walk has taken as many steps as it may."""


class CannotEvaluate(Exception):
    """Raised if control flow depends on a value that the walk cannot evaluate."""

    def __init__(self, op: Operation, faults: Faults | None = None):
        super().__init__(op.name)
        self.op = op
        self.faults = faults or []  # earlier ones


@dataclass(slots=True)
class Budget:
    """The steps that the walk of a module may still take."""

    steps: int

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise BudgetSpent


@dataclass(slots=True)
class Walk:
    """A kernel being walked on one node."""

    node: tuple[int, ...]
    number: int  # of the node; x varies fastest
    values: list[Number]
    budget: Budget
    items: list[Item] = field(default_factory=list)
    slices: list[tuple[Operation, tuple[Number, ...]]] = field(default_factory=list)
    faults: Faults = field(default_factory=list)
    is_guessing: bool = False  # in a branch that may not be taken
    ways: list[bool] | None = None  # if wanted: branches taken or not, loops continued or not

    def note_way(self, way: bool) -> None:
        if self.ways is not None:
            self.ways.append(way)

    def fail(self, op: Operation, error: Exception) -> None:
        """Record that the program fails here when it runs."""
        if not self.is_guessing:
            text = f"raised {type(error).__name__}: {error}"
            self.faults.append((op, kernel_failure(op, text)))


def kernel_failure(op: Operation, error: str) -> RuleBroken:
    kernel = name_of(kernel_of(op))
    return codes.KERNEL_EXCEPTION.broken(f"kernel `{kernel}` {error}")


Statement = Callable[[Walk], None]  # a step of a walk
Body = list[Statement]


def run_body(body: Body, walk: Walk) -> None:
    for statement in body:
        statement(walk)


def set_register(register: int, function: Callable[[Walk], Number]) -> Statement:
    """Set a register to the function's result."""

    def give(walk: Walk) -> None:
        walk.values[register] = function(walk)

    return give


def require_known(walk: Walk, register: int, op: Operation) -> Any:
    """Return a value that the operation's effect depends on; raise CannotEvaluate if unknown."""
    value = walk.values[register]
    if value is UNKNOWN:
        raise CannotEvaluate(op)
    return value


@dataclass(slots=True)
class Calculate:
    op: Operation
    function: Callable[..., Number]
    operands: tuple[int, ...]
    result: int

    def __call__(self, walk: Walk) -> None:
        values = walk.values
        operands = [values[operand] for operand in self.operands]
        for operand in operands:
            if type(operand) is LoopExpression or operand is UNKNOWN:
                self._lift(operands, walk)
                return
        try:
            values[self.result] = self.function(*operands)
        except FAILURES as error:
            walk.fail(self.op, error)
            values[self.result] = UNKNOWN

    def _lift(self, operands: list[Number], walk: Walk) -> None:
        walk.values[self.result] = lift(self.function, tuple(operands))
        divisor = operands[-1]
        if isinstance(self.op, DIVISIONS) and isinstance(divisor, LoopExpression):
            low, high = divisor.extremes() if divisor.count <= MOST_DIVISORS else (1, 1)
            if low <= 0 <= high and 0 in divisor.all_values():
                walk.fail(self.op, _division_by_zero())


def _division_by_zero() -> ZeroDivisionError:
    """Return the error with the wording of this version of Python."""
    try:
        1 // 0  # noqa: B018
    except ZeroDivisionError as error:
        return error
    raise AssertionError


def check_assertion(op: ttl.AssertOp, register: int) -> Statement:
    """Record a fault if an assertion is known to fail."""

    def check(walk: Walk) -> None:
        condition = walk.values[register]
        if isinstance(condition, LoopExpression):
            is_small = condition.count <= MOST_DIVISORS
            holds = not is_small or all(condition.all_values())
        else:
            holds = condition is UNKNOWN or bool(condition)
        if not holds and not walk.is_guessing:
            walk.faults.append((op, _broken_by(op)))

    return check


def _broken_by(op: ttl.AssertOp) -> RuleBroken:
    if op.code is None or op.help is None:
        return kernel_failure(op, op.error.data)
    code = codes.CATALOGUE[op.code.data]
    return code.broken(op.error.data, op.help.data)


@dataclass(slots=True)
class BranchStatement:
    op: scf.IfOp
    condition: int
    then: Body
    otherwise: Body
    then_yields: tuple[int, ...]
    otherwise_yields: tuple[int, ...]
    results: tuple[int, ...]

    def __call__(self, walk: Walk) -> None:
        values = walk.values
        condition = require_known(walk, self.condition, self.op)
        if isinstance(condition, LoopExpression):
            self._select(walk, condition)
            return
        walk.note_way(bool(condition))
        run_body(self.then if condition else self.otherwise, walk)
        yields = self.then_yields if condition else self.otherwise_yields
        assign(values, self.results, [values[value] for value in yields])

    def _select(self, walk: Walk, condition: LoopExpression) -> None:
        """Calculate both ways, in a loop that is walked once (rule ALIKE)."""
        values, was_guessing = walk.values, walk.is_guessing
        walk.is_guessing = True
        run_body(self.then, walk)
        run_body(self.otherwise, walk)
        walk.is_guessing = was_guessing
        pairs = zip(self.then_yields, self.otherwise_yields, strict=True)
        for result, (one, other) in zip(self.results, pairs, strict=True):
            values[result] = lift(
                lambda c, a, b: a if c else b, (condition, values[one], values[other])
            )


@dataclass(frozen=True, slots=True)
class CarriedRegisters:
    """The registers of carried values: before a loop, in an iteration, at its end, after it."""

    starts: tuple[int, ...]
    arguments: tuple[int, ...]
    yields: tuple[int, ...]
    results: tuple[int, ...]

    def iterate(self, walk: Walk, variable: int, numbers: Iterable[Number]) -> Iterator[None]:
        """Yield once for each number; the caller then runs the loop's body."""
        values = walk.values
        current = [values[start] for start in self.starts]
        for number in numbers:
            walk.note_way(True)
            values[variable] = number
            assign(values, self.arguments, current)
            yield
            current = [values[register] for register in self.yields]
        walk.note_way(False)
        assign(values, self.results, current)


@dataclass(slots=True)
class LoopStatement:
    op: scf.ForOp
    bounds: tuple[int, int, int]
    variable: int
    carried: CarriedRegisters
    body: Body
    is_alike: bool

    def __call__(self, walk: Walk) -> None:
        values = walk.values
        try:
            steps = range(*[values[bound] for bound in self.bounds])
        except (TypeError, ValueError):  # unknown bounds, or a step of zero
            raise CannotEvaluate(self.op) from None
        if self.is_alike:
            self._once(steps, walk)
        else:
            self._through(steps, walk)

    def _once(self, steps: range, walk: Walk) -> None:
        if not steps:
            return
        walk.values[self.variable] = variable_of(steps)
        outer, walk.items = walk.items, []
        run_body(self.body, walk)
        append_iteration(outer, walk.items, len(steps))
        walk.items = outer

    def _through(self, steps: range, walk: Walk) -> None:
        outer = walk.items
        for _ in self.carried.iterate(walk, self.variable, steps):
            walk.budget.spend(len(self.body) + 1)
            walk.items = []
            run_body(self.body, walk)
            append_iteration(outer, walk.items, 1)
        walk.items = outer


def append_iteration(items: list[Item], iteration: list[Item], count: int) -> None:
    """Append an iteration, or count it with equal ones before (rule REPEATED)."""
    if not iteration:
        return
    if len(iteration) == 1 and isinstance(iteration[0], Repeat) and count > 1:
        items.append(Repeat(count * iteration[0].times, iteration[0].items))
        return
    same = tuple(iteration)
    last = items[-1] if items else None
    if isinstance(last, Repeat) and last.items == same:
        items[-1] = Repeat(last.times + count, same)
    else:
        items.append(Repeat(count, same))


@dataclass(slots=True)
class WhileStatement:
    op: scf.WhileOp
    starts: tuple[int, ...]
    before_arguments: tuple[int, ...]
    before: Body
    condition: int
    passed: tuple[int, ...]
    after_arguments: tuple[int, ...]
    after: Body
    yields: tuple[int, ...]
    results: tuple[int, ...]

    def __call__(self, walk: Walk) -> None:
        values, outer = walk.values, walk.items
        current = [values[start] for start in self.starts]
        while True:
            walk.budget.spend(len(self.before) + len(self.after) + 1)
            assign(values, self.before_arguments, current)
            walk.items = []
            run_body(self.before, walk)
            passed = [values[register] for register in self.passed]
            goes_on = bool(require_known(walk, self.condition, self.op))
            walk.note_way(goes_on)
            if not goes_on:
                break
            assign(values, self.after_arguments, passed)
            run_body(self.after, walk)
            append_iteration(outer, walk.items, 1)
            current = [values[register] for register in self.yields]
        append_iteration(outer, walk.items, 1)
        walk.items = outer
        assign(values, self.results, passed)


def assign(values: list[Number], registers: Sequence[int], found: Sequence[Number]) -> None:
    for register, value in zip(registers, found, strict=True):
        values[register] = value
