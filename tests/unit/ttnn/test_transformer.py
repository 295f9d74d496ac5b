"""The operations of attention, compared with torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from ttl import ttnn
from ttl.diagnostics import UsageError

DEVICE = ttnn.open_device(device_id=0)


def make(*shape: int, seed: int = 0) -> tuple[ttnn.Tensor, torch.Tensor]:
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return ttnn.from_torch(
        values, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE
    ), values


Q, Q_VALUES = make(2, 4, 40, 16)
K, K_VALUES = make(2, 4, 40, 16, seed=1)
V, V_VALUES = make(2, 4, 40, 16, seed=2)
MASK, MASK_VALUES = make(1, 1, 40, 40, seed=3)


def close(result: ttnn.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(ttnn.to_torch(result), expected, rtol=1e-5, atol=1e-6)


def attention(*tensors: Any, **options: Any) -> Any:
    return ttnn.transformer.scaled_dot_product_attention(*tensors, **options)


def test_attention_is_causal_unless_it_says_otherwise() -> None:
    close(
        attention(Q, K, V),
        F.scaled_dot_product_attention(Q_VALUES, K_VALUES, V_VALUES, is_causal=True),
    )
    close(
        attention(Q, K, V, is_causal=False),
        F.scaled_dot_product_attention(Q_VALUES, K_VALUES, V_VALUES),
    )


def test_attention_with_a_mask_and_a_scale() -> None:
    expected = F.scaled_dot_product_attention(
        Q_VALUES, K_VALUES, V_VALUES, attn_mask=MASK_VALUES, scale=0.3
    )
    close(attention(Q, K, V, attn_mask=MASK, is_causal=False, scale=0.3), expected)


def test_heads_of_the_query_share_heads_of_key_and_value() -> None:
    few_k, few_v = (
        ttnn.from_torch(x[:, :2], layout=ttnn.TILE_LAYOUT, device=DEVICE)
        for x in (K_VALUES, V_VALUES)
    )
    all_k, all_v = (x[:, :2].repeat_interleave(2, 1) for x in (K_VALUES, V_VALUES))
    expected = F.scaled_dot_product_attention(Q_VALUES, all_k, all_v, is_causal=True)
    close(attention(Q, few_k, few_v, memory_config=ttnn.DRAM_MEMORY_CONFIG), expected)


def test_the_softmax_of_attention_also_in_place() -> None:
    scores, values = make(2, 4, 40, 40)
    expected = torch.softmax(values / 4 + MASK_VALUES, -1)
    softmax = ttnn.transformer.attention_softmax
    close(softmax(scores, head_size=16, attention_mask=MASK), expected)
    in_place = ttnn.transformer.attention_softmax_
    assert in_place(scores, head_size=16, attention_mask=MASK) is scores
    close(scores, expected)


def test_heads_are_split_and_joined() -> None:
    x, values = make(2, 40, 3 * 64)
    q, k, v = ttnn.transformer.split_query_key_value_and_split_heads(x, num_heads=4)
    expected = [part.reshape(2, 40, 4, 16).transpose(1, 2) for part in values.split(64, -1)]
    close(q, expected[0])
    close(k, expected[1].transpose(-1, -2))
    close(v, expected[2])
    close(ttnn.transformer.concatenate_heads(v), values[..., 128:])


def test_key_and_value_have_a_tensor_and_fewer_heads_of_their_own() -> None:
    x, values = make(1, 32, 64)
    kv, kv_values = make(1, 32, 64, seed=1)
    q, k, v = ttnn.transformer.split_query_key_value_and_split_heads(
        x, kv, num_heads=4, num_kv_heads=2, transpose_key=False
    )
    close(q, values.reshape(1, 32, 4, 16).transpose(1, 2))
    close(k, kv_values[..., :32].reshape(1, 32, 2, 16).transpose(1, 2))
    assert v.shape == (1, 2, 32, 16)


def test_the_module_can_be_imported() -> None:
    import ttnn as imported
    import ttnn.transformer as module

    assert module is imported.transformer and "transformer" in dir(ttnn)
    assert {"attention_softmax_", "concatenate_heads"} <= set(module.__all__)


@pytest.mark.parametrize(
    ("make_call", "message"),
    [
        (lambda: attention(Q, K, V, attn_mask=MASK), "is_causal=True, the default, and attn_mask"),
        (lambda: attention(Q, K, MASK), r"a value of \(1, 1, 40, 40\)"),
        (lambda: attention(Q, K, V, attn_mask=MASK[:, :, :8], is_causal=False), r"a mask of shape"),
        (lambda: attention(Q), r"transformer.scaled_dot_product_attention\(\) was called wrongly"),
        (lambda: ttnn.transformer.concatenate_heads(MASK[0]), r"of shape \(1, 40, 40\)"),
        (
            lambda: ttnn.transformer.split_query_key_value_and_split_heads(MASK[0], num_heads=3),
            "3 heads of the query and 3 of key and value do not divide",
        ),
        (
            lambda: ttnn.transformer.split_query_key_value_and_split_heads(
                MASK[0], make(1, 8, 80)[0], num_heads=4
            ),
            r"of shape \(1, 40, 40\) and \(1, 8, 80\)",
        ),
        (
            lambda: ttnn.transformer.split_query_key_value_and_split_heads(MASK[0], num_heads=0),
            "0 heads of the query",
        ),
    ],
)
def test_wrong_calls_point_at_the_call(make_call: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        make_call()
    primary = caught.value.diagnostics[0].primary
    assert primary is not None and primary.span.file == __file__
