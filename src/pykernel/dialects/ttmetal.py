"""ttmetal: the host's commands for running programs, in the order of the command queue."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, MemRefType, SymbolRefAttr
from xdsl.ir import Dialect
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def

from ttl.dialects.building import DefinedOperation
from ttl.dialects.definitions import define_operation, dialect_of
from ttl.dialects.metal import GridAttr


class CreateBufferOp(DefinedOperation):
    """Device memory at an address, which is the same on every core if it is in L1."""

    name = "ttmetal.create_buffer"
    address = prop_def(IntegerAttr)
    buffer = result_def(MemRefType)
    assembly_format = "`(` $address `)` attr-dict `:` type($buffer)"


DeallocateBufferOp = define_operation(
    "ttmetal.deallocate_buffer",
    buffer=operand_def(MemRefType),
    assembly_format="`(` $buffer `)` attr-dict `:` type($buffer)",
)


class EnqueueWriteBufferOp(DefinedOperation):
    """Writes a host tensor to the device as rows, padded to whole tiles."""

    name = "ttmetal.enqueue_write_buffer"
    tensor = operand_def(MemRefType)
    buffer = operand_def(MemRefType)
    assembly_format = "`(` $tensor `,` $buffer `)` attr-dict `:` type($tensor) `,` type($buffer)"


class EnqueueReadBufferOp(DefinedOperation):
    """Reads a tensor back to the host without its padding."""

    name = "ttmetal.enqueue_read_buffer"
    buffer = operand_def(MemRefType)
    tensor = operand_def(MemRefType)
    assembly_format = "`(` $buffer `,` $tensor `)` attr-dict `:` type($buffer) `,` type($tensor)"


class EnqueueProgramOp(DefinedOperation):
    """Runs the kernels on every core of the grid, with the buffers as their tensors."""

    name = "ttmetal.enqueue_program"
    buffers = var_operand_def(MemRefType)
    kernels = prop_def(ArrayAttr[SymbolRefAttr])
    grid = prop_def(GridAttr)
    assembly_format = "`(` $buffers `)` $kernels `on` $grid attr-dict `:` type($buffers)"


# Waits for all enqueued commands.
FinishOp = define_operation("ttmetal.finish", assembly_format="attr-dict")


def make_dialect() -> Dialect:
    return dialect_of("ttmetal", globals())
