"""The language: what a user's program names."""

from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT
from ttl.semantics.types import TILE_SHAPE, TILE_SIZE

from .autotuned import autotune
from .block import Block, BlockExpression
from .buffer import DataflowBuffer, make_dataflow_buffer_like
from .configs import Config, choice, powers_of_two
from .copies import GroupTransfer, copy
from .declared import NamedKernels as Program
from .functions import math as math  # not in `__all__`: `ttl` has a stub of it
from .grid import grid_size, node
from .kernels import compute, datamovement
from .operation import Operation, operation
from .pipes import DstPipeIdentity, Pipe, PipeNet, SrcPipeIdentity
from .raw_elements import raw_element_read, raw_element_write
from .semaphores import MulticastRemoteSemaphore, Semaphore, UnicastRemoteSemaphore
from .signposts import signpost
from .tensor_backed import make_tensor_backed_dfb
from .transfer import Transfer
from .types import Count, DstT, Index, NaturalInt, NodeCoord, NodeRange, PositiveInt, Shape, Size

__all__ = [
    "ROW_MAJOR_LAYOUT",
    "TILE_LAYOUT",
    "TILE_SHAPE",
    "TILE_SIZE",
    "Block",
    "BlockExpression",
    "Config",
    "Count",
    "DataflowBuffer",
    "DstPipeIdentity",
    "DstT",
    "GroupTransfer",
    "Index",
    "MulticastRemoteSemaphore",
    "NaturalInt",
    "NodeCoord",
    "NodeRange",
    "Operation",
    "Pipe",
    "PipeNet",
    "PositiveInt",
    "Program",
    "Semaphore",
    "Shape",
    "Size",
    "SrcPipeIdentity",
    "Transfer",
    "UnicastRemoteSemaphore",
    "autotune",
    "choice",
    "compute",
    "copy",
    "datamovement",
    "grid_size",
    "make_dataflow_buffer_like",
    "make_tensor_backed_dfb",
    "node",
    "operation",
    "powers_of_two",
    "raw_element_read",
    "raw_element_write",
    "signpost",
]
