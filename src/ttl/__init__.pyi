"""TT-Lang in Python: the public names."""

# ruff: noqa
# Written by `python tests/editor/stubs.py`; do not edit.

import ttl as ttl
from ttl import block, math
from ttl._flat import *
from ttl.arrays import (
    from_numpy, to_numpy,
)
from ttl.diagnostics import (
    CompileError, InternalError, KernelFault, TTLError, TTLangCompileError, UsageError,
)
from ttl.language import (
    Block, BlockExpression, Config, Count, DataflowBuffer, DstPipeIdentity, DstT, GroupTransfer,
    Index, MulticastRemoteSemaphore, NaturalInt, NodeCoord, NodeRange, Operation, Pipe, PipeNet,
    PositiveInt, Program, ROW_MAJOR_LAYOUT, Semaphore, Shape, Size, SrcPipeIdentity, TILE_LAYOUT,
    TILE_SHAPE, TILE_SIZE, Transfer, UnicastRemoteSemaphore, autotune, choice, compute, copy,
    datamovement, grid_size, make_dataflow_buffer_like, make_tensor_backed_dfb, node, operation,
    powers_of_two, raw_element_read, raw_element_write, signpost,
)

BlockExpr = BlockExpression
__version__: str

__all__ = [
    "Block", "BlockExpression", "CompileError", "Config", "Count", "DataflowBuffer",
    "DstPipeIdentity", "DstT", "GroupTransfer", "Index", "InternalError", "KernelFault",
    "MulticastRemoteSemaphore", "NaturalInt", "NodeCoord", "NodeRange", "Operation", "Pipe",
    "PipeNet", "PositiveInt", "Program", "ROW_MAJOR_LAYOUT", "Semaphore", "Shape", "Size",
    "SrcPipeIdentity", "TILE_LAYOUT", "TILE_SHAPE", "TILE_SIZE", "TTLError", "TTLangCompileError",
    "Transfer", "UnicastRemoteSemaphore", "UsageError", "autotune", "block", "choice", "compute",
    "copy", "datamovement", "from_numpy", "grid_size", "make_dataflow_buffer_like",
    "make_tensor_backed_dfb", "math", "node", "operation", "powers_of_two", "raw_element_read",
    "raw_element_write", "signpost", "to_numpy",
]
