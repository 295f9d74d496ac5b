"""What every pass of ours is made of: a module pass that finds kernels and makes operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, func, scf
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ttl.diagnostics import CompileError, RuleBroken, codes
from ttl.dialects.locations import span_of
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


def target_of(module: ModuleOp) -> Target:
    name = module.attributes["ttl.target_arch"]
    assert isinstance(name, StringAttr)
    return load(name.data)


def body_end(op: Operation) -> Operation:
    """The terminator of the loop body or kernel that contains `op`."""
    block, owner = op.parent_block(), op.parent_op()
    assert block is not None and block.last_op is not None
    if not isinstance(owner, (scf.ForOp, func.FuncOp)):
        raise not_yet("a block or copy in a branch, left to be finished", op, "finish it there")
    return block.last_op


def erase(op: Operation) -> None:
    """Take an operation out; its results have no users left that stay."""
    op.detach()
    op.erase(safe_erase=False)


def cannot_compile(broken: RuleBroken, op: Operation) -> CompileError:
    """A rule broken at an operation, shown at the source the operation came from."""
    return CompileError(broken.at(span_of(op.location)))


def not_yet(what: str, op: Operation, help_text: str) -> CompileError:
    message = f"the compiler does not translate {what} yet"
    return cannot_compile(RuleBroken(codes.NOT_COMPILED_YET, message, helps=(help_text,)), op)


def _is_zero(value: SSAValue) -> bool:
    """The variable of a loop that was left out because it runs once."""
    owner = value.owner
    return isinstance(owner, arith.ConstantOp) and owner.value == IntegerAttr(0, IndexType())


class Maker:
    """Inserts operations at a point, all with the location of the operation they stand for."""

    def __init__(self, point: InsertPoint, origin: Operation):
        self.builder = Builder(point)
        self.origin = origin

    @classmethod
    def before(cls, op: Operation) -> Maker:
        return cls(InsertPoint.before(op), op)

    def add(self, op: Operation) -> Operation:
        op.location = self.origin.location
        return self.builder.insert(op)

    def value(self, op: Operation, hint: str | None = None) -> SSAValue:
        result = self.add(op).results[0]
        result.name_hint = hint
        return result

    def index(self, number: int) -> SSAValue:
        return self.value(arith.ConstantOp(IntegerAttr(number, IndexType())))

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
        expression = AffineExpr.constant(constant)
        for position, (_, factor) in enumerate(terms):
            expression = AffineExpr.dimension(position) * factor + expression
        map = AffineMapAttr(AffineMap(len(terms), 0, (expression.simplify(len(terms), 0),)))
        return self.value(affine.ApplyOp([variable for variable, _ in terms], map), hint)

    def loop(self, count: int, name: str, body: Callable[[Maker, SSAValue], None]) -> None:
        """`body` for each of 0..count-1; without a loop if it is one."""
        if count == 1:
            body(self, self.index(0))
            return
        block = Block(arg_types=[IndexType()])
        block.args[0].name_hint = name
        inner = Maker(InsertPoint.at_end(block), self.origin)
        body(inner, block.args[0])
        inner.add(affine.YieldOp.get())
        self.add(affine.ForOp.from_region([], [], [], [], 0, count, Region(block)))
