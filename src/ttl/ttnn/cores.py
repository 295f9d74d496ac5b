"""Cores of a chip: coordinates, rectangles of them, sets of rectangles, and work for them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from .faults import wrong, wrong_type

__all__ = [
    "CoreCoord", "CoreGrid", "CoreRange", "CoreRangeSet", "num_cores_to_corerangeset",
    "split_work_to_cores",
]  # fmt: skip


class CoreCoord(NamedTuple):
    """A core, or the size of a grid of cores: column first."""

    x: int
    y: int


class Value:
    """Equal to another of its class that has the same parts: what its slots hold."""

    __slots__: tuple[str, ...] = ()

    def _parts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())


class CoreGrid(Value):
    """The size of a grid of cores, rows first as in the real ttnn."""

    __slots__ = ("x", "y")

    def __init__(self, y: int, x: int):
        if not all(isinstance(size, int) and size > 0 for size in (y, x)):
            raise wrong(f"CoreGrid(y={y!r}, x={x!r}) has no cores", "give two sizes above zero")
        self.y = y
        self.x = x

    @property
    def num_cores(self) -> int:
        return self.x * self.y

    def __repr__(self) -> str:
        return f"CoreGrid(y={self.y}, x={self.x})"


class CoreRange(Value):
    """A rectangle of cores; both corners belong to it."""

    __slots__ = ("end", "start")

    def __init__(self, start: Any, end: Any):
        self.start = _coordinate("start", start)
        self.end = _coordinate("end", end)
        if self.start.x > self.end.x or self.start.y > self.end.y:
            raise wrong(
                f"a range of cores from {tuple(self.start)} to {tuple(self.end)} is empty",
                "give the corner with the smaller x and y first",
            )

    @property
    def size(self) -> CoreGrid:
        return CoreGrid(self.end.y - self.start.y + 1, self.end.x - self.start.x + 1)

    def grid_size(self) -> CoreCoord:
        return CoreCoord(self.size.x, self.size.y)

    def num_cores(self) -> int:
        return self.size.num_cores

    def cores(self, row_wise: bool = True) -> Iterator[CoreCoord]:
        columns = range(self.start.x, self.end.x + 1)
        rows = range(self.start.y, self.end.y + 1)
        if row_wise:
            yield from (CoreCoord(x, y) for y in rows for x in columns)
        else:
            yield from (CoreCoord(x, y) for x in columns for y in rows)

    def overlaps(self, other: CoreRange) -> bool:
        return (
            self.start.x <= other.end.x
            and other.start.x <= self.end.x
            and self.start.y <= other.end.y
            and other.start.y <= self.end.y
        )

    def __repr__(self) -> str:
        return f"CoreRange({tuple(self.start)}, {tuple(self.end)})"


class CoreRangeSet:
    """Rectangles of cores that do not overlap."""

    __slots__ = ("_ranges",)

    def __init__(self, ranges: CoreRange | Collection[CoreRange] = ()):
        given = [ranges] if isinstance(ranges, CoreRange) else ranges
        if not isinstance(given, (list, tuple, set, frozenset)):
            raise _no_ranges(given)
        found = list(given)
        if not all(isinstance(found_range, CoreRange) for found_range in found):
            raise _no_ranges(found)
        if isinstance(given, (set, frozenset)):  # in any order; ours is the same in every run
            found.sort(key=lambda r: (r.start.y, r.start.x))
        self._ranges = found
        for position, first in enumerate(self._ranges):
            for second in self._ranges[position + 1 :]:
                if first.overlaps(second):
                    raise wrong(f"{first} and {second} overlap", "give each core once")

    def ranges(self) -> list[CoreRange]:
        return list(self._ranges)

    def num_cores(self) -> int:
        return sum(found.num_cores() for found in self._ranges)

    def empty(self) -> bool:
        return not self._ranges

    def bounding_box(self) -> CoreRange:
        if not self._ranges:
            raise wrong("an empty set of cores has no bounding box")
        starts = [found.start for found in self._ranges]
        ends = [found.end for found in self._ranges]
        return CoreRange(
            (min(core.x for core in starts), min(core.y for core in starts)),
            (max(core.x for core in ends), max(core.y for core in ends)),
        )

    def cores(self, row_wise: bool = True) -> list[CoreCoord]:
        return [core for found in self._ranges for core in found.cores(row_wise)]

    def contains(self, core: Any) -> bool:
        return _coordinate("core", core) in self.cores()

    def __eq__(self, other: object) -> bool:
        """The same cores, however they are cut into ranges."""
        return isinstance(other, CoreRangeSet) and set(self.cores()) == set(other.cores())

    def __hash__(self) -> int:
        return hash(frozenset(self.cores()))

    def __repr__(self) -> str:
        return f"CoreRangeSet({self._ranges})"


def num_cores_to_corerangeset(
    target_num_cores: int, grid_size: Any, row_wise: bool = False
) -> CoreRangeSet:
    """The first cores of a grid of (columns, rows), down the columns or along the rows."""
    grid = _coordinate("grid_size", grid_size)
    total = grid.x * grid.y
    if not isinstance(target_num_cores, int) or not 0 < target_num_cores <= total:
        raise wrong(
            f"target_num_cores={target_num_cores!r}: a grid of {tuple(grid)} has {total} cores",
            f"use 1 to {total}",
        )
    return _run(_given_ranges(grid), 0, target_num_cores, row_wise)


def split_work_to_cores(
    grid_size: Any, units_to_divide: int, row_wise: bool = False
) -> tuple[int, CoreRangeSet, CoreRangeSet, CoreRangeSet, int, int]:
    """(cores used, those cores, those with more work, those with less, units of each).

    `grid_size` is a grid of (columns, rows) or a CoreRangeSet.
    """
    if not isinstance(units_to_divide, int) or units_to_divide < 0:
        raise wrong_type("units_to_divide", units_to_divide, "a number of units")
    ranges = _given_ranges(grid_size)
    used = min(sum(found.num_cores() for found in ranges), units_to_divide)
    none = CoreRangeSet()
    if not used:
        return 0, none, none, none, 0, 0
    units, more = divmod(units_to_divide, used)
    everybody = _run(ranges, 0, used, row_wise)
    if more == 0:
        return used, everybody, everybody, none, units, 0
    busier = _run(ranges, 0, more, row_wise)
    return used, everybody, busier, _run(ranges, more, used - more, row_wise), units + 1, units


def core_range_set(cores: Any, name: str = "core_ranges") -> CoreRangeSet:
    """What programs give for a set of cores: a set, a range or the size of a grid."""
    if isinstance(cores, CoreRangeSet):
        return cores
    if isinstance(cores, CoreRange):
        return CoreRangeSet([cores])
    if isinstance(cores, (CoreGrid, CoreCoord)):
        return CoreRangeSet([CoreRange((0, 0), (cores.x - 1, cores.y - 1))])
    if isinstance(cores, (set, frozenset, list, tuple)):
        return CoreRangeSet(cores)
    raise wrong_type(name, cores, "a set of cores", "use ttnn.CoreRangeSet or ttnn.CoreGrid")


def _given_ranges(grid_size: Any) -> list[CoreRange]:
    if isinstance(grid_size, CoreRangeSet):
        return grid_size.ranges()
    grid = _coordinate("grid_size", grid_size)
    return [CoreRange((0, 0), (grid.x - 1, grid.y - 1))]


def _run(ranges: list[CoreRange], first: int, count: int, row_wise: bool) -> CoreRangeSet:
    """`count` cores from the one at position `first` on, cut into rectangles as the real ttnn does:
    lines that touch and are equally long are one, if only a part of the cores is wanted."""
    if first == 0 and count == sum(found.num_cores() for found in ranges):
        return CoreRangeSet(ranges)
    joined: list[CoreRange] = []
    for line in _lines(ranges, row_wise):
        cores = list(line.cores(row_wise))[first : first + count]
        first, count = max(first - line.num_cores(), 0), count - len(cores)
        if not cores:
            continue
        found = CoreRange(cores[0], cores[-1])
        if joined and _continues(found, joined[-1], row_wise):
            joined[-1] = CoreRange(joined[-1].start, found.end)
        else:
            joined.append(found)
    return CoreRangeSet(joined)


def _lines(ranges: list[CoreRange], row_wise: bool) -> Iterator[CoreRange]:
    """The rows of all ranges, or their columns."""
    for whole in ranges:
        (left, top), (right, bottom) = whole.start, whole.end
        if row_wise:
            yield from (CoreRange((left, y), (right, y)) for y in range(top, bottom + 1))
        else:
            yield from (CoreRange((x, top), (x, bottom)) for x in range(left, right + 1))


def _continues(line: CoreRange, above: CoreRange, row_wise: bool) -> bool:
    if row_wise:
        extent = line.start.x == above.start.x and line.end.x == above.end.x
        return extent and line.start.y == above.end.y + 1
    extent = line.start.y == above.start.y and line.end.y == above.end.y
    return extent and line.start.x == above.end.x + 1


def _coordinate(name: str, value: Any) -> CoreCoord:
    if isinstance(value, CoreGrid):
        return CoreCoord(value.x, value.y)
    is_pair = isinstance(value, (tuple, list)) and len(value) == 2
    if not is_pair or not all(isinstance(entry, int) and entry >= 0 for entry in value):
        raise wrong_type(name, value, "a coordinate of a core", "use ttnn.CoreCoord(x, y)")
    return CoreCoord(*value)


def _no_ranges(value: object) -> Exception:
    return wrong_type(
        "ranges", value, "a set of core ranges", "use CoreRangeSet({CoreRange(start, end)})"
    )
