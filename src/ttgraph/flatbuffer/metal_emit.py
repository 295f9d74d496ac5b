"""Writes a module of host commands as a TTMetalBinary: `-ttmetal-to-flatbuffer-bin`.

A pykernel program is one program of the file. A graph is one, too: the commands of each program
that it calls, in order, with host tensors between them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from math import prod
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from pykernel.dialects import d2m, ttmetal
from ttgraph.dialects import ttir
from ttgraph.dialects.graph import MathOp, dense_values
from ttl.artifact import Buffer, CompiledOperation, Kernel, Operand, ThreadKind
from ttl.codegen import assemble
from ttl.diagnostics import CompileError, codes
from ttl.dialects.locations import span_of
from ttl.dialects.metal import GridAttr
from ttl.dialects.ttcore import dtype_of_element
from ttl.passes.registered_device import target_of
from ttl.semantics.dtypes import BY_DATA_FORMAT, Array, DType
from ttl.semantics.types import TILE_SIZE
from ttl.target.system_desc import Chip, chip_of

from ..d2m_graph import run_on_host
from ..metal_program import described, host_function, modules_of, program_of
from ..metal_queue import BufferDescription
from .metal_schema import METAL_BINARY, METAL_FLAGS, METAL_IDENTIFIER
from .schema import SCHEMA_REVISION, TABLES, VERSION, Table
from .writer import write_binary

NOCS = {ThreadKind.READER: ("RISCV_1", "Noc1"), ThreadKind.WRITER: ("RISCV_0", "Noc0")}


def emit_metal(module: ModuleOp) -> bytes:
    """Return the file's bytes; raise CompileError if the module has more than commands."""
    mains = [op for op in module.ops if isinstance(op, func.FuncOp)]
    inside = modules_of(module)
    if "host" in inside:
        first, program = module, _Program().add_program(module)
    elif len(mains) == 1 and inside:
        first, program = next(iter(inside.values())), _Program().add_graph(module, mains[0])
    else:
        message = "the module has no commands of the host that a flatbuffer could have"
        help_text = "lower it first: -ttir-to-ttmetal-backend -ttmetal-to-flatbuffer-bin"
        broken = codes.GRAPH_NOT_LOWERED.broken(message, help_text)
        raise CompileError(broken.at(None))
    value = {
        "version": VERSION,
        "schema_hash": SCHEMA_REVISION,
        "system_desc": {"chip_descs": [_chip(chip_of(target_of(first)))]},
        "mlir": {"name": "ttmetal", "source": ""},
        "programs": [program],
    }
    return write_binary(value, METAL_BINARY, METAL_IDENTIFIER)


def _chip(chip: Chip) -> Table:
    pairs = {"grid": "grid_size", "coord_translation_offsets": "coord_translation_offsets"}
    value: Table = {name: {"y": chip[text][0], "x": chip[text][1]} for text, name in pairs.items()}
    numbers = {name: number for name, number in chip.items() if isinstance(number, int)}
    known = {field[0] for field in TABLES["MetalChipDesc"]}
    value |= {name: number for name, number in numbers.items() if name in known}
    return value | {"arch": str(chip["arch"]).capitalize()}


class _Program:
    """Program of the file; `references` has the host tensors and the device's buffers."""

    def __init__(self) -> None:
        self.numbers = count(1)
        self.references: dict[SSAValue, Table] = {}
        self.commands: list[Table] = []
        self.constants: dict[SSAValue, Array] = {}  # tensors with known elements

    def add_program(self, module: ModuleOp) -> Table:
        """Write one program of kernels; its last argument is its output."""
        function = host_function(modules_of(module))
        arguments: list[SSAValue] = list(function.body.block.args)
        for argument in arguments:
            self.references[argument] = self._host(argument)
        self.add("HostAllocCommand", dst=self.references[arguments[-1]])
        self._run(module, arguments)
        return self._value(function.sym_name.data, arguments[:-1], arguments[-1:])

    def add_graph(self, module: ModuleOp, main: func.FuncOp) -> Table:
        programs = modules_of(module)
        for argument in main.body.block.args:
            self.references[argument] = self._host(argument)
        results: list[SSAValue] = []
        for op in main.body.block.ops:
            if isinstance(op, d2m.CallOp):
                self._run(programs[op.program.root_reference.data], list(op.arguments))
                self.references[op.result] = self.references[op.arguments[-1]]
            elif isinstance(op, d2m.EmptyOp):
                self._allocate(op.result, None)
            elif isinstance(op, ttir.ConstantOp):
                kind = dtype_of_element(op.result.type.element_type).storage
                self._constant(op.result, dense_values(op.value).astype(kind))
            elif isinstance(op, MathOp) and self.constants.keys() >= set(op.inputs):
                self._constant(op.result, run_on_host(op, [self.constants[v] for v in op.inputs]))
            elif isinstance(op, func.ReturnOp):
                results = list(op.operands)
            else:
                raise _make_host_error(op)
        return self._value(main.sym_name.data, list(main.body.block.args), results)

    def add(self, command: str, **fields: object) -> None:
        self.commands.append({"type": {command: fields}})

    def _allocate(self, value: SSAValue, data: bytes | None) -> None:
        self.references[value] = self._host(value)
        self.add("HostAllocCommand", dst=self.references[value], data=data)

    def _constant(self, value: SSAValue, array: Array) -> None:
        self.constants[value] = array
        self._allocate(value, array.tobytes())

    def _value(self, name: str, inputs: list[SSAValue], outputs: list[SSAValue]) -> Table:
        references = [[self.references[value] for value in each] for each in (inputs, outputs)]
        self.add("ReturnCommand", results=references[1])
        queue = {"name": "cq", "queue_id": 0, "commands": self.commands}
        device = {"inputs": references[0], "outputs": references[1], "command_queues": [queue]}
        return {
            "name": name,
            "inputs": [_tensor(value) for value in inputs],
            "outputs": [_tensor(value) for value in outputs],
            "device_programs": [device],
            "mesh_shape": {"y": 1, "x": 1},
        }

    def _host(self, value: SSAValue) -> Table:
        shape, dtype = _read_tensor_type(value)
        strides = [prod(shape[dim + 1 :]) for dim in range(len(shape))]
        return self._reference(
            0,
            list(shape),
            dtype,
            (1, 1),
            {"MetalSystemBuffer": {"stride": strides}},
            host_strides=strides,
            host_volume=prod(shape),
        )

    def _reference(
        self,
        address: int,
        shape: list[int],
        dtype: DType,
        element: tuple[int, int],
        detail: Table,
        **more: object,
    ) -> Table:
        size = {"y": element[0], "x": element[1]}
        desc: Table = {"shape": shape, "data_type": dtype.data_format, "element_shape": size}
        desc |= {"buffer_detail": detail, **more}
        return {"global_id": next(self.numbers), "address": address, "desc": desc}

    # Commands of a program ------------------------------------------------------------------------

    def _run(self, module: ModuleOp, values: list[SSAValue]) -> None:
        modules = modules_of(module)
        function = host_function(modules)
        for argument, value in zip(function.body.block.args, values, strict=True):
            self.references[argument] = self.references[value]
        for op in function.body.block.ops:
            if isinstance(op, ttmetal.EnqueueProgramOp):
                name, found = program_of(op, module, modules)
                self._enqueue(op, name, found)
            elif type(op) in _COMMANDS:
                _COMMANDS[type(op)](self, op)

    def create_buffer(self, op: ttmetal.CreateBufferOp) -> None:
        self.references[op.buffer] = self._device(op)
        self.add("CreateBufferCommand", ref=self.references[op.buffer])

    def deallocate_buffer(self, op: ttmetal.DeallocateBufferOp) -> None:
        self.add("DeallocateBufferCommand", ref=self.references[op.buffer])

    def write_buffer(self, op: ttmetal.EnqueueWriteBufferOp) -> None:
        ends = self.references[op.tensor], self.references[op.buffer]
        self.add("EnqueueWriteBufferCommand", src=ends[0], dst=ends[1])

    def read_buffer(self, op: ttmetal.EnqueueReadBufferOp) -> None:
        ends = self.references[op.buffer], self.references[op.tensor]
        self.add("EnqueueReadBufferCommand", src=ends[0], dst=ends[1])

    def finish(self, op: Operation) -> None:
        self.add("FinishCommand")

    def _device(self, op: ttmetal.CreateBufferOp) -> Table:
        found = described(op)
        assert isinstance(op.buffer.type, MemRefType)
        element = (TILE_SIZE, TILE_SIZE) if found.is_tiled else (1, 1)
        space = "L1" if found.space == "l1" else "DRAM"
        detail = {"buffer_type": space, "buffer_config": _config(found, op.buffer.type)}
        shape = list(op.buffer.type.get_shape())
        return self._reference(
            found.address, shape, found.dtype, element, {"MetalDeviceBuffer": detail}
        )

    def _enqueue(self, op: ttmetal.EnqueueProgramOp, name: str, module: ModuleOp) -> None:
        references = [self.references[value] for value in op.buffers]
        operands = tuple(_operand(value, str(n)) for n, value in enumerate(op.buffers))
        compiled = assemble(name, module, operands)
        cores = [_cores(op.grid)]
        semaphores = [
            {"global_id": each.index, "initial_value": each.initial} for each in compiled.semaphores
        ]
        for each in semaphores:
            self.add("CreateLocalSemaphoreCommand", ref=each)
        arguments = [{"MetalBufferRef": each} for each in references]
        arguments += [{"MetalLocalSemaphoreRef": each} for each in semaphores]
        kernels = [_kernel(kernel, compiled, cores, op) for kernel in compiled.kernels]
        self.add(
            "EnqueueProgramCommand",
            arg_refs=arguments,
            cbs=[self._circular(buffer, cores) for buffer in compiled.buffers],
            program={"kernels": kernels},
        )

    def _circular(self, buffer: Buffer, cores: list[Table]) -> Table:
        config = {
            "core_range_set": cores,
            "total_size": buffer.total_bytes,
            "page_size": buffer.page_bytes,
            "num_buffers": buffer.block_count,
        }
        detail = {"buffer_type": "L1", "circular_buffer_config": config}
        dtype = BY_DATA_FORMAT[buffer.data_format]
        shape = [buffer.block_tiles * buffer.block_count]
        element = (TILE_SIZE, TILE_SIZE) if buffer.row_bytes is None else (1, 1)
        reference = self._reference(0, shape, dtype, element, {"MetalDeviceBuffer": detail})
        return {"port": buffer.index, "buffer_ref": reference}


_COMMANDS: dict[type[Operation], Callable[[_Program, Any], None]] = {
    ttmetal.CreateBufferOp: _Program.create_buffer,
    ttmetal.DeallocateBufferOp: _Program.deallocate_buffer,
    ttmetal.EnqueueWriteBufferOp: _Program.write_buffer,
    ttmetal.EnqueueReadBufferOp: _Program.read_buffer,
    ttmetal.FinishOp: _Program.finish,
}


def _make_host_error(op: Operation) -> CompileError:
    message = f"`{op.name}` is done by the host, and a file of commands has no program for that"
    help_text = "run the graph itself: ttl run-metal FILE.mlir"
    return CompileError(codes.GRAPH_NOT_LOWERED.broken(message, help_text).at(span_of(op.location)))


def _read_tensor_type(value: SSAValue) -> tuple[tuple[int, ...], DType]:
    type = value.type
    assert isinstance(type, (TensorType, MemRefType))
    return tuple(type.get_shape()), dtype_of_element(type.element_type)


def _tensor(value: SSAValue) -> Table:
    shape, dtype = _read_tensor_type(value)
    desc = {
        "shape": list(shape),
        "mesh_shape": [1, 1],
        "layout": {"memory_desc": {"data_type": dtype.data_format}},
    }
    return {"size": prod(shape) * dtype.element_bytes, "desc": desc}


def _cores(grid: GridAttr) -> Table:
    rows, columns = grid.shape
    return {"loc": {"y": 0, "x": 0}, "size": {"y": rows, "x": columns}}


def _config(found: BufferDescription, type: MemRefType[Attribute]) -> Table:
    """Describe a buffer's memory: tiles in L1 are sharded over cores, all else is interleaved."""
    page = found.dtype.tile_bytes if found.is_tiled else found.shape[-1] * found.dtype.element_bytes
    size = prod(found.shape) // TILE_SIZE**2 * page if found.is_tiled else found.size_bytes
    if found.space == "dram" or not found.is_tiled:
        return {"MetalInterleavedBufferConfig": {"size": size, "page_size": page}}
    rows, columns, *shard = type.get_shape()
    spec = {
        "core_range_set": [_cores(GridAttr.of((rows, columns)))],
        "shard_shape": {"y": shard[0] * TILE_SIZE, "x": shard[1] * TILE_SIZE},
    }
    pages = {"y": rows * shard[0], "x": columns * shard[1]}
    buffer = {"shard_spec": spec, "page_shape": {"y": TILE_SIZE, "x": TILE_SIZE}}
    buffer["tensor_shape_in_pages"] = pages
    return {
        "MetalShardedBufferConfig": {"size": size, "page_size": page, "shard_spec_buffer": buffer}
    }


def _operand(value: SSAValue, name: str) -> Operand:
    owner = value.owner
    assert isinstance(owner, ttmetal.CreateBufferOp)
    return described(owner).operand(name)


def _kernel(
    kernel: Kernel, compiled: CompiledOperation, cores: list[Table], op: Operation
) -> Table:
    if kernel.runtime_args or kernel.uses_pipe_scratch:
        message = f"kernel `{kernel.name}` has arguments of its own on each core"
        raise CompileError(codes.GRAPH_NOT_LOWERED.broken(message).at(span_of(op.location)))
    constants = [_argument("CBPort", n) for n in range(len(compiled.buffers))]
    if kernel.uses_tensor_accessors:
        constants += [_argument("TensorAccessorArgs", n) for n in range(len(compiled.operands))]
    addresses = [_argument("BufferAddress", n) for n in kernel.tensor_indices]
    return {
        "kernel": {"MetalKernelSource": {"source": kernel.cpp_source}},
        "core_range_set": cores,
        "args": {"crt_args": addresses, "rt_args": [], "ct_args": constants},
        "type": _configuration(kernel, compiled),
        "symbol": kernel.name,
    }


def _argument(kind: str, number: int) -> Table:
    return {"arg": {f"MetalKernelArg{kind}": {"operand_idx": number}}}


def _configuration(kernel: Kernel, compiled: CompiledOperation) -> Table:
    if kernel.config is None:
        processor, noc = NOCS[kernel.thread]
        return {"MetalNocConfig": {"processor": processor, "noc_index": noc}}
    modes = ["Fp32" if each.unpack_to_dest_fp32 else "Default" for each in compiled.buffers]
    flags = {name: getattr(kernel.config, name) for name in METAL_FLAGS}
    return {"MetalComputeConfig": {**flags, "unpack_to_dest_mode": modes}}
