"""Block expressions and blocks."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ttl.diagnostics import RuleBroken, codes
from ttl.semantics.dtypes import DType
from ttl.semantics.layout import Layout
from ttl.semantics.ops import BLOCK_OPS, BY_OPERATOR, bind
from ttl.semantics.types import BlockType, Shape

from .engine import engine


class BlockExpression:
    """A value made of tiles: a block that is read, or the result of an operator or function."""

    __slots__ = ("type",)

    def __init__(self, type: BlockType):
        self.type = type

    @property
    def shape(self) -> Shape | None:
        return self.type.shape

    @property
    def dtype(self) -> DType | None:
        return self.type.dtype

    def __add__(self, other: Any) -> BlockExpression:
        return engine("+").apply(BY_OPERATOR["+"], self, other)

    def __radd__(self, other: Any) -> BlockExpression:
        return engine("+").apply(BY_OPERATOR["+"], other, self)

    def __sub__(self, other: Any) -> BlockExpression:
        return engine("-").apply(BY_OPERATOR["-"], self, other)

    def __rsub__(self, other: Any) -> BlockExpression:
        return engine("-").apply(BY_OPERATOR["-"], other, self)

    def __mul__(self, other: Any) -> BlockExpression:
        return engine("*").apply(BY_OPERATOR["*"], self, other)

    def __rmul__(self, other: Any) -> BlockExpression:
        return engine("*").apply(BY_OPERATOR["*"], other, self)

    def __truediv__(self, other: Any) -> BlockExpression:
        return engine("/").apply(BY_OPERATOR["/"], self, other)

    def __rtruediv__(self, other: Any) -> BlockExpression:
        return engine("/").apply(BY_OPERATOR["/"], other, self)

    def __mod__(self, other: Any) -> BlockExpression:
        return engine("%").apply(BY_OPERATOR["%"], self, other)

    def __rmod__(self, other: Any) -> BlockExpression:
        return engine("%").apply(BY_OPERATOR["%"], other, self)

    def __floordiv__(self, other: Any) -> BlockExpression:
        return engine("//").apply(BY_OPERATOR["//"], self, other)

    def __rfloordiv__(self, other: Any) -> BlockExpression:
        return engine("//").apply(BY_OPERATOR["//"], other, self)

    def __xor__(self, other: Any) -> BlockExpression:
        return engine("^").apply(BY_OPERATOR["^"], self, other)

    def __rxor__(self, other: Any) -> BlockExpression:
        return engine("^").apply(BY_OPERATOR["^"], other, self)

    def __matmul__(self, other: Any) -> BlockExpression:
        return engine("@").apply(BY_OPERATOR["@"], self, other)

    def __pow__(self, n: Any) -> BlockExpression:
        running, op = engine("**"), BY_OPERATOR["**"]
        operands, parameters = bind(op, (self, n), {})
        return running.apply(op, *operands, **parameters)

    def __neg__(self) -> BlockExpression:
        return engine("-").apply(BLOCK_OPS["neg"], self)

    def __abs__(self) -> BlockExpression:
        return engine("abs()").apply(BLOCK_OPS["abs"], self)

    def __lt__(self, other: Any) -> BlockExpression:
        return engine("<").apply(BY_OPERATOR["<"], self, other)

    def __le__(self, other: Any) -> BlockExpression:
        return engine("<=").apply(BY_OPERATOR["<="], self, other)

    def __gt__(self, other: Any) -> BlockExpression:
        return engine(">").apply(BY_OPERATOR[">"], self, other)

    def __ge__(self, other: Any) -> BlockExpression:
        return engine(">=").apply(BY_OPERATOR[">="], self, other)

    def __eq__(self, other: Any) -> BlockExpression:  # type: ignore[override]
        return engine("==").apply(BY_OPERATOR["=="], self, other)

    def __ne__(self, other: Any) -> BlockExpression:  # type: ignore[override]
        return engine("!=").apply(BY_OPERATOR["!="], self, other)

    __hash__ = object.__hash__  # a value is itself; `==` compares elements

    def __bool__(self) -> bool:
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            "a block has as many truth values as elements, not one",
            helps=("choose between elements with ttl.math.where(c, a, b)",),
        )


class Block(BlockExpression):
    """Space for one block in a dataflow buffer, held by a kernel until its release.

    Used with `with`, it is released at the end: a reserved block is pushed, a waited one popped.
    """

    __slots__ = ()

    @property
    def layout(self) -> Layout:
        return self.type.layout

    def store(self, value: BlockExpression) -> None:
        """Compute kernels: put the value of an expression into the block."""
        raise NotImplementedError

    def __iadd__(self, value: Any) -> Block:
        """On a reserved block a running sum, rounded at its end; else `store(self + value)`."""
        engine("+=").accumulate(self, value)
        return self

    def push(self) -> None:
        """Hand a reserved block to the consumer."""
        raise NotImplementedError

    def pop(self) -> None:
        """Give the space of a waited block back to the producer."""
        raise NotImplementedError

    def release(self) -> None:
        """What the end of `with` does: push or pop."""
        raise NotImplementedError

    def __enter__(self) -> Block:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.release()
