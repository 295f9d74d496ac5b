"""Every block operation, once."""

from . import activations, elementwise, reduce, rounding, select, shape, trigonometric
from .arguments import NO_PARAMETERS, Parameters, bind, is_number
from .matmul import MATMUL
from .rules import (
    is_complete,
    meaning_of,
    operand_dtype,
    refuse_integers,
    refuse_row_major,
    result_type,
    store_type,
)
from .select import FILL_BLOCK
from .steps import STEPS
from .table import REQUIRED, BlockOp, Domain, Kind, Parameter, TileCall, TileForms
from .tiles import COPY, DUPLICATE, FILL, FILL_WHOLE, REGISTER_FORMATS, all_words

_GROUPS = (elementwise, trigonometric, activations, reduce, shape, rounding, select)

BLOCK_OPS: dict[str, BlockOp] = {
    op.name: op for op in (*(op for group in _GROUPS for op in group.OPS), MATMUL)
}
# What stands in registers: the operations that compositions are made of have tile columns too.
_FLAGGED = {op.with_flags.name: op.with_flags for op in BLOCK_OPS.values() if op.with_flags}
TILE_OPS: dict[str, BlockOp] = BLOCK_OPS | STEPS | _FLAGGED
BY_OPERATOR: dict[str, BlockOp] = {op.operator: op for op in BLOCK_OPS.values() if op.operator}
NAMESPACES: dict[str, dict[str, BlockOp]] = {
    namespace: {op.name: op for op in BLOCK_OPS.values() if namespace in op.namespaces}
    for namespace in ("math", "block")
}
FUNCTIONS = NAMESPACES["math"]

__all__ = [
    "BLOCK_OPS",
    "BY_OPERATOR",
    "COPY",
    "DUPLICATE",
    "FILL",
    "FILL_BLOCK",
    "FILL_WHOLE",
    "FUNCTIONS",
    "MATMUL",
    "NAMESPACES",
    "NO_PARAMETERS",
    "REGISTER_FORMATS",
    "REQUIRED",
    "TILE_OPS",
    "BlockOp",
    "Domain",
    "Kind",
    "Parameter",
    "Parameters",
    "TileCall",
    "TileForms",
    "all_words",
    "bind",
    "is_complete",
    "is_number",
    "meaning_of",
    "operand_dtype",
    "refuse_integers",
    "refuse_row_major",
    "result_type",
    "store_type",
]
