"""Operations made and placed without what xDSL checks each time: passes know what they make.

`Operation.create` takes twice as long as this, and inserting through a builder, which asks all
ancestors of a block whether they are the operation, ten times. The names of the fields are xDSL's
own, whose version is pinned; tests compare what is made here with what xDSL makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, SSAValues, Use
from xdsl.irdl import IRDLOperation

Op = TypeVar("Op", bound=Operation)
_NONE: Mapping[str, Any] = {}
_NO_VALUES: SSAValues[Any] = SSAValues()


def create(
    kind: type[Op],
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NONE,
    attributes: Mapping[str, Attribute] = _NONE,
    regions: Sequence[Region] = (),
) -> Op:
    """As `kind.create`, of an operation without successors and defaults."""
    op = kind.__new__(kind)
    op.properties = dict(properties)
    op.attributes = dict(attributes)
    op.location = UNKNOWN_LOC
    op.regions = ()
    op.results = _NO_VALUES
    if operands:
        op._operands = SSAValues(operands)
        op._operand_uses = tuple([_use(value, op, i) for i, value in enumerate(operands)])
    if result_types:
        op.results = SSAValues([OpResult(type, op, i) for i, type in enumerate(result_types)])
    for region in regions:
        op.add_region(region)
    return op


def _use(value: SSAValue, op: Operation, index: int) -> Use:
    following = value.first_use
    use = Use(op, index, None, following)
    if following is not None:
        following._prev_use = use
    value.first_use = use
    return use


class QuickOperation(IRDLOperation):
    """An operation of ours: none has successors, or properties and attributes with defaults."""

    @classmethod
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] = _NONE,
        attributes: Mapping[str, Attribute] = _NONE,
        location: LocationAttr | None = None,
        successors: Sequence[Block] = (),
        regions: Sequence[Region] = (),
    ) -> Self:
        op = create(cls, operands, result_types, properties, attributes, regions)
        if location is not None:
            op.location = location
        if successors:
            op.successors = successors
        return op


def place(op: Operation, block: Block, before: Operation | None) -> None:
    """Into a block that it does not contain, at the end or before another operation."""
    previous = block._last_op if before is None else before._prev_op
    op.parent, op._prev_op, op._next_op = block, previous, before
    if previous is None:
        block._first_op = op
    else:
        previous._next_op = op
    if before is None:
        block._last_op = op
    else:
        before._prev_op = op


def walk(op: Operation) -> Iterator[Operation]:
    """The operation and all inside it, each before those inside it."""
    yield op
    for region in op.regions:
        yield from walk_region(region)


def walk_region(region: Region) -> Iterator[Operation]:
    block = region.first_block
    while block is not None:
        yield from walk_block(block)
        block = block.next_block


def walk_block(block: Block) -> Iterator[Operation]:
    """The next operation is looked up first: the one that is given may be erased."""
    op = block._first_op
    while op is not None:
        following = op._next_op
        yield op
        for region in op.regions:
            yield from walk_region(region)
        op = following
