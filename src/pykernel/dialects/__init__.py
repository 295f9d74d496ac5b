"""The d2m dialect, and the dialects between it and kernels."""

from __future__ import annotations

from xdsl.ir import Dialect


def make_dialects() -> list[Dialect]:
    """Make d2m, ttcore with the operations that only d2m uses, and upstream dialects."""
    from xdsl.dialects.linalg import Linalg
    from xdsl.dialects.memref import MemRef
    from xdsl.dialects.tensor import Tensor

    from ttl.dialects.ttcore import TTCore

    from . import d2m, ttmetal

    globals_ = [d2m.GlobalOp, d2m.GetGlobalOp]
    ttcore = Dialect("ttcore", [*TTCore.operations, *globals_], list(TTCore.attributes))
    return [ttcore, d2m.make_dialect(), ttmetal.make_dialect(), Linalg, MemRef, Tensor]
