"""emitc: the part of MLIR's dialect that kernels need, under the same names.

xDSL has part of it too, but importing that costs more than defining the few operations used.
"""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Container
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, FunctionType, IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_attr_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    param_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsTerminator, NoTerminator

from .building import QuickOperation, integer
from .definitions import OperationTable, define_operation, dialect_of


@irdl_attr_definition
class OpaqueType(ParametrizedAttribute, TypeAttribute):
    """A C++ type by its name."""

    name = "emitc.opaque"
    value: StringAttr = param_def()


@irdl_attr_definition
class LValueType(ParametrizedAttribute, TypeAttribute):
    """A variable that can be assigned to."""

    name = "emitc.lvalue"
    value: Attribute = param_def()


@irdl_attr_definition
class OpaqueAttr(ParametrizedAttribute):
    """C++ text."""

    name = "emitc.opaque"
    value: StringAttr = param_def()


class CallOpaqueOp(QuickOperation):
    """A call of a C++ function."""

    name = "emitc.call_opaque"
    callee = prop_def(StringAttr)
    template_args = opt_prop_def(ArrayAttr)
    call_args = var_operand_def()
    res = var_result_def()
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$callee `(` $call_args `)` attr-dict `:` functional-type(operands, results)"


class FileOp(QuickOperation):
    """One C++ file."""

    name = "emitc.file"
    id = prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator())


class IncludeOp(QuickOperation):
    name = "emitc.include"
    include = prop_def(StringAttr)
    is_standard_include = opt_prop_def(UnitAttr)


class FuncOp(QuickOperation):
    name = "emitc.func"
    sym_name = prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    body = region_def("single_block")


class ReturnOp(QuickOperation):
    name = "emitc.return"
    traits = traits_def(IsTerminator())


class VerbatimOp(QuickOperation):
    name = "emitc.verbatim"
    value = prop_def(StringAttr)


# Text that replaces a value in every use.
LiteralOp = define_operation("emitc.literal", value=prop_def(StringAttr), result=result_def())


class BinaryOp(QuickOperation, ABC):
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()


class UnaryOp(QuickOperation, ABC):
    operand = operand_def()
    result = result_def()


def _operator(name: str) -> Any:
    return define_operation(f"emitc.{name}", UnaryOp if name in UNARY_SIGNS else BinaryOp)


# By name: sign and binding strength.
OPERATOR_SIGNS = {
    "div": ("/", 10),
    "rem": ("%", 10),
    "bitwise_left_shift": ("<<", 8),
    "bitwise_right_shift": (">>", 8),
    "bitwise_and": ("&", 5),
    "bitwise_xor": ("^", 4),
    "bitwise_or": ("|", 3),
    "logical_and": ("&&", 2),
    "logical_or": ("||", 1),
}
UNARY_SIGNS = {"unary_minus": "-", "logical_not": "!"}
AddOp, SubOp, MulOp = (_operator(name) for name in ("add", "sub", "mul"))
OPERATORS = OperationTable((*OPERATOR_SIGNS, *UNARY_SIGNS), _operator)  # few kernels need them
ALWAYS = {"emitc.add": ("+", 9), "emitc.sub": ("-", 9), "emitc.mul": ("*", 10)}
SIGNS = ALWAYS | {f"emitc.{name}": sign for name, sign in OPERATOR_SIGNS.items()}
UNARY_BINDING = 11
COMPARISON_BINDING = {"==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7}
PREDICATES = ("==", "!=", "<", "<=", ">", ">=")


class CmpOp(QuickOperation):
    name = "emitc.cmp"
    predicate = prop_def(IntegerAttr)
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    @property
    def sign(self) -> str:
        return PREDICATES[self.predicate.value.data]

    @staticmethod
    def predicate_of(sign: str) -> IntegerAttr:
        return integer(PREDICATES.index(sign))


ConditionalOp = define_operation(
    "emitc.conditional",
    condition=operand_def(),
    true_value=operand_def(),
    false_value=operand_def(),
    result=result_def(),
)
CastOp = define_operation("emitc.cast", source=operand_def(), dest=result_def())


class VariableOp(QuickOperation):
    """A variable without a value; the first `emitc.assign` gives it one."""

    name = "emitc.variable"
    value = prop_def(OpaqueAttr)
    result = result_def(LValueType)


class AssignOp(QuickOperation):
    name = "emitc.assign"
    var = operand_def(LValueType)
    value = operand_def()


# A variable's value. Our printer writes the variable's name: no assignment precedes a use.
LoadOp = define_operation("emitc.load", operand=operand_def(LValueType), result=result_def())


class SubscriptOp(QuickOperation):
    """An item of an array that verbatim text declares."""

    name = "emitc.subscript"
    value = operand_def()
    index = operand_def()
    result = result_def(LValueType)


class IfOp(QuickOperation):
    name = "emitc.if"
    condition = operand_def()
    then_region = region_def("single_block")
    else_region = region_def()


class WhileOp(QuickOperation):
    """A loop that tests before the body, which MLIR lacks. The first region yields the test."""

    name = "emitc.while"
    test = region_def("single_block")
    body = region_def("single_block")


class ExpressionOp(QuickOperation):
    """Several operations as one C++ expression; `do_not_inline` gives it a variable."""

    name = "emitc.expression"
    values = var_operand_def()
    do_not_inline = opt_prop_def(UnitAttr)
    body = region_def("single_block")
    result = result_def()


class ForOp(QuickOperation):
    name = "emitc.for"
    lower = operand_def()
    upper = operand_def()
    step = operand_def()
    body = region_def("single_block")


YieldOp = define_operation(
    "emitc.yield", value=opt_operand_def(), traits=traits_def(IsTerminator())
)

# C++ keywords that are names in Python.
_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
        alignas alignof and asm auto bool break case catch char class const constexpr
        continue decltype default delete do double else enum explicit export extern false
        float for friend goto if inline int long mutable namespace new noexcept not nullptr
        operator or private protected public register return short signed sizeof static
        struct switch template this throw true try typedef typeid typename union unsigned
        using virtual void volatile while xor
        """,
    )
)


def unique_identifier(name: str, taken: Container[str]) -> str:
    """Return a C++ identifier like the Python name that is not among `taken`."""
    identifier = name
    if not (name.isascii() and name.isidentifier()):
        identifier = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    if identifier.isupper():  # may be a macro
        identifier += "_v"
    found, number = identifier, 1
    while found in taken or found in _KEYWORDS:
        number += 1
        found = f"{identifier}_{number}"
    return found


def make_dialect() -> Dialect:
    """Return the dialect with all its operations, for reading IR text."""
    return dialect_of("emitc", globals(), calls=OPERATORS.all())
