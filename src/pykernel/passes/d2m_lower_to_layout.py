"""d2m-lower-to-layout: tensors of the host are divided into tiles, those of the device joined."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from pykernel.dialects import d2m
from ttl.passes.module_pass import Maker, replace_by


def apply(op: ModuleOp) -> None:
    for to_layout in [o for o in op.walk() if isinstance(o, d2m.ToLayoutOp)]:
        goes_in = d2m.layout_of(to_layout.result.type) is not None
        kind = d2m.TilizeOp if goes_in else d2m.UntilizeOp
        operands, result, make = to_layout.operands, to_layout.result, Maker.before(to_layout)
        replace_by(to_layout, make.new(kind, operands, result.type, result.name_hint))
