"""Convolutions; like in the real ttnn, all arguments are keywords."""

from __future__ import annotations

from typing import Any

from ttl.semantics.dtypes import Array
from ttl.semantics.windows import Window, convolve, convolve_transposed

from ..compute_config import Conv2dConfig
from ..faults import refused, wrong
from .activations import activate
from .arguments import Sizes, shapes_differ
from .run import operation

_OPTIONS = ("dtype", "memory_config", "layout")


@operation(options=_OPTIONS, on_host=True)
def _conv2d(
    image: Array, weight: Array, bias: Array | None, sizes: Sizes, window: Any, activation: Any
) -> Any:
    return _flat(convolve(image.reshape(sizes), weight, window), bias, activation)


@operation(options=_OPTIONS, on_host=True)
def _conv_transpose2d(
    image: Array,
    weight: Array,
    bias: Array | None,
    sizes: Sizes,
    window: Any,
    activation: Any,
    more: Any = (0, 0),
) -> Any:
    found = convolve_transposed(image.reshape(sizes), weight, window, tuple(more))
    return _flat(found, bias, activation)


def _flat(found: Any, bias: Any, activation: Any) -> Any:
    """Return (1, 1, batch * height * width, channels), like the real ttnn."""
    flat = found.reshape(1, 1, -1, found.shape[-1])
    if bias is not None:
        flat = flat + bias.reshape(1, 1, 1, -1)
    return activate(flat, () if activation is None else (activation,))


def conv2d(
    *,
    input_tensor: Any,
    weight_tensor: Any,
    device: Any,
    in_channels: int,
    out_channels: int,
    batch_size: int,
    input_height: int,
    input_width: int,
    kernel_size: Any,
    stride: Any = (1, 1),
    padding: Any = (0, 0),
    dilation: Any = (1, 1),
    groups: int = 1,
    dtype: Any = None,
    bias_tensor: Any = None,
    conv_config: Conv2dConfig | None = None,
    compute_config: Any = None,
    memory_config: Any = None,
    slice_config: Any = None,
    return_output_dim: bool = False,
    return_weights_and_bias: bool = False,
) -> Any:
    """Images (batch, height, width, channels) with weights (out, in, height, width).

    The result is (1, 1, batch * height * width, out).
    """
    window = Window(tuple(stride), _edges(padding), tuple(dilation), groups)
    sizes = (batch_size, input_height, input_width, in_channels)
    wanted = (out_channels, in_channels // groups, *kernel_size)
    _check(input_tensor, weight_tensor, sizes, wanted, "ttnn.conv2d()")
    config = conv_config or Conv2dConfig()
    result = _conv2d(
        input_tensor,
        weight_tensor,
        bias_tensor,
        sizes,
        window,
        config.activation,
        dtype=dtype,
        memory_config=memory_config,
        layout=config.output_layout,
    )
    outs = window.outs(sizes[1:3], kernel_size)
    prepared = (weight_tensor, bias_tensor)
    return _answer(result, outs, prepared, return_output_dim, return_weights_and_bias)


def conv_transpose2d(
    *,
    input_tensor: Any,
    weight_tensor: Any,
    device: Any,
    in_channels: int,
    out_channels: int,
    batch_size: int,
    input_height: int,
    input_width: int,
    kernel_size: Any,
    stride: Any = (1, 1),
    padding: Any = (0, 0),
    output_padding: Any = (0, 0),
    dilation: Any = (1, 1),
    groups: int = 1,
    dtype: Any = None,
    bias_tensor: Any = None,
    conv_config: Conv2dConfig | None = None,
    compute_config: Any = None,
    memory_config: Any = None,
    dram_slice_config: Any = None,
    mirror_kernel: bool = True,
    return_output_dim: bool = False,
    return_weights_and_bias: bool = False,
) -> Any:
    """Images (batch, height, width, channels) with weights (in, out, height, width)."""
    if not mirror_kernel:
        raise wrong("a kernel that is mirrored already", "leave mirror_kernel=True")
    edges = _edges(padding)
    window = Window(tuple(stride), edges, tuple(dilation), groups)
    sizes = (batch_size, input_height, input_width, in_channels)
    wanted = (in_channels, out_channels // groups, *kernel_size)
    _check(input_tensor, weight_tensor, sizes, wanted, "ttnn.conv_transpose2d()")
    config = conv_config or Conv2dConfig()
    result = _conv_transpose2d(
        input_tensor,
        weight_tensor,
        bias_tensor,
        sizes,
        window,
        config.activation,
        output_padding,
        dtype=dtype,
        memory_config=memory_config,
        layout=config.output_layout,
    )
    around = (sum(edges[:2]), sum(edges[2:]))
    outs = tuple(
        (sizes[n + 1] - 1) * stride[n]
        - around[n]
        + dilation[n] * (kernel_size[n] - 1)
        + 1
        + output_padding[n]
        for n in range(2)
    )
    prepared = (weight_tensor, bias_tensor)
    return _answer(result, outs, prepared, return_output_dim, return_weights_and_bias)


def _edges(padding: Any) -> tuple[int, int, int, int]:
    """Return (top, bottom, left, right), also from (height, width)."""
    if len(padding) == 4:
        top, bottom, left, right = padding
        return top, bottom, left, right
    height, width = padding
    return height, height, width, width


def _check(image: Any, weight: Any, sizes: Any, wanted: Any, call: str) -> None:
    found, own = tuple(image.shape), tuple(weight.shape)
    batch, height, width, channels = sizes
    if found not in (sizes, (1, 1, batch * height * width, channels)):
        raise refused(
            shapes_differ(
                f"{call} of an image of shape {found}, not {sizes}",
                "give its sizes as batch, height, width and channels",
            )
        )
    if own != wanted:
        raise refused(
            shapes_differ(
                f"{call} with weights of shape {own}, not {wanted}",
                "give weights as PyTorch has them",
            )
        )


def _answer(result: Any, outs: Any, prepared: Any, has_outs: bool, has_prepared: bool) -> Any:
    more = [outs] * has_outs + [prepared] * has_prepared
    return (result, *more) if more else result
