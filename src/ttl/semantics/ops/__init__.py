"""Every block operation, once."""

from .elementwise import COPY, FILL, store_type
from .elementwise import OPS as _ELEMENTWISE
from .matmul import MATMUL
from .table import BlockOp, TileCall, TileForms

BLOCK_OPS: dict[str, BlockOp] = {op.name: op for op in (*_ELEMENTWISE, MATMUL)}
BY_OPERATOR: dict[str, BlockOp] = {op.operator: op for op in BLOCK_OPS.values() if op.operator}
FUNCTIONS: dict[str, BlockOp] = {op.name: op for op in BLOCK_OPS.values() if op.function}

__all__ = [
    "BLOCK_OPS",
    "BY_OPERATOR",
    "COPY",
    "FILL",
    "FUNCTIONS",
    "MATMUL",
    "BlockOp",
    "TileCall",
    "TileForms",
    "store_type",
]
