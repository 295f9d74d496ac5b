"""What block operations mean as values.

rule NAMED   the content of a reserved block that is read or added to, and of a waited block that is
             stored into, is a value: loops and branches carry it on. What a reserved block holds
             when it is pushed is stored then, once.
rule ZERO    the first `+=` behind a reserve adds to zero.
rule ROUND   a read gives what the block holds, which has the block's element type: a sum or a store
             that is read goes on from there rounded.
rule SHARE   equal operations on equal operands are one.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import Block, Operation, Region, SSAValue

from ttl.dialects import ttl
from ttl.dialects.building import walk
from ttl.dialects.ttcore import block_type
from ttl.semantics.dtypes import DType
from ttl.semantics.kernel_config import dest_dtype

from ..module_pass import Maker, erase
from .compiler_buffers import FP32, buffer_dtypes
from .section_builder import is_rounding

Contents = dict[SSAValue, SSAValue | None]  # of a block: its value; None before the first store


def name_block_values(kernel: func.FuncOp) -> None:
    blocks = _named_blocks(kernel)
    if blocks:
        dtype = dest_dtype(bool(kernel.attributes[FP32]), buffer_dtypes(kernel))
        _Namer(blocks, dtype).block(kernel.body.block, {})


def _named_blocks(kernel: func.FuncOp) -> set[SSAValue]:
    """rule NAMED"""
    found: set[SSAValue] = set()
    for op in walk(kernel):
        if not isinstance(op, ttl.AcquireOp):
            continue
        stores = [
            use.operation
            for use in op.block.uses
            if isinstance(use.operation, ttl.StoreOp) and use.index == 1
        ]
        is_read = any(_is_read(use.operation, use.index) for use in op.block.uses)
        is_summed = any(store.accumulate is not None for store in stores)
        is_reserved = isinstance(op, ttl.ReserveOp)
        if (is_reserved and (is_read or is_summed)) or (not is_reserved and stores):
            found.add(op.block)
    return found


def _is_read(user: Operation, position: int) -> bool:
    if isinstance(user, ttl.StoreOp):
        return position == 0
    return isinstance(user, (ttl.BlockMathOp, scf.ForOp, scf.WhileOp, scf.YieldOp))


class _Namer:
    """Replaces the blocks by their values, block by block of the kernel."""

    def __init__(self, blocks: set[SSAValue], dtype: DType):
        self.blocks = blocks
        self.dtype = dtype  # of the registers
        self.held: dict[SSAValue, list[SSAValue]] = {}  # by buffer, oldest first

    def block(self, block: Block, contents: Contents) -> Contents:
        """The contents behind `block`, given those before it."""
        contents = dict(contents)
        for op in list(block.ops):
            if isinstance(op, ttl.AcquireOp):
                self.acquire(op, contents)
            elif isinstance(op, ttl.ReleaseOp):
                self.release(op, contents)
            elif isinstance(op, ttl.StoreOp) and op.view in self.blocks:
                self.read_operands(op, contents, 1)
                self.store(op, contents)
            else:
                self.read_operands(op, contents, len(op.operands))
                if op.regions:
                    self.regions(op, contents)
        return contents

    def acquire(self, op: ttl.AcquireOp, contents: Contents) -> None:
        if op.block in self.blocks:
            contents[op.block] = op.block if isinstance(op, ttl.WaitOp) else None
        self.held.setdefault(op.buffer, []).append(op.block)

    def release(self, op: ttl.ReleaseOp, contents: Contents) -> None:
        kind = ttl.ReserveOp if isinstance(op, ttl.PushOp) else ttl.WaitOp
        held = [b for b in self.held.get(op.buffer, []) if isinstance(b.owner, kind)]
        if not held:
            return
        self.held[op.buffer].remove(held[0])
        self.keep(held[0], contents, op)
        value = contents.pop(held[0], None)
        if value is not None and kind is ttl.ReserveOp:
            Maker.before(op).add(ttl.StoreOp.create(operands=[value, held[0]]))

    def keep(self, popped: SSAValue, contents: Contents, before: Operation) -> None:
        """A block that was stored into another as it is: the other goes on with a copy of it."""
        for block, value in contents.items():
            if value is popped and block is not popped:
                copy = ttl.BLOCK_MATH["typecast"].create(
                    operands=[value], result_types=[block.type]
                )
                contents[block] = Maker.before(before).value(copy, block.name_hint)

    def store(self, op: ttl.StoreOp, contents: Contents) -> None:
        before = contents.get(op.view)
        value = op.value
        if op.accumulate is not None:
            make = Maker.before(op)
            start = _zero(op.view, make) if before is None else before
            add = ttl.BLOCK_MATH["add"].create(
                operands=[start, value], result_types=[op.view.type]
            )
            value = make.value(add, op.view.name_hint)
            contents[op.view] = value
        else:
            contents[op.view] = self.rounded(value, op.view, op)
        erase(op)

    def read_operands(self, op: Operation, contents: Contents, count: int) -> None:
        for position in range(count):
            block = op.operands[position]
            if block in self.blocks and (value := contents.get(block)) is not None:
                value = contents[block] = self.rounded(value, block, op)
                op.operands[position] = value

    def rounded(self, value: SSAValue, block: SSAValue, before: Operation) -> SSAValue:
        """rule ROUND; in registers of the block's own format there is nothing to round."""
        dtype = block_type(block.type).dtype
        is_whole = dtype is not None and not dtype.is_float
        if is_whole or dtype == self.dtype:
            return value
        is_as_stored = isinstance(value.owner, ttl.AcquireOp) or is_rounding(value.owner)
        if is_as_stored and value.type == block.type:
            return value
        cast = ttl.BLOCK_MATH["typecast"].create(operands=[value], result_types=[block.type])
        return Maker.before(before).value(cast, value.name_hint)

    # Loops and branches ---------------------------------------------------------------------------

    def regions(self, op: Operation, contents: Contents) -> None:
        changed = [b for b in contents if _changes(op, b)]
        if not changed:
            for region in op.regions:
                for block in region.blocks:
                    self.block(block, contents)
        elif isinstance(op, scf.ForOp):
            self.loop(op, contents, changed)
        elif isinstance(op, scf.IfOp):
            self.branches(op, contents, changed)
        else:
            assert isinstance(op, scf.WhileOp)
            self.while_loop(op, contents, changed)

    def start(self, block: SSAValue, contents: Contents, make: Maker) -> SSAValue:
        """rule ZERO, before it is known whether anything is added"""
        value = contents[block]
        return _zero(block, make) if value is None else value

    def loop(self, loop: scf.ForOp, contents: Contents, changed: list[SSAValue]) -> None:
        make = Maker.before(loop)
        starts = [self.start(block, contents, make) for block in changed]
        body = loop.body.block
        inside: Contents = dict(contents)
        for block in changed:
            argument = body.insert_arg(block.type, len(body.args))
            argument.name_hint = block.name_hint
            inside[block] = argument
        after = self.block(body, inside)
        end = body.last_op
        assert isinstance(end, scf.YieldOp)
        values = [after[block] for block in changed]
        _yield_also(end, values)  # type: ignore[arg-type]
        loop.body.detach_block(body)
        new = scf.ForOp(
            loop.lb, loop.ub, loop.step, [*loop.iter_args, *starts], Region(body)
        )
        make.add(new)
        _replace(loop, new, changed, contents)

    def while_loop(
        self, loop: scf.WhileOp, contents: Contents, changed: list[SSAValue]
    ) -> None:
        make = Maker.before(loop)
        starts = [self.start(block, contents, make) for block in changed]
        test, body = loop.before_region.block, loop.after_region.block
        inside: Contents = dict(contents)
        for block in changed:
            tested = test.insert_arg(block.type, len(test.args))
            inside[block] = body.insert_arg(block.type, len(body.args))
            tested.name_hint = inside[block].name_hint = block.name_hint  # type: ignore[union-attr]
        condition, end = test.last_op, body.last_op
        assert isinstance(condition, scf.ConditionOp) and isinstance(end, scf.YieldOp)
        handed_on = [*condition.operands[1:], *test.args[len(loop.arguments) :]]
        Maker.before(condition).add(scf.ConditionOp(condition.operands[0], *handed_on))
        erase(condition)
        after = self.block(body, inside)
        _yield_also(end, [after[block] for block in changed])  # type: ignore[misc]
        arguments = [*loop.arguments, *starts]
        regions = []
        for region in list(loop.regions):
            regions.append(Region())
            region.move_blocks(regions[-1])
        new = scf.WhileOp(arguments, [value.type for value in arguments], *regions)
        make.add(new)
        _replace(loop, new, changed, contents)

    def branches(self, op: scf.IfOp, contents: Contents, changed: list[SSAValue]) -> None:
        make = Maker.before(op)
        before: Contents = dict(contents)
        for block in changed:
            before[block] = self.start(block, contents, make)
        regions = []
        for region in list(op.regions):
            if not region.blocks:
                region.add_block(Block([scf.YieldOp()]))
            after = self.block(region.block, before)
            end = region.block.last_op
            assert isinstance(end, scf.YieldOp)
            _yield_also(end, [after[block] for block in changed])  # type: ignore[misc]
            regions.append(Region())
            region.move_blocks(regions[-1])
        types = [result.type for result in op.results] + [block.type for block in changed]
        then, otherwise = regions
        new = scf.IfOp(op.cond, types, then, otherwise)
        make.add(new)
        _replace(op, new, changed, contents)


def _replace(
    old: Operation, new: Operation, changed: list[SSAValue], contents: Contents
) -> None:
    own = len(old.results)
    for before, after in zip(old.results, new.results[:own], strict=True):
        after.name_hint = before.name_hint
        before.replace_all_uses_with(after)
    for block, result in zip(changed, new.results[own:], strict=True):
        result.name_hint = block.name_hint
        contents[block] = result
    erase(old)


def _yield_also(end: scf.YieldOp, values: list[SSAValue]) -> None:
    Maker.before(end).add(scf.YieldOp(*end.operands, *values))
    erase(end)


def _changes(op: Operation, block: SSAValue) -> bool:
    return any(
        isinstance(use.operation, ttl.StoreOp) and use.index == 1 and op.is_ancestor(use.operation)
        for use in block.uses
    )


def _zero(block: SSAValue, make: Maker) -> SSAValue:
    fill = ttl.FillOp.create(properties={"value": FloatAttr(0.0, f32)}, result_types=[block.type])
    return make.value(fill)


# Common values ------------------------------------------------------------------------------------

Known = dict[tuple[object, ...], SSAValue]


def share_common_values(block: Block, outer: Known | None = None) -> None:
    """rule SHARE"""
    known: Known = dict(outer or {})
    for op in list(block.ops):
        for region in op.regions:
            for inner in region.blocks:
                share_common_values(inner, known)
        if isinstance(op, (ttl.BlockMathOp, ttl.FillOp)):
            key = _key(op)
            if key in known:
                op.results[0].replace_all_uses_with(known[key])
                erase(op)
            else:
                known[key] = op.results[0]


def _key(op: Operation) -> tuple[object, ...]:
    properties = tuple(sorted(op.properties.items(), key=lambda item: item[0]))
    return (type(op), tuple(op.operands), properties, op.results[0].type)
