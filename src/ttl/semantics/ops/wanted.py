"""What to write in the place of a number where only a block will do."""

from __future__ import annotations

from collections.abc import Sequence

from ..types import BlockType
from .arguments import is_number
from .reduce import REDUCTIONS
from .rules import is_complete
from .table import BlockOp

NEED_SHAPES = {*REDUCTIONS, "broadcast", "transpose"}


def takes_number(op: BlockOp, position: int, operands: Sequence[BlockType | None]) -> bool:
    """May an operand be a number? None stands for an operand that is not a block."""
    return op.names[position] in op.scalars and any(each is not None for each in operands)


def helps_instead(
    value: object,
    op: BlockOp | None = None,
    operands: Sequence[BlockType | None] = (),
    is_number_allowed: bool = False,
) -> tuple[str, ...]:
    """For a number or a bool, and for nothing else; `op` is None where it is stored."""
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
    """`number` is one, or the name of one."""
    if op is not None and op.operator == "@":
        return _product_helps(number, operands)
    if op is not None and op.name in NEED_SHAPES:
        return (f"write ttl.math.fill({number}, shape=(1, 1)), with its rows and columns in tiles",)
    return (f"write ttl.math.fill({number})",)


def _product_helps(number: str, operands: Sequence[BlockType | None]) -> tuple[str, ...]:
    """The product with a square of numbers has the shape of the other operand."""
    scaled = f"write x * {number} to multiply each element of x"
    known = [each.shape for each in operands if each is not None and each.shape is not None]
    if not known or not is_complete(known[0]) or len(known[0]) < 2:
        return (scaled,)
    (*outer, rows, columns) = known[0]
    shape = (columns, columns) if operands[0] is not None else (*outer, rows, rows)
    return scaled, f"for a block of such numbers write ttl.math.fill({number}, shape={shape})"
