"""What the walk over blocks leaves to others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from xdsl.dialects.func import FuncOp

from ttl.diagnostics import Diagnostic
from ttl.dialects.ttl import PrintOp


class BlockUse(NamedTuple):
    """How kernels use their blocks, where that is no mistake."""

    # Kernels that misuse one on some paths, with what is wrong if nothing more is known.
    doubtful: Mapping[FuncOp, Diagnostic | None] = MappingProxyType({})
    warnings: Sequence[Diagnostic] = ()
    unset: Sequence[PrintOp] = ()  # of a block that holds no data yet


NOTHING_KNOWN = BlockUse()
