"""The memory layout of a graph's tensor, as a value and as the text of #ttnn.ttnn_layout.

    #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>,
        memref<2x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>

The map gives rows and columns from dimensions, the grid counts the cores that hold parts, and the
memref describes the part of each core: tiles, or elements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from ttl.target import TARGETS, load

from .types import TILE_SIZE, Shape

BUFFER_TYPES = ("dram", "l1", "system_memory")
MEMORY_LAYOUTS = ("interleaved", "height_sharded", "width_sharded", "block_sharded")
Rectangle = tuple[tuple[int, int], tuple[int, int]]  # both corners (x, y) belong to it


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """A layout; `shard` is the memref's shape, or the whole tensor's if it is interleaved."""

    map: str
    grid: tuple[int, int]  # rows, columns
    shard: Shape
    is_tiled: bool
    element: str  # MLIR's name
    buffer_type: str = "dram"
    memory_layout: str = "interleaved"
    core_ranges: tuple[Rectangle, ...] = ()

    @property
    def is_sharded(self) -> bool:
        return self.memory_layout != "interleaved"

    @property
    def shard_elements(self) -> Shape:
        unit = TILE_SIZE if self.is_tiled else 1
        return (*self.shard[:-2], *(size * unit for size in self.shard[-2:]))

    @property
    def cores(self) -> tuple[Rectangle, ...]:
        """The cores that hold shards: as written, else from (0, 0) on, a block or row by row."""
        rows, columns = self.grid
        if self.core_ranges or not self.is_sharded:
            return self.core_ranges
        if self.memory_layout == "block_sharded":
            return (((0, 0), (columns - 1, rows - 1)),)
        most = load(TARGETS[0]).default_grid[0]  # cores in a row
        if rows * columns < most:
            return (((0, 0), (rows * columns - 1, 0)),)
        full, rest = divmod(rows * columns, most)
        whole: Rectangle = ((0, 0), (most - 1, full - 1))
        return (whole, ((0, full), (rest - 1, full))) if rest else (whole,)

    def __str__(self) -> str:
        """Return the text between the angle brackets."""
        element = f"!ttcore.tile<32x32, {self.element}>" if self.is_tiled else self.element
        sizes = "x".join(map(str, self.shard))
        text = (
            f"{self.map}, <{self.grid[0]}x{self.grid[1]}>, "
            f"memref<{sizes}x{element}, #ttnn.buffer_type<{self.buffer_type}>>, "
            f"<{self.memory_layout}>"
        )
        ranges = ", ".join(f"#ttnn.core_range<{first}, {last}>" for first, last in self.core_ranges)
        return f"{text}, core_ranges = <[{ranges}]>" if ranges else text


@lru_cache(maxsize=1024)  # a graph has few shapes and many tensors
def interleaved(
    shape: Shape, element: str, *, is_tiled: bool, buffer_type: str = "dram"
) -> TensorLayout:
    """Return the layout of an interleaved tensor; all dimensions but the last become rows."""
    *leading, rows, columns = (1,) * (2 - len(shape)) + tuple(shape)
    unit = TILE_SIZE if is_tiled else 1
    rows = -(-rows // unit) * unit
    matrix = (prod(leading) * rows // unit, -(-columns // unit))
    return TensorLayout(
        _map((*leading, rows, columns)[-len(shape) :] if shape else ()),
        (1, 1),
        matrix,
        is_tiled,
        element,
        buffer_type,
    )


def _map(sizes: Shape) -> str:
    """Return the row-major map: every dimension but the last counts rows."""
    names = [f"d{dim}" for dim in range(len(sizes))]
    steps = [prod(sizes[dim + 1 : -1]) for dim in range(len(sizes) - 1)]
    rows = [
        name if step == 1 else f"{name} * {step}"
        for name, step in zip(names[:-1], steps, strict=True)
    ]
    results = f"({' + '.join(rows) or 0}, {names[-1] if names else 0})"
    return f"({', '.join(names)}) -> {results}"


# Reading ------------------------------------------------------------------------------------------


_SPACES = {"l1_memory": "l1", "dram_memory": "dram"}


def parse_layout(text: str) -> TensorLayout:
    """Parse the text that str() gives, with or without `#ttnn.ttnn_layout<>`, or raise ValueError.

    Accepts other spellings of a memory space (`#dram`, `dram`, `#l1_memory`) and a grid with its
    own map too.
    """
    body = text.strip()
    if body.startswith("#ttnn.ttnn_layout<") and body.endswith(">"):
        body = body[len("#ttnn.ttnn_layout<") : -1]
    scanner = _Scanner(body)
    map = scanner.take(r"\([d\d, ]*\) *-> *\([^()]*\)")
    grid = scanner.take(r", *<(\d+x\d+)")
    scanner.take(r"(?:, *\([^()]*\) *-> *\([^()]*\))?>")
    shard = scanner.take(r", *memref<((?:\d+x)+)")
    tile = scanner.take(r"(?:!ttcore\.tile<32x32, *(\w+)>)?")
    element = tile or scanner.take(r"(\w+)")
    space = scanner.take(r", *(#ttnn\.buffer_type<\w+>|#?\w+)>")
    memory_layout = scanner.take(r"(?:, *<(\w+)>)?") or "interleaved"
    ranges = scanner.take(r"(?:, *core_ranges = <\[(.*)\]>)?")
    scanner.end()
    layout = TensorLayout(
        map,
        _pair(grid),
        tuple(int(size) for size in shard.split("x") if size),
        bool(tile),
        element,
        _SPACES.get(name := re.findall(r"\w+", space)[-1], name),
        memory_layout,
        tuple(_rectangles(ranges)),
    )
    _check(layout)
    return layout


class _Scanner:
    def __init__(self, text: str):
        self.text, self.position = text, 0

    def take(self, pattern: str) -> str:
        """Consume the pattern and return its group or all of it, "" for an absent optional part."""
        found = re.compile(pattern).match(self.text, self.position)
        if found is None:
            raise ValueError(f"not a layout at `{self.text[self.position :]}`")
        self.position = found.end()
        return (found[1] if found.re.groups else found[0]) or ""

    def end(self) -> None:
        if rest := self.text[self.position :].strip():
            raise ValueError(f"not a layout at `{rest}`")


def _pair(text: str) -> tuple[int, int]:
    first, second = text.split("x")
    return int(first), int(second)


def _rectangles(text: str) -> list[Rectangle]:
    numbers = re.findall(r"#ttnn\.core_range<\((\d+), *(\d+)\), *\((\d+), *(\d+)\)>", text)
    if re.sub(r"#ttnn\.core_range<\(\d+, *\d+\), *\(\d+, *\d+\)>[, ]*", "", text):
        raise ValueError(f"not ranges of cores: `{text}`")
    return [((int(a), int(b)), (int(c), int(d))) for a, b, c, d in numbers]


def _check(layout: TensorLayout) -> None:
    if layout.buffer_type not in BUFFER_TYPES:
        raise ValueError(f"there is no buffer type `{layout.buffer_type}`")
    if layout.memory_layout not in MEMORY_LAYOUTS:
        raise ValueError(f"there is no memory layout `{layout.memory_layout}`")
