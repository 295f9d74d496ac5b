"""The paths through a kernel, followed side by side.

A client says what the state of a path is, what an operation does to it (`step`), what a loop does
(`loop`) and which paths are one after a branch (`joined`). A path takes both branches of a
condition, except that what it decided before it decides the same again. A node has the role of an
`if_src` or `if_dst`, or has not; that is a decision too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Protocol, Self, TypeVar

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from ttl.dialects import ttl
from ttl.dialects.conditions import Facts, decided, with_fact


class PathState(Protocol):
    """What is known on one path; `facts` is what it has decided."""

    facts: Facts

    def copy(self, facts: Facts) -> Self: ...


State = TypeVar("State", bound=PathState)
Fork = scf.IfOp | ttl.ForEachPipeOp


class PathWalker(ABC, Generic[State]):
    @abstractmethod
    def step(self, op: Operation, paths: list[State]) -> list[State]:
        """An operation without regions; the paths that go on."""

    @abstractmethod
    def loop(self, op: Operation, paths: list[State]) -> list[State]:
        """An operation whose regions may be run several times."""

    def joined(self, paths: list[State]) -> list[State]:
        """The paths after a fork, those that need not be told apart as one."""
        return paths

    def decided(self, op: Fork, path: State) -> bool | None:
        """Does the path go into the (first) region? None: one goes in, one does not."""
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
        """Through all regions once, one after the other."""
        for region in op.regions:
            paths = self.block(region.block, paths)
        return paths

    def fork(self, op: Fork, paths: list[State]) -> list[State]:
        decisions = [(path, self.decided(op, path)) for path in paths]
        found: list[State] = []
        for goes_in, region in zip((True, False), (*op.regions, None), strict=False):
            taking = [
                path if decision is goes_in else _deciding(op, path, goes_in)
                for path, decision in decisions
                if decision in (None, goes_in)
            ]
            if taking and region is not None and region.blocks:
                taking = self.block(region.block, taking)
            found += taking
        return self.joined(found)


def _deciding(op: Fork, path: State, goes_in: bool) -> State:
    """The path again, with its decision."""
    if isinstance(op, scf.IfOp):
        return path.copy(with_fact(path.facts, op.cond, goes_in))
    return path.copy({**path.facts, (op.net, op.ROLE): goes_in})
