"""Results of the walk over blocks, for other checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from xdsl.dialects.func import FuncOp

from ttl.diagnostics import Diagnostic
from ttl.dialects.ttl import PrintOp


class BlockUse(NamedTuple):
    """The kernels' use of their blocks, as far as it is no mistake."""

    # Kernels that misuse a block on some paths, with the mistake, if exact_states cannot decide.
    doubtful: Mapping[FuncOp, Diagnostic | None] = MappingProxyType({})
    warnings: Sequence[Diagnostic] = ()
    unset: Sequence[PrintOp] = ()  # prints of blocks without data


NOTHING_KNOWN = BlockUse()
