"""Loops of which every iteration is evaluated by itself."""

from __future__ import annotations

from typing import Any

from ttl.source import tree

from .builder import KernelBuilder
from .continuations import ITERATION_END, LOOP_END, Enter, Steps
from .hir import RunTime
from .items import bind
from .loops import endless_loop
from .problems import flow_broken
from .scalars import truth


def unrolled(builder: KernelBuilder, node: tree.Loop, items: list[Any]) -> Steps:
    """The body once for each item."""

    def iteration(position: int) -> Steps:
        def enter(rest: Steps) -> Steps:
            bind(builder, node.target, items[position])
            return (*node.body, ITERATION_END, *iteration(position + 1), *rest)

        return (Enter(node.target, enter, node.body),) if position < len(items) else ()

    return (*iteration(0), LOOP_END)


def unrolled_while(builder: KernelBuilder, node: tree.While) -> Steps:
    """`while pending:` on a list: the body as often as the condition is true."""

    def enter(rest: Steps) -> Steps:
        condition = truth(builder, builder.evaluate(node.test))
        if isinstance(condition, RunTime):
            raise flow_broken("a `while` whose condition a list and the run decide")
        if not condition:
            return rest
        if not builder.may_unroll(1):
            raise endless_loop(node.body)
        return (*node.body, ITERATION_END, iteration, *rest)

    iteration = Enter(node, enter, node.body)
    return (iteration, LOOP_END)
