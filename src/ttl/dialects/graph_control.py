"""Loops and branches of graphs, in ttir and ttnn: functions that the host calls."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, FlatSymbolRefAttr, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import attr_def, var_operand_def, var_result_def
from xdsl.utils.exceptions import VerifyException

from .graph import CallOp


class ControlOp(CallOp, ABC):
    """`functions` are names of private functions of the module."""

    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    functions = attr_def(ArrayAttr[FlatSymbolRefAttr])

    @classmethod
    def of(cls, inputs: Sequence[SSAValue], types: Sequence[Attribute], names: list[str]) -> Any:
        return cls.create(
            operands=list(inputs),
            result_types=list(types),
            attributes={"functions": ArrayAttr([SymbolRefAttr(name) for name in names])},
        )

    @property
    def names(self) -> list[str]:
        return [each.root_reference.data for each in self.functions]


class WhileBase(ControlOp, ABC):
    """While the first function gives true for the inputs, the second gives new ones for those that
    come first; the inputs after them stay as they are.
    """

    def verify_(self) -> None:
        if len(self.functions) != 2:
            raise VerifyException(f"{self.name} has a condition and a body")
        given, found = ([each.type for each in values] for values in (self.inputs, self.outputs))
        if given[: len(found)] != found:
            raise VerifyException(f"{self.name} gives what it was given, changed")


class CaseBase(ControlOp, ABC):
    """The function whose number the first input is, of the other inputs; the last one for a number
    that none has.
    """

    def verify_(self) -> None:
        if not self.functions or not self.inputs:
            raise VerifyException(f"{self.name} has a number and one branch or more")
