"""The check of a finished module finds what xDSL's own check finds."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Dialect, Operation
from xdsl.irdl import ParsePropInAttrDict
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from ttl.dialects import emitc, ttkernel
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
    assert all(our or not their for our, their in zip(ours, theirs, strict=True))
    assert any(theirs) or change is detached
    assert ours == theirs or change in (detached, moved_behind_the_end)


def test_a_value_is_made_before_it_is_used() -> None:
    late = module()
    first = next(op for op in late.walk() if isinstance(op, emitc.LiteralOp))
    moved = first.next_op
    assert moved is not None
    first.detach()
    assert moved.next_op is not None and moved.next_op.parent is not None
    moved.next_op.parent.insert_op_after(first, moved.next_op)
    late.verify()
    with pytest.raises(VerifyException, match=r"emitc\.add uses a value that is not made"):
        verify_module(late)


def test_a_value_ends_with_the_block_it_is_made_in() -> None:
    used = module()
    inner = next(op for op in used.walk() if isinstance(op.parent_op(), emitc.ExpressionOp))
    *_, call = (op for op in used.walk() if isinstance(op, emitc.CallOpaqueOp))
    call.operands = inner.results
    used.verify()
    with pytest.raises(VerifyException, match=r"emitc\.call_opaque uses a value"):
        verify_module(used)


def test_definitions_look_at_classes_only() -> None:
    """Of operations that are alike in these, only one is looked at."""
    assert "def verify_" not in inspect.getsource(emitc)
    for op in (*emitc.make_dialect().operations, ttkernel.MarkOp):
        definition = op.get_irdl_definition()
        assert not definition.attributes
        assert all(isinstance(option, ParsePropInAttrDict) for option in definition.options)
        constraints = [
            *(each.constr for _, each in (*definition.operands, *definition.results)),
            *(each.constr for each in definition.properties.values()),
            *(each.entry_args for _, each in definition.regions),
        ]
        assert not [text for text in map(str, constraints) if not _OF_CLASSES.fullmatch(text)]


_OF_CLASSES = re.compile(
    r"(RangeLengthConstraint\(constraint=)?(RangeOf\(constr=)?(AnyAttr\(\)|BaseAttr\(\w+\))\)*"
    r"(, length=EqIntConstraint\(value=1\)\))?"
)


def test_a_right_module_passes() -> None:
    verify_module(module())
