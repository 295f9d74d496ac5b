"""ttl-verify-dfb-spsc: check that every buffer has one producer and one consumer on each node."""

from __future__ import annotations

from ttl.diagnostics import Diagnostic
from ttl.diagnostics.buffer_ends import second_kernel
from ttl.dialects.locations import span_of

from .events import Event, Node, WalkEventKind
from .walk import WalkedModule

CALLS = {WalkEventKind.RESERVE: "reserve", WalkEventKind.WAIT: "wait"}


def check_ends(walked: WalkedModule) -> list[Diagnostic]:
    """Report each end that two kernels have, with the first node where they do."""
    found: dict[tuple[WalkEventKind, int], Diagnostic] = {}
    first: dict[tuple[Node, WalkEventKind, int], tuple[str, Event]] = {}
    for node, kernel, event in walked.events(*CALLS):
        kind, buffer, op = event
        other, earlier = first.setdefault((node, kind, buffer), (kernel, event))
        if other != kernel and (kind, buffer) not in found:
            name = walked.buffers[buffer].name
            broken = second_kernel(CALLS[kind], name, other, span_of(earlier[2].location))
            notes = (f"on node {node}",)
            found[kind, buffer] = broken.at(span_of(op.location), notes=notes)
    return list(found.values())
