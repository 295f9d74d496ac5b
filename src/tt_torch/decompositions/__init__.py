"""Decomposes aten operations, in torch itself, before a graph is lowered.

A function has its operation's arguments. NotImplemented leaves the operation in the graph, where it
is rejected with its program line; LIMITS lists cases without a lowering.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from . import arithmetic, indexing, layers, ordering, pooling, random, sampling, statistics, windows

aten = torch.ops.aten
_MODULES = (
    arithmetic,
    indexing,
    layers,
    ordering,
    pooling,
    random,
    sampling,
    statistics,
    windows,
)
LIMITS: dict[Any, str] = {
    **indexing.LIMITS,
    **sampling.LIMITS,
    **statistics.LIMITS,
}


def decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the decompositions: torch's core set, without operations that are lowered directly."""
    table = _of_torch()
    table.update(layers.of_transformers())  # may be loaded at any time
    return table


@cache
def _of_torch() -> dict[Any, Callable[..., Any]]:
    composed = (
        aten._softmax,
        aten._safe_softmax,
        aten._log_softmax,
        aten.native_layer_norm,
        aten.native_group_norm,
        aten._native_batch_norm_legit,
        aten._native_batch_norm_legit_functional,
        aten._native_batch_norm_legit_no_training,
        aten.gelu,
        aten.silu,
        aten.leaky_relu,
        aten.elu,
        aten.hardtanh,
        aten.hardswish,
        aten.hardsigmoid,
        aten.softplus,
        aten.isinf,
        aten.linalg_vector_norm,
        aten.tril,
        aten.triu,
        aten.rsub,
        aten.lerp,
        aten.addcmul,
        aten.addcdiv,
        aten.addmv,
        aten.tril_indices,
        aten.triu_indices,
        aten.grid_sampler_2d,
        aten.upsample_bicubic2d,
        aten.upsample_trilinear3d,
        aten.isin,
        aten.frexp,
        aten.ldexp,
        aten.stack,
        aten.mse_loss,
        aten.upsample_bilinear2d,
        aten.upsample_nearest2d,
        # and their gradients
        aten._softmax_backward_data,
        aten._log_softmax_backward_data,
        aten.native_layer_norm_backward,
        aten.native_group_norm_backward,
        aten.native_batch_norm_backward,
        aten.gelu_backward,
        aten.silu_backward,
        aten.leaky_relu_backward,
        aten.elu_backward,
        aten.hardswish_backward,
        aten.tanh_backward,
        aten.sigmoid_backward,
        aten.threshold_backward,
        aten.mse_loss_backward,
    )
    table = dict(torch._decomp.core_aten_decompositions())
    table.update(torch._decomp.get_decompositions(composed))
    for op in (aten.uniform.default, aten.randn.default, aten.randn_like.default):
        table.pop(op, None)  # lowered directly
    for module in _MODULES:
        table |= module.DECOMPOSITIONS
    return table
