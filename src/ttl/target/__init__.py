"""Chips as data: one JSON file per chip."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

TARGETS = ("wormhole_b0", "blackhole")
# Users' choices: a chip with the grid that ttnn leaves to programs, or with all workers.
CHOICES = ("wormhole_b0", "wormhole_b0_full", "blackhole")
WITH_ALL_WORKERS = {"wormhole_b0_full": "wormhole_b0"}
ALIASES = {
    "wormhole": "wormhole_b0",
    "wh": "wormhole_b0",
    "wormhole_full": "wormhole_b0_full",
    "wormhole_8x9": "wormhole_b0_full",
    "bh": "blackhole",
    "blackhole_13x10": "blackhole",
}
DEVICE_APIS = ("0.81", "0.69")  # kernels' APIs, by version of ttnn; the compiler emits the first


@dataclass(frozen=True, slots=True)
class Target:
    """The facts about a chip that the language and the compiler need."""

    name: str
    grid: tuple[int, int]
    default_grid: tuple[int, int]
    l1_bytes: int
    l1_alignment_bytes: int  # of every transfer except reads from DRAM
    dram_alignment_bytes: int  # of DRAM reads and of dataflow buffers
    dram_bank_bytes: int
    dram_banks: int
    worker_l1_bytes: int  # the part of L1 that ttnn leaves to programs
    dataflow_buffer_budget_bytes: int
    dataflow_buffers: int
    semaphores: int
    noc_columns: tuple[int, ...]  # the NoC's x of each column of the grid
    noc_rows: tuple[int, ...]
    noc_burst_bytes: int  # most that one packet carries
    noc_transaction_ids: int
    noc_transaction_requests: int  # allowed in flight with one id
    dst_tiles_16_bit: int
    dst_tiles_32_bit: int
    broadcasts_32_bits: bool  # inside a tile, as it is unpacked to DST
    device_api: str

    @property
    def dram_bytes(self) -> int:
        return self.dram_banks * self.dram_bank_bytes

    def dst_capacity(self, *, fp32: bool, full_sync: bool) -> int:
        """Return the number of tiles that fit in one section of the DST registers."""
        tiles = self.dst_tiles_32_bit if fp32 else self.dst_tiles_16_bit
        return tiles * 2 if full_sync else tiles


def find_choice(text: str) -> str | None:
    """Return the one of CHOICES that `text` or an alias names, or None."""
    name = text.strip().lower().replace("-", "_")
    return name if name in CHOICES else ALIASES.get(name)


@cache  # bounded: there are as many as CHOICES
def load(name: str) -> Target:
    """Load the chip called `name`, one of CHOICES."""
    if name in WITH_ALL_WORKERS:
        chip = load(WITH_ALL_WORKERS[name])
        return replace(chip, default_grid=chip.grid)
    import json  # not above: every `import ttl` loads this module

    with open(os.path.join(os.path.dirname(__file__), f"{name}.json")) as file:
        fields: dict[str, object] = json.load(file)
    return Target(
        **{key: tuple(v) if isinstance(v, list) else v for key, v in fields.items()}  # type: ignore[arg-type]
    )


def choice_with(grid: tuple[int, ...]) -> str | None:
    """Return the first of CHOICES with room for `grid`, columns first, or None."""
    for name in CHOICES:
        if all(size <= most for size, most in zip(grid, load(name).default_grid, strict=False)):
            return name
    return None


@cache
def of_all_chips(field: str, choose: Callable[..., int] = max) -> int:
    """Return a field's largest value, or the smallest, to fit every chip."""
    return choose(getattr(load(name), field) for name in TARGETS)
