"""Convolutions of arrays: windows as columns of a matrix, and one matrix product.

Images have their channels last, as in ttnn. Moving channels first makes columns from rows of the
image, and the weights already are a matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .dtypes import Array


@dataclass(frozen=True, slots=True)
class Window:
    """How weights move over an image; `padding` is (top, bottom, left, right)."""

    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1

    def outs(self, sizes: Sequence[int], kernel: Sequence[int]) -> tuple[int, int]:
        """Return how many positions the window has in an image, by height and width."""
        edges = (sum(self.padding[:2]), sum(self.padding[2:]))
        height, width = (
            (sizes[n] + edges[n] - self.dilation[n] * (kernel[n] - 1) - 1) // self.stride[n] + 1
            for n in range(2)
        )
        return height, width


def convolve(image: Array, weight: Array, window: Window) -> Array:
    """Convolve (batch, height, width, in) with (out, in / groups, height, width)."""
    planes = np.ascontiguousarray(image.transpose(0, 3, 1, 2))
    height, width = window.outs(planes.shape[2:], weight.shape[2:])
    top, bottom, left, right = window.padding
    if any(window.padding):
        planes = np.pad(planes, ((0, 0), (0, 0), (top, bottom), (left, right)))
    if weight.shape[1] == 1 and window.groups > 1:
        found = _by_channel(planes, weight, window, height, width)
    else:
        found = _by_products(planes, weight, window, height, width)
    return found.transpose(0, 2, 3, 1)


def _by_products(planes: Array, weight: Array, window: Window, height: int, width: int) -> Array:
    batch, channels = planes.shape[:2]
    outs, groups = weight.shape[0], window.groups
    inner = channels // groups * weight.shape[2] * weight.shape[3]
    views = _views(planes, weight.shape[2:], window, height, width)
    columns = views.reshape(batch, groups, inner, height * width)
    rows = weight.reshape(groups, outs // groups, inner)
    found: Array = np.matmul(rows, columns)
    return found.reshape(batch, outs, height, width)


def _views(planes: Array, kernel: Sequence[int], window: Window, height: int, width: int) -> Array:
    """View as (batch, channels, kernel height, kernel width, height, width), without a copy."""
    batch, channels = planes.shape[:2]
    outer, inner, down, right = planes.strides
    (step, across), (apart, beside) = window.stride, window.dilation
    return np.lib.stride_tricks.as_strided(
        planes,
        (batch, channels, *kernel, height, width),
        (outer, inner, down * apart, right * beside, down * step, right * across),
        writeable=False,
    )


def _by_channel(planes: Array, weight: Array, window: Window, height: int, width: int) -> Array:
    """Convolve channels that have their own weights, one window position at a time."""
    batch, channels = planes.shape[:2]
    many = weight.shape[0] // channels
    views = _views(planes, weight.shape[2:], window, height, width)
    own = weight.reshape(channels, many, *weight.shape[2:])
    found = np.zeros((batch, channels, many, height, width), planes.dtype)
    for row, column in np.ndindex(*weight.shape[2:]):
        found += views[:, :, None, row, column] * own[:, :, row, column, None, None]
    return found.reshape(batch, channels * many, height, width)


def convolve_transposed(
    image: Array, weight: Array, window: Window, more: tuple[int, int] = (0, 0)
) -> Array:
    """Compute the gradient of a convolution: every element of the image writes a window.

    Takes (batch, height, width, in) and (in, out / groups, height, width). `more` counts the
    result's additional rows and columns at its ends.
    """
    planes = image.transpose(0, 3, 1, 2)
    batch, channels, rows, columns = planes.shape
    groups, outs, kernel = window.groups, weight.shape[1], weight.shape[2:]
    matrix = weight.reshape(groups, channels // groups, outs * kernel[0] * kernel[1])
    given = planes.reshape(batch, groups, channels // groups, rows * columns)
    parts = np.matmul(matrix.swapaxes(1, 2), given)
    parts = parts.reshape(batch, groups * outs, *kernel, rows, columns)
    (step, across), (apart, beside) = window.stride, window.dilation
    height = (rows - 1) * step + apart * (kernel[0] - 1) + 1 + more[0]
    width = (columns - 1) * across + beside * (kernel[1] - 1) + 1 + more[1]
    found = np.zeros((batch, groups * outs, height, width), parts.dtype)
    for row, column in np.ndindex(*kernel):
        down, right = row * apart, column * beside
        ends = (down + (rows - 1) * step + 1, right + (columns - 1) * across + 1)
        found[:, :, down : ends[0] : step, right : ends[1] : across] += parts[:, :, row, column]
    top, bottom, left, right = window.padding
    return found[:, :, top : height - bottom, left : width - right].transpose(0, 2, 3, 1)
