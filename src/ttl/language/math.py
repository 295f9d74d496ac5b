"""ttl.math: the functions of the op table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ttl.diagnostics.names import unknown_name
from ttl.semantics.ops import FUNCTIONS, BlockOp
from ttl.semantics.types import Shape

from .block import BlockExpression
from .engine import engine


def fill(value: float, shape: Shape | None = None) -> BlockExpression:
    """A block full of `value`; without a shape it takes that of the first operand it meets."""
    return engine("ttl.math.fill()").fill(value, shape)


def _function(op: BlockOp) -> Callable[..., BlockExpression]:
    spelling = f"ttl.math.{op.name}()"

    def call(*operands: Any) -> BlockExpression:
        return engine(spelling).apply(op, *operands)

    call.__name__ = call.__qualname__ = op.name
    call.__doc__ = f"{op.summary[0].upper()}{op.summary[1:]}, elementwise."
    return call


NAMES = ("fill", *FUNCTIONS)

globals().update({name: _function(op) for name, op in FUNCTIONS.items()})

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise unknown_name("ttl.math", name, NAMES)
