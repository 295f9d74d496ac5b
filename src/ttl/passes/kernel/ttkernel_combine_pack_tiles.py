"""ttkernel-combine-pack-tiles: pack tiles that are packed in order by one call.

pack_block continues after its last tile, and starts again when the block is pushed: all packs of a
block become such calls, even of one tile.
"""

from __future__ import annotations

from xdsl.dialects import affine, arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from ttl.dialects.building import walk

from ..module_pass import Maker, constant_of, erase, kernels
from .kernel_calls import call


def apply(op: ModuleOp) -> None:
    for kernel in kernels(op, "compute"):
        packs = [each for each in walk(kernel) if each.name == "ttkernel.pack_tile"]
        for pack in packs:
            if "in_order" in pack.attributes:
                _combine(pack)


def _combine(pack: Operation) -> None:
    register, buffer, _ = pack.operands
    loop = pack.parent_op()
    first = _first_of(register, loop) if isinstance(loop, affine.ForOp) else None
    make = Maker.before(pack if first is None else loop, pack)  # type: ignore[arg-type]
    if first is None:
        call(make, "pack_block", register, buffer, make.index(1))
        erase(pack)
    else:
        assert isinstance(loop, affine.ForOp)
        call(make, "pack_block", make.index(first), buffer, make.index(trip_count(loop)))
        erase(loop)


def _first_of(register: SSAValue, loop: affine.ForOp) -> int | None:
    """Return the first register a loop over tiles packs; None if it does not go through them."""
    variable, offset = register, 0
    if isinstance(register.owner, arith.AddiOp):
        variable, offset = register.owner.lhs, constant_of(register.owner.rhs) or 0
    return offset if variable is loop.body.block.args[0] else None


def trip_count(loop: affine.ForOp) -> int:
    (most,) = loop.upperBoundMap.data.results
    assert isinstance(most, AffineConstantExpr)
    return most.value
