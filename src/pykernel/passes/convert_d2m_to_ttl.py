"""convert-d2m-to-ttl: kernels of threads as kernels of the language, which go its way to C++.

A data movement kernel writes an output that is the core's part of a tensor back at its end; one
fills an input that no thread fills from the core's part at its start. The host's part moves to a
module of its own.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Operation, SSAValue

from pykernel.dialects import d2m
from ttl.dialects import ttl
from ttl.dialects.ttkernel import processor_of
from ttl.passes.module_pass import Maker, branch_end, not_yet

from .d2m_conversions import convert_ops
from .d2m_kernels import KernelDraft, KernelOperand, KernelProgram, new_kernel

HOST = "host"  # the module for the host's part


def apply(op: ModuleOp) -> None:
    generics = list(d2m.generics_of(op))
    _require_generic(op, generics)
    for generic in generics:
        _Converter(op, generic).convert()


def _require_generic(module: ModuleOp, generics: list[d2m.GenericOp]) -> None:
    """Refuse a lone thread: its buffers and its cores are unknown."""
    named = {thread.symbol.data for generic in generics for thread in generic.threads}
    for function in [each for each in module.ops if isinstance(each, func.FuncOp)]:
        if "d2m.thread" in function.attributes and function.sym_name.data not in named:
            what = f"the thread `{function.sym_name.data}` without a d2m.generic that runs it"
            raise not_yet(what, function, "give the generic: its operands are the buffers")


class _Converter(KernelProgram):
    def convert(self) -> None:
        movers = [k for k in self.kernels if processor_of(k) != "compute"]
        for kernel in self.kernels:
            number = movers.index(kernel) if kernel in movers else None
            self._convert_kernel(KernelDraft(self, kernel, number))
        self._move_shards(movers)
        declared: list[Operation] = [
            ttl.DeclareBufferOp.create(
                properties={"sym_name": StringAttr(operand.name), "type": operand.buffer_type}
            )
            for operand in self.operands
        ]
        declared += [
            ttl.DeclareSemaphoreOp.create(
                properties={"sym_name": StringAttr(name), "initial": IntegerAttr(0, i64)}
            )
            for name in self.semaphores
        ]
        for op, location in zip(declared, self.locations, strict=False):
            op.location = location
        first = self.module.body.block.first_op
        assert first is not None
        self.module.body.block.insert_ops_before(declared, first)
        self._set_host_apart(movers)

    def _move_shards(self, movers: list[func.FuncOp]) -> None:
        fills = [self.operands[n] for n in self.filled]
        if fills:
            self._fill(movers[0] if movers else self._new_kernel("read_shards", movers), fills)
        if self.is_written:
            last = movers[1] if len(movers) > 1 else self._new_kernel("write_shards", movers)
            kernel = KernelDraft(self, last, None)
            make = Maker.before(branch_end(kernel.first), kernel.function)
            self._write(kernel, make, [])

    def _write(self, kernel: KernelDraft, make: Maker, steps: list[SSAValue | None]) -> None:
        """Write each block of the core's part of the output, in the order of their making."""
        output = self.operands[-1]
        if len(steps) < len(self.blocks):
            count = self.blocks[len(steps)]
            if count == 1:
                self._write(kernel, make, [*steps, None])
                return
            make.for_each(
                0, count, None, lambda inner, step: self._write(kernel, inner, [*steps, step])
            )
            return
        block = kernel.acquire(make, ttl.WaitOp, output)
        kernel.copy_shard(make, output, block, is_read=False, steps=steps)
        make.add(ttl.PopOp.create(operands=[kernel.buffer(output)]))

    def _fill(self, function: func.FuncOp, operands: list[KernelOperand]) -> None:
        kernel = KernelDraft(self, function, None)
        make = Maker.before(kernel.first, kernel.function)
        for operand in operands:
            block = kernel.acquire(make, ttl.ReserveOp, operand)
            kernel.copy_shard(make, operand, block, is_read=True)
            make.add(ttl.PushOp.create(operands=[kernel.buffer(operand)]))

    def _new_kernel(self, name: str, movers: list[func.FuncOp]) -> func.FuncOp:
        function = new_kernel(name, self.attributes("writer" if movers else "reader", []))
        function.body.block.add_op(func.ReturnOp())
        self.module.body.block.add_op(function)
        movers.append(function)
        return function

    def _set_host_apart(self, movers: list[func.FuncOp]) -> None:
        """Set apart the host's part of the function; it names the kernels that the cores run."""
        known = [thread.symbol.data for thread in self.generic.threads]
        added = [k.sym_name.data for k in movers if k.sym_name.data not in known]
        threads = [*self.generic.threads, *(d2m.ThreadAttr.of("datamovement", n) for n in added)]
        self.generic.properties["threads"] = ArrayAttr(threads)
        for body in list(self.generic.bodies):
            self.generic.detach_region(body)
        self.function.detach()
        self.module.body.block.add_op(ModuleOp([self.function], None, StringAttr(HOST)))

    def _convert_kernel(self, kernel: KernelDraft) -> None:
        positions = kernel.bind()
        convert_ops(kernel)
        kernel.set_signature(positions)
        for block, release in [] if self.is_streamed else kernel.taken:
            kernel.copy_shard(Maker.before(release), self.operands[-1], block, is_read=False)
