"""ttnn.conv2d and ttnn.conv_transpose2d with the arguments of the real ones, judged by torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import ttnn

import ttl

CASES = {
    "padded": {"kernel": (3, 2), "stride": (2, 1), "padding": (1, 2)},
    "four edges": {"kernel": (3, 3), "padding": (1, 2, 0, 1)},
    "apart": {"kernel": (2, 3), "dilation": (2, 1)},
    "groups": {"kernel": (3, 3), "groups": 2},
    "each channel": {"kernel": (3, 3), "groups": 4, "padding": (1, 1)},
    "one by one": {"kernel": (1, 1)},
}


@pytest.fixture
def device():
    return ttnn.open_device(device_id=0)


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def convolved(device, image, weight, bias=None, call=ttnn.conv2d, **options):
    """The call, with an image (batch, channels, height, width)."""
    made = [
        ttl.from_numpy(each, dtype=ttnn.float32, device=device)
        for each in (np.ascontiguousarray(image.transpose(0, 2, 3, 1)), weight)
    ]
    batch, channels, height, width = image.shape
    is_transposed = call is ttnn.conv_transpose2d
    outs = weight.shape[1] * options.get("groups", 1) if is_transposed else len(weight)
    if bias is not None:
        bias = ttl.from_numpy(bias.reshape(1, 1, 1, -1), dtype=ttnn.float32, device=device)
    return call(
        input_tensor=made[0],
        weight_tensor=made[1],
        device=device,
        in_channels=channels,
        out_channels=outs,
        batch_size=batch,
        input_height=height,
        input_width=width,
        kernel_size=weight.shape[2:],
        bias_tensor=bias,
        **options,
    )


def as_images(tensor, batch, sizes):
    found = ttl.to_numpy(tensor)
    return found.reshape(batch, *sizes, -1).transpose(0, 3, 1, 2)


@pytest.mark.parametrize("name", CASES)
def test_conv2d(name, device):
    options = dict(CASES[name])
    kernel, groups = options.pop("kernel"), options.get("groups", 1)
    image, weight, bias = numbers(2, 4, 7, 6), numbers(8, 4 // groups, *kernel), numbers(8)
    result, sizes = convolved(device, image, weight, bias, return_output_dim=True, **options)
    assert tuple(result.shape) == (1, 1, 2 * sizes[0] * sizes[1], 8)
    given = torch.from_numpy(image)
    edges = options.pop("padding", (0, 0))
    if len(edges) == 4:
        given = F.pad(given, (*edges[2:], *edges[:2]))
        edges = (0, 0)
    wanted = F.conv2d(given, *map(torch.from_numpy, (weight, bias)), padding=edges, **options)
    np.testing.assert_allclose(as_images(result, 2, sizes), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2])
def test_conv_transpose2d(groups, device):
    image, weight = numbers(2, 4, 5, 6), numbers(4, 3, 3, 2)
    options = {"stride": (2, 3), "padding": (1, 0), "output_padding": (1, 0), "groups": groups}
    result, sizes = convolved(
        device, image, weight, call=ttnn.conv_transpose2d, return_output_dim=True, **options
    )
    wanted = F.conv_transpose2d(*map(torch.from_numpy, (image, weight)), **options)
    np.testing.assert_allclose(as_images(result, 2, sizes), wanted, rtol=1e-4, atol=1e-5)


def test_what_else_it_gives_and_refuses(device):
    image, weight = numbers(1, 4, 5, 5), numbers(6, 4, 3, 3)
    relu = ttnn.Conv2dConfig(activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU))
    result, sizes, (prepared, bias) = convolved(
        device,
        image,
        weight,
        conv_config=relu,
        return_output_dim=True,
        return_weights_and_bias=True,
    )
    assert sizes == (3, 3) and prepared.shape == (6, 4, 3, 3) and bias is None
    assert ttl.to_numpy(result).min() == 0 and result.layout is ttnn.TILE_LAYOUT
    with pytest.raises(RuntimeError, match=r"with weights of shape \(6, 4, 3, 3\), not \(6, 2"):
        convolved(device, image, weight, groups=2)
    with pytest.raises(TypeError):
        ttnn.conv2d(result, result)


def test_bits(device):
    a = ttl.from_numpy(np.array([[12, -7]], np.int32), dtype=ttnn.int32, device=device)
    a = ttnn.to_layout(a, ttnn.TILE_LAYOUT)
    assert ttl.to_numpy(ttnn.bitwise_and(a, 10)).tolist() == [[8, 8]]
    assert ttl.to_numpy(ttnn.bitwise_not(a)).tolist() == [[-13, 6]]
    assert ttl.to_numpy(ttnn.bitwise_left_shift(a, 40)).tolist() == [[0, 0]]
    assert ttl.to_numpy(ttnn.bitwise_right_shift(a, 1)).tolist() == [[6, -4]]
    assert ttl.to_numpy(ttnn.bitwise_right_shift(a, 40)).tolist() == [[0, -1]]
    with pytest.raises(RuntimeError, match="bits of numbers that are not whole"):
        ttnn.bitwise_and(ttnn.typecast(a, ttnn.float32), ttnn.typecast(a, ttnn.float32))
