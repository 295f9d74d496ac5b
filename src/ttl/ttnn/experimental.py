"""`ttnn.experimental`: as much of it as programs mix with their kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array
from ttl.semantics.types import TILE_SIZE

from .faults import wrong
from .kv_cache import check_fits, check_position
from .operations.arguments import Sizes, shapes_differ
from .operations.run import operation

__all__ = ["paged_update_cache", "rotary_embedding"]

# Accepted and ignored: there are no pages here.
PAGED = ("share_cache", "compute_kernel_config", "block_size", "num_kv_heads")


@operation(group="experimental.", in_place=True, own_types=True, options=PAGED)
def paged_update_cache(
    cache_tensor: Array,
    input_tensor: Array,
    *,
    update_idxs: Sizes = (),
    update_idxs_tensor: Array | None = None,
) -> Any:
    """A token of each user, (1, users, heads, size), into a cache of (users, heads, length, size).

    Each goes to a position of its own; a negative one leaves the user out.
    """
    heads = tuple(min(size, cache_tensor.shape[1]) for size in input_tensor.shape[2:3])
    check_fits(cache_tensor, input_tensor, heads, "ttnn.experimental.paged_update_cache()")
    check_position(input_tensor.shape[1] - 1, cache_tensor.shape[0], "the last user")
    given = update_idxs if update_idxs_tensor is None else update_idxs_tensor
    positions = [int(position) for position in np.ravel(given)]
    if len(positions) < input_tensor.shape[1]:
        raise wrong(
            f"{len(positions)} positions for the tokens of {input_tensor.shape[1]} users",
            "give update_idxs or update_idxs_tensor a position for each user",
        )
    result = cache_tensor.copy()
    for user in range(input_tensor.shape[1]):
        if positions[user] >= 0:
            check_position(positions[user], cache_tensor.shape[2], "a position")
            result[user, :, positions[user]] = input_tensor[0, user, : heads[0]]
    return result


def _check_rotary(arguments: dict[str, Any]) -> None:
    names = ("input_tensor", "cos_cache", "sin_cache")
    x, cosine, sine = (tuple(arguments[name].shape) for name in names)
    rows, columns = x[-2:]
    is_whole = columns % (2 * TILE_SIZE) == 0
    if not is_whole or cosine != sine or (*cosine[:2], cosine[-1]) != (1, 1, columns):
        raise shapes_differ(
            f"ttnn.experimental.rotary_embedding() of {x} with {cosine}",
            f"rows are a multiple of {2 * TILE_SIZE} wide, and cos and sin (1, 1, rows, {columns})",
        )
    if cosine[-2] < rows:
        raise shapes_differ(f"cos and sin for {cosine[-2]} rows of {rows}", "give more rows")


@operation(
    group="experimental.",
    floats=True,
    tiles=("input_tensor", "cos_cache", "sin_cache"),
    options=("memory_config", "compute_kernel_config"),
    check=_check_rotary,
)
def rotary_embedding(
    input_tensor: Array, cos_cache: Array, sin_cache: Array, token_index: int | None = None
) -> Any:
    """x * cos + (-second half of x, first half) * sin, for (batch, heads, rows, columns).

    With a token_index all rows are turned as that one.
    """
    x: Any = input_tensor
    rows, half = x.shape[-2], x.shape[-1] // 2
    taken = slice(0, rows) if token_index is None else slice(token_index, token_index + 1)
    cosine: Any = cos_cache[..., taken, :]
    turned: Any = np.concatenate((-x[..., half:], x[..., :half]), -1)
    return x * cosine + turned * sin_cache[..., taken, :]
