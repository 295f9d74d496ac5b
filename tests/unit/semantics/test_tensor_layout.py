from __future__ import annotations

import pytest

from ttl.semantics.tensor_layout import TensorLayout, interleaved, parse_layout
from ttl.ttnn.memory_config import memory_config_of

MAP = "(d0, d1) -> (d0, d1)"


@pytest.mark.parametrize(
    ("shape", "is_tiled", "map", "shard"),
    [
        ((64, 32), True, MAP, (2, 1)),
        ((64, 32), False, MAP, (64, 32)),
        ((33, 5), True, MAP, (2, 1)),
        ((2, 33, 5), True, "(d0, d1, d2) -> (d0 * 64 + d1, d2)", (4, 1)),
        ((2, 3, 33, 5), False, "(d0, d1, d2, d3) -> (d0 * 99 + d1 * 33 + d2, d3)", (198, 5)),
        ((7,), True, "(d0) -> (0, d0)", (1, 1)),
        ((), False, "() -> (0, 0)", (1, 1)),
    ],
)
def test_an_interleaved_tensor(shape, is_tiled, map, shard) -> None:
    layout = interleaved(shape, "bf16", is_tiled=is_tiled)
    assert (layout.map, layout.shard, layout.cores) == (map, shard, ())
    assert parse_layout(str(layout)) == layout
    assert parse_layout(f"#ttnn.ttnn_layout<{layout}>") == layout


def sharded(kind, grid, **more) -> TensorLayout:
    return TensorLayout(MAP, grid, (1, 2), True, "bf16", "l1", kind, **more)


@pytest.mark.parametrize(
    ("layout", "cores"),
    [
        (sharded("block_sharded", (2, 3)), (((0, 0), (2, 1)),)),
        (sharded("height_sharded", (4, 1)), (((0, 0), (3, 0)),)),
        (sharded("width_sharded", (1, 16)), (((0, 0), (7, 1)),)),
        (sharded("height_sharded", (10, 1)), (((0, 0), (7, 0)), ((0, 1), (1, 1)))),
        (
            sharded("height_sharded", (2, 1), core_ranges=(((3, 4), (4, 4)),)),
            (((3, 4), (4, 4)),),
        ),
    ],
)
def test_a_sharded_tensor_says_its_cores(layout, cores) -> None:
    assert parse_layout(str(layout)) == layout
    assert layout.cores == cores
    config = memory_config_of(layout)
    assert config.shard_spec.shape == [32, 64]
    assert config.memory_layout.name == layout.memory_layout.upper()
    assert config.buffer_type.name == "L1"
    ranges = [(r.start, r.end) for r in config.shard_spec.grid.ranges()]
    assert tuple(ranges) == cores


def test_the_short_names_of_memories_and_a_grid_with_a_map() -> None:
    text = (
        f"{MAP}, <8x8, (d0, d1) -> (0, d0, d1)>, "
        "memref<1x1x!ttcore.tile<32x32, f32>, #l1>, <block_sharded>"
    )
    layout = parse_layout(text)
    assert (layout.grid, layout.buffer_type, layout.element) == ((8, 8), "l1", "f32")
    assert parse_layout(f"{MAP}, <1x1>, memref<64x32xbf16, #dram>").memory_layout == "interleaved"
    for space in ("#ttnn.buffer_type<l1>", "#l1", "l1", "#l1_memory"):
        assert parse_layout(f"{MAP}, <1x1>, memref<64x32xbf16, {space}>").buffer_type == "l1"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dram",
        MAP,
        f"{MAP}, <1>, memref<1x1xf32, #dram>",
        f"{MAP}, <1x1>, memref<f32, #dram>",
        f"{MAP}, <1x1>, memref<1x1x!ttcore.tile<16x16, f32>, #dram>",
        f"{MAP}, <1x1>, memref<1x1xf32, #ttnn.buffer_type<l2>>",
        f"{MAP}, <1x1>, memref<1x1xf32, #dram>, <striped>",
        f"{MAP}, <1x1>, memref<1x1xf32, #dram>, <interleaved>, more",
        f"{MAP}, <2x1>, memref<1x1xf32, #l1>, <height_sharded>, core_ranges = <[(0, 0)]>",
    ],
)
def test_other_texts_are_refused(text) -> None:
    with pytest.raises(ValueError):
        parse_layout(text)
