"""Where each block stands that a kernel holds: behind how many older blocks of its buffer.

The chip's calls address the first block of a buffer's end. A kernel that holds several blocks
reaches the others by their distance from the first, which must be the same on all paths. Behind
the last block of the buffer comes the first again: a distance is plain only if the block is not
behind that edge.
rule EDGE  where the first block can stand is known: each release moves it by one. In a loop it goes
           from where the iteration before left it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue

from ttl.dialects import ttl
from ttl.dialects.conditions import Facts, decided, with_fact

from ..module_pass import constant_of, not_yet

End = tuple[SSAValue, bool]  # a buffer, and whether it is the reserving end
START = frozenset({0})


@dataclass(slots=True)
class _Path:
    """What is held on one path, oldest first, and in which places the first block may stand."""

    queues: dict[End, tuple[SSAValue, ...]] = field(default_factory=dict)
    places: dict[End, frozenset[int]] = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)

    def copy(self, facts: Facts | None = None) -> _Path:
        return _Path(dict(self.queues), dict(self.places), self.facts if facts is None else facts)

    def places_of(self, end: End) -> frozenset[int]:
        return self.places.get(end, START)

    def may_also_stand(self, places: dict[End, frozenset[int]]) -> None:
        for end in {*self.places, *places}:
            self.places[end] = self.places_of(end) | places.get(end, START)

    def held(self) -> dict[End, tuple[SSAValue, ...]]:
        return {end: queue for end, queue in self.queues.items() if queue}


class HeldBlocks:
    """How many blocks are held with an acquired one, and how far from the first a used one is."""

    def __init__(self, kernel: func.FuncOp):
        self.count: dict[Operation, int] = {}
        self.distances: dict[tuple[Operation, SSAValue], int] = {}
        self.over_edge: set[tuple[Operation, SSAValue]] = set()
        self.handed_over: set[SSAValue] = set()
        self._steps: dict[Block, list[Operation]] = {}
        self._block(kernel.body.block, [_Path()])

    def distance(self, op: Operation, block: SSAValue) -> int:
        return self.distances.get((op, block), 0)

    def goes_over_edge(self, op: Operation, block: SSAValue) -> bool:
        """Can the block be behind the edge of the buffer where `op` uses it? rule EDGE"""
        return (op, block) in self.over_edge

    # Walking --------------------------------------------------------------------------------------

    def _steps_of(self, block: Block) -> list[Operation]:
        """What acquires, releases or uses blocks; a use in a loop over tiles without the loop."""
        if block not in self._steps:
            self._steps[block] = [step for op in block.ops for step in self._steps_in(op)]
        return self._steps[block]

    def _steps_in(self, op: Operation) -> list[Operation]:
        if not op.regions:
            uses = any(isinstance(value.owner, ttl.AcquireOp) for value in op.operands)
            return [op] if uses or isinstance(op, _CHANGES) else []
        bodies = [block for region in op.regions for block in region.blocks]
        inner = [step for body in bodies for step in self._steps_of(body)]
        changes = any(step.regions or isinstance(step, _CHANGES) for step in inner)
        return [op] if inner and (changes or isinstance(op, scf.IfOp)) else inner

    def _block(self, block: Block, paths: list[_Path]) -> list[_Path]:
        for op in self._steps_of(block):
            if isinstance(op, scf.IfOp):
                paths = self._branch(op, paths)
            elif op.regions:
                self._loop(op, paths)
            else:
                for path in paths:
                    self._step(op, path)
        return paths

    def _branch(self, op: scf.IfOp, paths: list[_Path]) -> list[_Path]:
        found: list[_Path] = []
        for is_then, region in ((True, op.true_region), (False, op.false_region)):
            entering = [
                path.copy(with_fact(path.facts, op.cond, is_then))
                for path in paths
                if decided(path.facts, op.cond) in (None, is_then)
            ]
            for path in self._block(region.block, entering) if region.blocks else entering:
                same = [other for other in found if other.held() == path.held()]
                if same:  # paths that differ in nothing but what they decided are one
                    same[0].may_also_stand(path.places)
                    same[0].facts = {
                        key: value
                        for key, value in same[0].facts.items()
                        if path.facts.get(key) is value
                    }
                else:
                    found.append(path)
        return found

    def _loop(self, op: Operation, paths: list[_Path]) -> None:
        count = _iterations(op)
        for path in paths:
            seen: list[dict[End, frozenset[int]]] = []
            while path.places not in seen and count != len(seen):
                seen.append(dict(path.places))
                after = self._iteration(op, path)
                if count is None:
                    path.may_also_stand(after)
                else:
                    path.places = after
            if count is not None and len(seen) < count:  # it goes round from here on
                start = seen.index(path.places)
                path.places = seen[start + (count - start) % (len(seen) - start)]

    def _iteration(self, op: Operation, path: _Path) -> dict[End, frozenset[int]]:
        """Where the first blocks may stand behind an iteration."""
        before = path.held()
        inside = [path.copy()]
        for region in op.regions:
            inside = self._block(region.block, inside)
        if any(each.held() != before for each in inside):
            raise not_yet(
                "a loop that ends with other blocks held than it began with",
                op,
                "release in the loop what it acquires",
            )
        for other in inside[1:]:
            inside[0].may_also_stand(other.places)
        return inside[0].places

    def _step(self, op: Operation, path: _Path) -> None:
        if isinstance(op, ttl.AcquireOp):
            self._acquire(op, path)
        elif isinstance(op, ttl.CanAcquireOp):
            count = len(path.queues.get((op.buffer, op.is_wait is None), ())) + 1
            self._agree(self.count.setdefault(op, count), count, op)
        elif isinstance(op, ttl.HandOverOp):
            end = op.buffer, op.is_wait is None
            oldest, *others = path.queues[end]
            path.queues[end] = tuple(others)
            self.handed_over.add(oldest)
        elif isinstance(op, ttl.ReleaseOp):
            end = op.buffer, isinstance(op, ttl.PushOp)
            path.queues[end] = path.queues.get(end, ())[1:]
            count = _block_count(end)
            path.places[end] = frozenset((place + 1) % count for place in path.places_of(end))
        else:
            for value in op.operands:
                if isinstance(value.owner, ttl.AcquireOp):
                    self._use(op, value, path)

    def _acquire(self, op: ttl.AcquireOp, path: _Path) -> None:
        end = end_of(op.block)
        path.queues[end] = (*path.queues.get(end, ()), op.block)
        self._agree(self.count.setdefault(op, len(path.queues[end])), len(path.queues[end]), op)

    def _use(self, op: Operation, block: SSAValue, path: _Path) -> None:
        end = end_of(block)
        queue = path.queues.get(end, ())
        if block in queue:
            found = queue.index(block)
            if max(path.places_of(end)) + found >= _block_count(end):
                self.over_edge.add((op, block))
            self._agree(self.distances.setdefault((op, block), found), found, op)
        elif block in self.handed_over:
            raise not_yet(
                "two names for a block that a loop hands on", op, "use the name that it hands on"
            )

    def _agree(self, known: int, found: int, op: Operation) -> None:
        if known != found:
            raise not_yet(
                "a block before which a condition decides how many others are held",
                op,
                "acquire and release blocks on the same paths",
            )


_CHANGES = (ttl.AcquireOp, ttl.CanAcquireOp, ttl.HandOverOp, ttl.ReleaseOp)


def end_of(block: SSAValue) -> End:
    return ttl.buffer_of(block), isinstance(block.owner, ttl.ReserveOp)


def _block_count(end: End) -> int:
    type = end[0].type
    assert isinstance(type, ttl.DataflowBufferType)
    return type.block_count.value.data


def _iterations(loop: Operation) -> int | None:
    """How often the body runs, if that is known."""
    if not isinstance(loop, scf.ForOp):
        return None
    bounds = [constant_of(bound) for bound in (loop.lb, loop.ub, loop.step)]
    lower, upper, step = bounds
    if lower is None or upper is None or step is None:
        return None
    return len(range(lower, upper, step))
