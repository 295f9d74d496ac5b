"""Every block operation, once."""

from . import activations, elementwise, reduce, rounding, select, shape, trigonometric
from .arguments import NO_PARAMETERS as NO_PARAMETERS
from .arguments import Parameters as Parameters
from .arguments import bind as bind
from .arguments import is_number as is_number
from .matmul import MATMUL as MATMUL
from .reduce import REDUCTIONS as REDUCTIONS
from .rules import is_complete as is_complete
from .rules import meaning_of as meaning_of
from .rules import operand_dtype as operand_dtype
from .rules import refuse_integers as refuse_integers
from .rules import refuse_row_major as refuse_row_major
from .rules import result_type as result_type
from .rules import store_type as store_type
from .select import FILL_BLOCK as FILL_BLOCK
from .steps import STEPS
from .table import REQUIRED as REQUIRED
from .table import BlockOp as BlockOp
from .table import Domain as Domain
from .table import Parameter as Parameter
from .table import ParameterKind as ParameterKind
from .table import TileCall as TileCall
from .table import TileForms as TileForms
from .tiles import COPY as COPY
from .tiles import DUPLICATE as DUPLICATE
from .tiles import FILL as FILL
from .tiles import FILL_WHOLE as FILL_WHOLE
from .tiles import REGISTER_FORMATS as REGISTER_FORMATS
from .tiles import all_words as all_words

_GROUPS = (elementwise, trigonometric, activations, reduce, shape, rounding, select)

BLOCK_OPS: dict[str, BlockOp] = {
    op.name: op for op in (*(op for group in _GROUPS for op in group.OPS), MATMUL)
}
# Operations on registers, which include the steps of compositions.
_FLAGGED = {op.with_flags.name: op.with_flags for op in BLOCK_OPS.values() if op.with_flags}
TILE_OPS: dict[str, BlockOp] = BLOCK_OPS | STEPS | _FLAGGED
BY_OPERATOR: dict[str, BlockOp] = {op.operator: op for op in BLOCK_OPS.values() if op.operator}
NAMESPACES: dict[str, dict[str, BlockOp]] = {
    namespace: {op.name: op for op in BLOCK_OPS.values() if namespace in op.namespaces}
    for namespace in ("math", "block")
}
FUNCTIONS = NAMESPACES["math"]
