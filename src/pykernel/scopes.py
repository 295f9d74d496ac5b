"""Releases of blocks in the IR: at the ends of the bodies of threads, as written.

A body that becomes a region ends with the region. One that does not (a loop of one step, a known
branch, an iteration of an unrolled loop) has `d2m.release` at its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pykernel.dialects import d2m
from ttl.diagnostics import RuleBroken, codes
from ttl.frontend.attributes import attribute_of
from ttl.frontend.builder import KernelBuilder
from ttl.frontend.continuations import End, Steps
from ttl.frontend.hir import Body, Op, RunTime, Value
from ttl.frontend.items import bind
from ttl.frontend.problems import Unusable
from ttl.source import tree


@dataclass(slots=True)
class OpenBody:
    """Replaces objects.Scope while a thread is compiled."""

    region: Body
    is_region: bool
    acquired: list[RunTime] = field(default_factory=list)


def opened(builder: KernelBuilder, outer: OpenBody | None = None) -> OpenBody:
    return OpenBody(builder.region, outer is None or outer.region is not builder.region)


def with_body(builder: Any, node: tree.With) -> Steps:
    (item,) = node.items
    assert item.target is not None
    body: OpenBody = builder.evaluate(item.value)
    bind(builder, item.target, body)
    return (*node.body, End(lambda: _close(builder, body)))


def _close(builder: KernelBuilder, body: OpenBody) -> None:
    if not body.is_region:
        for block in body.acquired:
            builder.emit(d2m.ReleaseOp, [block])
    # Names of released blocks are unusable from here on.
    for variable, value in list(builder.state.values.items()):
        if isinstance(value, RunTime) and value in body.acquired:
            builder.state.values[variable] = Unusable(_released(value))


def _released(block: RunTime) -> RuleBroken:
    assert isinstance(block.owner, Op)
    name = block.owner.operands[0].hint
    return codes.BLOCK_STATE.broken(
        f"the block of `{name}` cannot be used now: it was released at the end of the "
        "loop or branch that acquired it",
        "use a block in the body that acquires it",
    )


def store(builder: Any, body: OpenBody, block: Value, value: Value) -> Value:
    """Store a value; the lowering adds if it is a product."""
    return builder.call(attribute_of(builder, block, "store"), [value], {})
