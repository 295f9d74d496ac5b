"""Helps for a number in a place where only a block works."""

from __future__ import annotations

from collections.abc import Sequence

from ..types import BlockType
from .arguments import is_number
from .reduce import REDUCTIONS
from .rules import is_complete
from .table import BlockOp

NEED_SHAPES = {*REDUCTIONS, "broadcast", "transpose"}


def takes_number(op: BlockOp, position: int, operands: Sequence[BlockType | None]) -> bool:
    """Return whether an operand may be a number; None stands for an operand that is no block."""
    return op.names[position] in op.scalars and any(each is not None for each in operands)


def helps_instead(
    value: object,
    op: BlockOp | None = None,
    operands: Sequence[BlockType | None] = (),
    is_number_allowed: bool = False,
) -> tuple[str, ...]:
    """Return the helps for a number or a bool, none for other values; `op` is None for a store."""
    if isinstance(value, bool):
        if is_number_allowed:
            return (f"write {int(value)}: a bool is a truth value, not a number",)
        value = int(value)
    return fill_helps(_written(value), op, operands) if is_number(value) else ()


def _written(number: object) -> str:
    text = f"{number}"
    return f'float("{text}")' if text.strip("-") in ("inf", "nan") else text


def fill_helps(
    number: str, op: BlockOp | None = None, operands: Sequence[BlockType | None] = ()
) -> tuple[str, ...]:
    """Return the helps to fill a block with `number`, a number or the name of one."""
    if op is not None and op.operator == "@":
        return _product_helps(number, operands)
    if op is not None and op.name in NEED_SHAPES:
        return (f"write ttl.math.fill({number}, shape=(1, 1)), with its rows and columns in tiles",)
    return (f"write ttl.math.fill({number})",)


def _product_helps(number: str, operands: Sequence[BlockType | None]) -> tuple[str, ...]:
    """Return the helps for `@` with a number, whose square block keeps the other's shape."""
    scaled = f"write x * {number} to multiply each element of x"
    known = [each.shape for each in operands if each is not None and each.shape is not None]
    if not known or not is_complete(known[0]) or len(known[0]) < 2:
        return (scaled,)
    (*outer, rows, columns) = known[0]
    shape = (columns, columns) if operands[0] is not None else (*outer, rows, rows)
    return scaled, f"for a block of such numbers write ttl.math.fill({number}, shape={shape})"
