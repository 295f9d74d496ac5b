"""Matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array
from ttl.semantics.ops import MATMUL

from ..compute_config import UnaryWithParam
from ..faults import wrong
from .activations import activate
from .arguments import Number, shapes_differ
from .run import operation

_MATRICES = (
    "memory_config",
    "dtype",
    "program_config",
    "compute_kernel_config",
    "core_grid",
    "output_tile",
    "optional_output_tensor",
)
_PRODUCT = (*_MATRICES, "global_cb", "sub_device_id", "prefetcher_pipes")
_OPERANDS = ("input_tensor_a", "input_tensor_b")
_Activation = str | UnaryWithParam | None


def _check_floats(arguments: dict[str, Any]) -> None:
    if not all(arguments[name].dtype.is_float for name in _OPERANDS):
        raise wrong("a matrix product of integers", "convert with ttnn.typecast() first")


@operation(options=_PRODUCT, tiles=_OPERANDS, check=_check_floats)
def matmul(
    input_tensor_a: Array,
    input_tensor_b: Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    activation: _Activation = None,
) -> Any:
    """The matrix product of the innermost two dimensions; the others broadcast.

    Where the second tensor has more dimensions, its leading sizes are 1.
    """
    operands = _oriented(input_tensor_a, transpose_a), _oriented(input_tensor_b, transpose_b)
    return _activated(_product(*operands), activation)


@operation(options=(*_PRODUCT, "in0_column_offset"), tiles=_OPERANDS, check=_check_floats)
def linear(
    input_tensor_a: Array,
    input_tensor_b: Array,
    *,
    bias: Array | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    activation: _Activation = None,
) -> Any:
    """The matrix product plus a bias, and an activation of it: rounded once, at the end."""
    operands = _oriented(input_tensor_a, transpose_a), _oriented(input_tensor_b, transpose_b)
    return _activated(_with_bias(_product(*operands), bias), activation)


@operation(options=_MATRICES, tiles=("mat1_tensor", "mat2_tensor"))
def addmm(
    input_tensor: Array,
    mat1_tensor: Array,
    mat2_tensor: Array,
    *,
    alpha: Number = 1.0,
    beta: Number = 1.0,
) -> Any:
    """beta * input + alpha * (mat1 @ mat2)."""
    return beta * input_tensor + alpha * _product(mat1_tensor, mat2_tensor)


def _activated(product: Any, activation: _Activation) -> Any:
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
    if 1 < a.ndim < b.ndim:
        a = a.reshape((1,) * (b.ndim - a.ndim) + a.shape)
    return MATMUL.meaning(a, b)


def _check_leading(a: Array, b: Array) -> None:
    try:
        more = len(b.shape[:-2]) - len(a.shape[:-2])
        if any(size != 1 for size in b.shape[: max(0, more)]):
            raise ValueError
        np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise shapes_differ(
            f"{a.shape} @ {b.shape}: the leading sizes do not broadcast",
            "the sizes in front of the last two are equal or 1; what the right tensor has in front "
            "of those of the left one is 1",
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
