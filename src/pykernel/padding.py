"""Warn about reductions over the padding of tensors whose columns do not fill their tiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ttl.diagnostics import Diagnostic, codes
from ttl.semantics.types import TILE_SIZE
from ttl.source import tree
from ttl.source.trees import value_around

from .broadcasts import REDUCING, is_one_of
from .functions import rowsum
from .program import Call
from .threads import ThreadFunction


def padding_warnings(call: Call) -> list[Diagnostic]:
    """Warn about reductions over padding. Loaded blocks have zeros there, which do not change a
    sum; they change a maximum, and computed values change a sum too."""
    ragged = [
        operand.name
        for operand in call.operands
        if operand is not call.output and operand.layout.logical_shape[-1] % TILE_SIZE
    ]
    if not ragged:
        return []
    threads = [thread for thread in call.program.threads if thread.is_compute]
    return [each for thread in threads for each in _reductions(thread, ragged[0])]


def _reductions(thread: ThreadFunction, tensor: str) -> Iterator[Diagnostic]:
    calls = (node for node in thread.nodes if isinstance(node, tree.Call) and node.arguments)
    for node in calls:
        which: Any = value_around(node.function, thread.function)
        values = thread.values_of(node.arguments[0])
        is_loaded = any(isinstance(each, tree.Call) and each.method == "pop" for each in values)
        if is_one_of(which, REDUCING) and not (which is rowsum and is_loaded):
            text = (
                f"{which.__name__}() takes the padding of `{tensor}` into account: its columns do "
                "not fill their tiles"
            )
            help_text = f"give the program tensors whose columns are a multiple of {TILE_SIZE}"
            broken = codes.PADDING_REDUCED.broken(text, help_text)
            yield broken.at(thread.span(node), notes=(f"in thread `{thread.name}`",))
