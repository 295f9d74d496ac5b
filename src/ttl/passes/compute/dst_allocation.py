"""Allocate a DST slot for each value of a section: a linear scan.

A slot is as many neighboring registers as a sub-block of the section has tiles, so the scan does
not depend on the size of the blocks.

rule IN PLACE  a result takes the slot of an operand at its last use; a loop-carried operand's
               first, so that loops need no copies.
rule KEEP      an operation that overwrites an operand needed later gets a copy of it.
rule ZERO      a call that accumulates on zeros takes a slot unused so far in the section.
rule CARRIED   a loop-carried value, its start and its result share a slot, which no other value
               gets inside the loop; a value yielded from elsewhere is copied there.
rule STORED    a stored value stays until the end: packing comes after all math.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from ttl.dialects import ttl
from ttl.semantics.ops import MATMUL
from ttl.semantics.types import Shape

from ..module_pass import Maker, terminator
from .arranged_tiles import form_of
from .compiler_buffers import shape_of


@dataclass(slots=True)
class Allocation:
    """The `slot` of each value, and how many slots the section needs.

    In a section that `is_tangled`, loop-carried values swap slots, which copies cannot do.
    """

    slot: dict[SSAValue, int] = field(default_factory=dict)
    size: int = 0
    is_tangled: bool = False


def allocate(section: ttl.ComputeOp, api: str) -> Allocation:
    """Allocate the slots of a section; rule KEEP and rule CARRIED may insert copies."""
    _insert_copies(section.body.block, {})
    scan = _Scan(api, _last_uses(section.body.block))
    scan.block(section.body.block)
    return scan.allocation


def is_register_value(value: SSAValue) -> bool:
    return isinstance(value.type, ttl.DstType)


def section_shape(section: ttl.ComputeOp) -> Shape:
    """Return the shape of a section's values, which is the same for all."""
    for op in section.walk():
        for result in op.results:
            if is_register_value(result):
                return shape_of(result)
    return (1,)


def is_whole(section: ttl.ComputeOp) -> bool:
    """Does it span a loop or the end of a block? Then it cannot be done part by part."""
    others = (scf.ForOp, ttl.AcquireOp, ttl.ReleaseOp)
    return any(isinstance(op, others) for op in section.body.block.ops)


LastUses = dict[SSAValue, Operation | None]


def _last_uses(block: Block) -> LastUses:
    """Return the last operation that needs each value; None if it stays until the end.

    A use inside a loop of a value from outside counts as a use by the loop.
    """
    last: LastUses = {}
    for op in block.ops:
        for region in op.regions:
            inner = _last_uses(region.block)
            for value, user in inner.items():
                if _is_inside(value, op):
                    last[value] = user
                else:
                    _use(last, value, None if user is None else op)
        for operand in op.operands:
            if is_register_value(operand):
                _use(last, operand, None if isinstance(op, ttl.TileStoreOp) else op)
    return last


def _use(last: LastUses, value: SSAValue, user: Operation | None) -> None:
    """Note a use; later ones do not end the life of a stored value (rule STORED)."""
    is_stored = value in last and last[value] is None
    last[value] = None if is_stored else user


def _is_inside(value: SSAValue, loop: Operation) -> bool:
    """Is the value made in the loop, or carried by the loop or by one inside it?"""
    return value.owner is not loop and loop.is_ancestor(value.owner)


# Copies -------------------------------------------------------------------------------------------


def _insert_copies(block: Block, outer: LastUses) -> None:
    """Copy overwritten operands that are needed later (rule KEEP)."""
    last = _last_uses(block)
    for op in list(block.ops):
        if isinstance(op, scf.ForOp):
            _copy_starts(op, last)
            _insert_copies(op.body.block, last)
        elif (position := overwritten_operand(op)) is not None:
            value = op.operands[position]
            if last.get(value) is not op or _comes_from_outside(value, block):
                op.operands[position] = _duplicate(value, op)


def _comes_from_outside(value: SSAValue, block: Block) -> bool:
    """Is the value from around the loop? Then the next iteration needs it too."""
    owner = value.owner
    return (owner if isinstance(owner, Block) else owner.parent) is not block


def _copy_starts(loop: scf.ForOp, last: LastUses) -> None:
    seen: set[SSAValue] = set()
    for position, start in enumerate(loop.iter_args):
        if not is_register_value(start):
            continue
        is_outside = _comes_from_outside(start, loop.parent)  # type: ignore[arg-type]
        if start in seen or last.get(start) is not loop or is_outside:
            loop.operands[3 + position] = _duplicate(start, loop)
        seen.add(start)


def _duplicate(value: SSAValue, before: Operation) -> SSAValue:
    make = Maker.before(before)
    return make.new(ttl.TileDuplicateOp, [value], value.type, value.name_hint)


def overwritten_operand(op: Operation) -> int | None:
    """Return the operand that the result replaces: the only one in registers. The vector unit's
    calls with one operand, the matrix unit's with one in a buffer and sums of products do so."""
    if not isinstance(op, ttl.TileMathOp):
        return None
    in_registers = [i for i, value in enumerate(op.inputs) if is_register_value(value)]
    is_alone = len(in_registers) == 1
    return in_registers[0] if is_alone else None


def _carried_place(op: Operation) -> SSAValue | None:
    """Return the loop-carried value that a copy at the end of a body goes to."""
    uses = list(op.results[0].uses) if isinstance(op, ttl.TileDuplicateOp) else []
    if len(uses) != 1 or not isinstance(uses[0].operation, scf.YieldOp):
        return None
    body = op.parent
    assert body is not None
    return body.args[1 + uses[0].index]


# Slots --------------------------------------------------------------------------------------------


class _Scan:
    def __init__(self, api: str, last_uses: LastUses):
        self.api = api
        self.last_uses = last_uses
        self.allocation = Allocation()
        self.taken: set[int] = set()
        self.carried: set[SSAValue] = set()

    def block(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, scf.ForOp):
                self.loop(op)
            elif op.results and is_register_value(op.results[0]):
                self.operation(op)

    def operation(self, op: Operation) -> None:
        dying = [v for v in op.operands if is_register_value(v) and self.last_uses[v] is op]
        dying.sort(key=lambda value: value not in self.carried)
        result = op.results[0]
        if (argument := _carried_place(op)) is not None:
            self.give(result, argument)  # rule CARRIED, of an earlier scan
            for value in dying:
                self.free(value)
            return
        if dying and not isinstance(op, ttl.TileDuplicateOp):
            self.give(result, dying[0])  # rule IN PLACE
            for value in set(dying[1:]) - {dying[0]}:
                self.free(value)
        elif self.accumulates_on_zero(op):
            self.take(result, self.allocation.size)  # rule ZERO
        else:
            self.take(result, self.first_gap())
        if result not in self.last_uses:  # no use
            self.free(result)

    def accumulates_on_zero(self, op: Operation) -> bool:
        if not isinstance(op, ttl.TileMathOp) or not op.from_buffers:
            return False
        if op.ENTRY is MATMUL or len(op.inputs) > 2:
            return len(op.inputs) == 2
        forms = op.ENTRY.tile[self.api]
        form = form_of(forms, op.parameters) or forms.from_buffers
        return form is not None and form.accumulates

    def loop(self, loop: scf.ForOp) -> None:
        body = loop.body.block
        pairs = [
            (start, argument)
            for start, argument in zip(loop.iter_args, body.args[1:], strict=True)
            if is_register_value(start)
        ]
        for start, argument in pairs:
            self.give(argument, start)  # rule CARRIED
        self.carried |= {argument for _, argument in pairs}
        self.block(body)
        self.end_of_body(loop)

    def end_of_body(self, loop: scf.ForOp) -> None:
        body = loop.body.block
        end = terminator(body)
        slot = self.allocation.slot
        places = {slot[a] for a in body.args[1:] if is_register_value(a)}
        for position, value in enumerate(end.operands):
            if not is_register_value(value):
                continue
            argument, result = body.args[1 + position], loop.results[position]
            if slot[value] != slot[argument]:
                self.allocation.is_tangled |= slot[value] in places
                copy = _duplicate(value, end)
                end.operands[position] = copy
                self.give(copy, argument)
                if _is_inside(value, loop):
                    self.free(value)
            self.give(result, argument)

    def give(self, value: SSAValue, owner: SSAValue) -> None:
        """Give a value the slot of `owner`; it inherits being carried."""
        self.allocation.slot[value] = self.allocation.slot[owner]
        if owner in self.carried:
            self.carried.add(value)

    def take(self, value: SSAValue, slot: int) -> None:
        self.taken.add(slot)
        self.allocation.slot[value] = slot
        self.allocation.size = max(self.allocation.size, slot + 1)

    def free(self, value: SSAValue) -> None:
        if value not in self.carried:
            self.taken.discard(self.allocation.slot[value])

    def first_gap(self) -> int:
        slot = 0
        while slot in self.taken:
            slot += 1
        return slot
