"""Pages in chip order, slices of tensors, and padding."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ttl import ttnn
from ttl.ttnn.storage import tile_bounds


def numbered(*shape: int) -> ttnn.Tensor:
    """float32 elements that are their own row-major number."""
    return ttnn.from_numpy(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


def page_values(tensor: ttnn.Tensor) -> np.ndarray:
    return tensor.storage.read_pages().view(np.float32)


@pytest.mark.parametrize(
    ("row", "column", "page", "position"),
    [
        (0, 0, 0, 0),
        (0, 15, 0, 15),
        (1, 0, 0, 16),
        (0, 16, 0, 256),  # face (0, 1)
        (15, 31, 0, 511),
        (16, 0, 0, 512),  # face (1, 0)
        (16, 16, 0, 768),  # face (1, 1)
        (31, 31, 0, 1023),
        (0, 32, 1, 0),  # the next tile of the same tile row
        (5, 64 + 17, 2, 256 + 5 * 16 + 1),
        (32, 0, 3, 0),  # three tiles a row
        (63, 95, 5, 1023),
    ],
)
def test_where_an_element_is_in_its_page(row: int, column: int, page: int, position: int) -> None:
    assert page_values(numbered(64, 96))[page, position] == row * 96 + column


def test_pages_of_leading_dimensions_follow_each_other() -> None:
    tensor = numbered(2, 3, 32, 64)
    pages = page_values(tensor)
    assert pages.shape == (2 * 3 * 1 * 2, 1024)
    element = ((1 * 3 + 2) * 32 + 0) * 64 + 32  # [1, 2, 0, 32]
    assert pages[(1 * 3 + 2) * 2 + 1, 0] == element


def test_bytes_of_a_bfloat16_page() -> None:
    tensor = ttnn.from_numpy(np.full((32, 32), 1.0), dtype=ttnn.bfloat16)
    pages = tensor.storage.read_pages()
    assert pages.shape == (1, 2048) == (1, tensor.storage.page_bytes)
    assert pages.dtype == np.uint8
    assert pages[0, :4].tolist() == [0x80, 0x3F, 0x80, 0x3F]  # little-endian 0x3F80


def test_writing_pages_is_the_inverse_of_reading_them() -> None:
    source, copy = (
        numbered(2, 64, 96),
        ttnn.zeros((2, 64, 96), ttnn.float32, layout=ttnn.TILE_LAYOUT),
    )
    copy.storage.write_pages(source.storage.read_pages())
    assert np.array_equal(ttnn.to_numpy(copy), ttnn.to_numpy(source))


def test_reading_pages_gives_a_copy() -> None:
    tensor = numbered(32, 32)
    tensor.storage.read_pages()[...] = 0
    assert ttnn.to_numpy(tensor)[1, 0] == 32


def test_a_ragged_tensor_is_padded_with_zeros() -> None:
    tensor = ttnn.from_numpy(np.ones((33, 40), np.float32))
    assert (tensor.shape, tensor.padded_shape) == ((33, 40), (64, 64))
    assert tensor.storage.elements.sum() == 33 * 40
    assert ttnn.to_numpy(tensor).shape == (33, 40)


def test_padding_stays_zero_whoever_writes() -> None:
    by_pages, by_block = (
        ttnn.zeros((33, 40), ttnn.float32, layout=ttnn.TILE_LAYOUT) for _ in range(2)
    )
    by_pages.storage.write_pages(np.full((4, 4096), 1, np.uint8))
    assert np.count_nonzero(by_pages.storage.elements) == 33 * 40
    for row in range(2):
        part = by_block.storage.part(by_block, (row, slice(0, 2)))
        by_block.storage.write(part, np.ones((32, 64), np.float32).view(np.uint32))
    assert np.array_equal(ttnn.to_numpy(by_block), np.ones((33, 40)))
    assert np.count_nonzero(by_block.storage.elements) == 33 * 40


def test_a_slice_counts_tiles() -> None:
    tensor, block = numbered(64, 96), np.zeros((32, 64), np.float32)
    tensor.storage.read(tensor.storage.part(tensor, (1, slice(1, 3))), block.view(np.uint32))
    assert np.array_equal(block, ttnn.to_numpy(tensor)[32:64, 32:96])


def test_tiles_keep_their_order_when_an_indexed_dimension_is_left_out() -> None:
    """t[0:2, 0:3, 0] is 2 x 3 tiles for a block of (2, 3)."""
    tensor, block = numbered(2, 96, 64), np.zeros((64, 96), np.float32)
    part = tensor.storage.part(tensor, (slice(0, 2), slice(0, 3), 0))
    tensor.storage.read(part, block.view(f"u{block.itemsize}"))
    values = ttnn.to_numpy(tensor)
    assert np.array_equal(block[:32, 32:64], values[0, 32:64, :32])
    assert np.array_equal(block[32:, 64:], values[1, 64:, :32])
    written = ttnn.zeros((2, 96, 64), ttnn.float32, layout=ttnn.TILE_LAYOUT)
    part = written.storage.part(written, part.items)
    written.storage.write(part, block.view(f"u{block.itemsize}"))
    assert np.array_equal(ttnn.to_numpy(written)[:, :, :32], values[:, :, :32])
    assert not ttnn.to_numpy(written)[:, :, 32:].any()


def test_bfloat16_is_stored_rounded() -> None:
    tensor = ttnn.from_numpy(np.full((32, 32), 257.0), dtype=ttnn.bfloat16)
    array = ttnn.to_numpy(tensor)
    assert array.dtype == ml_dtypes.bfloat16
    assert float(array[0, 0]) == 256.0


def test_pages_of_a_row_major_tensor_are_its_rows() -> None:
    values = np.arange(2 * 3 * 5, dtype=np.uint16).reshape(2, 3, 5)
    tensor = ttnn.from_numpy(values, layout=ttnn.ROW_MAJOR_LAYOUT)
    pages = tensor.storage.read_pages()
    assert pages.shape == (6, 10) == (6, tensor.storage.page_bytes)
    assert np.array_equal(pages.view(np.uint16), values.reshape(6, 5))
    copy = ttnn.zeros_like(tensor)
    copy.storage.write_pages(pages)
    assert np.array_equal(ttnn.to_numpy(copy), values)


@pytest.mark.parametrize(("strategy", "width"), [("HEIGHT", 12), ("WIDTH", 6), ("BLOCK", 6)])
def test_shards_cut_the_rows_of_a_row_major_tensor_into_pages(strategy: str, width: int) -> None:
    grid = ttnn.CoreGrid(y=1, x=2) if strategy != "BLOCK" else ttnn.CoreGrid(y=2, x=2)
    memory = ttnn.create_sharded_memory_config((4, 12), grid, getattr(ttnn.ShardStrategy, strategy))
    values = np.arange(4 * 12, dtype=np.uint16).reshape(4, 12)
    device = ttnn.open_device(device_id=0)
    tensor = ttnn.from_numpy(
        values, layout=ttnn.ROW_MAJOR_LAYOUT, device=device, memory_config=memory
    )
    pages = tensor.storage.read_pages()
    assert np.array_equal(pages.view(np.uint16), values.reshape(-1, width))
    copy = ttnn.zeros_like(tensor)
    copy.storage.write_pages(pages)
    assert np.array_equal(ttnn.to_numpy(copy), values)


def test_the_last_page_of_a_row_is_padded() -> None:
    spec = ttnn.ShardSpec(
        ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (1, 0))]), (2, 4), ttnn.ShardOrientation.ROW_MAJOR
    )
    memory = ttnn.MemoryConfig(ttnn.TensorMemoryLayout.WIDTH_SHARDED, ttnn.BufferType.L1, spec)
    values = np.arange(1, 15, dtype=np.uint16).reshape(2, 7)
    device = ttnn.open_device(device_id=0)
    tensor = ttnn.from_numpy(
        values, layout=ttnn.ROW_MAJOR_LAYOUT, device=device, memory_config=memory
    )
    pages = tensor.storage.read_pages()
    expected = [[1, 2, 3, 4], [5, 6, 7, 0], [8, 9, 10, 11], [12, 13, 14, 0]]
    assert pages.view(np.uint16).tolist() == expected
    tensor.storage.write_pages(pages)
    assert np.array_equal(ttnn.to_numpy(tensor), values)
    # Rank, cores, tensor and shard in pages, both cores in a word.
    assert tensor.storage.shard_words == (2, 2, 2, 2, 2, 1, 0x0000_0100)


def test_the_first_pages_to_look_at() -> None:
    tiles, values = numbered(2, 40, 64), np.arange(2 * 40 * 64).reshape(2, 40, 64)
    pages = tiles.storage.page_views(3)
    assert pages.shape == (3, 32, 32)
    assert np.array_equal(pages[1], values[0, :32, 32:])
    assert np.array_equal(pages[2, :8], values[0, 32:, :32]) and not pages[2, 8:].any()
    rows = ttnn.to_layout(tiles, ttnn.ROW_MAJOR_LAYOUT)
    assert np.array_equal(rows.storage.page_views(41), values.reshape(-1, 64)[:41])


def test_pages_of_block_floats_are_in_chip_order() -> None:
    values = np.zeros((32, 32), np.float32)
    values[1, 16] = 1.0  # face (0, 1), row 1: the group 16 + 1
    tensor = ttnn.from_numpy(values, dtype=ttnn.bfloat8_b)
    (page,) = tensor.storage.read_pages()
    assert page.nonzero()[0].tolist() == [17, 64 + 17 * 16]
    assert (page[17], page[64 + 17 * 16]) == (127, 64)
    copy = ttnn.zeros_like(tensor)
    copy.storage.write_pages(page[np.newaxis])
    assert np.array_equal(ttnn.to_numpy(copy), values)


def test_a_slice_of_a_row_major_tensor_counts_elements() -> None:
    values = np.arange(4 * 7 * 9, dtype=np.int32).reshape(4, 7, 9)
    tensor = ttnn.from_numpy(values, layout=ttnn.ROW_MAJOR_LAYOUT)
    part = tensor.storage.part(tensor, (slice(1, 3), 5, slice(2, 9)))
    block = np.zeros((2, 7), np.int64)
    tensor.storage.read(part, block.view(f"u{block.itemsize}"))
    assert np.array_equal(block, values[1:3, 5, 2:9])
    written = ttnn.zeros_like(tensor)
    part = written.storage.part(written, part.items)
    written.storage.write(part, block.view(f"u{block.itemsize}"))
    assert np.array_equal(ttnn.to_numpy(written)[1:3, 5, 2:9], block)
    assert np.count_nonzero(ttnn.to_numpy(written)) == block.size


def test_float32_is_kept_and_given_up() -> None:
    tensor = ttnn.ones((3, 3), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)
    tensor.storage.keep_float32(True)
    tensor.storage.logical[...] = np.float32(1.001)
    assert ttnn.to_numpy(tensor).dtype == np.float32
    assert ttnn.to_numpy(tensor)[0, 0] == np.float32(1.001)
    tensor.storage.keep_float32(False)
    assert ttnn.to_numpy(tensor).dtype == ml_dtypes.bfloat16
    assert (ttnn.to_numpy(tensor) == 1).all()


@pytest.mark.parametrize(
    "items, bounds",
    [
        ((slice(1, 4), slice(2, 6)), ((1, 2), (3, 4))),
        ((3, 5), ((3, 5), (1, 1))),
        ((slice(0, 4), slice(0, 6)), ((0, 0), (4, 6))),
        ((4, 5), None),
        ((-1, 0), None),
        ((slice(2, 2), slice(0, 1)), None),
        ((slice(0, 5), slice(0, 1)), None),
        ((slice(0, 2, 1), slice(0, 1)), None),
        ((slice(None, 2), slice(0, 1)), None),
        ((slice(0, True), slice(0, 1)), None),
        ((0, slice(0, 1)), None),
        ((True, 0), None),
        ((0, 2**70), None),
        ((0,), None),
        ([0, 0], None),
        (None, None),
    ],
    ids=repr,
)
def test_two_plain_slices_or_indices_inside_are_found_at_once(items: Any, bounds: Any) -> None:
    assert tile_bounds(items, 4, 6) == bounds
