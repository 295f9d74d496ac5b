"""convert-d2m-to-ttl: kernels of threads as kernels of the language, which go its way to C++.

rule RELEASE `d2m.wait` and `d2m.reserve` release their block at the end of the body they stand in
rule SHARD   the output's buffer is the core's part of the output: it is reserved once, held to the
             end, and then written back; an input that nobody fills is filled from the core's part
rule TAKE    if another thread takes the output, it is pushed where the writer says that it is
             ready, and who takes it writes each block back before its release
rule SUM     a matrix product is made in the block that it is stored to, on top of what is there
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.dialects.linalg.ops import GenericOp as LinalgOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ttl.dialects import d2m, ttl
from ttl.dialects.linalg_math import block_math_of
from ttl.dialects.metal import ShardAttr
from ttl.dialects.ttcore import tensor_of
from ttl.semantics.dtypes import DType
from ttl.semantics.types import Shape

from .d2m_generic_regions_to_funcs import OPERANDS, THREAD
from .kernel_calls import add
from .module_pass import D2M_MARK, TILE_MATMUL, UNREAD, Maker, branch_end, erase
from .module_pass import not_yet as not_yet_at
from .node_calls import minus

HOST = "host"  # the module of what the host does


class ConvertD2mToTtl(ModulePass):
    name = "convert-d2m-to-ttl"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for generic in list(d2m.generics_of(op)):
            _Converter(op, generic).convert()


class _Operand:
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
    def tensor_type(self) -> TensorType[Any]:
        return tensor_of(self.physical, self.dtype)

    @property
    def block_type(self) -> TensorType[Any]:
        return tensor_of(self.shard, self.dtype)


class _Converter:
    """One generic, whose kernels are functions of the module."""

    def __init__(self, module: ModuleOp, generic: d2m.GenericOp):
        self.module, self.generic = module, generic
        function = generic.parent_op()
        assert isinstance(function, func.FuncOp)
        self.function = function
        functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
        self.kernels = [functions[thread.symbol.data] for thread in generic.threads]
        names = [argument.name_hint for argument in self.kernels[0].body.block.args]
        self.locations = [argument.location for argument in self.kernels[0].body.block.args]
        arguments = [argument.name_hint for argument in function.body.block.args]
        self.operands = [
            _Operand(n, value, names[n] or f"cb_{n}", arguments[n] or f"tensor_{n}")
            for n, value in enumerate(generic.operands)
        ]
        count = len(self.operands)
        passed = [len(kernel.attributes[OPERANDS]) for kernel in self.kernels]  # type: ignore[arg-type]
        sems = len(names) - count - passed[0]
        self.semaphores = [names[count + n] or f"semaphore_{n}" for n in range(sems)]
        moves = function.attributes.get("d2m.moves", DictionaryAttr({}))
        assert isinstance(moves, DictionaryAttr)
        filled = moves.data.get("filled", ArrayAttr([]))
        self.filled = [n.value.data for n in filled]  # type: ignore[attr-defined]
        self.is_written = bool(moves.data.get("written"))
        self.is_taken = bool(moves.data.get("taken"))

    def convert(self) -> None:
        movers = [k for k in self.kernels if k.attributes[THREAD] == StringAttr("noc")]
        for kernel in self.kernels:
            number = movers.index(kernel) if kernel in movers else None
            _Kernel(self, kernel, number).convert()
        self._move_shards(movers)
        declared = [_declare(operand) for operand in self.operands]
        declared += [_semaphore(name) for name in self.semaphores]
        for op, location in zip(declared, self.locations, strict=False):
            op.location = location
        first = self.module.body.block.first_op
        assert first is not None
        self.module.body.block.insert_ops_before(declared, first)
        self._set_host_apart(movers)

    def _move_shards(self, movers: list[func.FuncOp]) -> None:
        """rule SHARD"""
        fills = [self.operands[n] for n in self.filled]
        output = self.operands[-1]
        if fills:
            self._fill(movers[0] if movers else self._new_kernel("read_shards", movers), fills)
        if self.is_written:
            last = movers[1] if len(movers) > 1 else self._new_kernel("write_shards", movers)
            kernel = _Kernel(self, last, None)
            make = Maker(InsertPoint.before(branch_end(kernel.first)), kernel.origin)
            block = kernel.acquire(make, ttl.WaitOp, output)
            kernel.copy_shard(make, output, block, is_read=False)
            make.add(ttl.PopOp.create(operands=[kernel.buffer(output)]))

    def _fill(self, function: func.FuncOp, operands: list[_Operand]) -> None:
        kernel = _Kernel(self, function, None)
        make = Maker(InsertPoint.before(kernel.first), kernel.origin)
        for operand in operands:
            block = kernel.acquire(make, ttl.ReserveOp, operand)
            kernel.copy_shard(make, operand, block, is_read=True)
            make.add(ttl.PushOp.create(operands=[kernel.buffer(operand)]))

    def _new_kernel(self, name: str, movers: list[func.FuncOp]) -> func.FuncOp:
        function = func.FuncOp(name, FunctionType.from_lists([], []), Region(Block()))
        function.body.block.add_op(func.ReturnOp())
        function.attributes |= self.attributes("writer" if movers else "reader", [])
        self.module.body.block.add_op(function)
        movers.append(function)
        return function

    def _set_host_apart(self, movers: list[func.FuncOp]) -> None:
        """What is left of the function is not for cores; it names the kernels that they run."""
        known = [thread.symbol.data for thread in self.generic.threads]
        added = [k.sym_name.data for k in movers if k.sym_name.data not in known]
        threads = [*self.generic.threads, *(d2m.ThreadAttr.of("datamovement", n) for n in added)]
        self.generic.properties["threads"] = ArrayAttr(threads)
        for body in list(self.generic.bodies):
            self.generic.detach_region(body)
        self.function.detach()
        self.module.body.block.add_op(ModuleOp([self.function], None, StringAttr(HOST)))

    def attributes(self, thread: str, tensors: list[int]) -> dict[str, Any]:
        names = [StringAttr(operand.tensor) for operand in self.operands]
        return {
            "ttl.kernel_thread": StringAttr(thread),
            "ttl.crta_indices": ArrayAttr([IntegerAttr(n, i64) for n in tensors]),
            "ttl.tensor_names": ArrayAttr(names),
            "ttl.base_cta_index": IntegerAttr(len(self.operands), i64),
        }


def _declare(operand: _Operand) -> Operation:
    return ttl.DeclareBufferOp.create(
        properties={"sym_name": StringAttr(operand.name), "type": operand.buffer_type}
    )


def _semaphore(name: str) -> Operation:
    initial = IntegerAttr(0, i64)
    return ttl.DeclareSemaphoreOp.create(
        properties={"sym_name": StringAttr(name), "initial": initial}
    )


class _Kernel:
    """A kernel function, before or behind its conversion."""

    def __init__(self, program: _Converter, function: func.FuncOp, mover: int | None):
        self.program, self.function, self.mover = program, function, mover
        self.body = function.body.block
        self.tensors: dict[int, SSAValue] = {}
        self.held: SSAValue | None = None  # the output, rule SHARD
        self.push: Operation | None = None  # of the output's last block, rule TAKE
        self.taken: list[tuple[SSAValue, Operation]] = []  # its blocks and their release

    @property
    def first(self) -> Operation:
        found: Operation = next(o for o in self.body.ops if not isinstance(o, ttl.BindBufferOp))
        return found

    @property
    def origin(self) -> Operation:
        return self.function

    def convert(self) -> None:
        count = len(self.program.operands)
        passed = self.function.attributes.pop(OPERANDS)
        assert isinstance(passed, ArrayAttr)
        positions = [n.value.data for n in passed]
        arguments = list(self.body.args)
        behind = count + len(self.program.semaphores)
        for position, argument in zip(positions, arguments[behind:], strict=True):
            self.tensors[position] = argument
        operands = self.program.operands
        self.by_argument: dict[SSAValue, _Operand] = dict(
            zip(arguments[:count], operands, strict=True)
        )
        self.remote: dict[SSAValue, int] = dict(zip(arguments[behind:], positions, strict=True))
        self.semaphore_names: dict[SSAValue, str] = dict(
            zip(arguments[count:behind], self.program.semaphores, strict=True)
        )
        self._convert_ops()
        self._set_signature(positions)
        for block, release in self.taken:
            self.copy_shard(Maker.before(release), operands[-1], block, is_read=False)

    def _convert_ops(self) -> None:
        converted = [op for op in self.body.walk() if type(op) in _CONVERSIONS]
        for op in converted:
            _CONVERSIONS[type(op)](self, op, Maker.before(op))
        for op in reversed(converted):
            erase(op)
        for scope in [op for op in self.body.ops if isinstance(op, scf.ExecuteRegionOp)]:
            _dissolve(scope)
        if self.held is not None and not self.program.is_taken:
            make = Maker(InsertPoint.before(branch_end(self.first)), self.origin)
            make.add(ttl.PushOp.create(operands=[self.buffer(self.program.operands[-1])]))

    def _set_signature(self, positions: list[int]) -> None:
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
        self._set_type()

    def _set_type(self) -> None:
        types = [argument.type for argument in self.body.args]
        self.function.properties["function_type"] = FunctionType.from_lists(types, [])

    # What kernels name ----------------------------------------------------------------------------

    def buffer(self, operand: _Operand) -> SSAValue:
        bound = [op for op in self.body.ops if isinstance(op, ttl.BindBufferOp)]
        for op in bound:
            if op.buffer.root_reference.data == operand.name:
                return op.result
        bind = ttl.BindBufferOp.create(
            properties={"buffer": SymbolRefAttr(operand.name)}, result_types=[operand.buffer_type]
        )
        make = Maker(InsertPoint.before(self.first), self.origin)
        return make.value(bind, operand.name)

    def tensor(self, operand: _Operand) -> SSAValue:
        """Behind the conversion: an argument of the kernel."""
        given = self.function.attributes["ttl.crta_indices"]
        assert isinstance(given, ArrayAttr)
        positions = [n.value.data for n in given]
        if operand.position in positions:
            return self.body.args[positions.index(operand.position)]
        argument = self.body.insert_arg(operand.tensor_type, len(positions))
        argument.name_hint = operand.tensor
        positions.append(operand.position)
        indices = ArrayAttr([IntegerAttr(n, i64) for n in positions])
        self.function.attributes["ttl.crta_indices"] = indices
        self._set_type()
        return argument

    def acquire(self, make: Maker, kind: type[ttl.AcquireOp], operand: _Operand) -> SSAValue:
        buffer = self.buffer(operand)
        op = kind.create(operands=[buffer], result_types=[operand.block_type])
        return make.value(op, f"{operand.name}_block")

    def copy_shard(self, make: Maker, operand: _Operand, block: SSAValue, is_read: bool) -> None:
        """Between a block and the core's part of a tensor."""
        starts = []
        for dim, size in enumerate(operand.shard):
            index = make.value(_node_index(1 - dim))
            is_one = size == 1
            starts.append(
                index if is_one else make.value(arith.MuliOp(index, make.index(size)))
            )
        part = _slice(make, self.tensor(operand), starts, operand)
        ends = [part, block] if is_read else [block, part]
        copy = make.value(_copy(ends, "read" if is_read else "write"))
        make.add(ttl.WaitTransferOp.create(operands=[copy]))


def _dissolve(scope: scf.ExecuteRegionOp) -> None:
    """A thread beside others on its processor, when its blocks are released."""
    block = scope.region.block
    assert block.last_op is not None
    erase(block.last_op)
    Rewriter.inline_block(block, InsertPoint.before(scope))
    erase(scope)


def _node_index(dimension: int) -> Operation:
    return ttl.NodeIndexOp.create(
        properties={"dimension": IntegerAttr(dimension, i64)}, result_types=[IndexType()]
    )


def _slice(
    make: Maker, tensor: SSAValue, starts: list[SSAValue], operand: _Operand
) -> SSAValue:
    op = ttl.TensorSliceOp.create(
        operands=[tensor, *starts], result_types=[operand.block_type]
    )
    return make.value(op)


def _copy(ends: list[SSAValue], kind: str) -> Operation:
    return ttl.CopyOp.create(operands=ends, result_types=[ttl.TransferType(StringAttr(kind))])


# Conversions --------------------------------------------------------------------------------------


def acquire(self: _Kernel, op: d2m.AcquireOp, make: Maker) -> None:
    operand = self.by_argument[op.cb]
    is_wait = isinstance(op, d2m.WaitOp)
    if operand is not self.program.operands[-1]:
        value, _ = _until_the_end(self, op, make, is_wait)
    elif self.program.is_taken:
        value = _take(self, op, make, is_wait)
    else:
        value = _hold(self, op, operand, is_wait)
    op.block.replace_all_uses_with(value)


def _until_the_end(
    self: _Kernel, op: d2m.AcquireOp, make: Maker, is_wait: bool
) -> tuple[SSAValue, Operation]:
    """rule RELEASE"""
    operand = self.by_argument[op.cb]
    value = self.acquire(make, ttl.WaitOp if is_wait else ttl.ReserveOp, operand)
    release = (ttl.PopOp if is_wait else ttl.PushOp).create(operands=[self.buffer(operand)])
    release.attributes[UNREAD] = UnitAttr()
    return value, Maker(InsertPoint.before(branch_end(op)), op).add(release)


def _hold(self: _Kernel, op: d2m.AcquireOp, operand: _Operand, is_wait: bool) -> SSAValue:
    """rule SHARD"""
    if self.held is None:
        assert not is_wait, "a thread that takes the output"
        self.held = self.acquire(Maker(InsertPoint.before(self.first), op), ttl.ReserveOp, operand)
    return self.held


def _take(self: _Kernel, op: d2m.AcquireOp, make: Maker, is_wait: bool) -> SSAValue:
    """rule TAKE"""
    body = None if self.push is None else self.push.parent_block()
    if self.push is None or body is None or not _is_inside(op, body):
        value, release = _until_the_end(self, op, make, is_wait)
        if is_wait:
            self.taken.append((value, release))
        else:
            self.held, self.push = value, release
        return value
    assert self.held is not None
    if is_wait and body is not op.parent_block():
        raise not_yet_at("pop() of the output in a loop or branch that does not reserve it", op,
                         "reserve() and pop() the output in the same body")  # fmt: skip
    if is_wait:
        self.push.detach()
        make.builder.insert(self.push)
        self.push = None
    return self.held


def _is_inside(op: Operation, body: Block) -> bool:
    block = op.parent_block()
    while block is not None and block is not body:
        block = block.parent_block()
    return block is body


def store(self: _Kernel, op: d2m.StoreOp, make: Maker) -> None:
    new = ttl.StoreOp.create(operands=[op.value, op.block], attributes={UNREAD: UnitAttr()})
    if isinstance(op.value.owner, ttl.BLOCK_MATH["matmul"]):  # rule SUM
        new.properties["accumulate"] = UnitAttr()
    make.add(new)


def linalg(self: _Kernel, op: LinalgOp, make: Maker) -> None:
    name, inputs, properties = block_math_of(op)
    result = op.results[0]
    new = ttl.BLOCK_MATH[name].create(
        operands=inputs, result_types=[result.type], properties=properties
    )
    result.replace_all_uses_with(make.value(new, result.name_hint))


def full(self: _Kernel, op: d2m.FullOp, make: Maker) -> None:
    new = ttl.FillOp.create(properties={"value": op.value}, result_types=[op.result.type])
    op.result.replace_all_uses_with(make.value(new, op.result.name_hint))


def to_tensor(self: _Kernel, op: d2m.ToTensorOp, make: Maker) -> None:
    op.value.replace_all_uses_with(op.block)


def drop(self: _Kernel, op: Operation, make: Maker) -> None:
    pass


def core_index(self: _Kernel, op: d2m.CoreIndexOp, make: Maker) -> None:
    value = make.value(_node_index(1 - op.dim.value.data), op.result.name_hint)
    op.result.replace_all_uses_with(value)


def dma(self: _Kernel, op: d2m.TransferOp, make: Maker) -> None:
    if op.is_multicast:
        value = make.value(_multicast(op, make))
    else:
        ends = [
            _dma_end(self, end, list(index), make)
            for end, index in ((op.src, op.src_index), (op.dst, op.dst_index))
        ]
        is_write = d2m.is_remote(op.dst.type)
        value = make.value(_copy(ends, "write" if is_write else "read"))
    op.tx.replace_all_uses_with(value)


def _dma_end(self: _Kernel, end: SSAValue, index: list[SSAValue], make: Maker) -> SSAValue:
    if not index:
        return end
    operand = self.program.operands[self.remote[end]]
    return _slice(make, end, index, operand)


def _multicast(op: d2m.TransferOp, make: Maker) -> Operation:
    place = _corners(list(op.core), list(op.mcast), make)
    return ttl.MulticastOp.create(
        operands=[op.src, op.dst, *place],
        result_types=[ttl.TransferType(StringAttr("write"))],
    )


def _corners(core: list[SSAValue], mcast: list[SSAValue], make: Maker) -> list[SSAValue]:
    """x, y of the first and the last node, from y, x and rows, columns."""
    (y, x), one = core, make.index(1)
    last_y, last_x = (
        add(make, start, minus(make, size, one)) for start, size in zip(core, mcast, strict=True)
    )
    return [x, y, last_x, last_y]


def dma_wait(self: _Kernel, op: d2m.DmaWaitOp, make: Maker) -> None:
    if not isinstance(op.tx.type, ttl.TransferType):
        raise not_yet_at("a transfer that a branch or a loop hands on", op, "wait for it at once")
    make.add(ttl.WaitTransferOp.create(operands=[op.tx]))


def semaphore_set(self: _Kernel, op: d2m.SemaphoreSetOp, make: Maker) -> None:
    named = {"semaphore": SymbolRefAttr(self.semaphore_names[op.semaphore])}
    make.add(ttl.SemaphoreSetOp.create(operands=[op.value], properties=named))
    if op.core:
        place = _corners(list(op.core), list(op.mcast), make)
        make.add(
            ttl.SemaphoreSetMulticastOp.create(operands=[op.value, *place], properties=named)
        )


def semaphore_inc(self: _Kernel, op: d2m.SemaphoreIncOp, make: Maker) -> None:
    named = {"semaphore": SymbolRefAttr(self.semaphore_names[op.semaphore])}
    y, x = op.core
    make.add(ttl.SemaphoreIncRemoteOp.create(operands=[op.value, x, y], properties=named))


def semaphore_wait(self: _Kernel, op: d2m.SemaphoreWaitOp, make: Maker) -> None:
    named = {"semaphore": SymbolRefAttr(self.semaphore_names[op.semaphore])}
    make.add(ttl.SemaphoreWaitOp.create(operands=[op.value], properties=named))
    if op.reset is not None:
        make.add(ttl.SemaphoreSetOp.create(operands=[op.reset], properties=named))


_CONVERSIONS: dict[type[Operation], Callable[..., None]] = {
    d2m.WaitOp: acquire,
    d2m.ReserveOp: acquire,
    d2m.StoreOp: store,
    d2m.ToTensorOp: to_tensor,
    LinalgOp: linalg,
    d2m.FullOp: full,
    d2m.EmptyOp: drop,
    d2m.CoreIndexOp: core_index,
    d2m.DmaReadOp: dma,
    d2m.DmaWriteOp: dma,
    d2m.DmaWaitOp: dma_wait,
    d2m.SemaphoreSetOp: semaphore_set,
    d2m.SemaphoreIncOp: semaphore_inc,
    d2m.SemaphoreWaitOp: semaphore_wait,
}
