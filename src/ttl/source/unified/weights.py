"""How many bytes the units of a body move, where that decides which thread they get.

What the operation does before its kernels is done once for this: then the sizes of buffers and the
rounds of loops are known. A loop whose rounds are not known counts once.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from math import prod
from typing import Any

from ttl.language.buffer import DataflowBuffer
from ttl.language.declared import OperationScope
from ttl.loading.forks import computed_once
from ttl.semantics.current_engine import SCOPE
from ttl.semantics.types import Shape

from ..functions import named_value
from ..python import as_text
from .sections import Sections, setup_of
from .splitting import Splitter, names_in
from .things import Kind, Thing
from .units import Frame, Site, Unit

UNKNOWN_BYTES = 2048  # a tile of bf16


def grid_of(frame: Frame) -> Shape:
    """The grid of the call; where there is none, as far as the decorator tells."""
    running = SCOPE.get(None)
    asked: Any = running.grid if running is not None else frame.operation.grid
    return asked if isinstance(asked, tuple) else (1, 1)


class Weights:
    def __init__(self, frame: Frame, units: Sequence[Unit], arguments: Mapping[str, Any]):
        self.frame, self.units, self.arguments = frame, units, arguments

    @computed_once
    def names(self) -> Mapping[str, Any]:
        """The names of the body once it has declared everything, without its expansions."""
        own = frozenset(unit for unit in setup_of(self.units) if unit.frame is self.frame)
        grid = grid_of(self.frame)
        token = SCOPE.set(OperationScope(grid, (0,) * len(grid)))
        try:
            with suppress(Exception):  # what is wrong with it is reported when it is called
                setup = Splitter(Sections(own, {})).setup_alone(self.frame)
                given, named = self.frame.operation.as_called(self.arguments)
                found: Mapping[str, Any] = setup(*given, **named)
                return found
            return {}
        finally:
            SCOPE.reset(token)

    @computed_once
    def buffers(self) -> dict[Hashable, DataflowBuffer]:
        found: dict[Hashable, DataflowBuffer] = {}
        for unit in (unit for unit in self.frame.units if unit.makes):
            for name in unit.binds:
                _note(found, self.frame.final[name], self.names.get(name.name))
        return found

    def of(self, unit: Unit) -> int:
        if not unit.moves_blocks:
            return 0
        loops = (each for each in unit.controls() if each.is_loop and each.frame is self.frame)
        return prod(map(self._length, loops)) * max(map(self._bytes, unit.blocks), default=0)

    def _bytes(self, site: Site) -> int:
        found = self.buffers.get(site.buffer)
        return UNKNOWN_BYTES if found is None else found.block_bytes

    def _length(self, loop: Unit) -> int:
        over, around = loop.counts or loop.node, self.frame.function
        names = {each: named_value(each, around) for each in names_in(over)} | dict(self.names)
        with suppress(Exception):
            return len(eval(as_text(over), around.__globals__, names))
        return 1


def _note(found: dict[Hashable, DataflowBuffer], thing: Thing, value: Any) -> None:
    """Which buffer is meant by what was read of a name."""
    if thing.kind is Kind.BUFFER and isinstance(value, DataflowBuffer):
        found[thing.key] = value
    elif thing.kind is Kind.CONTAINER and isinstance(value, (list, tuple)):
        for place, item in enumerate(value):
            _note(found, thing.at(place), item)
