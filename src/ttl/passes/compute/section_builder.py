"""Build the tile operations of one DST section.

Every operand of an operation has a place, a buffer or a register:

rule BUFFER   both operands are in 16-bit buffers: the matrix unit reads them there. 32-bit floats
              would lose bits that way.
rule ONCE     a call that accumulates needs registers that are still zero; a loop in the section
              cannot provide them, and they cost a slot each time: one such call a section.
rule EXPAND   one operand is in a 16-bit buffer, the other is the broadcast of one: the matrix unit
              expands it at each read, which costs less than keeping it. It also expands a 32-bit
              compiler buffer that is not unpacked straight to registers: the other way of expanding
              it loses the same bits.
rule ROWS     in 32-bit registers the chip expands a row correctly only if its buffer is unpacked
              straight to them. The matrix unit expands other rows, by adding them to a tile of
              zeros.
rule REUSE    one operand is in a 16-bit buffer, the other in a register with at most 16 bits: the
              matrix unit reads both, and the first needs no register.
rule DST      otherwise buffer operands are copied to registers for the vector unit.
rule WHOLE    a uint16 or uint8 is an int32 in a register: uint16 is converted when copied there
              (the unpacker widens uint8), and both before they are packed.
rule MATMUL   a product accumulates on the registers of the value it is added to, or on zeros.
rule FACTORS  so does `a * b` of blocks in `value + a * b`, if registers of 32 bits hold the product
              of any two of their numbers: no additional rounding.
rule ORDER    the operand that needs more registers is computed first (Sethi, Ullman).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xdsl.dialects import scf
from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, StringAttr, TensorType, f32
from xdsl.ir import Block, Operation, Region, SSAValue

from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics.dtypes import NARROW, DType, bfloat16, float16, float32, uint16
from ttl.semantics.ops import MATMUL, TileCall

from ..module_pass import Maker
from .arranged_tiles import (
    COMBINING,
    arrangements,
    inner_dims,
    is_arranged,
    is_view,
    operands_in_buffers,
    reads_by_matrix_unit,
)


class ValuePlaces(Protocol):
    """Knows where the values of a kernel are."""

    @property
    def is_wide(self) -> bool:
        """Does the unpacker move f32 buffers straight to the registers?"""

    @property
    def is_tf32(self) -> bool:
        """May the matrix unit read f32 blocks, although it keeps 10 of their mantissa digits?"""

    def place_of(self, value: SSAValue, matrix: bool) -> SSAValue | None:
        """Return the block that holds the value for the matrix unit, or for other readers."""

    def zeros(self, dtype: DType, origin: Operation) -> SSAValue:
        """Return a block of one tile, all zeros."""


COMMUTATIVE = ("add", "mul")


class SectionBuilder:
    """Fills a section; `values` maps block values to their register values."""

    def __init__(self, section: ttl.ComputeOp, api: str, fp32: bool, places: ValuePlaces):
        self.section = section
        self.fp32 = fp32
        self.make = Maker.at_end(section.body.block, section)
        self.api = api
        self.places = places
        self.values: dict[SSAValue, SSAValue] = {}
        self.others: dict[SSAValue, SSAValue] = {}  # blocks and scalars of loops in the section
        self.needs_memo: dict[SSAValue, int] = {}
        self.in_loop = False
        self.zeros_are_used = False

    # Values in registers --------------------------------------------------------------------------

    def compute(self, value: SSAValue, user: Operation | None = None) -> SSAValue:
        """Compute the value in registers for `user`, and before it everything it needs."""
        if value in self.values:
            return self.values[value]
        self.make.origin = user or self.make.origin
        if (block := self.place(value)) is not None:
            copy = ttl.TileCopyOp.create(operands=[block], result_types=[dst_type(value)])
            return self.widen(self.add(copy, value), block)
        op = value.owner
        if isinstance(op, ttl.FillOp):
            numbers = [self.others.get(number, number) for number in op.operands]
            fill = ttl.TileFillOp.create(
                operands=numbers, properties=dict(op.properties), result_types=[dst_type(value)]
            )
            return self.add(fill, value)
        assert isinstance(op, ttl.BlockMathOp), f"{value} is nowhere"
        made = self.values[value] = self.math(op)
        return made

    def widen(self, value: SSAValue, block: SSAValue) -> SSAValue:
        """Convert a copied uint16 to int32 (rule WHOLE)."""
        dtype = block_type(block.type).dtype
        return self.step("uint16_to_int32", value, uint16) if dtype == uint16 else value

    def convert_for_packing(self, value: SSAValue, block: SSAValue) -> SSAValue:
        """Convert a value to the type of the user's block that it is packed into (rule WHOLE)."""
        dtype = block_type(block.type).dtype
        return self.step(f"int32_to_{dtype}", value, dtype) if dtype in NARROW else value

    def step(self, name: str, value: SSAValue, dtype: DType) -> SSAValue:
        kind, element_type = ttl.TILE_MATH[name], StringAttr(dtype.spelling)
        hint = value.name_hint
        return self.make.new(kind, [value], value.type, hint, element_type=element_type)

    def add(self, op: Operation, value: SSAValue) -> SSAValue:
        if isinstance(value.owner, (ttl.FillOp, ttl.BlockMathOp)):
            self.make.origin = value.owner
        return self.make.value(op, value.name_hint)

    def place(self, value: SSAValue) -> SSAValue | None:
        if value in self.values:
            return None
        return self.places.place_of(self.others.get(value, value), False)

    def math(self, op: ttl.BlockMathOp) -> SSAValue:
        if is_rounding(op):
            return self.compute(op.inputs[0])  # the packer rounds
        if is_view(op) or self.is_nothing(op):
            return self.compute(op.inputs[0])
        if is_arranged(op):
            return self.add_arranged(op)
        if op.ENTRY is MATMUL:
            return self.product(op, self.zeros(op), op)
        if (product := self.product_to_accumulate(op)) is not None:
            others = list(op.inputs)
            others.remove(product.result)
            return self.product(product, self.compute(others[0], op), op)
        if (factors := self.factors_to_accumulate(op)) is not None:
            start = next(value for value in op.inputs if value is not factors.result)
            blocks = [self.place(value) for value in factors.inputs]
            return self.tile(op, [*blocks, self.compute(start, op)], name="mul")
        if (expanded := self.broadcast_in_buffer(op)) is not None:
            return expanded
        operands = self.buffer_operands(op)
        if operands is None and (position := self.reused_operand(op)) is not None:
            block = self.place(op.inputs[1 - position])
            assert block is not None
            operands = [block, block]
            operands[position] = self.compute(op.inputs[position], op)
        if operands is None:
            operands = self.register_operands(op)
        return self.tile(op, operands, op.parameters, _element_type(op))

    def tile(
        self,
        op: ttl.BlockMathOp,
        operands: Sequence[SSAValue | None],
        parameters: DictionaryAttr | None = None,
        element_type: StringAttr | None = None,
        name: str | None = None,
    ) -> SSAValue:
        """Add the tile operation for a block operation, or another one that helps to make it."""
        given = {"parameters": parameters, "element_type": element_type}
        made = ttl.TILE_MATH[name or op.ENTRY.name].create(
            operands=operands,
            result_types=[dst_type(op.result)],
            properties={key: value for key, value in given.items() if value is not None},
        )
        return self.add(made, op.result)

    def is_nothing(self, op: ttl.BlockMathOp) -> bool:
        dtype = block_type(op.inputs[0].type).dtype
        forms = op.ENTRY.tile[self.api].of(dtype) if dtype is not None else None
        return op.ENTRY.name == "typecast" or (forms is not None and forms.is_nothing)

    def register_operands(self, op: ttl.BlockMathOp) -> list[SSAValue]:
        """Compute the operands, the one that needs most registers first (rule ORDER)."""
        operands = list(op.inputs)
        order = sorted(range(len(operands)), key=lambda i: -self.needs(operands[i]))
        found = {i: self.compute(operands[i], op) for i in order}
        return [found[i] for i in range(len(operands))]

    def broadcast_in_buffer(self, op: ttl.BlockMathOp) -> SSAValue | None:
        """Let the matrix unit expand a broadcast in its buffer, if it can (rule EXPAND)."""
        forms = op.ENTRY.tile[self.api].with_broadcast
        order = (1, 0) if op.ENTRY.name in COMMUTATIVE else (1,)
        for position in order if forms else ():
            expanded, other = op.inputs[position], self.place(op.inputs[1 - position])
            broadcast = self.free_broadcast(expanded)
            if broadcast is None or not self.is_narrow(other):
                continue
            block = self.place(broadcast.inputs[0])
            form = forms.get(inner_dims(broadcast))
            if form is None or not self.is_expanded(block) or not self.takes_zeros(form):
                continue
            return self.tile(op, [other, block], arrangements(broadcast)[0])
        return None

    def free_broadcast(self, value: SSAValue) -> ttl.BlockMathOp | None:
        op = value.owner
        is_free = value not in self.values and self.place(value) is None
        if not is_free or not isinstance(op, ttl.BlockMathOp) or op.ENTRY.name != "broadcast":
            return None
        return op

    def takes_zeros(self, form: TileCall) -> bool:
        """Claim zeros for a call that accumulates, once a section (rule ONCE)."""
        if not form.accumulates:
            return True
        if self.in_loop or self.zeros_are_used:
            return False
        self.zeros_are_used = True
        return True

    def buffer_operands(self, op: ttl.BlockMathOp) -> list[SSAValue] | None:
        """Return both operands' blocks, if the matrix unit reads them there (rule BUFFER)."""
        form = op.ENTRY.tile[self.api].from_buffers
        if form is None:
            return None
        if not self.are_read_together(op) or not self.takes_zeros(form):
            return None
        return [self.place(operand) for operand in op.inputs]  # type: ignore[misc]

    def are_read_together(self, op: ttl.BlockMathOp) -> bool:
        """Are both operands in buffers of one format that the matrix unit reads?"""
        blocks = [self.place(operand) for operand in op.inputs]
        return all(map(self.is_narrow, blocks)) and len({_dtype_in(b) for b in blocks}) == 1

    def reused_operand(self, op: ttl.BlockMathOp) -> int | None:
        """Return the operand that is in registers, or goes there (rule REUSE)."""
        if op.ENTRY.tile[self.api].left_in_dst is None:
            return None
        narrow = [self.is_narrow(self.place(operand)) for operand in op.inputs]
        if all(narrow):
            return 0  # it is copied: 16-bit numbers
        if self.fp32 or not any(narrow):
            return None
        return narrow.index(False)

    def is_narrow(self, block: SSAValue | None) -> bool:
        """Does the matrix unit read enough of its bits?"""
        if block is None:
            return False
        dtype = _dtype_in(block)
        return dtype == bfloat16 or (self.places.is_tf32 and dtype == float32)

    def is_expanded(self, block: SSAValue | None) -> bool:
        """Does the matrix unit read as many bits as the other way to registers keeps?"""
        if block is None or self.is_narrow(block):
            return block is not None
        return self.fp32 and not self.places.is_wide and _dtype_in(block) == float32

    # Reductions, broadcasts, transposition --------------------------------------------------------

    def add_arranged(self, op: ttl.BlockMathOp) -> SSAValue:
        """Add an operation with an arranged read; combine tile copies over outer dimensions."""
        way = reads_by_matrix_unit(op)
        blocks = [self.places.place_of(self.others.get(v, v), way) for v in operands_in_buffers(op)]
        assert all(block is not None for block in blocks), f"{op.name} of a value in registers"
        first, *others = arrangements(op)
        if self.is_scrambled_row(op, blocks[0]):
            return self.row_beside_zeros(op, blocks[0], first)
        result = self.tile(op, blocks, first)
        for other in others:
            parts = [result, self.tile(op, blocks, other)]
            name = COMBINING[op.ENTRY.name]
            result = self.tile(op, parts, None, _element_type(op), name)
        return result

    def is_scrambled_row(self, op: ttl.BlockMathOp, block: SSAValue | None) -> bool:
        """Would the chip expand this row incorrectly? (rule ROWS)"""
        if op.ENTRY.name != "broadcast" or inner_dims(op) != (-2,) or not self.fp32:
            return False
        dtype = _dtype_in(block)
        return dtype.is_float and not (dtype == float32 and self.places.is_wide)

    def row_beside_zeros(
        self, op: ttl.BlockMathOp, block: SSAValue | None, arrangement: DictionaryAttr
    ) -> SSAValue:
        dtype = float16 if _dtype_in(block) == float16 else bfloat16
        return self.tile(op, [self.places.zeros(dtype, op), block], arrangement, name="add")

    # Matrix products ------------------------------------------------------------------------------

    def product(self, op: ttl.BlockMathOp, start: SSAValue, result: ttl.BlockMathOp) -> SSAValue:
        blocks = [self.places.place_of(self.others.get(v, v), True) for v in op.inputs]
        assert all(block is not None for block in blocks), "a product of values in registers"
        value = self.tile(result, [*blocks, start], name="matmul")
        value.owner.location = op.location  # type: ignore[union-attr]
        return value

    def zeros(self, op: ttl.BlockMathOp) -> SSAValue:
        self.make.origin = op
        return self.make.new(ttl.TileFillOp, (), dst_type(op.result), value=FloatAttr(0.0, f32))

    def product_to_accumulate(self, op: ttl.BlockMathOp) -> ttl.BlockMathOp | None:
        """Return the product in `value + a @ b` if this is its only use (rule MATMUL)."""
        if op.ENTRY.name != "add":
            return None
        for operand in reversed(op.inputs):
            product = operand.owner
            if (
                isinstance(product, ttl.BlockMathOp)
                and product.ENTRY is MATMUL
                and operand not in self.values
                and self.places.place_of(operand, False) is None
                and operand.has_one_use()
            ):
                return product
        return None

    def factors_to_accumulate(self, op: ttl.BlockMathOp) -> ttl.BlockMathOp | None:
        """Return the product in `value + a * b` if both have no other use (rule FACTORS)."""
        if op.ENTRY.name != "add" or not self.fp32:
            return None
        for operand, other in (op.inputs, tuple(op.inputs)[::-1]):
            product = operand.owner
            if (
                isinstance(product, ttl.BlockMathOp)
                and product.ENTRY.name == "mul"
                and operand not in self.values
                and self.place(operand) is None
                and operand.has_one_use()
                and other.has_one_use()
                and self.are_read_together(product)
            ):
                return product
        return None

    def needs(self, value: SSAValue) -> int:
        """Return how many registers computing the value takes."""
        if value in self.values:
            return 0
        if value in self.needs_memo:
            return self.needs_memo[value]
        op = value.owner
        needed = 1
        is_computed = isinstance(op, ttl.BlockMathOp) and self.place(value) is None
        if isinstance(op, ttl.BlockMathOp) and is_computed and not operands_in_buffers(op):
            operands = self._operands_in_registers(op)
            counts = sorted((self.needs(operand) for operand in operands), reverse=True)
            needed = max([1, *(count + i for i, count in enumerate(counts))])
        self.needs_memo[value] = needed
        return needed

    def _operands_in_registers(self, op: ttl.BlockMathOp) -> list[SSAValue]:
        if (factors := self.factors_to_accumulate(op)) is not None:
            return [value for value in op.inputs if value is not factors.result]
        reused = self.reused_operand(op)
        return list(op.inputs) if reused is None else [op.inputs[reused]]

    # Loops ----------------------------------------------------------------------------------------

    def loop(self, loop: scf.ForOp) -> None:
        """Rebuild the loop in the section: carried values stay in registers."""
        starts = [self.carry(start) for start in loop.iter_args]
        old = loop.body.block
        body = Block(arg_types=[old.args[0].type, *(start.type for start in starts)])
        for before, after in zip(old.args, body.args, strict=True):
            after.name_hint = before.name_hint
            self.remember(before, after)
        lower, upper, step = (self.others.get(v, v) for v in (loop.lb, loop.ub, loop.step))
        outer, self.make = self.make, Maker.at_end(body, loop)
        was_in_loop, self.in_loop = self.in_loop, True
        self.body(old)
        self.in_loop, self.make = was_in_loop, outer
        self.make.origin = loop
        new = self.make.add(scf.ForOp(lower, upper, step, starts, Region(body)))
        for result, made in zip(loop.results, new.results, strict=True):
            made.name_hint = result.name_hint
            self.remember(result, made)

    def carry(self, value: SSAValue) -> SSAValue:
        return self.compute(value) if is_block(value) else self.others.get(value, value)

    def remember(self, before: SSAValue, after: SSAValue) -> None:
        if is_block(before):
            self.values[before] = after
        else:
            self.others[before] = after

    def body(self, block: Block) -> None:
        """Add a block's operations in program order: blocks are read before they are popped."""
        for op in block.ops:
            self.make.origin = op
            if isinstance(op, scf.ForOp):
                self.loop(op)
            elif isinstance(op, scf.YieldOp):
                yielded = [self.carry(value) for value in op.operands]
                self.make.add(scf.YieldOp(*yielded))
            elif isinstance(op, ttl.BlockMathOp):
                if not self.is_left_to_its_user(op):
                    self.compute(op.result)
            elif not isinstance(op, ttl.FillOp):
                self.make.add(op.clone(self.others))  # clone() notes the results

    def is_left_to_its_user(self, op: ttl.BlockMathOp) -> bool:
        """Is the product computed where it is added, if its blocks last? (rule MATMUL)"""
        user = op.result.get_user_of_unique_use() if op.ENTRY is MATMUL else None
        if not isinstance(user, ttl.BlockMathOp) or user.parent is not op.parent:
            return False
        between = op.next_op
        while between is not None and between is not user:
            if isinstance(between, (ttl.PopOp, ttl.HandOverOp)) or between.regions:
                return False
            between = between.next_op
        return self.product_to_accumulate(user) is op


def _dtype_in(block: SSAValue | None) -> DType:
    dtype = block_type(block.type).dtype if block is not None else None
    assert dtype is not None
    return dtype


def _element_type(op: ttl.BlockMathOp) -> StringAttr | None:
    """Return the element type for integers, which have calls of their own; None for floats."""
    dtype = block_type(op.inputs[0].type).dtype
    return None if dtype is None or dtype.is_float else StringAttr(dtype.spelling)


def is_rounding(op: Operation | Block) -> bool:
    """Is it a conversion to the format of a buffer? The packer does these."""
    if not isinstance(op, ttl.BlockMathOp) or op.ENTRY.name != "typecast":
        return False
    return block_type(op.result.type).dtype != float32  # any register holds f32


def is_block(value: SSAValue) -> bool:
    return ttl.is_block_value(value.type)


def dst_type(value: SSAValue) -> ttl.DstType:
    assert isinstance(value.type, TensorType)
    return ttl.DstType(value.type)
