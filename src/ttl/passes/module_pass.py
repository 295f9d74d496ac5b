"""What every pass of ours is made of: a module pass that finds kernels and makes operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, func, scf
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ttl.diagnostics import CompileError, Label, RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.locations import call_sites_of, span_of
from ttl.target import Target, load


def kernels(module: ModuleOp, thread: str | None = None) -> Iterator[func.FuncOp]:
    """The kernel functions, or those of one kind of thread."""
    for op in module.ops:
        if isinstance(op, func.FuncOp) and thread in (None, thread_of(op)):
            yield op


def thread_of(kernel: Operation) -> str:
    """compute, reader or writer."""
    thread = kernel.attributes["ttl.kernel_thread"]
    assert isinstance(thread, StringAttr)
    return thread.data


def around(op: Operation) -> Iterator[Operation]:
    """The operations that an operation is in, innermost first."""
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def kernel_of(op: Operation) -> func.FuncOp:
    """The kernel that an operation is in."""
    return next(each for each in around(op) if isinstance(each, func.FuncOp))


def first_after_bindings(kernel: func.FuncOp) -> Operation:
    """Where a kernel has its buffers."""
    ops: Iterator[Operation] = iter(kernel.body.block.ops)
    return next(op for op in ops if not isinstance(op, ttl.BindBufferOp))


D2M_MARK = "d2m.use_tile_matmul"  # on modules of the d2m dialect
OVER_BLOCKS = "d2m.over_blocks"  # on a loop: each iteration makes a block of the output
UNREAD = "d2m.unread"  # on a store or pop: what was there before need not have been read
TILE_MATMUL = "ttl.tile_matmul"  # on a compute kernel: matrix products tile by tile


def target_of(module: ModuleOp) -> Target:
    name = module.attributes["ttl.target_arch"]
    assert isinstance(name, StringAttr)
    return load(name.data)


LOOPS = (scf.ForOp, scf.WhileOp, ttl.ForEachPipeOp)


def branch_end(op: Operation) -> Operation:
    """The terminator of the branch, loop body or kernel that contains `op`."""
    block = op.parent_block()
    assert block is not None and block.last_op is not None
    return block.last_op


def at_body_end(op: Operation) -> Maker:
    """Where the loop body or kernel ends that contains `op`; in a branch if `op` is in one."""
    end, branch = branch_end(op), op.parent_op()
    if isinstance(branch, (*LOOPS, func.FuncOp)):
        return Maker(InsertPoint.before(end), op)
    if not isinstance(branch, scf.IfOp) or isinstance(branch.parent_op(), scf.IfOp):
        raise not_yet("a block in a branch of a branch, left to be released", op, "release it")
    is_then = op.parent_block() is branch.true_region.block
    inside, nothing = Block([scf.YieldOp()]), Block([scf.YieldOp()])
    then, otherwise = (inside, nothing) if is_then else (nothing, inside)
    again = scf.IfOp(branch.cond, [], Region(then), Region(otherwise))
    Maker(InsertPoint.before(branch_end(branch)), op).add(again)
    assert inside.last_op is not None
    return Maker(InsertPoint.before(inside.last_op), op)


def erase(op: Operation) -> None:
    """Take an operation out; its results have no users left that stay."""
    op.detach()
    op.erase(safe_erase=False)


def set_function_type(function: func.FuncOp, results: Sequence[Attribute] = ()) -> None:
    """That of its arguments, and of what it returns."""
    types = [argument.type for argument in function.body.block.args]
    function.properties["function_type"] = FunctionType.from_lists(types, results)


def replace_by(op: Operation, value: SSAValue) -> None:
    """`value` stands for the one result of an operation, which is taken out."""
    op.results[0].replace_all_uses_with(value)
    erase(op)


def cannot_compile(broken: RuleBroken, op: Operation) -> CompileError:
    """A rule broken at an operation, shown at the source the operation came from."""
    return CompileError(called_from(broken, op).at(span_of(op.location)))


def called_from(broken: RuleBroken, op: Operation) -> RuleBroken:
    """With the calls by which the operation was reached."""
    calls = tuple(Label(span, "called here") for span in call_sites_of(op.location))
    return broken.with_labels(*calls)


def not_yet(what: str, op: Operation, help_text: str) -> CompileError:
    message = f"the compiler does not translate {what} yet"
    return cannot_compile(RuleBroken(codes.NOT_COMPILED_YET, message, helps=(help_text,)), op)


def constant_of(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _is_zero(value: SSAValue) -> bool:
    """The variable of a loop that was left out because it runs once."""
    owner = value.owner
    return isinstance(owner, arith.ConstantOp) and owner.value == IntegerAttr(0, IndexType())


def integers(numbers: Iterable[int]) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr([IntegerAttr(number, i64) for number in numbers])


def numbers_in(attribute: Attribute | None) -> list[int]:
    """The inverse; nothing if there is no such attribute."""
    assert attribute is None or isinstance(attribute, ArrayAttr)
    return [number.value.data for number in attribute or ()]


INDEX = IndexType()
MAY_OVERFLOW = arith.IntegerOverflowAttr("none")


@lru_cache(maxsize=4096)
def _index_attribute(number: int) -> IntegerAttr:
    return IntegerAttr(number, INDEX)


def integer_op(kind: type[Operation], left: SSAValue, right: SSAValue) -> Operation:
    """A sum, difference or product, without the checks that its constructor makes."""
    return kind.create(
        operands=[left, right],
        properties={"overflowFlags": MAY_OVERFLOW},
        result_types=[left.type],
    )


class Maker:
    """Inserts operations at a point, all with the location of the operation they stand for."""

    def __init__(self, point: InsertPoint, origin: Operation):
        self.builder = Builder(point)
        self.origin = origin

    @classmethod
    def before(cls, op: Operation) -> Maker:
        return cls(InsertPoint.before(op), op)

    @classmethod
    def at_end(cls, block: Block, origin: Operation) -> Maker:
        return cls(InsertPoint.at_end(block), origin)

    def add(self, op: Operation) -> Operation:
        op.location = self.origin.location
        return self.builder.insert(op)

    def add_as_it_is(self, op: Operation) -> None:
        """It keeps its own location."""
        self.builder.insert(op)

    def value(self, op: Operation, hint: str | None = None) -> SSAValue:
        result = self.add(op).results[0]
        result.name_hint = hint
        return result

    def index(self, number: int) -> SSAValue:
        constant = arith.ConstantOp.create(
            properties={"value": _index_attribute(number)}, result_types=[INDEX]
        )
        return self.value(constant)

    def affine(
        self,
        terms: Sequence[tuple[SSAValue, int]],
        constant: int = 0,
        hint: str | None = None,
    ) -> SSAValue:
        """The sum of loop variables times factors, and a constant."""
        terms = [(variable, factor) for variable, factor in terms if not _is_zero(variable)]
        if not terms:
            return self.index(constant)
        if not constant and [factor for _, factor in terms] == [1]:
            return terms[0][0]
        if len(terms) > 1:
            return self._sum(terms, constant, hint)
        expression = AffineExpr.constant(constant)
        for position, (_, factor) in enumerate(terms):
            expression = AffineExpr.dimension(position) * factor + expression
        map = AffineMapAttr(AffineMap(len(terms), 0, (expression.simplify(len(terms), 0),)))
        return self.value(affine.ApplyOp([variable for variable, _ in terms], map), hint)

    def _sum(
        self, terms: Sequence[tuple[SSAValue, int]], constant: int, hint: str | None
    ) -> SSAValue:
        """Of several variables: as arithmetic at once, so that only the result has the name."""
        parts = [
            variable
            if factor == 1
            else self.value(integer_op(arith.MuliOp, variable, self.index(factor)))
            for variable, factor in terms
        ]
        total = parts[0]
        for part in [*parts[1:], *([self.index(constant)] if constant else [])]:
            total = self.value(integer_op(arith.AddiOp, total, part))
        total.name_hint = hint
        return total

    def loop(self, count: int, name: str, body: Callable[[Maker, SSAValue], None]) -> None:
        """`body` for each of 0..count-1; without a loop if it is one."""
        if count == 1:
            body(self, self.index(0))
            return
        block = Block(arg_types=[IndexType()])
        block.args[0].name_hint = name
        inner = Maker.at_end(block, self.origin)
        body(inner, block.args[0])
        inner.add(affine.YieldOp.get())
        self.add(affine.ForOp.from_region([], [], [], [], 0, count, Region(block)))

    def for_each(
        self,
        first: int,
        last: int | SSAValue,
        name: str | None,
        body: Callable[..., Sequence[SSAValue] | None],
        *starts: SSAValue,
    ) -> list[SSAValue]:
        """`body(make, number, *carried)` for the numbers from `first` to `last`, at run time.

        The body gives what it carries on; returned is what is carried in the end.
        """
        block = Block(arg_types=[INDEX, *(value.type for value in starts)])
        block.args[0].name_hint = name
        inner = Maker.at_end(block, self.origin)
        ends = body(inner, *block.args)
        inner.add(scf.YieldOp(*(ends or ())))
        lower = self.index(first)
        upper = self.index(last) if isinstance(last, int) else last
        op = scf.ForOp(lower, upper, self.index(1), list(starts), Region(block))
        return list(self.add(op).results)
