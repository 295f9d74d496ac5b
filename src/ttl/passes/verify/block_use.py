"""What the walk over blocks leaves to others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.func import FuncOp

from ttl.diagnostics import Diagnostic
from ttl.dialects.ttl import PrintOp


class BlockUse(NamedTuple):
    """How kernels use their blocks, where that is no mistake."""

    doubtful: Sequence[FuncOp] = ()  # kernels that misuse one on some paths
    warnings: Sequence[Diagnostic] = ()
    unset: Sequence[PrintOp] = ()  # of a block that holds no data yet


NOTHING_KNOWN = BlockUse()
