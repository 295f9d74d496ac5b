"""Parts of tensors as sets of equal boxes, so that parts which overlap share one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import reduce
from itertools import product
from math import gcd, prod

from ttl.semantics.types import Shape

from .opaque import NotFollowed
from .rehearsal import Part

MOST_CELLS = 1 << 20
Cell = tuple[Hashable, Shape]


class Cells:
    """Of all parts that a body copies."""

    def __init__(self, parts: Iterable[Part]):
        by_memory: dict[Hashable, list[Part]] = {}
        for part in dict.fromkeys(parts):
            by_memory.setdefault(part.memory, []).append(part)
        self._sizes = {memory: _box(alike) for memory, alike in by_memory.items()}
        self._found: dict[Part, list[Cell]] = {}
        self._left = MOST_CELLS

    def of(self, part: Part) -> list[Cell]:
        """NotFollowed if there are too many."""
        if part not in self._found:
            bounds = self._bounds(part)
            self._left -= prod(map(len, bounds))
            if self._left < 0:
                raise NotFollowed("too many tiles")
            self._found[part] = [(part.memory, place) for place in product(*bounds)]
        return self._found[part]

    def _bounds(self, part: Part) -> list[range]:
        sizes = self._sizes[part.memory]
        if sizes is None:
            return []
        places = zip(part.starts, part.shape, sizes, strict=True)
        return [range(start, start + size, step) for start, size, step in places]


def _box(parts: list[Part]) -> Shape | None:
    """The largest box of which all parts consist; None for two views of different shapes."""
    if len({part.sizes for part in parts}) > 1:
        return None
    sizes = [each.starts for each in parts] + [each.shape for each in parts]
    return tuple(reduce(gcd, of_dimension) for of_dimension in zip(*sizes, strict=True))
