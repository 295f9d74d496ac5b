"""Reductions over the padding of tensors whose columns do not fill their tiles."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ttl.diagnostics import Diagnostic, codes
from ttl.semantics.types import TILE_SIZE

from .older import called
from .program import Call
from .threads import Thread

REDUCTIONS = ("rowmax", "rowsum")


def padding_warnings(call: Call) -> list[Diagnostic]:
    """A block as it was loaded has zeros there, which a sum does not mind; a maximum does, and so
    does a sum of what was computed of them.
    """
    ragged = [
        operand.name
        for operand in call.operands
        if operand is not call.output and operand.layout.logical_shape[-1] % TILE_SIZE
    ]
    if not ragged:
        return []
    threads = [thread for thread in call.program.threads if thread.is_compute]
    return [each for thread in threads for each in _reductions(thread, ragged[0])]


def _reductions(thread: Thread, tensor: str) -> Iterator[Diagnostic]:
    nodes = list(ast.walk(thread.tree))
    loaded = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and called(node.value) == "pop"
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in nodes:
        name = called(node)
        if not isinstance(node, ast.Call) or name not in REDUCTIONS or not node.args:
            continue
        first = node.args[0]
        if name == "rowsum" and isinstance(first, ast.Name) and first.id in loaded:
            continue
        yield codes.PADDING_REDUCED.broken(
            f"{name}() takes the padding of `{tensor}` into account: its columns do not fill "
            "their tiles",
            f"give the program tensors whose columns are a multiple of {TILE_SIZE}",
        ).at(thread.span(node), notes=(f"in thread `{thread.name}`",))
