"""Running what the host does for a pykernel program, command by command, on the host executor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue

from ttl import host, ttnn
from ttl.artifact import Operand
from ttl.codegen import assemble
from ttl.config import Config
from ttl.dialects import ttmetal
from ttl.dialects.ttcore import TileType, dtype_of_element
from ttl.driver import PROCESS_DRIVER
from ttl.semantics.dtypes import Array, DType
from ttl.semantics.metal_layout import MetalLayout
from ttl.semantics.types import TILE_SIZE, Shape


def run_metal(module: ModuleOp, arrays: Sequence[Array]) -> None:
    """Runs the module of a program that has been through all passes; the last array is written."""
    modules = {each.sym_name.data: each for each in module.ops if isinstance(each, ModuleOp)
               if each.sym_name is not None}  # fmt: skip
    (function,) = (op for op in modules["host"].ops if isinstance(op, func.FuncOp))
    queue = _Queue(module, modules)
    for argument, array in zip(function.body.block.args, arrays, strict=True):
        queue.tensors[argument] = array
    for op in function.body.block.ops:
        if (command := _COMMANDS.get(type(op))) is not None:
            command(queue, op)


class _Queue:
    """The commands that were carried out, and the memory they left."""

    def __init__(self, module: ModuleOp, modules: dict[str, ModuleOp]):
        self.module, self.modules = module, modules
        self.tensors: dict[SSAValue, Any] = {}  # arrays of the host, tensors of the device

    def create_buffer(self, op: ttmetal.CreateBufferOp) -> None:
        self.tensors[op.buffer] = None  # nothing is known to be in it

    def write_buffer(self, op: ttmetal.EnqueueWriteBufferOp) -> None:
        array = self.tensors[op.tensor]
        rows = MetalLayout(tuple(array.shape)).collapse(array)
        _, dtype, layout = _described(op.buffer)
        device = ttnn.open_device(device_id=0)
        self.tensors[op.buffer] = ttnn.from_numpy(rows, dtype=dtype, layout=layout, device=device)

    def read_buffer(self, op: ttmetal.EnqueueReadBufferOp) -> None:
        array = self.tensors[op.tensor]
        rows = ttnn.to_numpy(self.tensors[op.buffer])
        array[...] = MetalLayout(tuple(array.shape)).restore(rows)

    def program(self, op: ttmetal.EnqueueProgramOp) -> None:
        kernel = op.kernels.data[0]
        name = kernel.root_reference.data
        module = self.modules[name] if len(kernel.nested_references) else self.module
        if module.sym_name is not None:
            name = module.sym_name.data
        operands = tuple(_operand(value, str(n)) for n, value in enumerate(op.buffers))
        compiled = assemble(name, module, operands)
        for value in op.buffers:
            if self.tensors[value] is None:
                shape, dtype, layout = _described(value)
                device = ttnn.open_device(device_id=0)
                self.tensors[value] = ttnn.empty(shape, dtype=dtype, layout=layout, device=device)
        storages = [self.tensors[value].storage for value in op.buffers]
        config = Config.current()
        with PROCESS_DRIVER.remarks.of_a_run(config) as report:
            folder, isolate = config.cache_dir, config.isolate
            host.launch(compiled, storages, cache_dir=folder, report=report, isolate=isolate)


_COMMANDS: dict[type[Operation], Callable[[_Queue, Any], None]] = {
    ttmetal.CreateBufferOp: _Queue.create_buffer,
    ttmetal.EnqueueWriteBufferOp: _Queue.write_buffer,
    ttmetal.EnqueueReadBufferOp: _Queue.read_buffer,
    ttmetal.EnqueueProgramOp: _Queue.program,
}


def _described(value: SSAValue) -> tuple[Shape, DType, Any]:
    """Shape in elements, element type and layout of a buffer."""
    type = value.type
    assert isinstance(type, MemRefType)
    shape, element = tuple(type.get_shape()), type.element_type
    if not isinstance(element, TileType):
        return shape, dtype_of_element(element), ttnn.ROW_MAJOR_LAYOUT
    rank = len(shape) // 2
    sizes = tuple(shape[dim] * shape[dim + rank] * TILE_SIZE for dim in range(rank))
    return sizes, element.dtype, ttnn.TILE_LAYOUT


def _operand(value: SSAValue, name: str) -> Operand:
    shape, dtype, layout = _described(value)
    kind = "TILE" if layout is ttnn.TILE_LAYOUT else "ROW_MAJOR"
    return Operand(name, shape, dtype.spelling, kind)
