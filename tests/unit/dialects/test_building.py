"""Operations made here are what xDSL makes."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32, i64
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import IRDLOperation

from ttl.dialects import emitc, ttkernel, ttl
from ttl.dialects.building import create, integer, place, walk


def constant(number: int) -> Operation:
    return arith.ConstantOp(IntegerAttr(number, i32))


def fields(op: Operation) -> dict[str, Any]:
    uses = [(use.operation is op, use.index) for use in op._operand_uses]
    return {
        "operands": tuple(op.operands),
        "uses": uses,
        "results": [(each.type, each.index, each.op is op) for each in op.results],
        "properties": op.properties,
        "attributes": op.attributes,
        "location": op.location,
        "regions": [region.parent is op for region in op.regions],
        "successors": tuple(op.successors),
        "neighbours": (op.parent, op.next_op, op.prev_op),
    }


def test_an_operation_has_the_fields_that_xdsl_gives_it() -> None:
    value = constant(1).results[0]
    given: dict[str, Any] = {
        "operands": [value, value],
        "result_types": [i32],
        "properties": {"callee": StringAttr("f")},
        "attributes": {"mark": StringAttr("x")},
    }
    theirs = Operation.create.__func__(emitc.CallOpaqueOp, **given, regions=[Region()])
    ours = emitc.CallOpaqueOp.create(**given, regions=[Region()])
    assert fields(ours) == fields(theirs)
    assert {use.operation for use in value.uses} == {ours, theirs}
    assert fields(create(emitc.YieldOp)) == fields(Operation.create.__func__(emitc.YieldOp))


def test_no_operation_of_ours_has_a_default() -> None:
    """`create` does not look for them."""
    dialects = (emitc.make_dialect(), ttkernel.make_dialect(), ttl.make_dialect())
    for op in (op for dialect in dialects for op in dialect.operations):
        definition = op.get_irdl_definition()
        given = (*definition.properties.values(), *definition.attributes.values())
        assert all(each.default_value is None for each in given), op.name


def test_operations_stand_where_they_are_placed() -> None:
    block = Block()
    first, second, third = constant(1), constant(2), constant(3)
    place(second, block, None)
    place(first, block, second)
    place(third, block, None)
    assert list(block.ops) == [first, second, third]
    assert list(reversed(block.ops)) == [third, second, first]
    assert {op.parent for op in block.ops} == {block}
    assert (block.first_op, block.last_op) == (first, third)
    fourth = constant(4)
    place(fourth, block, third)
    assert list(block.ops) == [first, second, fourth, third]


def test_a_walk_meets_what_xdsl_meets() -> None:
    inner = emitc.ExpressionOp.create(regions=[Region(Block([constant(2), constant(3)]))])
    function = emitc.FuncOp.create(regions=[Region(Block([constant(1), inner, constant(4)]))])
    assert list(walk(function)) == list(function.walk())


def test_what_a_walk_gives_may_be_erased() -> None:
    function = emitc.FuncOp.create(regions=[Region(Block([constant(n) for n in range(4)]))])
    seen = 0
    for op in walk(function):
        seen += 1
        if op is not function:
            op.detach()
    assert seen == 5 and function.body.block.is_empty


def test_classes_and_parts_of_operations_are_what_xdsl_says() -> None:
    body, value = Region(Block()), constant(1).results[0]
    loop = emitc.ForOp.create(operands=[value, value, constant(2).results[0]], regions=[body])
    assert (loop.lower, loop.step, loop.body) == (loop.operands[0], loop.operands[2], body)
    assert isinstance(loop, (emitc.ForOp, IRDLOperation)) and not isinstance(loop, emitc.IfOp)
    assert issubclass(emitc.AddOp, emitc.BinaryOp) and not issubclass(emitc.AddOp, emitc.CmpOp)
    assert integer(3) == IntegerAttr(3, i64) and integer(3, i32) == IntegerAttr(3, i32)
