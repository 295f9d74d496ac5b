"""The estimated times of all steps, as Perfetto and chrome://tracing load them."""

from __future__ import annotations

from typing import Any

from ttl.artifact import CompiledOperation
from ttl.trace.calls import Recording

from .machine import Machine
from .parts import Slice
from .result import Model
from .streams import Do

Events = list[dict[str, Any]]


def timeline_events(
    compiled: CompiledOperation, recording: Recording, costs: Any, start: float
) -> tuple[Events, float]:
    """Slices of one node of each class, in microseconds from `start` on; and when they end."""
    model = Model(compiled, recording, costs)
    machine = model.timeline()
    microseconds = 1 / (model.costs()["clock_ghz"] * 1e3)
    tracks = {
        id(thread): (number, position)
        for number, node in enumerate(machine.nodes)
        for position, thread in enumerate(node.threads)
    }
    events = _names(compiled, recording, machine)
    for each in machine.slices or ():
        process, track = tracks[id(each.thread)]
        events.append(
            {
                "ph": "X", "pid": process, "tid": track, "name": _name(each, recording),
                "ts": start + each.begin * microseconds,
                "dur": (each.end - each.begin) * microseconds, "args": _details(each, recording),
            }
        )  # fmt: skip
    return events, start + machine.end * microseconds


def _names(compiled: CompiledOperation, recording: Recording, machine: Machine) -> Events:
    events: Events = []
    for number, (node, own) in enumerate(
        zip(machine.nodes, machine.streams.classes, strict=True)
    ):
        place = recording.nodes[own.nodes[0]]
        text = f"node {place}" if node.count == 1 else f"node {place} and {node.count - 1} like it"
        events.append(_metadata("process_name", number, 0, name=text))
        for position, thread in enumerate(node.threads):
            name = f"{compiled.kernels[thread.plan.kernel].name}: {thread.plan.role}"
            events.append(_metadata("thread_name", number, position, name=name))
            events.append(_metadata("thread_sort_index", number, position, sort_index=position))
    return events


def _metadata(kind: str, process: int, track: int, **values: Any) -> dict[str, Any]:
    return {"ph": "M", "pid": process, "tid": track, "name": kind, "args": values}


def _name(each: Slice, recording: Recording) -> str:
    return recording.sites[each.step[1]].name


def _details(each: Slice, recording: Recording) -> dict[str, Any]:
    do, site, first, second, third = each.step
    details: dict[str, Any] = {"line": recording.sites[site].line}
    if do in (Do.READ, Do.WRITE, Do.MULTICAST):
        details |= {"transfers": second, "bytes": second * third}
    elif do in (Do.WAIT_FRONT, Do.POP, Do.RESERVE, Do.PUSH):
        details |= {"buffer": each.thread.node.buffers[first].name, "pages": second}
    return details
