"""Softmax and normalization along the innermost dimension, computed in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array
from ttl.semantics.types import TILE_SIZE

from ..faults import wrong
from .arguments import Number, dimension, shapes_differ
from .run import NORMALIZING, operation


@operation(
    floats=True,
    tiles=("input_tensor",),
    options=("memory_config", "compute_kernel_config", "numeric_stable"),
)
def softmax(input_tensor: Array, dim: int = -1) -> Any:
    """exp(x) divided by its sum along a dimension."""
    axis = dimension(dim, input_tensor.ndim)
    wide = input_tensor.astype(np.float64)
    if wide.size == 0:
        return wide
    powers = np.exp(wide - np.max(wide, axis=axis, keepdims=True))  # avoids overflow
    return powers / np.sum(powers, axis=axis, keepdims=True)


@operation(floats=True, options=(*NORMALIZING, "recip_tensor"))
def layer_norm(
    input_tensor: Array,
    *,
    epsilon: Number = 1e-12,
    weight: Array | None = None,
    bias: Array | None = None,
    residual_input_tensor: Array | None = None,
) -> Any:
    """Rows with mean 0 and variance 1, times weight, plus bias."""
    rows = _rows(input_tensor, residual_input_tensor, "ttnn.layer_norm()")
    centred = rows - np.mean(rows, axis=-1, keepdims=True)
    return _scaled(centred, centred, epsilon, weight, bias)


@operation(floats=True, options=NORMALIZING, tiles=("input_tensor",))
def rms_norm(
    input_tensor: Array,
    *,
    epsilon: Number = 1e-12,
    weight: Array | None = None,
    bias: Array | None = None,
    residual_input_tensor: Array | None = None,
) -> Any:
    """Rows divided by the root of the mean of their squares, times weight, plus bias."""
    rows = _rows(input_tensor, residual_input_tensor, "ttnn.rms_norm()")
    return _scaled(rows, rows, epsilon, weight, bias)


def _rows(x: Array, residual: Array | None, call: str) -> Any:
    if x.ndim == 0 or x.shape[-1] == 0:
        raise wrong(f"{call} of a tensor without rows: its shape is {x.shape}", "")
    if residual is not None and residual.shape != x.shape:
        raise shapes_differ(
            f"{call} of a tensor of shape {x.shape} with a residual of shape {residual.shape}",
            "the residual has the shape of the input",
        )
    wide = x.astype(np.float64)
    return wide if residual is None else wide + residual.astype(np.float64)


def _scaled(
    rows: Any, deviations: Any, epsilon: Number, weight: Array | None, bias: Array | None
) -> Any:
    spread = np.mean(np.square(deviations), axis=-1, keepdims=True)
    scaled = rows / np.sqrt(spread + epsilon)
    if weight is not None:
        scaled = scaled * _per_column(weight, rows.shape[-1], "weight")
    return scaled if bias is None else scaled + _per_column(bias, rows.shape[-1], "bias")


def _per_column(values: Array, columns: int, name: str) -> Any:
    """Return a row of (N,), (1, N), or the chip's row-major form (.., N / 32, 32).

    The chip only reads the first row of a row of tiles, (32, N).
    """
    if values.shape[-2:] == (TILE_SIZE, columns) and values.size == TILE_SIZE * columns:
        values = values.reshape(TILE_SIZE, columns)[0]
    if values.size != columns:
        raise shapes_differ(
            f"{name} has shape {values.shape}, the rows of the input {columns} elements",
            f"give {name} one value for each column: shape (1, {columns})",
        )
    return values.reshape(columns).astype(np.float64)
