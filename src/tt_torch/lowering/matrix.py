"""Lowers matrix products and reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from tt_torch.decompositions.arithmetic import highest, lowest, wide
from ttgraph.dialects import stablehlo

from .emitter import Emitter, Lowering, lowers, overloads

aten = torch.ops.aten


@lowers(*overloads("matmul"))
def matrix_product(emitter: Emitter, x: SSAValue, y: SSAValue) -> SSAValue:
    """Multiply the last two dimensions; leading dimensions are batches."""
    rank = len(stablehlo.shape_of(x))
    batch = list(range(rank - 2))
    result = TensorType(stablehlo.element_of(x), emitter.shape)
    contracted = ([rank - 1], [rank - 2])
    return emitter.add(stablehlo.DotGeneralOp.of(x, y, (batch, batch), contracted, result))


# Reductions ---------------------------------------------------------------------------------------


def _reduction(reducer: str, start: Callable[[torch.dtype], Any]) -> Lowering:
    """Make a lowering of a reduction; sums and products of short floats are computed in f32."""

    def lower(
        emitter: Emitter, x: SSAValue, dims: Any = None, keepdim: bool = False, dtype: Any = None
    ) -> SSAValue:
        wanted = emitter.dtype
        inner = wide(wanted) if reducer in ("add", "multiply") else wanted
        value = emitter.convert(x, inner)
        found = emitter.reduce(reducer, value, _dims(x, dims), start(inner), keepdim)
        return emitter.convert(found, wanted)

    return lower


def _dims(x: SSAValue, given: Any) -> list[int]:
    rank = len(stablehlo.shape_of(x))
    chosen = [given] if isinstance(given, int) else list(given or range(rank))
    return sorted({dim % rank for dim in chosen}) if rank else []


lowers(*overloads("sum"))(_reduction("add", lambda dtype: 0))
lowers(*overloads("prod"))(_reduction("multiply", lambda dtype: 1))
lowers(*overloads("max"))(_reduction("maximum", lowest))
lowers(*overloads("min"))(_reduction("minimum", highest))
lowers(aten.any.default, aten.any.dim, aten.any.dims)(_reduction("or", lambda dtype: False))
