"""arith-to-d2m-tile-ops: arithmetic on tiles becomes the tile operations of the chip.

Other frontends' graphs have arith inside their linalg. A comparison compares the difference with
zero.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from pykernel.dialects import d2m
from ttl.dialects.foreign.kept import KeptOp
from ttl.dialects.ttcore import TileType
from ttl.passes.module_pass import Maker, not_yet, replace_by

NAMES = {
    "arith.addf": "add",
    "arith.subf": "sub",
    "arith.mulf": "mul",
    "arith.divf": "div",
    "arith.negf": "neg",
}
COMPARISONS = {"oeq": "eqz", "one": "nez", "ogt": "gtz", "oge": "gez", "olt": "ltz", "ole": "lez"}


def apply(op: ModuleOp) -> None:
    for each in list(op.walk()):
        if isinstance(each, KeptOp) and all(isinstance(v.type, TileType) for v in each.operands):
            _convert(each)


def _convert(op: Operation) -> None:
    make = Maker.before(op)
    if op.name in NAMES:
        value = make.new(d2m.TILES[NAMES[op.name]], list(op.operands), op.results[0].type)
    elif op.name == "arith.cmpf":
        difference = make.new(d2m.TILES["sub"], list(op.operands), op.operands[0].type)
        value = make.new(d2m.TILES[_comparison(op)], [difference], op.results[0].type)
    else:
        return
    replace_by(op, value)


def _comparison(op: Operation) -> str:
    form = op.properties.get("form")
    name = form.data.split(",")[0].strip() if isinstance(form, StringAttr) else "of this form"
    if name not in COMPARISONS:
        raise not_yet(f"the comparison {name} of tiles", op, f"use {', '.join(COMPARISONS)}")
    return COMPARISONS[name]
