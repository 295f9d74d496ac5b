"""Chips as data: one JSON file a chip."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import Any

TARGETS = ("wormhole_b0", "blackhole")


@dataclass(frozen=True, slots=True)
class Target:
    """What the language and the compiler need to know about a chip."""

    name: str
    grid: tuple[int, int]
    default_grid: tuple[int, int]
    tile: tuple[int, int]
    l1_bytes: int
    l1_alignment_bytes: int
    dram_alignment_bytes: int  # of DRAM reads and of dataflow buffers
    dataflow_buffer_budget_bytes: int
    dataflow_buffers: int
    semaphores: int
    dst_tiles_16_bit: int
    dst_tiles_32_bit: int
    broadcasts_32_bits: bool  # inside a tile, as it is unpacked to DST
    device_api: str

    def dst_capacity(self, *, fp32: bool, full_sync: bool) -> int:
        """Tiles that fit in the DST registers of one section."""
        tiles = self.dst_tiles_32_bit if fp32 else self.dst_tiles_16_bit
        return tiles * 2 if full_sync else tiles


@cache  # bounded: there are as many as TARGETS
def load(name: str) -> Target:
    """The chip called `name`, one of TARGETS."""
    import json  # here, because every `import ttl` comes through this module

    with open(os.path.join(os.path.dirname(__file__), f"{name}.json")) as file:
        fields: dict[str, Any] = json.load(file)
    return Target(
        **{key: tuple(v) if isinstance(v, list) else v for key, v in fields.items()}  # type: ignore[arg-type]
    )
