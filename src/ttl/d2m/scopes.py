"""Where blocks are released in the IR: at the ends of the bodies of threads, as they are written.

A body that becomes a region ends where the region ends. One that does not (a loop of one step, a
branch that is known, an iteration of a loop that is unrolled) has `d2m.release` at its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import d2m
from ttl.frontend.builder import KernelBuilder
from ttl.frontend.hir import Body, Op, RunTime
from ttl.frontend.problems import Unusable
from ttl.source import tree

from .bodies import InBodies


@tree.node()
class BodyStart(tree.Statement):
    """Stands before the first statement of a body that is `depth` bodies deep."""

    depth: int


@tree.node()
class BodyEnd(BodyStart):
    """Stands after the last one."""


def with_bodies_marked(thread: tree.Function) -> tree.Function:
    found: tree.Function = _Marker().node(thread)
    return found


class _Marker(InBodies):
    def rewritten(self, body: tree.Body) -> tree.Body:
        start = BodyStart(body[0].place, self.depth)
        return (start, *body, BodyEnd(body[-1].place, self.depth))


@dataclass(slots=True)
class Scope:
    body: Body
    is_region: bool
    acquired: list[RunTime] = field(default_factory=list)


class Bodies:
    """Those around the statement that is translated; a translation may start over in any."""

    def __init__(self, entry: Body):
        self._stack = [Scope(entry, is_region=True)]

    def enter(self, depth: int, body: Body) -> None:
        del self._stack[depth:]
        self._stack.append(Scope(body, body is not self._stack[-1].body))

    def note(self, block: RunTime) -> None:
        self._stack[-1].acquired.append(block)

    def leave(self, depth: int) -> Scope:
        left = self._stack[depth]
        del self._stack[depth:]
        return left


def _leave(builder: Any, node: BodyEnd) -> None:
    scope: Scope = builder.bodies.leave(node.depth)
    if not scope.is_region:
        for block in scope.acquired:
            builder.emit(d2m.ReleaseOp, [block])
    _forget(builder, scope.acquired)


def _forget(builder: KernelBuilder, acquired: list[RunTime]) -> None:
    """What has a released block for its value has none from here on."""
    for variable, value in list(builder.state.values.items()):
        if isinstance(value, RunTime) and value in acquired:
            builder.state.values[variable] = Unusable(_released(value))


def _released(block: RunTime) -> RuleBroken:
    assert isinstance(block.owner, Op)
    name = block.owner.operands[0].hint
    return codes.BLOCK_STATE.broken(
        f"the block of `{name}` cannot be used now: it was released at the end of the "
        "loop or branch that acquired it",
        "use a block in the body that acquires it",
    )


STATEMENTS = {
    BodyStart: lambda builder, node: builder.bodies.enter(node.depth, builder.region),
    BodyEnd: _leave,
}
