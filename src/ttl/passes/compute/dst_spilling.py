"""Cut a section that needs too many slots into sections that fit.

The first part stores the values that the second needs into compiler buffers. Copies from buffers
and fills are not stored: the second part repeats them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, Region, SSAValue

from ttl.dialects import ttl

from ..module_pass import Maker, erase, not_yet
from .compiler_buffers import CompilerBuffers, pop, push, reserve, shape_of, wait
from .dst_allocation import allocate, is_register_value


def spill(
    section: ttl.ComputeOp, api: str, capacity: int, buffers: CompilerBuffers
) -> list[ttl.ComputeOp]:
    """Replace `section` by two sections, and return these."""
    ops = list(section.body.block.ops)
    position = _best_cut(ops, api, capacity)
    if position is None:
        raise not_yet("an operation that needs more DST registers than there are", section, "")
    first, second = _new_section(section), _new_section(section)
    kept = _kept_values(ops, position)
    homes = {
        value: buffers.make(
            shape_of(value), value.name_hint, dtype=buffers.dtype_of(value), is_copied=True
        )
        for value in kept
    }
    make = Maker.before(section)
    views = {value: reserve(homes[value], make) for value in kept}
    make.add(first)
    values = _clone(_used_operations(ops[:position], kept), first.body.block)
    for value in kept:
        store = ttl.TileStoreOp.create(operands=[values[value], views[value]])
        Maker.at_end(first.body.block, section).add(store)
    for value in kept:
        push(homes[value], make)
    loaded = {value: wait(homes[value], make) for value in kept}
    make.add(second)
    remade = set(_crossing_values(ops, position)) - set(kept)
    _clone(ops[position:], second.body.block, loaded, remade)
    for value in kept:
        pop(homes[value], make)
    erase(section)
    return [first, second]


def _new_section(section: ttl.ComputeOp) -> ttl.ComputeOp:
    made = ttl.ComputeOp.create(regions=[Region(Block())])
    made.location = section.location
    return made


CHEAP = (ttl.TileCopyOp, ttl.TileFillOp)


def _is_cheap(value: SSAValue) -> bool:
    return isinstance(value.owner, CHEAP)


def _crossing_values(ops: Sequence[Operation], position: int) -> list[SSAValue]:
    """Return the values made before `position` and used from there on, in order."""
    made = {result for op in ops[:position] for result in op.results}
    used: dict[SSAValue, None] = {}
    for op in ops[position:]:
        used |= dict.fromkeys(v for v in op.operands if v in made and is_register_value(v))
    return list(used)


def _kept_values(ops: Sequence[Operation], position: int) -> list[SSAValue]:
    return [value for value in _crossing_values(ops, position) if not _is_cheap(value)]


def _best_cut(ops: Sequence[Operation], api: str, capacity: int) -> int | None:
    """Find the cut that keeps the fewest values, among those whose first part fits.

    Use one in the first third of the section only if there is no other: it gains little.
    """
    crossing = {p: len(_kept_values(ops, p)) for p in range(1, len(ops))}
    order = sorted(crossing, key=lambda p: (p * 3 < len(ops), crossing[p], -p))
    for position in order:
        if (
            not all(isinstance(op, CHEAP) for op in ops[:position])  # it must compute something
            and _pressure(ops, position) <= capacity
            and _count_slots(ops, position, api) <= capacity
        ):
            return position
    return None


def _pressure(ops: Sequence[Operation], position: int) -> int:
    """Estimate how many slots the first part needs; counting is faster than allocating."""
    kept = set(_kept_values(ops, position))
    first_part = ops[:position]
    last = {value: i for i, op in enumerate(first_part) for value in op.operands}
    live: set[SSAValue] = set()
    most = 0
    for i, op in enumerate(first_part):
        live -= {value for value in op.operands if last[value] == i and value not in kept}
        live |= {value for value in op.results if value in last or value in kept}
        most = max(most, len(live))
    return most


def _used_operations(ops: Sequence[Operation], kept: Sequence[SSAValue]) -> list[Operation]:
    """Return the operations without copies and fills that only the second part uses."""
    inside = set(ops)

    def is_used(op: Operation) -> bool:
        return not _is_cheap(op.results[0]) or any(
            use.operation in inside for use in op.results[0].uses
        )

    return [op for op in ops if not op.results or op.results[0] in kept or is_used(op)]


def _count_slots(ops: Sequence[Operation], position: int, api: str) -> int:
    """Return how many slots the first part needs, including values it keeps."""
    trial = ttl.ComputeOp.create(regions=[Region(Block())])
    values = _clone(ops[:position], trial.body.block)
    any_block = next(op.view for op in ops if isinstance(op, ttl.TileStoreOp))
    for value in _kept_values(ops, position):
        store = ttl.TileStoreOp.create(operands=[values[value], any_block])
        trial.body.block.add_op(store)
    size = allocate(trial, api).size
    trial.erase(safe_erase=False)
    return size


def _clone(
    ops: Sequence[Operation],
    block: Block,
    loaded: dict[SSAValue, SSAValue] | None = None,
    remade: set[SSAValue] = frozenset(),  # type: ignore[assignment]
) -> dict[SSAValue, SSAValue]:
    """Clone the operations, with fresh copies of loaded or repeated values at every use."""
    values: dict[SSAValue, SSAValue] = {}
    for op in ops:
        make = Maker.at_end(block, op)
        mapper = dict(values)
        for operand in op.operands:
            if loaded and operand in loaded:
                source, hint = loaded[operand], operand.name_hint
                mapper[operand] = make.new(ttl.TileCopyOp, [source], operand.type, hint)
            elif operand in remade:
                assert isinstance(operand.owner, Operation)
                mapper[operand] = make.value(operand.owner.clone(), operand.name_hint)
        cloned = make.add(op.clone(mapper))
        values |= zip(op.results, cloned.results, strict=True)
    return values
