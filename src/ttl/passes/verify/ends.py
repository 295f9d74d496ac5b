"""Has every buffer one producer and one consumer on each node? ttl-verify-dfb-spsc."""

from __future__ import annotations

from ttl.diagnostics import Diagnostic
from ttl.diagnostics.buffer_ends import second_kernel
from ttl.dialects.locations import span_of

from .events import Event, Kind, counted
from .walk import WalkedModule

CALLS = {Kind.RESERVE: "reserve", Kind.WAIT: "wait"}


def check_ends(walked: WalkedModule) -> list[Diagnostic]:
    """One diagnostic for each end that two kernels have, with the first node where they do."""
    found: dict[tuple[Kind, int], Diagnostic] = {}
    for node, traces in walked.distinct():
        first: dict[tuple[Kind, int], tuple[str, Event]] = {}
        for kernel, items in zip(walked.kernels, traces, strict=True):
            for event, _ in counted(items):
                end = event[0], event[1]
                if event[0] not in CALLS or end in found:
                    continue
                other, earlier = first.setdefault(end, (kernel.name, event))
                if other != kernel.name:
                    broken = second_kernel(
                        CALLS[event[0]],
                        walked.buffers[event[1]].name,
                        other,
                        span_of(earlier[2].location),
                    )
                    notes = (f"on node {node}",)
                    found[end] = broken.at(span_of(event[2].location), notes=notes)
    return list(found.values())
