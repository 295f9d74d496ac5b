"""Where blocks are released in the IR: at the ends of the bodies of threads, as they are written.

A body that becomes a region ends where the region ends. One that does not (a loop of one step, a
branch that is known, an iteration of a loop that is unrolled) has `d2m.release` at its end.
"""

from __future__ import annotations

import ast
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Block, SSAValue

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import d2m
from ttl.frontend.builder import KernelBuilder, Unusable
from ttl.frontend.simple_statements import STATEMENTS


class BodyStart(ast.stmt):
    """Stands before the first statement of a body that is `depth` bodies deep."""

    def __init__(self, depth: int, place: ast.stmt):
        super().__init__()
        self.depth = depth
        ast.copy_location(self, place)


class BodyEnd(BodyStart):
    """Stands behind the last one."""


def with_bodies_marked(tree: Any) -> Any:
    return _Marker().visit(deepcopy(tree))


class _Marker(ast.NodeTransformer):
    def __init__(self) -> None:
        self.depth = 0

    def visit_For(self, node: ast.For) -> ast.AST:
        node.body = self._marked(node.body)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        node.body = self._marked(node.body)
        node.orelse = self._marked(node.orelse) if node.orelse else []
        return node

    def _marked(self, body: list[ast.stmt]) -> list[ast.stmt]:
        self.depth += 1
        inside = [self.visit(statement) for statement in body]
        start, end = BodyStart(self.depth, body[0]), BodyEnd(self.depth, body[-1])
        self.depth -= 1
        return [start, *inside, end]


@dataclass(slots=True)
class Body:
    block: Block
    is_region: bool
    acquired: list[d2m.AcquireOp] = field(default_factory=list)


class Bodies:
    """Those around the statement that is translated; a translation may start over in any."""

    def __init__(self, entry: Block):
        self._stack = [Body(entry, is_region=True)]

    def enter(self, depth: int, block: Block) -> None:
        del self._stack[depth:]
        self._stack.append(Body(block, block is not self._stack[-1].block))

    def note(self, acquire: d2m.AcquireOp) -> None:
        self._stack[-1].acquired.append(acquire)

    def leave(self, depth: int) -> Body:
        left = self._stack[depth]
        del self._stack[depth:]
        return left


def _enter(builder: Any, node: BodyStart) -> None:
    builder.bodies.enter(node.depth, builder.block)


def _leave(builder: Any, node: BodyEnd) -> None:
    body: Body = builder.bodies.leave(node.depth)
    if not body.is_region:
        for acquire in body.acquired:
            builder.emit(d2m.ReleaseOp.create(operands=[acquire.block]))
    _forget(builder, body.acquired)


def _forget(builder: KernelBuilder, acquired: list[d2m.AcquireOp]) -> None:
    """What has a released block for its value has none from here on."""
    for variable, value in list(builder.values.items()):
        owner = value.owner if isinstance(value, SSAValue) else None
        if isinstance(owner, d2m.AcquireOp) and owner in acquired:
            builder.values[variable] = Unusable(_released(owner))


def _released(acquire: d2m.AcquireOp) -> RuleBroken:
    return RuleBroken(
        codes.BLOCK_STATE,
        f"the block of `{acquire.cb.name_hint}` cannot be used now: it was released at the end of "
        "the loop or branch that acquired it",
        helps=("use a block in the body that acquires it",),
    )


STATEMENTS[BodyStart] = _enter
STATEMENTS[BodyEnd] = _leave
