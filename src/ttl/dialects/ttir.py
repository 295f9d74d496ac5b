"""ttir: a graph of operations on whole tensors, without a place in memory until ttnn-layout."""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition

from .graph import ConstantBase, TTLangBase, math_classes
from .graph_control import CaseBase, WhileBase

MATH = math_classes("ttir")


@irdl_op_definition
class ConstantOp(ConstantBase):
    name = "ttir.constant"


@irdl_op_definition
class WhileOp(WhileBase):
    name = "ttir.while"


@irdl_op_definition
class CaseOp(CaseBase):
    name = "ttir.case"


@irdl_op_definition
class TTLangOp(TTLangBase):
    name = "ttir.tt_lang_op"


def make_dialect() -> Dialect:
    return Dialect("ttir", [*MATH.values(), ConstantOp, TTLangOp, WhileOp, CaseOp], [])
