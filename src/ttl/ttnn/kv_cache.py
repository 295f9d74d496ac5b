"""`ttnn.kv_cache`: keys and values of earlier tokens, kept in a tensor that each token changes."""

from __future__ import annotations

from typing import Any

from ttl.semantics.dtypes import Array

from .faults import wrong
from .operations.arguments import shapes_differ
from .operations.run import operation

__all__ = ["fill_cache_for_user_", "update_cache_for_token_"]


@operation(group="kv_cache.", in_place=True, options=("compute_kernel_config",))
def update_cache_for_token_(
    cache: Array, input: Array, update_index: int, batch_offset: int = 0
) -> Any:
    """A token of (1, heads, users, size) into a cache of (users, heads, length, size)."""
    check_fits(cache, input, input.shape[1:2], "ttnn.kv_cache.update_cache_for_token_()")
    users = input.shape[2]
    check_position(update_index, cache.shape[2], "update_index")
    check_position(batch_offset + users - 1, cache.shape[0], "the last user")
    result = cache.copy()
    result[batch_offset : batch_offset + users, :, update_index] = input[0].swapaxes(0, 1)
    return result


@operation(group="kv_cache.", in_place=True, options=())
def fill_cache_for_user_(
    cache: Array, input: Array, batch_index: int, *, update_idx: int = 0
) -> Any:
    """Tokens of (1, heads, length, size) into the cache of a user, from `update_idx` on."""
    check_fits(cache, input, input.shape[1:2], "ttnn.kv_cache.fill_cache_for_user_()")
    check_position(batch_index, cache.shape[0], "batch_index")
    end = update_idx + input.shape[2]
    check_position(end - 1, cache.shape[2], "the last position")
    result = cache.copy()
    result[batch_index, :, update_idx:end] = input[0]
    return result


def check_fits(cache: Array, tokens: Array, heads: tuple[int, ...], call: str) -> None:
    is_four = cache.ndim == tokens.ndim == 4 and tokens.shape[0] == 1
    if not is_four or (*heads, tokens.shape[3]) != (cache.shape[1], cache.shape[3]):
        raise shapes_differ(
            f"{call} of a cache of shape {cache.shape} with tokens of shape {tokens.shape}",
            "give tensors of four dimensions, with as many heads of one size; the first dimension "
            "of the tokens is 1",
        )


def check_position(position: int, size: int, name: str) -> None:
    if not 0 <= position < size:
        raise wrong(f"{name} is {position}: the cache has {size}", f"use 0 to {size - 1}")
