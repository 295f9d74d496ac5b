"""The check of a finished module finds what xDSL's own check finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Dialect, Operation
from xdsl.parser import Parser

from ttl.dialects import emitc
from ttl.dialects.verification import verify_module

TEXT = """
"emitc.file"() <{id = "k.cpp"}> ({
  "emitc.func"() <{sym_name = "kernel", function_type = () -> ()}> ({
    %0 = "emitc.literal"() <{value = "3"}> : () -> i32
    %1 = "emitc.literal"() <{value = "3"}> : () -> i32
    %2 = "emitc.add"(%0, %1) : (i32, i32) -> i32
    %3 = "emitc.add"(%1, %0) : (i32, i32) -> i32
    %4 = "emitc.expression"(%2) ({
    ^body(%5: i32):
      %6 = "emitc.add"(%5, %5) : (i32, i32) -> i32
      "emitc.yield"(%6) : (i32) -> ()
    }) : (i32) -> i32
    "emitc.call_opaque"(%3) <{callee = "f"}> : (i32) -> ()
    "emitc.call_opaque"(%4) <{callee = "f"}> : (i32) -> ()
    "emitc.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""


def module() -> ModuleOp:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(
        Dialect(
            "emitc",
            [
                emitc.FileOp,
                emitc.FuncOp,
                emitc.LiteralOp,
                emitc.AddOp,
                emitc.ExpressionOp,
                emitc.YieldOp,
                emitc.CallOpaqueOp,
                emitc.ReturnOp,
            ],
            [],
        )
    )
    return Parser(context, TEXT).parse_module()


def without_operands(op: Operation) -> None:
    op.operands = []


def with_one_more_operand(op: Operation) -> None:
    op.operands = [*op.operands, *op.operands[:1]]


def without_properties(op: Operation) -> None:
    op.properties.clear()


def with_another_property(op: Operation) -> None:
    op.properties["something"] = StringAttr("else")


def with_wrong_properties(op: Operation) -> None:
    for name in op.properties:
        op.properties[name] = IntegerAttr(1, i64)


def moved_behind_the_end(op: Operation) -> None:
    block = op.parent
    assert block is not None
    op.detach()
    block.add_op(op)


def detached(op: Operation) -> None:
    op.detach()


CHANGES = [
    without_operands,
    with_one_more_operand,
    without_properties,
    with_another_property,
    with_wrong_properties,
    moved_behind_the_end,
    detached,
]


def _is_refused(check: Callable[[ModuleOp], None], number: int, change: Callable) -> bool:
    changed = module()
    change(list(changed.walk())[number])
    try:
        check(changed)
    except Exception:
        return True
    return False


def _numbers() -> Iterator[int]:
    return iter(range(1, len(list(module().walk()))))


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_every_operation_is_checked(change: Callable) -> None:
    theirs = [_is_refused(lambda m: m.verify(), number, change) for number in _numbers()]
    ours = [_is_refused(verify_module, number, change) for number in _numbers()]
    assert ours == theirs
    assert any(theirs) or change is detached


def test_a_right_module_passes() -> None:
    verify_module(module())
