"""Parts of every pass: find kernels, and create operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

from xdsl.dialects import affine, arith, func, scf
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ttl.diagnostics import CompileError, Label, RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.building import around, create, integer, place
from ttl.dialects.locations import call_sites_of, span_of
from ttl.dialects.ttkernel import processor_of

from .registered_device import target_of as target_of

Op = TypeVar("Op", bound=Operation)


def kernels(module: ModuleOp, thread: str | None = None) -> Iterator[func.FuncOp]:
    """Return the kernel functions, or those of one kind of thread."""
    for op in module.ops:
        if isinstance(op, func.FuncOp) and thread in (None, processor_of(op)):
            yield op


def kernel_of(op: Operation) -> func.FuncOp:
    """Return the kernel that an operation is in."""
    return next(each for each in around(op) if isinstance(each, func.FuncOp))


def first_after_bindings(kernel: func.FuncOp) -> Operation:
    """Return the first operation after the kernel's buffers are bound."""
    ops: Iterator[Operation] = iter(kernel.body.block.ops)
    return next(op for op in ops if not isinstance(op, ttl.BindBufferOp))


UNREAD = "ttl.unread"  # on a store or pop: the earlier contents need not have been read
OVER_TILES = "ttl.over_tiles"  # on a loop of the compiler, whose counter is small
TILE_MATMUL = "ttl.tile_matmul"  # on a compute kernel: matrix products tile by tile


def terminator(block: Block) -> Operation:
    assert block.last_op is not None
    return block.last_op


def branch_end(op: Operation) -> Operation:
    """Return the terminator of the branch, loop body or kernel that contains `op`."""
    block = op.parent_block()
    assert block is not None
    return terminator(block)


def erase(op: Operation) -> None:
    """Erase an operation; its results must have no remaining users."""
    op.detach()
    op.erase(safe_erase=False)


def nothing(converter: object, op: Operation, make: Maker) -> None:
    """Convert an operation to nothing."""


def set_function_type(function: func.FuncOp, results: Sequence[Attribute] = ()) -> None:
    """Set the function type from the argument types and the result types."""
    types = [argument.type for argument in function.body.block.args]
    function.properties["function_type"] = FunctionType.from_lists(types, results)


def users_of(value: SSAValue, kind: type[Op]) -> list[Op]:
    """Return the operations of a kind that use a value."""
    return [use.operation for use in value.uses if isinstance(use.operation, kind)]


def replace_by(op: Operation, *values: SSAValue) -> None:
    """Replace an operation's results by values and erase it.

    Values without a name get the result's, as always when xDSL replaces uses.
    """
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    erase(op)


def cannot_compile(broken: RuleBroken, op: Operation) -> CompileError:
    """Report a broken rule at an operation's source."""
    return CompileError(called_from(broken, op).at(span_of(op.location)))


def called_from(broken: RuleBroken, op: Operation) -> RuleBroken:
    """Add labels for the calls that led to the operation."""
    calls = tuple(Label(span, "called here") for span in call_sites_of(op.location))
    return broken.with_labels(*calls)


def not_yet(what: str, op: Operation, help_text: str) -> CompileError:
    message = f"the compiler does not translate {what} yet"
    return cannot_compile(codes.NOT_COMPILED_YET.broken(message, help_text), op)


def constant_of(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def steps_of(loop: scf.ForOp) -> range | None:
    """Return the values of the loop's variable, if known."""
    bounds = [constant_of(bound) for bound in (loop.lb, loop.ub, loop.step)]
    known = [bound for bound in bounds if bound is not None]
    return range(*known) if len(known) == 3 else None


def _is_zero(value: SSAValue) -> bool:
    """Is it the variable of a loop that was omitted because it runs once?"""
    return constant_of(value) == 0 and isinstance(value.type, IndexType)


def integers(numbers: Iterable[int]) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr([integer(number) for number in numbers])


def numbers_in(attribute: Attribute | None) -> list[int]:
    """Return the numbers of an attribute made by integers(); [] for None."""
    assert attribute is None or isinstance(attribute, ArrayAttr)
    return [number.value.data for number in attribute or ()]


INDEX = IndexType()
MAY_OVERFLOW = arith.IntegerOverflowAttr("none")


def integer_op(kind: type[Operation], left: SSAValue, right: SSAValue) -> Operation:
    """Create integer arithmetic without the constructor's checks."""
    flags = {} if kind in (arith.DivSIOp, arith.RemSIOp) else {"overflowFlags": MAY_OVERFLOW}
    return create(kind, (left, right), (left.type,), flags)


def compare_op(left: SSAValue, right: SSAValue, sign: str) -> Operation:
    """Create a comparison; `sign` is spelled as in arith: eq, slt and so on."""
    number = arith.CMPI_COMPARISON_OPERATIONS.index(sign)
    return create(arith.CmpiOp, (left, right), (i1,), {"predicate": integer(number)})


def and_op(left: SSAValue, right: SSAValue) -> Operation:
    return create(arith.AndIOp, (left, right), (left.type,))


@lru_cache(maxsize=1024)
def _bound(number: int) -> AffineMapAttr:
    return AffineMapAttr(AffineMap(0, 0, (AffineExpr.constant(number),)))


def _counting_to(count: int) -> dict[str, Attribute]:
    return {
        "lowerBoundMap": _bound(0),
        "upperBoundMap": _bound(count),
        "step": integer(1, INDEX),
        "operandSegmentSizes": _NO_OPERANDS,
    }


_NO_OPERANDS = DenseArrayBase.from_list(i32, [0, 0, 0])


class Maker:
    """Inserts operations at a point, all with the location of the operation they replace."""

    def __init__(self, point: InsertPoint, origin: Operation):
        self.block, self.next = point.block, point.insert_before
        self.origin = origin

    @classmethod
    def before(cls, op: Operation, origin: Operation | None = None) -> Maker:
        return cls(InsertPoint.before(op), origin or op)

    @classmethod
    def after(cls, op: Operation, origin: Operation | None = None) -> Maker:
        return cls(InsertPoint.after(op), origin or op)

    @classmethod
    def at_end(cls, block: Block, origin: Operation) -> Maker:
        return cls(InsertPoint(block), origin)

    def add(self, op: Operation) -> Operation:
        op.location = self.origin.location
        place(op, self.block, self.next)
        return op

    def add_as_it_is(self, op: Operation) -> None:
        """Insert an operation that keeps its own location."""
        place(op, self.block, self.next)

    def value(self, op: Operation, hint: str | None = None) -> SSAValue:
        (result,) = self.add(op).results
        if hint is not None:
            result.name_hint = hint
        return result

    def new(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        type: Attribute,
        hint: str | None = None,
        **properties: Attribute,
    ) -> SSAValue:
        """Insert a new operation and return its only result."""
        return self.value(create(kind, operands, (type,), properties), hint)

    def index(self, number: int) -> SSAValue:
        return self.new(arith.ConstantOp, (), INDEX, value=integer(number, INDEX))

    def affine(
        self, terms: Sequence[tuple[SSAValue, int]], constant: int = 0, hint: str | None = None
    ) -> SSAValue:
        """Return a sum of variables times factors, and a constant; only the sum gets the hint."""
        terms = [(variable, factor) for variable, factor in terms if not _is_zero(variable)]
        if not terms:
            return self.index(constant)
        if not constant and [factor for _, factor in terms] == [1]:
            return terms[0][0]
        total, *others = [self._product(variable, factor) for variable, factor in terms]
        for part in [*others, *([self.index(constant)] if constant else [])]:
            total = self.value(integer_op(arith.AddiOp, total, part))
        total.name_hint = hint
        return total

    def _product(self, variable: SSAValue, factor: int) -> SSAValue:
        if factor == 1:
            return variable
        return self.value(integer_op(arith.MuliOp, variable, self.index(factor)))

    def loop(self, count: int, name: str, body: Callable[[Maker, SSAValue], None]) -> None:
        """Insert `body` for each of 0..count-1; without a loop if there is only one."""
        if count == 1:
            body(self, self.index(0))
            return
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = name
        inner = Maker.at_end(block, self.origin)
        body(inner, block.args[0])
        inner.add(create(affine.YieldOp))
        self.add(create(affine.ForOp, (), (), _counting_to(count), regions=[Region(block)]))

    def for_each(
        self,
        first: int,
        last: int | SSAValue,
        name: str | None,
        body: Callable[..., Sequence[SSAValue] | None],
        *starts: SSAValue,
    ) -> list[SSAValue]:
        """Insert a loop of `body(make, number, *carried)` from `first` up to `last`, at run time.

        The body returns the values it carries; this returns the final ones.
        """
        types = [value.type for value in starts]
        block = Block(arg_types=[INDEX, *types])
        block.args[0].name_hint = name
        inner = Maker.at_end(block, self.origin)
        inner.add(create(scf.YieldOp, list(body(inner, *block.args) or ())))
        upper = self.index(last) if isinstance(last, int) else last
        operands = [self.index(first), upper, self.index(1), *starts]
        return list(self.add(create(scf.ForOp, operands, types, regions=[Region(block)])).results)
