"""emitc: the part of MLIR's dialect that kernels need, under the same names.

xDSL has a part of it too; importing that costs more than defining the little that is used.
"""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Container

from xdsl.dialects.builtin import ArrayAttr, FunctionType, StringAttr, UnitAttr
from xdsl.ir import Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
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


@irdl_attr_definition
class OpaqueType(ParametrizedAttribute, TypeAttribute):
    """A C++ type by its name."""

    name = "emitc.opaque"
    value: StringAttr = param_def()


@irdl_attr_definition
class OpaqueAttr(ParametrizedAttribute):
    """C++ text."""

    name = "emitc.opaque"
    value: StringAttr = param_def()


@irdl_op_definition
class CallOpaqueOp(IRDLOperation):
    """A call of a C++ function."""

    name = "emitc.call_opaque"
    callee = prop_def(StringAttr)
    template_args = opt_prop_def(ArrayAttr)
    call_args = var_operand_def()
    res = var_result_def()
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$callee `(` $call_args `)` attr-dict `:` functional-type(operands, results)"
    )


@irdl_op_definition
class FileOp(IRDLOperation):
    """One C++ file."""

    name = "emitc.file"
    id = prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator())


@irdl_op_definition
class IncludeOp(IRDLOperation):
    name = "emitc.include"
    include = prop_def(StringAttr)
    is_standard_include = opt_prop_def(UnitAttr)


@irdl_op_definition
class FuncOp(IRDLOperation):
    name = "emitc.func"
    sym_name = prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    body = region_def("single_block")


@irdl_op_definition
class ReturnOp(IRDLOperation):
    name = "emitc.return"
    traits = traits_def(IsTerminator())


@irdl_op_definition
class VerbatimOp(IRDLOperation):
    name = "emitc.verbatim"
    value = prop_def(StringAttr)


@irdl_op_definition
class LiteralOp(IRDLOperation):
    """Text that stands for a value wherever it is used."""

    name = "emitc.literal"
    value = prop_def(StringAttr)
    result = result_def()


class BinaryOp(IRDLOperation, ABC):
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()


@irdl_op_definition
class AddOp(BinaryOp):
    name = "emitc.add"


@irdl_op_definition
class SubOp(BinaryOp):
    name = "emitc.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    name = "emitc.mul"


SIGNS: dict[type[IRDLOperation], str] = {AddOp: "+", SubOp: "-", MulOp: "*"}


@irdl_op_definition
class ExpressionOp(IRDLOperation):
    """Several operations as one C++ expression; `do_not_inline` gives it a variable."""

    name = "emitc.expression"
    values = var_operand_def()
    do_not_inline = opt_prop_def(UnitAttr)
    body = region_def("single_block")
    result = result_def()


@irdl_op_definition
class ForOp(IRDLOperation):
    name = "emitc.for"
    lower = operand_def()
    upper = operand_def()
    step = operand_def()
    body = region_def("single_block")


@irdl_op_definition
class YieldOp(IRDLOperation):
    name = "emitc.yield"
    value = opt_operand_def()
    traits = traits_def(IsTerminator())


# C++ keywords that are names in Python.
_KEYWORDS = re.findall(
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


def unique_identifier(name: str, taken: Container[str]) -> str:
    """A C++ identifier like the Python name, and not one of `taken`."""
    identifier = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    if identifier.isupper():  # a macro, perhaps
        identifier += "_v"
    found, number = identifier, 1
    while found in taken or found in _KEYWORDS:
        number += 1
        found = f"{identifier}_{number}"
    return found


EmitC = Dialect(
    "emitc",
    [
        FileOp,
        IncludeOp,
        FuncOp,
        ReturnOp,
        VerbatimOp,
        LiteralOp,
        AddOp,
        SubOp,
        MulOp,
        ExpressionOp,
        ForOp,
        YieldOp,
        CallOpaqueOp,
    ],
    [OpaqueType, OpaqueAttr],
)
