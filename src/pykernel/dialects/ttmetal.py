"""ttmetal: what the host does to run programs on the device, in the order of its command queue."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, MemRefType, SymbolRefAttr
from xdsl.ir import Dialect
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def

from ttl.dialects.building import DefinedOperation
from ttl.dialects.definitions import define_operation, dialect_of
from ttl.dialects.metal import GridAttr


class CreateBufferOp(DefinedOperation):
    """Memory of the device at an address, the same on every core in L1."""

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
    """A tensor of the host, padded to whole tiles and as rows, to the device."""

    name = "ttmetal.enqueue_write_buffer"
    tensor = operand_def(MemRefType)
    buffer = operand_def(MemRefType)
    assembly_format = "`(` $tensor `,` $buffer `)` attr-dict `:` type($tensor) `,` type($buffer)"


class EnqueueReadBufferOp(DefinedOperation):
    """And back, without what it was padded with."""

    name = "ttmetal.enqueue_read_buffer"
    buffer = operand_def(MemRefType)
    tensor = operand_def(MemRefType)
    assembly_format = "`(` $buffer `,` $tensor `)` attr-dict `:` type($buffer) `,` type($tensor)"


class EnqueueProgramOp(DefinedOperation):
    """The kernels, on every core of the grid; they have the buffers as their tensors."""

    name = "ttmetal.enqueue_program"
    buffers = var_operand_def(MemRefType)
    kernels = prop_def(ArrayAttr[SymbolRefAttr])
    grid = prop_def(GridAttr)
    assembly_format = "`(` $buffers `)` $kernels `on` $grid attr-dict `:` type($buffers)"


# Until everything that was enqueued is done.
FinishOp = define_operation("ttmetal.finish", assembly_format="attr-dict")


def make_dialect() -> Dialect:
    return dialect_of("ttmetal", globals())
