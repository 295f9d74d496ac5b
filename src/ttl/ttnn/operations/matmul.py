"""Matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array
from ttl.semantics.ops import MATMUL

from ..faults import wrong
from .activations import activate
from .arguments import shapes_differ
from .run import operation


@operation()
def matmul(
    input_tensor_a: Array,
    input_tensor_b: Array,
    transpose_a: bool = False,
    transpose_b: bool = False,
    activation: str | None = None,
) -> Any:
    """The matrix product of the innermost two dimensions; the others broadcast."""
    operands = _oriented(input_tensor_a, transpose_a), _oriented(input_tensor_b, transpose_b)
    return _activated(_product(*operands), activation)


@operation()
def linear(
    input_tensor_a: Array,
    input_tensor_b: Array,
    bias: Array | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    activation: str | None = None,
) -> Any:
    """The matrix product plus a bias, and an activation of it: rounded once, at the end."""
    operands = _oriented(input_tensor_a, transpose_a), _oriented(input_tensor_b, transpose_b)
    return _activated(_with_bias(_product(*operands), bias), activation)


def _activated(product: Any, activation: str | None) -> Any:
    return product if activation is None else activate(product, (activation,))


def _oriented(matrix: Array, transpose: bool) -> Array:
    if not transpose:
        return matrix
    if matrix.ndim < 2:
        raise wrong(
            f"a tensor of shape {matrix.shape} has no rows and columns to exchange",
            "leave transpose_a and transpose_b out",
        )
    return np.swapaxes(matrix, -1, -2)


def _product(a: Array, b: Array) -> Any:
    if a.ndim == 0 or b.ndim == 0:
        raise shapes_differ("a matrix product of a single number", "use ttnn.multiply()")
    rows = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != rows:
        raise shapes_differ(
            f"{a.shape} @ {b.shape}: the left tensor has {a.shape[-1]} columns, the right one "
            f"{rows} rows",
            "a @ b needs a of shape (.., M, K) and b of shape (.., K, N)",
        )
    _check_leading(a, b)
    return MATMUL.meaning(a, b)


def _check_leading(a: Array, b: Array) -> None:
    try:
        np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise shapes_differ(
            f"{a.shape} @ {b.shape}: the leading sizes do not broadcast",
            "the sizes in front of the last two are equal, or one of them is 1 or missing",
        ) from None


def _with_bias(product: Any, bias: Array | None) -> Any:
    if bias is None:
        return product
    try:
        fits = np.broadcast_shapes(product.shape, bias.shape) == product.shape
    except ValueError:
        fits = False
    if not fits:
        raise shapes_differ(
            f"a bias of shape {bias.shape} cannot be added to a product of shape {product.shape}",
            "a bias has a value for each column: shape (1, N)",
        )
    return product + bias
