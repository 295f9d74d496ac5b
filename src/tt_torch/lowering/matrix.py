"""Matrix products and reductions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import fx
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ttl.dialects import stablehlo

from .elementwise import operand, result_dtype
from .emitter import Emitter, dtype_of, lowers

aten = torch.ops.aten


def matrix_product(emitter: Emitter, x: SSAValue, y: SSAValue, shape: Sequence[int]) -> SSAValue:
    """The last two dimensions are multiplied, those before are paired."""
    rank = len(stablehlo.shape_of(x))
    batch = list(range(rank - 2))
    result = TensorType(stablehlo.element_of(x), [int(size) for size in shape])
    contracted = ([rank - 1], [rank - 2])
    return emitter.add(stablehlo.DotGeneralOp.of(x, y, (batch, batch), contracted, result))


@lowers(aten.mm.default, aten.bmm.default)
def mm(emitter: Emitter, node: fx.Node, x: SSAValue, y: SSAValue) -> SSAValue:
    return matrix_product(emitter, x, y, node.meta["val"].shape)


@lowers(aten.addmm.default)
def addmm(
    emitter: Emitter,
    node: fx.Node,
    bias: SSAValue,
    x: SSAValue,
    y: SSAValue,
    beta: Any = 1,
    alpha: Any = 1,
) -> SSAValue:
    dtype = result_dtype(node)
    product = matrix_product(emitter, x, y, node.meta["val"].shape)
    if alpha != 1:
        product = emitter.binary("multiply", product, operand(emitter, alpha, node, dtype))
    if beta == 0:
        return product
    added = operand(emitter, bias, node, dtype)
    if beta != 1:
        added = emitter.binary("multiply", added, operand(emitter, beta, node, dtype))
    return emitter.binary("add", product, added)


# Reductions ---------------------------------------------------------------------------------------


def _dims(x: SSAValue, given: Any) -> list[int]:
    rank = len(stablehlo.shape_of(x))
    chosen = [given] if isinstance(given, int) else list(given or range(rank))
    return sorted({dim % rank for dim in chosen}) if rank else []


def _wide(emitter: Emitter, x: SSAValue, dtype: torch.dtype) -> SSAValue:
    """Sums of short floats are sums of f32, rounded once, as torch computes them."""
    short = dtype in (torch.bfloat16, torch.float16)
    return emitter.convert(x, torch.float32 if short else dtype)


def _sum(emitter: Emitter, x: SSAValue, dims: Any, keep: bool, dtype: torch.dtype) -> SSAValue:
    wide = _wide(emitter, x, dtype)
    return emitter.reduce("add", wide, _dims(x, dims), 0, keep)


@lowers(aten.sum.dim_IntList)
def sum_(
    emitter: Emitter,
    node: fx.Node,
    x: SSAValue,
    dims: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> SSAValue:
    wanted = result_dtype(node)
    return emitter.convert(_sum(emitter, x, dims, keepdim, wanted), wanted)


@lowers(aten.mean.dim, aten.mean.default)
def mean(
    emitter: Emitter,
    node: fx.Node,
    x: SSAValue,
    dims: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> SSAValue:
    wanted = result_dtype(node)
    total = _sum(emitter, x, dims, keepdim, wanted)
    count = prod(stablehlo.shape_of(x)[dim] for dim in _dims(x, dims))
    divisor = emitter.full(stablehlo.shape_of(total), count, dtype_of(total))
    return emitter.convert(emitter.binary("divide", total, divisor), wanted)


@lowers(aten.var_mean.correction)
def var_mean(
    emitter: Emitter,
    node: fx.Node,
    x: SSAValue,
    dims: Any = None,
    correction: Any = 1,
    keepdim: bool = False,
) -> list[SSAValue]:
    dtype = dtype_of(x)
    wide, shape = _wide(emitter, x, dtype), stablehlo.shape_of(x)
    chosen = _dims(x, dims)
    count = prod(shape[dim] for dim in chosen)

    def divided(value: SSAValue, by: float) -> SSAValue:
        divisor = emitter.full(stablehlo.shape_of(value), by, dtype_of(value))
        return emitter.binary("divide", value, divisor)

    mean = divided(emitter.reduce("add", wide, chosen, 0, keep=True), count)
    distance = emitter.binary("subtract", wide, emitter.broadcast(mean, shape))
    squares = emitter.binary("multiply", distance, distance)
    total = emitter.reduce("add", squares, chosen, 0, keepdim)
    degrees = count - (1 if correction is None else correction)
    found = divided(total, max(0.0, degrees)), mean
    left = stablehlo.shape_of(total)
    return [emitter.convert(emitter.reshape(each, left), dtype) for each in found]


@lowers(aten.var_mean.dim)
def var_mean_dim(
    emitter: Emitter,
    node: fx.Node,
    x: SSAValue,
    dims: Any,
    unbiased: bool = True,
    keepdim: bool = False,
) -> list[SSAValue]:
    return var_mean(emitter, node, x, dims, int(unbiased), keepdim)  # type: ignore[return-value]


@lowers(aten.var.correction)
def var(emitter: Emitter, node: fx.Node, x: SSAValue, *args: Any, **kwargs: Any) -> SSAValue:
    return var_mean(emitter, node, x, *args, **kwargs)[0]  # type: ignore[index]


@lowers(aten.var.dim)
def var_dim(emitter: Emitter, node: fx.Node, x: SSAValue, *args: Any, **kwargs: Any) -> SSAValue:
    return var_mean_dim(emitter, node, x, *args, **kwargs)[0]  # type: ignore[index]


@lowers(aten.std.correction)
def std(emitter: Emitter, node: fx.Node, x: SSAValue, *args: Any, **kwargs: Any) -> SSAValue:
    return emitter.unary("sqrt", var(emitter, node, x, *args, **kwargs))  # type: ignore[arg-type]


@lowers(aten.prod.dim_int, aten.prod.default)
def prod_(
    emitter: Emitter,
    node: fx.Node,
    x: SSAValue,
    dims: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> SSAValue:
    wanted = result_dtype(node)
    chosen = None if dims is None else [dims]
    wide = _wide(emitter, x, wanted)
    product = emitter.reduce("multiply", wide, _dims(x, chosen), 1, keepdim)
    return emitter.convert(product, wanted)


def lowest(dtype: torch.dtype) -> Any:
    if dtype is torch.bool:
        return False
    return -float("inf") if dtype.is_floating_point else torch.iinfo(dtype).min


def highest(dtype: torch.dtype) -> Any:
    if dtype is torch.bool:
        return True
    return float("inf") if dtype.is_floating_point else torch.iinfo(dtype).max


@lowers(aten.amax.default, aten.max.default)
def amax(
    emitter: Emitter, node: fx.Node, x: SSAValue, dims: Any = None, keepdim: bool = False
) -> SSAValue:
    return emitter.reduce("maximum", x, _dims(x, dims), lowest(dtype_of(x)), keepdim)


@lowers(aten.amin.default, aten.min.default)
def amin(
    emitter: Emitter, node: fx.Node, x: SSAValue, dims: Any = None, keepdim: bool = False
) -> SSAValue:
    return emitter.reduce("minimum", x, _dims(x, dims), highest(dtype_of(x)), keepdim)


@lowers(aten.any.default, aten.any.dim, aten.any.dims)
def any_(
    emitter: Emitter, node: fx.Node, x: SSAValue, dims: Any = None, keepdim: bool = False
) -> SSAValue:
    return emitter.reduce("or", emitter.convert(x, torch.bool), _dims(x, dims), False, keepdim)
