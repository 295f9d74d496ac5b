"""`ttnn.experimental`: as much of it as programs mix with their kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array

from .faults import wrong
from .kv_cache import check_fits, check_position
from .operations.arguments import Sizes
from .operations.run import operation

__all__ = ["paged_update_cache"]

# Taken as far as nothing depends on them: there are no pages here.
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
