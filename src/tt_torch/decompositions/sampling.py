"""Decomposes the gradients of grid_sample, which takes an image at positions between pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten
BILINEAR, NEAREST = 0, 1
BORDER, REFLECTION = 1, 2


def grid_sampler_2d_backward(
    grad: Tensor,
    x: Tensor,
    grid: Tensor,
    mode: int,
    padding: int,
    align_corners: bool,
    wanted: Sequence[bool],
) -> Any:
    """Return the gradients of the image and of the grid, from the corners of each position."""
    if mode not in (BILINEAR, NEAREST):
        return NotImplemented
    batch, channels, height, width = x.shape
    image, given = x.flatten(2), grad.flatten(2)
    across, along = (
        _place(grid[..., axis].flatten(1), size, padding, align_corners)
        for axis, size in ((0, width), (1, height))
    )
    of_image = torch.zeros_like(image)
    slopes = [torch.zeros_like(across[0]), torch.zeros_like(along[0])]
    for column, share, rise in _corners(across[0], mode):
        for row, other_share, other_rise in _corners(along[0], mode):
            is_inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
            inside = is_inside.to(x.dtype)
            place = torch.where(is_inside, row * width + column, 0).long()
            place = place[:, None].expand(batch, channels, place.shape[1])
            scale = (inside * share * other_share)[:, None]
            of_image = of_image.scatter_add(2, place, given * scale)
            dot = (image.gather(2, place) * given).sum(1) * inside
            slopes = [slopes[0] + dot * rise * other_share, slopes[1] + dot * share * other_rise]
    of_grid = torch.stack([slopes[0] * across[1], slopes[1] * along[1]], -1)
    return of_image.reshape(x.shape), of_grid.reshape(grid.shape)


def _corners(place: Tensor, mode: int) -> list[tuple[Tensor, Any, Any]]:
    """Return a position's pixels along one axis, their weights, and the weights' derivatives."""
    if mode == NEAREST:
        return [(place.round(), 1.0, 0.0)]
    first = place.floor()
    rest = place - first
    return [(first, 1 - rest, -1.0), (first + 1, rest, 1.0)]


def _place(x: Tensor, size: int, padding: int, align_corners: bool) -> tuple[Tensor, Any]:
    """Return the pixel position of a number from -1 to 1, and its derivative."""
    scale: Any = (size - 1) / 2 if align_corners else size / 2
    place = (x + 1) * scale - (0.0 if align_corners else 0.5)
    if padding == REFLECTION:
        place, sign = _reflected(place, size, align_corners)
        scale = scale * sign
    if padding in (BORDER, REFLECTION):
        is_free = (place > 0) & (place < size - 1)
        return place.clamp(0, size - 1), scale * is_free.to(x.dtype)
    return place, scale


def _reflected(place: Tensor, size: int, align_corners: bool) -> tuple[Tensor, Any]:
    """Reflect at the outermost pixels, or at their edges; also return the direction, 1 or -1."""
    low, span = (0.0, size - 1) if align_corners else (-0.5, size)
    if span == 0:
        return torch.zeros_like(place), 0.0
    away = place - low
    sign = torch.where(away < 0, -1.0, 1.0).to(place.dtype)
    away = away.abs()
    rest = away.fmod(span)
    is_back = (away / span).floor().fmod(2) == 1
    return torch.where(is_back, span - rest, rest) + low, torch.where(is_back, -sign, sign)


DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    aten.grid_sampler_2d_backward.default: grid_sampler_2d_backward,
}
LIMITS: dict[Any, str] = {
    aten.grid_sampler_2d_backward.default: "that is bicubic",
}
