"""How many bytes the units of a body move, where that decides which thread they get.

What the operation does before its kernels is done once for this: then the sizes of buffers and the
rounds of loops are known. A loop whose rounds are not known counts once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from ttl.language.buffer import DataflowBuffer
from ttl.language.operation import OperationScope
from ttl.semantics.current_engine import SCOPE

from ..functions import named_value
from .units import Frame, Site, Unit

UNKNOWN_BYTES = 2048  # a tile of bf16


class Weights:
    """`run` makes what the operation declares, and gives the names of its body."""

    def __init__(self, frame: Frame, run: Callable[[], Mapping[str, Any]]):
        self.frame = frame
        self.run = run

    @cached_property
    def names(self) -> Mapping[str, Any]:
        running = SCOPE.get(None)
        asked = running.grid if running is not None else self.frame.operation.grid
        grid = asked if isinstance(asked, tuple) else (1, 1)
        token = SCOPE.set(OperationScope(grid, (0,) * len(grid)))
        try:
            with suppress(Exception):  # what is wrong with it is reported when it is called
                return self.run()
            return {}
        finally:
            SCOPE.reset(token)

    @cached_property
    def buffers(self) -> dict[Hashable, DataflowBuffer]:
        found: dict[Hashable, DataflowBuffer] = {}
        made = [u for u in self.frame.units if u.makes and isinstance(u.node, ast.Assign)]
        for unit in made:
            calls = [node for node in ast.walk(unit.node) if isinstance(node, ast.Call)]
            bound = [self.names[name] for name in _in_order(unit) if name in self.names]
            for place, value in enumerate(bound):
                for call in calls:
                    items = value if isinstance(value, (list, tuple)) else bound
                    found |= {((unit, call), at): each for at, each in enumerate(items)}
                    found[unit, call] = value if len(bound) == 1 else bound[place]
        return {key: each for key, each in found.items() if isinstance(each, DataflowBuffer)}

    def of(self, unit: Unit) -> int:
        if not unit.moves_blocks:
            return 0
        return self._rounds(unit) * max(map(self._bytes, unit.sites | unit.acquires), default=0)

    def _bytes(self, site: Site) -> int:
        found = self.buffers.get(site.buffer)
        return UNKNOWN_BYTES if found is None else found.block_bytes

    def _rounds(self, unit: Unit) -> int:
        rounds = 1
        for control in unit.controls():
            if control.is_loop and control.frame is self.frame:
                rounds *= self._length(control)
        return rounds

    def _length(self, loop: Unit) -> int:
        text = ast.Expression(loop.counts or loop.node)  # type: ignore[arg-type]
        names = {name: self._value(name) for name in loop.reads} | dict(self.names)
        with suppress(Exception):
            code = compile(ast.fix_missing_locations(text), self.frame.file, "eval")
            return len(eval(code, self.frame.function.__globals__, names))
        return 1

    def _value(self, name: str) -> Any:
        return named_value(name, self.frame.function)


def _in_order(unit: Unit) -> Sequence[str]:
    names = (node for node in ast.walk(unit.node) if isinstance(node, ast.Name))
    stored = sorted(
        (n for n in names if isinstance(n.ctx, ast.Store) and n.id in unit.binds),
        key=lambda n: (n.lineno, n.col_offset),
    )
    return [node.id for node in stored]
