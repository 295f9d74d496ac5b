"""The chips' data formats with their bytes per tile, and the matrix unit's fidelities."""

from __future__ import annotations

from typing import Final

TILE_SIZE: Final = 32  # elements along a side
FACE_SIZE: Final = 16  # a tile is four faces: (0, 0), (0, 1), (1, 0), (1, 1), each row-major
TILE_ELEMENTS = TILE_SIZE * TILE_SIZE
MATH_FIDELITIES = ("LoFi", "HiFi2", "HiFi3", "HiFi4")

# A block float has one byte of exponent for 16 elements, in front of the mantissas of the tile.
PAGE_BYTES = {
    "BFloat16": 2048,
    "Float16": 2048,
    "Float32": 4096,
    "Int32": 4096,
    "UInt32": 4096,
    "UInt16": 2048,
    "UInt8": 1024,
    "BFP_BFloat8": 1088,
    "BFP_BFloat4": 576,
}
