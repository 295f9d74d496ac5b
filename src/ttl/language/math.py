"""ttl.math: the functions of the op table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ttl.diagnostics import RuleBroken, UsageError, codes
from ttl.diagnostics.frames import calling_span
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
        from difflib import get_close_matches

        if name.startswith("__"):
            raise AttributeError(name)
        near = get_close_matches(name, NAMES)
        broken = RuleBroken(
            codes.UNKNOWN_NAME,
            f"ttl.math has no function `{name}`",
            helps=(f"did you mean {' or '.join(f'`{n}`' for n in near)}?",) if near else (),
            notes=(f"it has: {', '.join(NAMES)}",),
        )
        raise UsageError(broken.at(calling_span()))
