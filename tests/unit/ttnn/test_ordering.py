"""Elements in order and elements that indices name, compared with torch; rows of an embedding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from ttl import ttnn
from ttl.diagnostics import UsageError

DEVICE = ttnn.open_device(device_id=0)
TILES = {"layout": ttnn.TILE_LAYOUT, "device": DEVICE}

# Halves: there are equal elements in every row and column.
VALUES = torch.round(torch.randn(40, 70, generator=torch.Generator().manual_seed(0)) * 2) / 2
X = ttnn.from_torch(VALUES, dtype=ttnn.bfloat16, **TILES)


def indices(*rows: list[int]) -> tuple[ttnn.Tensor, torch.Tensor]:
    wanted = torch.tensor(rows)
    return ttnn.from_torch(wanted.int(), dtype=ttnn.uint32, **TILES), wanted


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("descending", [False, True])
def test_sort(dim: int, descending: bool) -> None:
    values, order = ttnn.sort(X, dim=dim, descending=descending, stable=True)
    expected = torch.sort(VALUES, dim=dim, descending=descending, stable=True)
    assert torch.equal(ttnn.to_torch(values).float(), expected[0])
    assert torch.equal(ttnn.to_torch(order).long(), expected[1])
    assert (values.dtype, order.dtype, order.layout) == (X.dtype, ttnn.uint16, ttnn.TILE_LAYOUT)


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("largest", [False, True])
def test_topk(dim: int, largest: bool) -> None:
    values, order = ttnn.topk(X, k=5, dim=dim, largest=largest)
    assert torch.equal(ttnn.to_torch(values).float(), torch.topk(VALUES, 5, dim, largest)[0])
    named = VALUES.gather(dim, ttnn.to_torch(order).long())
    assert torch.equal(ttnn.to_torch(values).float(), named)
    assert order.dtype is ttnn.uint16
    assert ttnn.topk(X)[0].shape == (40, 32)


def test_indices_that_need_more_than_16_bits() -> None:
    many = ttnn.arange(0, 65537, dtype=ttnn.int32, device=DEVICE)
    assert ttnn.topk(many, 1)[1].dtype is ttnn.uint32
    assert int(ttnn.to_torch(ttnn.topk(many, 1)[1])[0]) == 65536


def test_gather_and_scatter() -> None:
    there, wanted = indices([69, 0, 3], [1, 5, 2])
    found = ttnn.gather(X, 1, there)
    assert torch.equal(ttnn.to_torch(found).float(), VALUES.gather(1, wanted))
    source = torch.full((2, 4), 9.0)
    written = ttnn.scatter(X, 1, there, ttnn.from_torch(source, dtype=ttnn.bfloat16, **TILES))
    assert torch.equal(ttnn.to_torch(written).float(), VALUES.scatter(1, wanted, source))
    assert torch.equal(ttnn.to_torch(X).float(), VALUES)
    assert (found.dtype, found.shape, written.shape) == (ttnn.bfloat16, (2, 3), (40, 70))


def test_gather_into_a_tensor() -> None:
    there, wanted = indices([3], [4])
    output = ttnn.zeros((2, 1), dtype=ttnn.float32, **TILES)
    ttnn.gather(X, 1, index=there, out=output)
    assert torch.equal(ttnn.to_torch(output), VALUES.gather(1, wanted))


def test_an_embedding_has_the_layout_of_its_weight_or_the_one_that_is_said() -> None:
    rows = ttnn.from_torch(torch.tensor([[1, 39]]).int(), dtype=ttnn.uint32, device=DEVICE)
    assert ttnn.embedding(rows, X).layout is ttnn.TILE_LAYOUT
    result = ttnn.embedding(rows, X, layout=ttnn.ROW_MAJOR_LAYOUT, padding_idx=0)
    assert (result.layout, result.shape) == (ttnn.ROW_MAJOR_LAYOUT, (1, 2, 70))
    assert torch.equal(ttnn.to_torch(result).float(), VALUES[torch.tensor([[1, 39]])])
    with pytest.raises(UsageError, match=r"softmax\(\) has no argument `layout`"):
        ttnn.softmax(X, layout=ttnn.TILE_LAYOUT)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ttnn.topk(X, 71), r"k=71: dimension 1 has 70 elements"),
        (lambda: ttnn.topk(X, 0), r"k=0: dimension 1 has 70 elements"),
        (lambda: ttnn.sort(X, dim=2), "has no such dimension"),
        (lambda: ttnn.gather(X, 1, X), r"gather\(\) with indices of float32"),
        (lambda: ttnn.gather(X, 1, indices([70])[0]), "index 70 of the 70 of dimension 1"),
        (lambda: ttnn.gather(X, 0, indices([0] * 71)[0]), r"indices of shape \(1, 71\)"),
        (
            lambda: ttnn.gather(X, 0, ttnn.zeros((1,), ttnn.int32, **TILES)),
            r"indices of shape \(1,\)",
        ),
        (
            lambda: ttnn.scatter(X, 1, indices([1, 2])[0], ttnn.ones((1, 1), **TILES)),
            r"shape \(1, 1\) with",
        ),
    ],
)
def test_what_cannot_be_ordered_points_at_the_call(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        make()
    primary = caught.value.diagnostics[0].primary
    assert primary is not None and primary.span.file == __file__
