"""Where each block stands that a kernel holds: behind how many older blocks of its buffer.

The chip's calls address the first block of a buffer's end. A kernel that holds several blocks
reaches the others by their distance from the first, which must be the same on all paths. Behind
the last block of the buffer comes the first again: a distance is plain only if the blocks that are
held together never go over that edge.
rule BURST  from holding nothing to holding nothing a kernel acquires the same number of blocks each
            time, and the buffer has a multiple of it: then no burst goes over the edge.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue

from ttl.dialects import ttl
from ttl.dialects.conditions import Facts, decided, with_fact

from .module_pass import not_yet

End = tuple[SSAValue, bool]  # a buffer, and whether it is the reserving end


@dataclass(slots=True)
class _Path:
    """What is held on one path, oldest first, and how many were acquired since nothing was."""

    queues: dict[End, tuple[SSAValue, ...]] = field(default_factory=dict)
    bursts: dict[End, int] = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)

    def copy(self, facts: Facts | None = None) -> _Path:
        return _Path(dict(self.queues), dict(self.bursts), self.facts if facts is None else facts)

    def held(self) -> dict[End, tuple[SSAValue, ...]]:
        return {end: queue for end, queue in self.queues.items() if queue}


class HeldBlocks:
    """How many blocks are held with an acquired one, and how far from the first a used one is."""

    def __init__(self, kernel: func.FuncOp):
        self.count: dict[Operation, int] = {}
        self.distances: dict[tuple[Operation, SSAValue], int] = {}
        self.burst_sizes: dict[End, set[int]] = {}
        self._block(kernel.body.block, [_Path()])

    def distance(self, op: Operation, block: SSAValue) -> int:
        return self.distances.get((op, block), 0)

    def goes_over_edge(self, block: SSAValue) -> bool:
        """Can the blocks that are held together go over the edge of the buffer? rule BURST"""
        end = end_of(block)
        sizes = self.burst_sizes.get(end, set())
        assert isinstance(end[0].type, ttl.DataflowBufferType)
        blocks = end[0].type.block_count.value.data
        return len(sizes) != 1 or blocks % next(iter(sizes)) != 0

    # Walking --------------------------------------------------------------------------------------

    def _block(self, block: Block, paths: list[_Path]) -> list[_Path]:
        for op in block.ops:
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
                    same[0].facts = {
                        key: value
                        for key, value in same[0].facts.items()
                        if path.facts.get(key) is value
                    }
                else:
                    found.append(path)
        return found

    def _loop(self, op: Operation, paths: list[_Path]) -> None:
        for path in paths:
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

    def _step(self, op: Operation, path: _Path) -> None:
        if isinstance(op, ttl.AcquireOp):
            self._acquire(op, path)
        elif isinstance(op, ttl.ReleaseOp):
            end = op.buffer, isinstance(op, ttl.PushOp)
            path.queues[end] = path.queues.get(end, ())[1:]
            if not path.queues[end]:
                self.burst_sizes.setdefault(end, set()).add(path.bursts.pop(end, 1))
        else:
            for value in op.operands:
                if isinstance(value.owner, ttl.AcquireOp):
                    self._use(op, value, path)

    def _acquire(self, op: ttl.AcquireOp, path: _Path) -> None:
        end = end_of(op.block)
        path.queues[end] = (*path.queues.get(end, ()), op.block)
        path.bursts[end] = path.bursts.get(end, 0) + 1
        self._agree(self.count.setdefault(op, len(path.queues[end])), len(path.queues[end]), op)

    def _use(self, op: Operation, block: SSAValue, path: _Path) -> None:
        queue = path.queues.get(end_of(block), ())
        if block in queue:
            found = queue.index(block)
            self._agree(self.distances.setdefault((op, block), found), found, op)

    def _agree(self, known: int, found: int, op: Operation) -> None:
        if known != found:
            raise not_yet(
                "a block before which a condition decides how many others are held",
                op,
                "acquire and release blocks on the same paths",
            )


def end_of(block: SSAValue) -> End:
    return ttl.buffer_of(block), isinstance(block.owner, ttl.ReserveOp)
