"""Kernel operations of the ttl dialect other than blocks and transfers: nodes, arguments, numbers,
prints and marks.
"""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import Float64Type, IndexType, IntegerAttr, StringAttr, UnitAttr, i1
from xdsl.ir import Operation
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, var_operand_def

from ..building import QuickOperation
from ..definitions import define_operation

__all__ = [
    "AssertOp",
    "FloatDivisionOp",
    "FloorDivideOp",
    "NodeIndexOp",
    "PrintOp",
    "RemainderOp",
    "RuntimeArgOp",
    "SignpostOp",
    "is_scalar_math",
]


class RuntimeArgOp(QuickOperation):
    """A number that differs between nodes: runtime argument `index` of the kernel."""

    name = "ttl.runtime_arg"
    index = prop_def(IntegerAttr)
    arg_name = prop_def(StringAttr)
    result = result_def()


class NodeIndexOp(QuickOperation):
    """Coordinate `dimension` of the node: 0 is x, 1 is y."""

    name = "ttl.node_index"
    dimension = prop_def(IntegerAttr)
    result = result_def(IndexType)


class SignpostOp(QuickOperation):
    """The start or the end of a region that the profiler measures."""

    name = "ttl.signpost"
    region_name = prop_def(StringAttr)
    is_end = opt_prop_def(UnitAttr)


class PrintOp(QuickOperation):
    """print(): a format with scalars, and after `before` the object that `shows` describes.

    The object is among the values, after the scalars of `before`: a block, a dataflow buffer, or a
    tensor, which is followed by a buffer for its pages.
    """

    name = "ttl.print"
    before = prop_def(StringAttr)
    after = prop_def(StringAttr)
    shows = opt_prop_def(StringAttr)
    position = prop_def(IntegerAttr)
    num_pages = prop_def(IntegerAttr)
    heading = opt_prop_def(StringAttr)
    end = opt_prop_def(StringAttr)  # of the text, if not a newline
    thread = opt_prop_def(StringAttr)  # a compute kernel's, if the program names one
    unset = opt_prop_def(UnitAttr)  # the block holds no data yet
    values = var_operand_def()


class AssertOp(QuickOperation):
    """An assertion; if the condition is false, the kernel `error`, as in "raised IndexError".

    With `code` and `help`, it breaks a rule of the language: `error` is the message.
    """

    name = "ttl.assert"
    condition = operand_def(i1)
    error = prop_def(StringAttr)
    code = opt_prop_def(StringAttr)
    help = opt_prop_def(StringAttr)


class FloatDivisionOp(QuickOperation, ABC):
    """Division of floats as in Python: the quotient is rounded down."""

    lhs = operand_def(Float64Type)
    rhs = operand_def(Float64Type)
    result = result_def(Float64Type)


FloorDivideOp = define_operation("ttl.floor_divide", FloatDivisionOp)
# The remainder of that division; it has the divisor's sign.
RemainderOp = define_operation("ttl.remainder", FloatDivisionOp)


def is_scalar_math(op: Operation) -> bool:
    """Does it only compute numbers from numbers?"""
    return op.name.startswith("arith.") or isinstance(op, (NodeIndexOp, FloatDivisionOp))
