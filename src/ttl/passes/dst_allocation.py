"""Which DST registers each value of a section has: a linear scan.

A value of n tiles takes n neighbouring registers, tile t in register base + t.
rule IN PLACE  a result takes the registers of an operand that is not needed any more; of a
               loop-carried one first, so that loops need no copies.
rule ZERO      a call that accumulates on zeros takes registers nobody has used in the section.
rule CARRIED   a loop-carried value, its start and its result share registers.
rule STORED    a stored value stays until the end: packing comes after all math.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from ttl.diagnostics import CompileError
from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics.ops import MATMUL
from ttl.semantics.types import tile_count

from .module_pass import not_yet


@dataclass(slots=True)
class Allocation:
    """`first` register of each value, and how many registers the section needs."""

    first: dict[SSAValue, int] = field(default_factory=dict)
    size: int = 0


def allocate(section: ttl.ComputeOp, api: str) -> Allocation:
    scan = _Scan(api, _last_uses(section.body.block))
    scan.block(section.body.block)
    return scan.allocation


def value_tiles(value: SSAValue) -> int:
    assert isinstance(value.type, ttl.DstType)
    return tile_count(block_type(value.type.block).shape or ())


def is_register_value(value: SSAValue) -> bool:
    return isinstance(value.type, ttl.DstType)


LastUses = dict[SSAValue, Operation | None]


def _last_uses(block: Block) -> LastUses:
    """The last operation that needs each value; None where it stays until the end.

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
    """rule STORED: a later use does not end the life of a stored value."""
    is_stored = value in last and last[value] is None
    last[value] = None if is_stored else user


def _is_inside(value: SSAValue, loop: Operation) -> bool:
    """Is the value made in the loop: by an operation in it, or carried by it or a loop in it?"""
    owner = value.owner
    maker = owner.parent_op() if isinstance(owner, Block) else owner
    while maker is not None and maker is not loop:
        maker = maker.parent_op()
    return maker is loop and not (isinstance(owner, Operation) and owner is loop)


class _Scan:
    def __init__(self, api: str, last_uses: LastUses):
        self.api = api
        self.last_uses = last_uses
        self.allocation = Allocation()
        self.taken: list[tuple[int, int]] = []  # first register, tiles
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
        if dying:
            self.give(result, self.allocation.first[dying[0]])  # rule IN PLACE
            for value in set(dying[1:]) - {dying[0]}:
                self.free(value)
        elif _works_in_place(op):
            raise _needs_copy(op)
        elif self.accumulates_on_zero(op):
            self.take(result, self.allocation.size)  # rule ZERO
        else:
            self.take(result, self.first_gap(value_tiles(result)))
        if result not in self.last_uses:  # nobody needs it
            self.free(result)

    def accumulates_on_zero(self, op: Operation) -> bool:
        if not isinstance(op, ttl.TileMathOp) or not op.from_buffers or op.ENTRY is MATMUL:
            return False
        form = op.ENTRY.tile[self.api].from_buffers
        return form is not None and form.accumulates

    def loop(self, loop: scf.ForOp) -> None:
        body = loop.body.block
        starts = list(loop.iter_args)
        for start, argument in zip(starts, body.args[1:], strict=True):
            if self.last_uses[start] is not loop or starts.count(start) > 1:
                raise _needs_copy(loop)
            self.give(argument, self.allocation.first[start])  # rule CARRIED
            self.carried.add(argument)
        self.block(body)
        end = body.last_op
        assert end is not None
        for argument, value, result in zip(
            body.args[1:], end.operands, loop.results, strict=True
        ):
            if self.allocation.first[value] != self.allocation.first[argument]:
                raise _needs_copy(loop)
            self.give(result, self.allocation.first[value])

    def give(self, value: SSAValue, first: int) -> None:
        self.allocation.first[value] = first

    def take(self, value: SSAValue, first: int) -> None:
        tiles = value_tiles(value)
        self.taken.append((first, tiles))
        self.give(value, first)
        self.allocation.size = max(self.allocation.size, first + tiles)

    def free(self, value: SSAValue) -> None:
        self.taken.remove((self.allocation.first[value], value_tiles(value)))

    def first_gap(self, tiles: int) -> int:
        first = 0
        for start, length in sorted(self.taken):
            if start - first >= tiles:
                break
            first = max(first, start + length)
        return first


def _works_in_place(op: Operation) -> bool:
    """The vector unit's unary calls and the accumulation of products overwrite their operand."""
    if not isinstance(op, ttl.TileMathOp):
        return False
    return op.ENTRY is MATMUL or (op.ENTRY.operands == 1 and not op.from_buffers)


def _needs_copy(op: Operation) -> CompileError:
    return not_yet(
        "a computed value that is needed again after an operation changed it in place",
        op,
        "compute the value twice, or store it into a dataflow buffer and read it from there",
    )
