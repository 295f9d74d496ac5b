"""Create and insert operations without xDSL's checks: passes know what they make.

`Operation.create` takes twice as long as this. Inserting through a builder, which checks all
ancestors of a block, takes ten times as long. The field names are xDSL's own, whose version is
pinned; tests compare these operations with those that xDSL makes.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Self, TypeVar

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, SSAValues, Use
from xdsl.irdl import IRDLOperation, VarIRConstruct, irdl_op_definition
from xdsl.irdl.operations import BeforeVariadicSingleAccessor

Op = TypeVar("Op", bound=Operation)
_NONE: Mapping[str, object] = {}
_NO_VALUES: SSAValues[OpResult] = SSAValues()


def create(
    kind: type[Op],
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NONE,
    attributes: Mapping[str, Attribute] = _NONE,
    regions: Sequence[Region] = (),
) -> Op:
    """Create an operation like `kind.create`; it must have no successors and defaults."""
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


class PlainClass(ABCMeta):
    """A class that other classes are not registered with: `isinstance` skips the registry, which
    takes five times as long as the plain check.
    """

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__

    def __setattr__(cls, name: str, value: object) -> None:
        """Replace xDSL's accessors for operands, results and regions by faster ones."""
        if type(value) is BeforeVariadicSingleAccessor and value.construct in _AT_PLACE:
            value = _AT_PLACE[value.construct](value.idx)
        super().__setattr__(name, value)


_item = tuple.__getitem__  # xDSL's accessors first check for a slice
_AT_PLACE: Mapping[VarIRConstruct, Callable[[int], property]] = {
    VarIRConstruct.OPERAND: lambda i: property(lambda op: _item(op._operands, i)),
    VarIRConstruct.RESULT: lambda i: property(lambda op: _item(op.results, i)),
    VarIRConstruct.REGION: lambda i: property(lambda op: op.regions[i]),
}


class DefinedOperation(IRDLOperation):
    """An operation of ours: a class with a name; classes without a name hold shared members."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" in vars(cls):
            irdl_op_definition(cls)


class QuickOperation(DefinedOperation, metaclass=PlainClass):
    """An operation that is made often; it has no successors and no defaults."""

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
    """Insert into a block that does not contain the operation, at the end or before another."""
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


def walk(op: Operation) -> list[Operation]:
    """List the operation and all operations inside it, outer ones first, as they are now."""
    found = [op]
    _add_inside(op, found)
    return found


def _add_inside(op: Operation, found: list[Operation]) -> None:
    for region in op.regions:
        block = region._first_block
        while block is not None:
            inner = block._first_op
            while inner is not None:
                found.append(inner)
                if inner.regions:
                    _add_inside(inner, found)
                inner = inner._next_op
            block = block._next_block


def around(op: Operation) -> Iterator[Operation]:
    """Iterate over the operations that an operation is in, innermost first."""
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


@lru_cache(maxsize=4096)
def integer(number: int, type: IntegerType | IndexType = i64) -> IntegerAttr:
    """Return an integer attribute, cached: there are few, and making one takes longer."""
    return IntegerAttr(number, type)
