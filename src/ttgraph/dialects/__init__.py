"""Dialects of graphs, and a context that knows all of ours."""

from __future__ import annotations

from xdsl.context import Context

import pykernel.dialects
import ttl.dialects


def make_context() -> Context:
    from . import stablehlo, ttir, ttnn

    graphs = [*stablehlo.make_dialects(), ttir.make_dialect(), ttnn.make_dialect()]
    return ttl.dialects.make_context([*pykernel.dialects.make_dialects(), *graphs])
