"""Runs a pykernel program's host commands in order on the host executor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue

from pykernel.dialects import ttmetal
from pykernel.passes.d2m_allocate import size_bytes, space_of
from ttl.codegen import assemble
from ttl.diagnostics import CompileError, codes
from ttl.dialects.locations import span_of
from ttl.dialects.ttcore import TileType, dtype_of_element
from ttl.semantics.dtypes import Array
from ttl.semantics.types import TILE_SIZE

from .flatbuffer.launching import Launching, launching
from .metal_queue import BufferDescription, Queue, WrongAddress


def run_metal(module: ModuleOp, arrays: Sequence[Array], how: Launching | None = None) -> None:
    """Runs the module of a program that has been through all passes; the last array is written.

    Raises CompileError if its buffers are at wrong addresses.
    """
    modules = modules_of(module)
    function = host_function(modules)
    run = _Run(module, modules, Queue(how or launching()))
    for argument, array in zip(function.body.block.args, arrays, strict=True):
        run.arrays[argument] = array
    for op in function.body.block.ops:
        if (command := _COMMANDS.get(type(op))) is not None:
            try:
                command(run, op)
            except WrongAddress as error:
                broken = codes.L1_BUDGET.broken(str(error))
                raise CompileError(broken.at(span_of(op.location))) from None


def modules_of(module: ModuleOp) -> dict[str, ModuleOp]:
    found = (each for each in module.ops if isinstance(each, ModuleOp))
    return {each.sym_name.data: each for each in found if each.sym_name is not None}


def host_function(modules: dict[str, ModuleOp]) -> func.FuncOp:
    (function,) = (op for op in modules["host"].ops if isinstance(op, func.FuncOp))
    return function


def program_of(
    op: ttmetal.EnqueueProgramOp, module: ModuleOp, modules: dict[str, ModuleOp]
) -> tuple[str, ModuleOp]:
    """Return the name and the module of the kernels to run."""
    kernel = op.kernels.data[0]
    name = kernel.root_reference.data
    found = modules[name] if len(kernel.nested_references) else module
    return (name if found.sym_name is None else found.sym_name.data), found


class _Run:
    def __init__(self, module: ModuleOp, modules: dict[str, ModuleOp], queue: Queue):
        self.module, self.modules, self.queue = module, modules, queue
        self.arrays: dict[SSAValue, Array] = {}  # of the host

    def create_buffer(self, op: ttmetal.CreateBufferOp) -> None:
        self.queue.create(op.buffer, described(op))

    def deallocate_buffer(self, op: ttmetal.DeallocateBufferOp) -> None:
        self.queue.deallocate(op.buffer)

    def write_buffer(self, op: ttmetal.EnqueueWriteBufferOp) -> None:
        self.queue.write(self.arrays[op.tensor], op.buffer)

    def read_buffer(self, op: ttmetal.EnqueueReadBufferOp) -> None:
        self.queue.read(op.buffer, self.arrays[op.tensor])

    def program(self, op: ttmetal.EnqueueProgramOp) -> None:
        name, module = program_of(op, self.module, self.modules)
        self.queue.run(partial(assemble, name, module), list(op.buffers))


_COMMANDS: dict[type[Operation], Callable[[_Run, Any], None]] = {
    ttmetal.CreateBufferOp: _Run.create_buffer,
    ttmetal.DeallocateBufferOp: _Run.deallocate_buffer,
    ttmetal.EnqueueWriteBufferOp: _Run.write_buffer,
    ttmetal.EnqueueReadBufferOp: _Run.read_buffer,
    ttmetal.EnqueueProgramOp: _Run.program,
}


def described(op: ttmetal.CreateBufferOp) -> BufferDescription:
    type = op.buffer.type
    assert isinstance(type, MemRefType)
    shape, element, space = tuple(type.get_shape()), type.element_type, space_of(type)
    address = op.address.value.data
    if isinstance(element, TileType):
        rank = len(shape) // 2
        sizes = tuple(shape[dim] * shape[dim + rank] * TILE_SIZE for dim in range(rank))
        return BufferDescription(
            sizes, element.dtype, True, space, address, size_bytes(type, space)
        )
    dtype, elements = dtype_of_element(element), shape[0] * shape[1]
    return BufferDescription(shape, dtype, False, space, address, elements * dtype.element_bytes)
