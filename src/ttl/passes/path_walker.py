"""Follow the paths through a kernel side by side.

A subclass defines the state of a path, the effect of an operation (`step`) and of a loop (`loop`),
and merges paths after a branch (`merge`). A path takes both branches of a condition, unless it has
already decided the same condition. Whether a node has the role of an `if_src` or `if_dst` is a
decision too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Protocol, Self, TypeVar

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from ttl.dialects import ttl
from ttl.dialects.conditions import Facts, decided, with_fact


class PathState(Protocol):
    """The state of one path; `facts` are its decisions."""

    facts: Facts

    def copy(self, facts: Facts) -> Self: ...


State = TypeVar("State", bound=PathState)
Fork = scf.IfOp | ttl.ForEachPipeOp


class PathWalker(ABC, Generic[State]):
    @abstractmethod
    def step(self, op: Operation, paths: list[State]) -> list[State]:
        """Apply an operation without regions; return the paths that continue."""

    @abstractmethod
    def loop(self, op: Operation, paths: list[State]) -> list[State]:
        """Apply an operation whose regions may run several times."""

    def merge(self, paths: list[State]) -> list[State]:
        """Merge paths after a fork that need not be distinguished."""
        return paths

    def decided(self, op: Fork, path: State) -> bool | None:
        """Does the path enter the (first) region? None: undecided, so it forks."""
        if isinstance(op, scf.IfOp):
            return decided(path.facts, op.cond)
        return path.facts.get((op.net, op.ROLE))

    def block(self, block: Block, paths: list[State]) -> list[State]:
        for op in block.ops:
            if not op.regions:
                paths = self.step(op, paths)
            elif isinstance(op, (scf.IfOp, ttl.ForEachPipeOp)):
                paths = self.fork(op, paths)
            else:
                paths = self.loop(op, paths)
        return paths

    def regions(self, op: Operation, paths: list[State]) -> list[State]:
        """Walk through all regions once, one after the other."""
        for region in op.regions:
            paths = self.block(region.block, paths)
        return paths

    def fork(self, op: Fork, paths: list[State]) -> list[State]:
        decisions = [(path, self.decided(op, path)) for path in paths]
        found: list[State] = []
        for goes_in, region in zip((True, False), (*op.regions, None), strict=False):
            taking = [
                path if decision is goes_in else _with_decision(op, path, goes_in)
                for path, decision in decisions
                if decision in (None, goes_in)
            ]
            if taking and region is not None and region.blocks:
                taking = self.block(region.block, taking)
            found += taking
        return self.merge(found)


def _with_decision(op: Fork, path: State, goes_in: bool) -> State:
    """Return a copy of the path with its decision."""
    if isinstance(op, scf.IfOp):
        return path.copy(with_fact(path.facts, op.cond, goes_in))
    return path.copy({**path.facts, (op.net, op.ROLE): goes_in})
