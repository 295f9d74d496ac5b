"""Events of pipes and semaphores for the executor's trace: they leave no C++ behind.

What is marked must not make a difference to the C++ either. So a place is an operand only where it
is the variable of a loop; a value of a semaphore is used by the call beside its mark anyway.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import BlockArgument, SSAValue

from ttl.dialects import ttkernel

from ..module_pass import Maker, constant_of

UNKNOWN = -1


def mark_pipe(
    make: Maker, kind: str, net: str = "", place: SSAValue | None = None, size: int = 0
) -> None:
    known = None if place is None else constant_of(place)
    operands: list[SSAValue] = [place] if isinstance(place, BlockArgument) else []
    mark(make, kind, net, *operands, place=UNKNOWN if known is None else known, size=size)


def mark(
    make: Maker, kind: str, subject: str, *operands: SSAValue, place: int = 0, size: int = 0
) -> None:
    properties = {
        "kind": StringAttr(kind),
        "subject": StringAttr(subject),
        "place": IntegerAttr(place, i64),
        "size": IntegerAttr(size, i64),
    }
    make.add(ttkernel.MarkOp.create(operands=operands, properties=properties))
