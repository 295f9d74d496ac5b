"""Keys and values of tokens, written to a cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ttl import ttnn
from ttl.diagnostics import UsageError

DEVICE = ttnn.open_device(device_id=0)
RANDOM = np.random.default_rng(0)


def make(*shape: int) -> tuple[ttnn.Tensor, np.ndarray[Any, Any]]:
    values = RANDOM.standard_normal(shape, np.float32)
    return ttnn.from_numpy(values, device=DEVICE), values


def test_a_token_of_every_user_at_one_position() -> None:
    cache, expected = make(4, 2, 64, 16)
    token, values = make(1, 2, 3, 16)
    assert ttnn.kv_cache.update_cache_for_token_(cache, token, 7, batch_offset=1) is cache
    for user in range(3):
        expected[1 + user, :, 7] = values[0, :, user]
    assert np.array_equal(ttnn.to_numpy(cache), expected)


def test_the_tokens_of_one_user() -> None:
    cache, expected = make(4, 2, 64, 16)
    tokens, values = make(1, 2, 40, 16)
    ttnn.kv_cache.fill_cache_for_user_(cache, tokens, 3)
    expected[3, :, :40] = values[0]
    assert np.array_equal(ttnn.to_numpy(cache), expected)


@pytest.mark.parametrize("in_tensor", [False, True])
def test_each_user_has_a_position_of_its_own(in_tensor: bool) -> None:
    cache, expected = make(3, 1, 64, 16)
    tokens, values = make(1, 3, 32, 16)
    positions = np.array([5, -1, 63], np.int32)
    given = {"update_idxs_tensor": ttnn.from_numpy(positions, device=DEVICE)} if in_tensor else {}
    given = given or {"update_idxs": positions.tolist()}
    ttnn.experimental.paged_update_cache(cache, tokens, **given)
    expected[0, 0, 5], expected[2, 0, 63] = values[0, 0, 0], values[0, 2, 0]
    assert np.array_equal(ttnn.to_numpy(cache), expected)


CACHE, TOKEN = make(2, 1, 64, 16)[0], make(1, 2, 1, 16)[0]
ONE_HEAD = make(1, 1, 2, 16)[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ttnn.kv_cache.update_cache_for_token_(CACHE, ONE_HEAD, 64), "update_index is 64"),
        (
            lambda: ttnn.kv_cache.update_cache_for_token_(CACHE, ONE_HEAD, 0, 1),
            "the last user is 2",
        ),
        (lambda: ttnn.kv_cache.fill_cache_for_user_(CACHE, ONE_HEAD, 2), "batch_index is 2"),
        (lambda: ttnn.kv_cache.fill_cache_for_user_(CACHE, make(1, 16)[0], 0), r"shape \(1, 16\)"),
        (lambda: ttnn.kv_cache.fill_cache_for_user_(CACHE, TOKEN, 0), r"tokens of shape \(1, 2"),
        (
            lambda: ttnn.experimental.paged_update_cache(CACHE, make(1, 3, 1, 16)[0]),
            "the last user is 2",
        ),
        (lambda: ttnn.experimental.paged_update_cache(CACHE, TOKEN), "0 positions for the tokens"),
        (
            lambda: ttnn.experimental.paged_update_cache(CACHE, TOKEN, update_idxs=[0, 64]),
            "a position is 64: the cache has 64",
        ),
    ],
)
def test_what_does_not_fit_points_at_the_call(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        call()
    primary = caught.value.diagnostics[0].primary
    assert primary is not None and primary.span.file == __file__
