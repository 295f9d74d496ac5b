"""The position of each block that a kernel holds: the number of older blocks of its buffer.

The chip's calls address the first block of a buffer's end. A kernel that holds several blocks
reaches the others by their distance from the first, which must be the same on all paths. After the
last block of the buffer comes the first again: a distance is plain only if the block is not past
that edge.

rule EDGE  the possible positions of the first block are known: each release advances it by one. An
           iteration of a loop starts where the one before ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import func, scf
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttl
from ttl.dialects.conditions import Facts

from ..module_pass import not_yet, steps_of
from ..path_walker import PathWalker

Places = dict[ttl.End, frozenset[int]]
START = frozenset({0})


@dataclass(slots=True)
class _Path:
    """The blocks held on one path, oldest first, and possible positions of each first block."""

    queues: dict[ttl.End, tuple[SSAValue, ...]] = field(default_factory=dict)
    places: Places = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)

    def copy(self, facts: Facts) -> _Path:
        return _Path(dict(self.queues), dict(self.places), facts)

    def places_of(self, end: ttl.End) -> frozenset[int]:
        return self.places.get(end, START)

    def may_also_stand(self, places: Places) -> None:
        for end in {*self.places, *places}:
            self.places[end] = self.places_of(end) | places.get(end, START)

    def merge(self, other: _Path) -> None:
        self.may_also_stand(other.places)
        facts = other.facts
        self.facts = {key: fact for key, fact in self.facts.items() if facts.get(key) is fact}

    def held_blocks(self) -> dict[ttl.End, tuple[SSAValue, ...]]:
        return {end: queue for end, queue in self.queues.items() if queue}


class BlockOffsets(PathWalker[_Path]):
    """Blocks held with an acquired one, and a used block's distance from the first."""

    def __init__(self, kernel: func.FuncOp):
        self.count: dict[Operation, int] = {}
        self.distances: dict[tuple[Operation, SSAValue], int] = {}
        self.over_edge: set[tuple[Operation, SSAValue]] = set()
        self.handed_over: set[SSAValue] = set()
        self.block(kernel.body.block, [_Path()])

    def distance(self, op: Operation, block: SSAValue) -> int:
        return self.distances.get((op, block), 0)

    def goes_over_edge(self, op: Operation, block: SSAValue) -> bool:
        """Can the block be past the edge of the buffer where `op` uses it? (rule EDGE)"""
        return (op, block) in self.over_edge

    # Walking --------------------------------------------------------------------------------------

    def step(self, op: Operation, paths: list[_Path]) -> list[_Path]:
        for path in paths:
            self._step(op, path)
        return paths

    def merge(self, paths: list[_Path]) -> list[_Path]:
        """Merge paths that differ only in the conditions they decided."""
        found: list[_Path] = []
        for path in paths:
            same = next(
                (other for other in found if other.held_blocks() == path.held_blocks()), None
            )
            if same is None:
                found.append(path)
            else:
                same.merge(path)
        return found

    def loop(self, op: Operation, paths: list[_Path]) -> list[_Path]:
        count = _iterations(op)
        for path in paths:
            seen: list[Places] = []
            while path.places not in seen and count != len(seen):
                seen.append(dict(path.places))
                after = self._iteration(op, path)
                if count is None:
                    path.may_also_stand(after)
                else:
                    path.places = after
            if count is not None and len(seen) < count:  # positions repeat from here on
                start = seen.index(path.places)
                path.places = seen[start + (count - start) % (len(seen) - start)]
        return paths

    def _iteration(self, op: Operation, path: _Path) -> Places:
        """Return the possible positions of the first blocks after an iteration."""
        before = path.held_blocks()
        first, *others = self.regions(op, [path.copy(path.facts)])
        if any(each.held_blocks() != before for each in (first, *others)):
            raise not_yet(
                "a loop that ends with other blocks held than it began with",
                op,
                "release in the loop what it acquires",
            )
        for other in others:
            first.may_also_stand(other.places)
        return first.places

    def _step(self, op: Operation, path: _Path) -> None:
        if isinstance(op, ttl.AcquireOp):
            end = ttl.end_of(op)
            path.queues[end] = (*path.queues.get(end, ()), op.block)
            self._count(op, len(path.queues[end]))
        elif isinstance(op, ttl.CanAcquireOp):
            self._count(op, len(path.queues.get(ttl.end_of(op), ())) + 1)
        elif isinstance(op, ttl.HandOverOp):
            oldest, *others = path.queues[ttl.end_of(op)]
            path.queues[ttl.end_of(op)] = tuple(others)
            self.handed_over.add(oldest)
        elif isinstance(op, ttl.ReleaseOp):
            end = ttl.end_of(op)
            queue = path.queues.get(end, ())
            released = ttl.released_by(op, queue)
            path.queues[end] = tuple([block for block in queue if block is not released])
            count = _block_count(end)
            path.places[end] = frozenset((place + 1) % count for place in path.places_of(end))
        else:
            for value in op.operands:
                if isinstance(value.owner, ttl.AcquireOp):
                    self._use(op, value, ttl.end_of(value.owner), path)

    def _count(self, op: Operation, count: int) -> None:
        self._agree(self.count.setdefault(op, count), count, op)

    def _use(self, op: Operation, block: SSAValue, end: ttl.End, path: _Path) -> None:
        queue = path.queues.get(end, ())
        if block in queue:
            found = queue.index(block)
            if max(path.places_of(end)) + found >= _block_count(end):
                self.over_edge.add((op, block))
            self._agree(self.distances.setdefault((op, block), found), found, op)
        elif block in self.handed_over:
            raise not_yet(
                "two names for a block that a loop carries", op, "use the name that it carries"
            )

    def _agree(self, known: int, found: int, op: Operation) -> None:
        if known != found:
            raise not_yet(
                "a block before which a condition decides how many others are held",
                op,
                "acquire and release blocks on the same paths",
            )


def _block_count(end: ttl.End) -> int:
    type = end[0].type
    assert isinstance(type, ttl.DataflowBufferType)
    return type.block_count.value.data


def _iterations(loop: Operation) -> int | None:
    """Return how often the body runs, if known."""
    steps = steps_of(loop) if isinstance(loop, scf.ForOp) else None
    return None if steps is None else len(steps)
