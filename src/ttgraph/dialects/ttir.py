"""ttir: graphs of operations on whole tensors, which have no memory layout before ttnn-layout."""

from __future__ import annotations

from xdsl.ir import Dialect

from .graph import CaseBase, ConstantBase, TTLangBase, WhileBase, math_classes

MATH = math_classes("ttir")


class ConstantOp(ConstantBase):
    name = "ttir.constant"


class WhileOp(WhileBase):
    name = "ttir.while"


class CaseOp(CaseBase):
    name = "ttir.case"


class TTLangOp(TTLangBase):
    name = "ttir.tt_lang_op"


def make_dialect() -> Dialect:
    return Dialect("ttir", [*MATH.values(), ConstantOp, TTLangOp, WhileOp, CaseOp], [])
