"""Divides work among cores and prints the rectangles of each group, one list for every case.

Run by the real ttnn's Python, and imported by the tests, which give it the embedded ttnn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def cases(ttnn: Any) -> Iterator[tuple[Any, int, bool]]:
    """Grids and sets of two rectangles, with fewer units than cores, as many, and more."""
    for columns, rows in ((8, 8), (3, 4), (1, 5), (5, 1)):
        whole = ttnn.CoreRange(ttnn.CoreCoord(1, 2), ttnn.CoreCoord(columns, rows + 1))
        below = ttnn.CoreRange(ttnn.CoreCoord(1, rows + 2), ttnn.CoreCoord(2, rows + 3))
        for place in (ttnn.CoreCoord(columns, rows), ttnn.CoreRangeSet([whole, below])):
            for units in (0, 1, 3, 7, 12, 17, 36, 64, 100):
                yield from ((place, units, row_wise) for row_wise in (False, True))


def divided(ttnn: Any) -> list[Any]:
    return [_plain(ttnn.split_work_to_cores(*case)) for case in cases(ttnn)]


def _plain(answer: tuple[Any, ...]) -> list[Any]:
    return [part if isinstance(part, int) else _corners(part) for part in answer]


def _corners(cores: Any) -> list[list[int]]:
    return [[r.start.x, r.start.y, r.end.x, r.end.y] for r in cores.ranges()]


if __name__ == "__main__":
    import ttnn

    print(json.dumps(divided(ttnn)))
