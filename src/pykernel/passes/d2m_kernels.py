"""Kernels made of d2m threads, while convert-d2m-to-ttl rewrites them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from pykernel.dialects import d2m
from pykernel.passes.marks import D2M_MARK
from ttl.dialects import ttl
from ttl.dialects.metal import ShardAttr
from ttl.dialects.ttcore import tensor_of
from ttl.dialects.ttkernel import THREAD, thread_attributes
from ttl.passes.arithmetic import add, times
from ttl.passes.module_pass import (
    INDEX,
    TILE_MATMUL,
    Maker,
    first_after_bindings,
    integers,
    not_yet,
    numbers_in,
    set_function_type,
)
from ttl.semantics.dtypes import DType
from ttl.semantics.types import Shape

from .d2m_generic_regions_to_funcs import OPERANDS


class KernelOperand:
    """An operand of the generic: its tensor, and its circular buffer in the kernels."""

    def __init__(self, position: int, value: SSAValue, name: str, tensor: str):
        type = value.type
        assert isinstance(type, MemRefType)
        self.position, self.name, self.tensor = position, name, tensor
        shape = tuple(type.get_shape())
        rank = len(shape) // 2
        self.grid, self.shard = shape[:rank], shape[rank:]
        self.dtype: DType = type.element_type.dtype
        stream = value.owner
        self.blocks = 1
        if isinstance(stream, d2m.StreamLayoutOp):
            assert isinstance(stream.output.type, MemRefType)
            layout = stream.output.type.layout
            assert isinstance(layout, ShardAttr)
            self.blocks = layout.buffers.data

    @property
    def physical(self) -> Shape:
        return tuple(a * b for a, b in zip(self.grid, self.shard, strict=True))

    @property
    def buffer_type(self) -> ttl.DataflowBufferType:
        return ttl.DataflowBufferType.of(self.shard, self.dtype, self.blocks)

    @property
    def tensor_type(self) -> TensorType:
        return tensor_of(self.physical, self.dtype)

    @property
    def block_type(self) -> TensorType:
        return tensor_of(self.shard, self.dtype)


class KernelProgram:
    """One generic, whose kernels are functions of the module."""

    def __init__(self, module: ModuleOp, generic: d2m.GenericOp):
        self.module, self.generic = module, generic
        function = generic.parent_op()
        assert isinstance(function, func.FuncOp)
        self.function = function
        functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
        self.kernels = [functions[thread.symbol.data] for thread in generic.threads]
        names = [argument.name_hint for argument in self.kernels[0].body.block.args]
        if len(names) < len(generic.operands):
            what = "kernels that do not have the buffers of their generic as arguments"
            raise not_yet(what, generic, "pass them: d2m-generic-regions-to-funcs does")
        self.locations = [argument.location for argument in self.kernels[0].body.block.args]
        arguments = [argument.name_hint for argument in function.body.block.args]
        self.operands = [
            KernelOperand(n, value, names[n] or f"cb_{n}", arguments[n] or f"tensor_{n}")
            for n, value in enumerate(generic.operands)
        ]
        count = len(self.operands)
        passed = [len(kernel.attributes[OPERANDS]) for kernel in self.kernels]  # type: ignore[arg-type]
        sems = len(names) - count - passed[0]
        self.semaphores = [names[count + n] or f"semaphore_{n}" for n in range(sems)]
        moves = function.attributes.get("d2m.moves", DictionaryAttr({}))
        assert isinstance(moves, DictionaryAttr)
        self.filled = numbers_in(moves.data.get("filled"))
        self.is_written = bool(moves.data.get("written"))
        self.is_taken = bool(moves.data.get("taken"))
        self.is_streamed = bool(moves.data.get("streamed"))  # the taker writes the output
        self.blocks = numbers_in(moves.data.get("blocks")) or [1] * len(self.operands[-1].grid)

    def attributes(self, thread: str, tensors: list[int]) -> dict[str, Attribute]:
        return kernel_attributes(thread, tensors, [operand.tensor for operand in self.operands])


def kernel_attributes(
    thread: str, tensors: Iterable[int], names: Sequence[str]
) -> dict[str, Attribute]:
    """Return the attributes of a kernel; each named tensor has a circular buffer."""
    return {
        **thread_attributes(thread),
        "ttl.crta_indices": integers(tensors),
        "ttl.tensor_names": ArrayAttr([StringAttr(name) for name in names]),
        "ttl.base_cta_index": IntegerAttr(len(names), i64),
    }


def new_kernel(name: str, attributes: dict[str, Attribute]) -> func.FuncOp:
    function = func.FuncOp(name, FunctionType.from_lists([], []), Region(Block()))
    function.attributes |= attributes
    return function


class KernelDraft:
    """A kernel function, before or after its conversion."""

    def __init__(self, program: KernelProgram, function: func.FuncOp, mover: int | None):
        self.program, self.function, self.mover = program, function, mover
        self.body = function.body.block
        self.tensors: dict[int, SSAValue] = {}
        self.held: SSAValue | None = None  # the output's block, rule SHARD
        self.push: Operation | None = None  # for the output's last block, rule TAKE
        self.taken: list[tuple[SSAValue, Operation]] = []  # its blocks and their release

    @property
    def first(self) -> Operation:
        return first_after_bindings(self.function)

    def bind(self) -> list[int]:
        """Match arguments with operands; return the positions of tensors among the operands."""
        count = len(self.program.operands)
        positions = numbers_in(self.function.attributes.pop(OPERANDS))
        arguments: list[SSAValue] = list(self.body.args)
        end = count + len(self.program.semaphores)
        self.tensors |= zip(positions, arguments[end:], strict=True)
        self.by_argument = dict(zip(arguments[:count], self.program.operands, strict=True))
        self.remote = dict(zip(arguments[end:], positions, strict=True))
        self.semaphore_names = dict(zip(arguments[count:end], self.program.semaphores, strict=True))
        return positions

    def set_signature(self, positions: list[int]) -> None:
        kept = {self.tensors[position] for position in positions}
        for argument in reversed(list(self.body.args)):
            if argument not in kept:
                self.body.erase_arg(argument, safe_erase=False)
        for position, old in list(self.tensors.items()):
            operand = self.program.operands[position]
            old.name_hint = operand.tensor
            new = self.body.insert_arg(operand.tensor_type, positions.index(position))
            new.name_hint = operand.tensor
            old.replace_all_uses_with(new)
            self.body.erase_arg(old)  # type: ignore[arg-type]
            self.tensors[position] = new
        thread = "compute" if self.mover is None else ("reader", "writer")[self.mover]
        self.function.attributes.pop(THREAD)
        self.function.attributes |= self.program.attributes(thread, positions)
        if thread == "compute" and bool(self.program.module.attributes.get(D2M_MARK)):
            self.function.attributes[TILE_MATMUL] = UnitAttr()
        set_function_type(self.function)

    # Named values ---------------------------------------------------------------------------------

    def buffer(self, operand: KernelOperand) -> SSAValue:
        for op in self.body.ops:
            if isinstance(op, ttl.BindBufferOp) and ttl.buffer_name(op.result) == operand.name:
                return op.result
        make, name = Maker.before(self.first, self.function), operand.name
        symbol = SymbolRefAttr(name)
        return make.new(ttl.BindBufferOp, (), operand.buffer_type, name, buffer=symbol)

    def tensor(self, operand: KernelOperand) -> SSAValue:
        """Return the argument for a tensor, after the conversion."""
        positions = numbers_in(self.function.attributes["ttl.crta_indices"])
        if operand.position in positions:
            return self.body.args[positions.index(operand.position)]
        argument = self.body.insert_arg(operand.tensor_type, len(positions))
        argument.name_hint = operand.tensor
        positions.append(operand.position)
        self.function.attributes["ttl.crta_indices"] = integers(positions)
        set_function_type(self.function)
        return argument

    def acquire(self, make: Maker, kind: type[ttl.AcquireOp], operand: KernelOperand) -> SSAValue:
        buffer, hint = self.buffer(operand), f"{operand.name}_block"
        return make.new(kind, [buffer], operand.block_type, hint)

    def copy_shard(
        self,
        make: Maker,
        operand: KernelOperand,
        block: SSAValue,
        is_read: bool,
        steps: Sequence[SSAValue | None] = (None, None),
    ) -> None:
        """Copy between a block and the core's part of a tensor; `steps` select a block."""
        starts = []
        for dim, size in enumerate(operand.shard):
            index = node_index(make, 1 - dim)
            if (step := steps[dim]) is not None:
                count = make.index(self.program.blocks[dim])
                index = add(make, times(make, index, count), step)
            starts.append(times(make, index, make.index(size)))
        part = tensor_slice(make, self.tensor(operand), starts, operand)
        ends = [part, block] if is_read else [block, part]
        transfer = copy(make, ends, "read" if is_read else "write")
        make.add(ttl.WaitTransferOp.create(operands=[transfer]))


def node_index(make: Maker, dimension: int, hint: str | None = None) -> SSAValue:
    return make.new(ttl.NodeIndexOp, (), INDEX, hint, dimension=IntegerAttr(dimension, i64))


def tensor_slice(
    make: Maker, tensor: SSAValue, starts: list[SSAValue], operand: KernelOperand
) -> SSAValue:
    return make.new(ttl.TensorSliceOp, [tensor, *starts], operand.block_type)


def copy(make: Maker, ends: list[SSAValue], kind: str) -> SSAValue:
    return make.new(ttl.CopyOp, ends, ttl.TransferType(StringAttr(kind)))
