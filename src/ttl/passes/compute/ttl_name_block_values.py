"""ttl-name-block-values: turn the contents of blocks into values, so that all data flow is
explicit.

rule NAMED   the content of a reserved block that is read or added to, and of a waited block that is
             stored into, is a value that loops and branches carry. A reserved block's value is
             stored once, when the block is pushed.
rule ZERO    the first `+=` after a reserve adds to zero.
rule ROUND   a read returns the block's content in the block's element type: a sum or a store that
             is read continues rounded.
rule SHARE   equal operations on equal operands are one.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f32
from xdsl.ir import Block, Operation, SSAValue

from ttl.dialects import ttl
from ttl.dialects.building import walk
from ttl.dialects.ttcore import block_type
from ttl.semantics.dtypes import DType
from ttl.semantics.kernel_config import dest_dtype
from ttl.semantics.ops import is_complete

from ..module_pass import Maker, erase, kernels, not_yet, replace_by, terminator, users_of
from .compiler_buffers import FP32, buffer_dtypes, shape_of
from .rebuilt_regions import RegionOp, carry, rebuild, starts_of, values_carried
from .section_builder import is_rounding
from .ttl_set_compute_kernel_config import decide_fp32

Contents = dict[SSAValue, SSAValue | None]  # by block: its value; None before the first store


def apply(op: ModuleOp) -> None:
    for kernel in kernels(op, "compute"):
        decide_fp32(kernel)
        _drop_open(kernel)
        name_block_values(kernel)
        share_common_values(kernel.body.block)


def _drop_open(kernel: func.FuncOp) -> None:
    """Erase values of unknown size; known sizes have replaced them."""
    for op in reversed(list(kernel.walk())):
        if isinstance(op, (ttl.BlockMathOp, ttl.FillOp)) and not is_complete(shape_of(op.result)):
            if list(op.result.uses):
                raise not_yet("a broadcast here without a shape", op, "give it one: shape=(2, 2)")
            erase(op)


def name_block_values(kernel: func.FuncOp) -> None:
    blocks = _named_blocks(kernel)
    if blocks:
        dtype = dest_dtype(bool(kernel.attributes[FP32]), buffer_dtypes(kernel))
        _Namer(blocks, dtype).block(kernel.body.block, {})


def _named_blocks(kernel: func.FuncOp) -> set[SSAValue]:
    """Find the blocks whose contents become values (rule NAMED)."""
    found: set[SSAValue] = set()
    for op in walk(kernel):
        if not isinstance(op, ttl.AcquireOp):
            continue
        stores = [store for store in users_of(op.block, ttl.StoreOp) if store.view is op.block]
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
    """Replaces the kernel's blocks by their values, one xDSL block at a time."""

    def __init__(self, blocks: set[SSAValue], dtype: DType):
        self.blocks = blocks
        self.dtype = dtype  # the registers' type
        self.held: dict[SSAValue, list[SSAValue]] = {}  # by buffer, oldest first
        self.half_released: set[SSAValue] = set()  # on some paths of a branch only

    def block(self, block: Block, contents: Contents) -> Contents:
        """Return the contents after `block`, given those before it."""
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
        # By now a branch on the same condition has released the rest.
        held = [b for b in self.held.get(op.buffer, []) if b not in self.half_released]
        self.held[op.buffer] = [*held, op.block]

    def release(self, op: ttl.ReleaseOp, contents: Contents) -> None:
        kind = ttl.ReserveOp if isinstance(op, ttl.PushOp) else ttl.WaitOp
        held = [b for b in self.held.get(op.buffer, []) if isinstance(b.owner, kind)]
        if not held:
            return
        block = ttl.released_by(op, held)
        assert block is not None
        self.held[op.buffer].remove(block)
        self.keep(block, contents, op)
        value = contents.pop(block, None)
        if value is not None and kind is ttl.ReserveOp:
            Maker.before(op).add(ttl.StoreOp.create(operands=[value, block]))

    def keep(self, popped: SSAValue, contents: Contents, before: Operation) -> None:
        """Copy a popped block's value into blocks that still share it."""
        for block, value in contents.items():
            if value is popped and block is not popped:
                contents[block] = _cast(value, block, before, block.name_hint)

    def store(self, op: ttl.StoreOp, contents: Contents) -> None:
        before = contents.get(op.view)
        value = op.value
        if op.accumulate is not None:
            make = Maker.before(op)
            start = _zero(op.view, make) if before is None else before
            add, hint = ttl.BLOCK_MATH["add"], op.view.name_hint
            contents[op.view] = make.new(add, [start, value], op.view.type, hint)
        else:
            contents[op.view] = self.round_to_block(value, op.view, op)
        erase(op)

    def read_operands(self, op: Operation, contents: Contents, count: int) -> None:
        for position in range(count):
            block = op.operands[position]
            if block in self.blocks and (value := contents.get(block)) is not None:
                value = contents[block] = self.round_to_block(value, block, op)
                op.operands[position] = value

    def round_to_block(self, value: SSAValue, block: SSAValue, before: Operation) -> SSAValue:
        """Round a value to the block's type, unless registers have that format (rule ROUND)."""
        dtype = block_type(block.type).dtype
        is_whole = dtype is not None and not dtype.is_float
        if is_whole or dtype == self.dtype:
            return value
        is_as_stored = isinstance(value.owner, ttl.AcquireOp) or is_rounding(value.owner)
        if is_as_stored and value.type == block.type:
            return value
        return _cast(value, block, before, value.name_hint)

    # Loops and branches ---------------------------------------------------------------------------

    def regions(self, op: Operation, contents: Contents) -> None:
        changed = [b for b in contents if _changes(op, b)]
        if changed:
            assert isinstance(op, (scf.ForOp, scf.WhileOp, scf.IfOp))
            self.carry_changed(op, contents, changed)
        else:
            self.each_path(op, lambda body: self.block(body, contents))

    def each_path(self, op: Operation, walk: Callable[[Block], Contents]) -> list[Contents]:
        """Return the contents at the end of each body; a block is held if any path holds it."""
        if not isinstance(op, scf.IfOp):
            return [walk(block) for region in op.regions for block in region.blocks]
        before, ends, after = self.held, [], []
        for region in op.regions:
            self.held = {buffer: [*held] for buffer, held in before.items()}
            ends += [walk(block) for block in region.blocks]
            after.append(self.held)
        self.held = {
            buffer: list(dict.fromkeys(block for path in after for block in path.get(buffer, [])))
            for buffer in dict.fromkeys(buffer for path in after for buffer in path)
        }
        for buffer, held in before.items():
            self.half_released |= {b for b in held if any(b not in path[buffer] for path in after)}
        return ends

    def carry_changed(self, op: RegionOp, contents: Contents, changed: list[SSAValue]) -> None:
        """Make the loop or branch also carry the changed contents."""
        make, own, is_branch = Maker.before(op), len(op.results), isinstance(op, scf.IfOp)
        starts = {block: self.start(block, contents, make) for block in changed}
        for region in op.regions:
            if not region.blocks:  # an empty branch
                region.add_block(Block([scf.YieldOp()]))
        ends = self.each_path(
            op, lambda body: self.block_inside(body, {**contents, **starts}, changed, is_branch)
        )
        # Do not carry a block that all branches have released.
        kept = [b for b in changed if not is_branch or any(b in end for end in ends)]
        for region, inside in zip(op.regions, ends, strict=True):
            end = terminator(region.block)
            carry(end, [*values_carried(end), *((starts | inside)[block] for block in kept)])  # type: ignore[list-item]
        carried = [*starts_of(op), *(starts[block] for block in kept)]
        new = rebuild(op, carried, [*op.results, *kept])
        for before, after in zip(op.results, new.results[:own], strict=True):
            before.replace_all_uses_with(after)
        for block in changed:
            del contents[block]
        for block, result in zip(kept, new.results[own:], strict=True):
            result.name_hint = block.name_hint
            contents[block] = result
        erase(op)

    def block_inside(
        self, body: Block, inside: Contents, changed: list[SSAValue], is_branch: bool
    ) -> Contents:
        for block in changed if not is_branch else ():
            argument = body.insert_arg(block.type, len(body.args))
            argument.name_hint = block.name_hint
            inside[block] = argument
        if isinstance(terminator(body), scf.ConditionOp):  # the condition is on scalars
            return inside
        return self.block(body, inside)

    def start(self, block: SSAValue, contents: Contents, make: Maker) -> SSAValue:
        """Return the block's value, or zero (rule ZERO), in case something is added."""
        value = contents[block]
        return _zero(block, make) if value is None else value


def _changes(op: Operation, block: SSAValue) -> bool:
    stores = users_of(block, ttl.StoreOp)
    return any(store.view is block and op.is_ancestor(store) for store in stores)


def _cast(value: SSAValue, block: SSAValue, before: Operation, hint: str | None) -> SSAValue:
    return Maker.before(before).new(ttl.BLOCK_MATH["typecast"], [value], block.type, hint)


def _zero(block: SSAValue, make: Maker) -> SSAValue:
    return make.new(ttl.FillOp, (), block.type, value=FloatAttr(0.0, f32))


# Common values ------------------------------------------------------------------------------------

Known = dict[tuple[object, ...], SSAValue]


def share_common_values(block: Block, outer: Known | None = None) -> None:
    """Replace equal operations by the first (rule SHARE)."""
    known: Known = dict(outer or {})
    for op in list(block.ops):
        for region in op.regions:
            for inner in region.blocks:
                share_common_values(inner, known)
        if isinstance(op, (ttl.BlockMathOp, ttl.FillOp)):
            key = _key(op)
            if key in known:
                replace_by(op, known[key])
            else:
                known[key] = op.results[0]


def _key(op: Operation) -> tuple[object, ...]:
    properties = tuple(sorted(op.properties.items(), key=lambda item: item[0]))
    return (type(op), tuple(op.operands), properties, op.results[0].type)
