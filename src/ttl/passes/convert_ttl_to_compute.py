"""convert-ttl-to-compute: block math becomes DST sections of tile operations.

A section (`ttl.compute`) starts at the first operation that makes a block value and ends at the
store after which none of its values is needed. Inside, every operand has a place:
rule BUFFER   both operands in buffers and 16 bits wide: the matrix unit reads them there. 32-bit
              floats would lose bits on that way.
rule ONCE     a call that accumulates needs registers that are still zero, which a loop in the
              section cannot give it.
rule DST      otherwise buffer operands are copied to registers and the vector unit works there.
rule MATMUL   a product accumulates on the registers of the value it is added to, or on zeros.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics.dtypes import float32
from ttl.semantics.ops import MATMUL

from .module_pass import Maker, kernels, not_yet, target_of


class ConvertTtlToCompute(ModulePass):
    name = "convert-ttl-to-compute"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        api = target_of(op).device_api
        for kernel in kernels(op, "compute"):
            _form_sections(kernel.body.block)
            for section in [o for o in kernel.walk() if isinstance(o, ttl.ComputeOp)]:
                _Converter(api).convert_section(section)


# Forming sections ---------------------------------------------------------------------------------


def _form_sections(block: Block) -> None:
    section: list[Operation] = []
    for op in list(block.ops):
        if not section and not _makes_block_value(op):
            for region in op.regions:
                _form_sections(region.block)
            continue
        section.append(op)
        if isinstance(op, ttl.StoreOp) and not _values_needed_later(section):
            _wrap(section)
            section = []
    if values := [op for op in section if _makes_block_value(op)]:
        raise not_yet(
            "an expression that is not stored in the loop or function that computes it",
            values[0],
            "store the value into a reserved block before the loop ends",
        )


def _makes_block_value(op: Operation) -> bool:
    if isinstance(op, ttl.AcquireOp):
        return False
    return any(ttl.is_block_value(result.type) for result in op.results) or (
        # A store of a block as it is needs registers too.
        isinstance(op, ttl.StoreOp)
    )


def _values_needed_later(section: list[Operation]) -> bool:
    block = section[0].parent
    inside = set(section)

    def is_inside(user: Operation) -> bool:
        ancestor = block.find_ancestor_op_in_block(user) if block else None
        return ancestor in inside

    return any(
        not is_inside(use.operation)
        for op in section
        if _makes_block_value(op)
        for result in op.results
        for use in result.uses
    )


def _wrap(section: list[Operation]) -> None:
    _check_section(section)
    compute = ttl.ComputeOp.create(regions=[Region(Block())])
    compute.location = section[0].location
    block = section[0].parent
    assert block is not None
    block.insert_op_before(compute, section[0])
    for op in section:
        op.detach()
        compute.body.block.add_op(op)


def _check_section(section: list[Operation]) -> None:
    stored = {ttl.buffer_of(op.view) for op in section if isinstance(op, ttl.StoreOp)}
    inside = {op for top in section for op in top.walk()}
    for op in inside:
        in_order = isinstance(op, ttl.PushOp) and op.buffer in stored
        nested_store = isinstance(op, ttl.StoreOp) and op not in section
        used_later = isinstance(op, ttl.AcquireOp) and any(
            use.operation not in inside for use in op.block.uses
        )
        if in_order or nested_store or used_later:
            raise not_yet(
                "block values that live across the stores and releases of other blocks",
                op,
                "store each value before the next block is released",
            )


# Converting operations ----------------------------------------------------------------------------


class _Converter:
    """Rewrites one section in place; `registers` maps block values to their register values."""

    def __init__(self, api: str):
        self.api = api
        self.registers: dict[SSAValue, SSAValue] = {}
        self.dead: list[Operation] = []

    def convert_section(self, section: ttl.ComputeOp) -> None:
        self.convert_block(section.body.block, in_loop=False)
        for op in reversed(self.dead):
            op.erase(safe_erase=False)

    def remove(self, op: Operation) -> None:
        """Take `op` out now; it is erased when all its users have been converted."""
        op.detach()
        self.dead.append(op)

    def convert_block(self, block: Block, in_loop: bool) -> None:
        for op in list(block.ops):
            if isinstance(op, scf.ForOp):
                self.convert_loop(op)
            elif isinstance(op, ttl.FillOp):
                self.replace(op, ttl.TileFillOp, [], value=op.value)
            elif isinstance(op, ttl.BlockMathOp):
                self.convert_math(op, in_loop)
            elif isinstance(op, ttl.StoreOp):
                make = Maker.before(op)
                value = self.in_registers(op.value, make)
                make.add(ttl.TileStoreOp.create(operands=[value, op.view]))
                self.remove(op)

    def replace(
        self,
        op: Operation,
        made: type[Operation],
        operands: list[SSAValue],
        **properties: Attribute,
    ) -> None:
        """`made` computes in registers what `op` computed."""
        type = ttl.DstType(op.results[0].type)  # type: ignore[arg-type]
        new = made.create(operands=operands, result_types=[type], properties=properties)
        result = Maker.before(op).value(new, op.results[0].name_hint)
        self.registers[op.results[0]] = result
        self.remove(op)

    def in_registers(self, value: SSAValue, make: Maker) -> SSAValue:
        if value in self.registers:
            return self.registers[value]
        type = ttl.DstType(value.type)  # type: ignore[arg-type]
        copy = ttl.TileCopyOp.create(operands=[value], result_types=[type])
        return make.value(copy, value.name_hint)

    def convert_math(self, op: ttl.BlockMathOp, in_loop: bool) -> None:
        if op.ENTRY is MATMUL:
            self.convert_matmul(op)
            return
        operands = list(op.inputs)
        if product := self.product_to_accumulate(op):
            accumulator = next(v for v in operands if v is not product.result)
            start = self.in_registers(accumulator, Maker.before(op))
            self.remove(product)
            self.replace(op, ttl.TILE_MATH["matmul"], [*product.inputs, start])
            return
        if not self.reads_buffers(op, in_loop):
            make = Maker.before(op)
            operands = [self.in_registers(operand, make) for operand in operands]
        self.replace(op, ttl.TILE_MATH[op.ENTRY.name], operands)

    def reads_buffers(self, op: ttl.BlockMathOp, in_loop: bool) -> bool:
        form = op.ENTRY.tile[self.api].from_buffers
        if form is None or any(value in self.registers for value in op.inputs):
            return False
        is_wide = block_type(op.result.type).dtype == float32  # rule BUFFER
        return not is_wide and not (form.accumulates and in_loop)  # rule ONCE

    def product_to_accumulate(self, op: ttl.BlockMathOp) -> ttl.BlockMathOp | None:
        """rule MATMUL: for `value + a @ b`, the product, if this is its only use."""
        if op.ENTRY.name != "add" or not any(v in self.registers for v in op.inputs):
            return None
        for operand in op.inputs:
            product = operand.owner
            if operand in self.registers or not isinstance(product, ttl.BlockMathOp):
                continue
            if product.ENTRY is MATMUL:
                return product
        return None

    def convert_matmul(self, op: ttl.BlockMathOp) -> None:
        if any(value in self.registers for value in op.inputs):
            raise not_yet(
                "a matrix product of computed values",
                op,
                "store the operand into a dataflow buffer and wait for it in the same kernel",
            )
        if len(block_type(op.result.type).shape or ()) != 2:
            raise not_yet("matrix products of more than two dimensions", op, "use 2-D blocks")
        users = [use.operation for use in op.result.uses]
        if len(users) == 1 and self._accumulates(users[0], op):
            return  # converted with its user
        zero = FloatAttr(0.0, f32)
        fill = ttl.TileFillOp.create(
            properties={"value": zero},
            result_types=[ttl.DstType(op.result.type)],
        )
        start = Maker.before(op).value(fill)
        self.replace(op, ttl.TILE_MATH["matmul"], [*op.inputs, start])

    def _accumulates(self, user: Operation, product: ttl.BlockMathOp) -> bool:
        """Is the other operand of `user = other + product` in registers by then?"""
        if not isinstance(user, ttl.BlockMathOp) or user.ENTRY.name != "add":
            return False
        if user.parent is not product.parent:
            return False
        return any(v is not product.result and v in self.registers for v in user.inputs)

    def convert_loop(self, loop: scf.ForOp) -> None:
        make = Maker.before(loop)
        body = loop.body.block
        for position, start in enumerate(loop.iter_args):
            loop.operands[3 + position] = self.in_registers(start, make)
        for argument in body.args[1:]:
            type = ttl.DstType(argument.type)  # type: ignore[arg-type]
            new = body.insert_arg(type, len(body.args))
            new.name_hint = argument.name_hint
            self.registers[argument] = new
        carried = len(loop.iter_args)
        self.convert_block(body, in_loop=True)
        yielded = body.last_op
        assert isinstance(yielded, scf.YieldOp)
        make_inside = Maker.before(yielded)
        for position, value in enumerate(yielded.operands):
            yielded.operands[position] = self.in_registers(value, make_inside)
        for argument in list(body.args[1 : 1 + carried]):
            body.erase_arg(argument, safe_erase=False)
        self._retype_results(loop)

    def _retype_results(self, loop: scf.ForOp) -> None:
        """The loop again, with register values as results."""
        if not loop.results:
            return
        body = loop.body.block
        loop.body.detach_block(body)
        new = scf.ForOp(loop.lb, loop.ub, loop.step, list(loop.iter_args), Region(body))
        Maker.before(loop).add(new)
        for old, result in zip(loop.results, new.results, strict=True):
            result.name_hint = old.name_hint
            self.registers[old] = result
        self.remove(loop)
