"""The language: what a user's program names."""

from ttl.semantics.types import TILE_SHAPE, TILE_SIZE

from . import math
from .block import Block, BlockExpression
from .buffer import DataflowBuffer, make_dataflow_buffer_like
from .copies import Transfer, copy
from .operation import Operation, compute, datamovement, grid_size, node, operation
from .signposts import signpost

__all__ = [
    "TILE_SHAPE",
    "TILE_SIZE",
    "Block",
    "BlockExpression",
    "DataflowBuffer",
    "Operation",
    "Transfer",
    "compute",
    "copy",
    "datamovement",
    "grid_size",
    "make_dataflow_buffer_like",
    "math",
    "node",
    "operation",
    "signpost",
]
