"""Block expressions and blocks."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ttl.semantics.dtypes import DType
from ttl.semantics.ops import BY_OPERATOR
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

    def __sub__(self, other: Any) -> BlockExpression:
        return engine("-").apply(BY_OPERATOR["-"], self, other)

    def __mul__(self, other: Any) -> BlockExpression:
        return engine("*").apply(BY_OPERATOR["*"], self, other)

    def __matmul__(self, other: Any) -> BlockExpression:
        return engine("@").apply(BY_OPERATOR["@"], self, other)


class Block(BlockExpression):
    """Space for one block in a dataflow buffer, held by a kernel until its release.

    Used with `with`, it is released at the end: a reserved block is pushed, a waited one popped.
    """

    __slots__ = ()

    def store(self, value: BlockExpression) -> None:
        """Compute kernels: put the value of an expression into the block."""
        raise NotImplementedError

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
