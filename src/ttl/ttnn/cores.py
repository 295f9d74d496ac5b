"""Cores of a chip: coordinates, rectangles of them, sets of rectangles, and work for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .faults import wrong, wrong_call, wrong_type

__all__ = [
    "CoreCoord",
    "CoreGrid",
    "CoreRange",
    "CoreRangeSet",
    "corerange_to_cores",
    "grid_to_cores",
    "num_cores_to_corerangeset",
    "split_work_to_cores",
]


class Grid(NamedTuple):
    """Columns and rows of cores."""

    x: int
    y: int


class EqualParts:
    """Base of values that are equal if their class and slots are equal."""

    __slots__: tuple[str, ...] = ()

    def _parts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())


class CoreCoord(EqualParts):
    """A core, or the size of a grid of cores, column first: CoreCoord(x, y)."""

    __slots__ = ("x", "y")

    def __init__(self, x: Any, y: Any = None, /):
        pair = x if y is None and isinstance(x, (tuple, list)) else (x, y)
        if len(pair) != 2 or not all(isinstance(size, int) and size >= 0 for size in pair):
            raise wrong_call(f"CoreCoord{tuple(pair)}: not a core", "write ttnn.CoreCoord(x, y)")
        self.x: int = pair[0]
        self.y: int = pair[1]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (tuple, CoreCoord)):
            return self._parts() == (other if isinstance(other, tuple) else other._parts())
        return NotImplemented

    __hash__ = EqualParts.__hash__

    def __repr__(self) -> str:
        return f"{self.x}-{self.y}"


class CoreGrid(EqualParts):
    """The size of a grid of cores: CoreGrid(x=8, y=8)."""

    __slots__ = ("x", "y")

    def __init__(self, *, x: int, y: int):
        if not all(isinstance(size, int) and size > 0 for size in (y, x)):
            raise wrong(f"CoreGrid(x={x!r}, y={y!r}) has no cores", "give two sizes above zero")
        self.y = y
        self.x = x

    @property
    def num_cores(self) -> int:
        return self.x * self.y

    def __repr__(self) -> str:
        return f"ttnn.CoreGrid(x={self.x}, y={self.y})"


class Cores(EqualParts):
    """Base of sets of cores of a chip."""

    __slots__ = ()

    def contains(self, other: Any) -> bool:
        """Are all of these cores here? A core, a range or a set."""
        mine = set(_cores_of(self))
        return all(core in mine for core in _cores_of(other))


class CoreRange(Cores):
    """A rectangle of cores; both corners belong to it."""

    __slots__ = ("end", "start")

    def __init__(self, start: Any, end: Any):
        self.start = _coordinate("start", start)
        self.end = _coordinate("end", end)
        if self.start.x > self.end.x or self.start.y > self.end.y:
            raise wrong(
                f"a range of cores from {self.start} to {self.end} is empty",
                "give the corner with the smaller x and y first",
            )

    def grid_size(self) -> CoreCoord:
        return CoreCoord(self.end.x - self.start.x + 1, self.end.y - self.start.y + 1)

    def to_json(self) -> str:
        """As a set has it."""
        start, end = self.start, self.end
        return f'{{"start":{{"x":{start.x},"y":{start.y}}},"end":{{"x":{end.x},"y":{end.y}}}}}'

    def __repr__(self) -> str:
        return f"[{self.start} - {self.end}]"


class CoreRangeSet(Cores):
    """Rectangles of cores that do not overlap, in the order they are given."""

    __slots__ = ("_ranges",)

    def __init__(self, core_ranges: Any = ()):
        if not isinstance(core_ranges, (list, tuple, set, frozenset)):
            raise _no_ranges(core_ranges)
        found = list(core_ranges)
        if not all(isinstance(each, CoreRange) for each in found):
            raise _no_ranges(found)
        if isinstance(core_ranges, (set, frozenset)):  # unordered; sort for a fixed order
            found.sort(key=lambda r: (r.start.y, r.start.x))
        self._ranges: tuple[CoreRange, ...] = tuple(found)
        for position, first in enumerate(self._ranges):
            for second in self._ranges[position + 1 :]:
                if _overlap(first, second):
                    raise wrong(f"{first} and {second} overlap", "give each core once")

    def ranges(self) -> list[CoreRange]:
        return list(self._ranges)

    def num_cores(self) -> int:
        return sum(map(_area, self._ranges))

    def size(self) -> int:
        """How many rectangles there are."""
        return len(self._ranges)

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

    def merge(self, other: Any) -> CoreRangeSet:
        """The cores of both, in as few rectangles as rows and columns of them make."""
        both = {*_cores_of(self), *_cores_of(core_range_set(other))}
        return _rectangles(both)

    def subtract(self, other: Any) -> CoreRangeSet:
        """The cores that the other has not."""
        return _rectangles({*_cores_of(self)} - {*_cores_of(core_range_set(other))})

    def to_json(self) -> str:
        return f"[{','.join(found.to_json() for found in self._ranges)}]"

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self._ranges))}}}"


def corerange_to_cores(
    core_ranges: Any, max_cores: int | None = None, row_wise: bool = False
) -> list[CoreCoord]:
    """The cores one by one, down the columns of each rectangle or along its rows."""
    return _cores_of(core_range_set(core_ranges), row_wise)[:max_cores]


def grid_to_cores(
    num_cores: int, grid_size_x: int, grid_size_y: int, row_wise: bool = False
) -> list[CoreCoord]:
    """The first cores of a grid."""
    whole = CoreRange((0, 0), (grid_size_x - 1, grid_size_y - 1))
    return _cores_of(whole, row_wise)[:num_cores]


def _area(found: CoreRange) -> int:
    size = found.grid_size()
    return size.x * size.y


def _cores_of(value: Any, row_wise: bool = False) -> list[CoreCoord]:
    """Return the cores of a set or range, or the one core."""
    if isinstance(value, CoreRangeSet):
        return [core for found in value.ranges() for core in _cores_of(found, row_wise)]
    if not isinstance(value, CoreRange):
        return [_coordinate("core", value)]
    columns = range(value.start.x, value.end.x + 1)
    rows = range(value.start.y, value.end.y + 1)
    if row_wise:
        return [CoreCoord(x, y) for y in rows for x in columns]
    return [CoreCoord(x, y) for x in columns for y in rows]


def _overlap(one: CoreRange, other: CoreRange) -> bool:
    return (
        one.start.x <= other.end.x
        and other.start.x <= one.end.x
        and one.start.y <= other.end.y
        and other.start.y <= one.end.y
    )


def _rectangles(cores: set[CoreCoord]) -> CoreRangeSet:
    """Make rectangles from runs of each row, joined with equal runs of the row above."""
    joined: list[CoreRange] = []
    for y in sorted({core.y for core in cores}):
        for start, end in _runs(sorted(core.x for core in cores if core.y == y)):
            line = CoreRange((start, y), (end, y))
            above = [n for n, found in enumerate(joined) if _continues(line, found, True)]
            if above:
                joined[above[0]] = CoreRange(joined[above[0]].start, line.end)
            else:
                joined.append(line)
    return CoreRangeSet(joined)


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    start = previous = numbers[0]
    for number in numbers[1:]:
        if number != previous + 1:
            yield start, previous
            start = number
        previous = number
    yield start, previous


def num_cores_to_corerangeset(
    target_num_cores: int, grid_size: Any, row_wise: bool = False
) -> CoreRangeSet:
    """The first cores of a grid of (columns, rows), down the columns or along the rows."""
    grid = _coordinate("grid_size", grid_size)
    total = grid.x * grid.y
    if not isinstance(target_num_cores, int) or not 0 < target_num_cores <= total:
        raise wrong(
            f"target_num_cores={target_num_cores!r}: a grid of {grid} has {total} cores",
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
    used = min(sum(map(_area, ranges)), units_to_divide)
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
    """Convert a set, a range or the size of a grid to a set of cores."""
    if isinstance(cores, CoreRangeSet):
        return cores
    if isinstance(cores, CoreRange):
        return CoreRangeSet([cores])
    if isinstance(cores, (CoreGrid, CoreCoord, Grid)):
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
    """Return `count` cores from position `first`, cut into rectangles like in the real ttnn:
    adjacent lines of equal length are joined, if only a part of the cores is wanted.
    """
    if first == 0 and count == sum(map(_area, ranges)):
        return CoreRangeSet(ranges)
    joined: list[CoreRange] = []
    for line in _lines(ranges, row_wise):
        cores = _cores_of(line, row_wise)[first : first + count]
        first, count = max(first - _area(line), 0), count - len(cores)
        if not cores:
            continue
        found = CoreRange(cores[0], cores[-1])
        if joined and _continues(found, joined[-1], row_wise):
            joined[-1] = CoreRange(joined[-1].start, found.end)
        else:
            joined.append(found)
    return CoreRangeSet(joined)


def _lines(ranges: list[CoreRange], row_wise: bool) -> Iterator[CoreRange]:
    """Yield the rows of all ranges, or their columns."""
    for whole in ranges:
        left, top, right, bottom = whole.start.x, whole.start.y, whole.end.x, whole.end.y
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
    if isinstance(value, CoreCoord):
        return value
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
