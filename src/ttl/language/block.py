"""Block expressions and blocks."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from types import TracebackType
from typing import Any, NoReturn

from ttl.diagnostics import RuleBroken, codes
from ttl.semantics.dtypes import DType
from ttl.semantics.layout import Layout
from ttl.semantics.ops import BLOCK_OPS, BY_OPERATOR, bind
from ttl.semantics.types import BlockType, Shape

from .engine import ENGINE, engine

Operator = Callable[[Any, Any], "BlockExpression"]


def _binary(sign: str) -> tuple[Operator, Operator]:
    """The methods of an operator, for a block on its left and on its right."""
    op = BY_OPERATOR[sign]

    def on_the_left(self: BlockExpression, other: Any) -> BlockExpression:
        running = ENGINE.get(None) or engine(sign)
        result: BlockExpression = running.apply(op, (self, other))
        return result

    def on_the_right(self: BlockExpression, other: Any) -> BlockExpression:
        running = ENGINE.get(None) or engine(sign)
        result: BlockExpression = running.apply(op, (other, self))
        return result

    return on_the_left, on_the_right


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

    __add__, __radd__ = _binary("+")
    __sub__, __rsub__ = _binary("-")
    __mul__, __rmul__ = _binary("*")
    __truediv__, __rtruediv__ = _binary("/")
    __mod__, __rmod__ = _binary("%")
    __floordiv__, __rfloordiv__ = _binary("//")
    __xor__, __rxor__ = _binary("^")
    __matmul__, __rmatmul__ = _binary("@")
    __lt__, _ = _binary("<")
    __le__, _ = _binary("<=")
    __gt__, _ = _binary(">")
    __ge__, _ = _binary(">=")
    __eq__, _ = _binary("==")  # type: ignore[assignment]
    __ne__, _ = _binary("!=")  # type: ignore[assignment]
    del _

    def __pow__(self, n: Any) -> BlockExpression:
        running, op = engine("**"), BY_OPERATOR["**"]
        operands, parameters = bind(op, (self, n), {})
        return running.apply(op, operands, parameters)

    def __neg__(self) -> BlockExpression:
        return engine("-").apply(BLOCK_OPS["neg"], (self,))

    def __abs__(self) -> BlockExpression:
        return engine("abs()").apply(BLOCK_OPS["abs"], (self,))

    __array_ufunc__ = None  # numpy leaves its operators to ours, instead of going elementwise
    __hash__ = object.__hash__  # a value is itself; `==` compares elements

    def __bool__(self) -> bool:
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            "a block has as many truth values as elements, not one",
            helps=("choose between elements with ttl.math.where(c, a, b)",),
        )


def _not_in_place(symbol: str) -> Callable[[Any, Any], NoReturn]:
    """Without it Python would bind the name to a value and leave the block as it is."""

    def refuse(block: Any, value: Any) -> NoReturn:
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            f"a block is not changed by {symbol}=, only by += and store()",
            helps=(f"write block.store(block {symbol} value)",),
        )

    return refuse


class Block(BlockExpression):
    """Space for one block in a dataflow buffer, held by a kernel until its release.

    Used with `with`, it is released at the end: a reserved block is pushed, a waited one popped.
    """

    __slots__ = ()

    @property
    def layout(self) -> Layout:
        return self.type.layout

    @property
    def name(self) -> str:
        """That of its dataflow buffer."""
        raise NotImplementedError

    def __len__(self) -> int:
        """How many tiles, or elements if it is row-major."""
        return prod(self.type.shape or ())

    def store(self, value: BlockExpression) -> None:
        """Compute kernels: put the value of an expression into the block."""
        raise NotImplementedError

    def __iadd__(self, value: Any) -> Block:
        """On a reserved block a running sum, rounded at its end; else `store(self + value)`."""
        engine("+=").accumulate(self, value)
        return self

    __isub__ = _not_in_place("-")
    __imul__ = _not_in_place("*")
    __itruediv__ = _not_in_place("/")
    __imatmul__ = _not_in_place("@")
    __imod__ = _not_in_place("%")
    __ifloordiv__ = _not_in_place("//")
    __ipow__ = _not_in_place("**")
    __ixor__ = _not_in_place("^")

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
