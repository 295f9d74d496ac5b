"""Estimated times of all steps, as data by node and kernel, and for Perfetto."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ttl.artifact import CompiledOperation
from ttl.trace.calls import Recording
from ttl.trace.events import Node

from .parts import COMPILERS, TimedStep
from .result import Model
from .streams import Do

Events = list[dict[str, object]]
TRANSFERS = (Do.READ, Do.WRITE, Do.MULTICAST)


@dataclass(frozen=True, slots=True)
class StepTime:
    """Step of a thread; times are microseconds from the start of the operation."""

    thread: str  # reader, writer, unpack, math, pack
    name: str  # the call's name
    line: int  # in the program, 0 if unknown
    begin: float
    end: float
    details: Mapping[str, str | int]  # transfers and bytes, or buffer and pages
    arrives: float = 0.0  # the end of a transfer, which may be after `end`
    waited: float = 0.0  # starting at `begin`
    reason: str = ""  # why it waited, if it did


@dataclass(frozen=True, slots=True)
class KernelTimeline:
    """Steps of a kernel on each of these nodes, in each thread's order."""

    nodes: tuple[Node, ...]
    kernel: str
    file: str
    start: float
    end: float
    steps: tuple[StepTime, ...]
    sections: tuple[tuple[float, float], ...]  # DST sections, from acquire to release


@dataclass(frozen=True, slots=True)
class Timeline:
    operation: str
    microseconds: float
    kernels: tuple[KernelTimeline, ...]

    def of(self, node: Node, kernel: str) -> KernelTimeline | None:
        found = (each for each in self.kernels if each.kernel == kernel and node in each.nodes)
        return next(found, None)


def timeline(compiled: CompiledOperation, recording: Recording, costs: object) -> Timeline:
    """Run the model in the typical case, recording every step."""
    model = Model(compiled, recording, costs)
    machine = model.timeline()
    to_us = 1 / (model.costs()["clock_ghz"] * 1e3)
    by_thread: dict[int, list[TimedStep]] = {}
    for each in machine.slices or ():
        by_thread.setdefault(id(each.thread), []).append(each)
    kernels = []
    for node, own in zip(machine.nodes, machine.streams.classes, strict=True):
        places = tuple(tuple(recording.nodes[each][:2]) for each in own.nodes)
        for position, kernel in enumerate(compiled.kernels):
            threads = [each for each in node.threads if each.plan.kernel == position]
            slices = [one for each in threads for one in by_thread.get(id(each), ())]
            kernels.append(
                KernelTimeline(
                    places,
                    kernel.name,
                    _file(compiled, position),
                    machine.start * to_us,
                    max((each.time for each in threads), default=0.0) * to_us,
                    tuple(_step(each, recording, to_us) for each in slices),
                    tuple(_sections(slices, to_us)),
                )
            )
    return Timeline(compiled.name, machine.end * to_us, tuple(kernels))


def _file(compiled: CompiledOperation, position: int) -> str:
    spans = compiled.kernels[position].source_map
    return spans[0][1].file if spans else ""


def _step(each: TimedStep, recording: Recording, to_us: float) -> StepTime:
    site = recording.sites[each.step[1]]
    return StepTime(
        each.thread.plan.role,
        site.name,
        site.line,
        each.begin * to_us,
        each.end * to_us,
        _details(each),
        each.arrives * to_us,
        each.waited * to_us,
        each.reason if each.waited else "",
    )


def _details(each: TimedStep) -> dict[str, str | int]:
    do, _, first, second, third = each.step
    if do in TRANSFERS:
        return {"transfers": second, "bytes": second * third}
    if do in (Do.WAIT_FRONT, Do.POP, Do.RESERVE, Do.PUSH):
        name = each.thread.node.buffers[first].name.removeprefix(f"{COMPILERS} ")
        return {"buffer": name, "pages": second}
    return {}


def _sections(slices: list[TimedStep], to_us: float) -> Iterator[tuple[float, float]]:
    acquired = [each.end * to_us for each in slices if each.step[0] is Do.ACQUIRE]
    released = [each.end * to_us for each in slices if each.step[0] is Do.RELEASE]
    yield from zip(acquired, released, strict=False)


def timeline_events(
    compiled: CompiledOperation, recording: Recording, costs: object, start: float
) -> tuple[Events, float]:
    """Return Perfetto events of one node of each kind, starting at `start`, and their end."""
    made = timeline(compiled, recording, costs)
    by_nodes: dict[tuple[Node, ...], list[KernelTimeline]] = {}
    for each in made.kernels:
        by_nodes.setdefault(each.nodes, []).append(each)
    events: Events = []
    for process, (nodes, kernels) in enumerate(by_nodes.items()):
        events.append(_metadata("process_name", process, 0, name=_nodes_text(nodes)))
        events.append(_metadata("process_sort_index", process, 0, sort_index=process))
        first = 0
        for each in kernels:
            events += kernel_events(each, process, first, start)
            first += len(_threads(each))
    return events, start + made.microseconds


def _threads(kernel: KernelTimeline) -> list[str]:
    return list(dict.fromkeys(step.thread for step in kernel.steps))


def _nodes_text(nodes: tuple[Node, ...]) -> str:
    more = f" and {len(nodes) - 1} like it" if len(nodes) > 1 else ""
    return f"node {nodes[0]}{more}"


def kernel_events(each: KernelTimeline, process: int, first: int, start: float) -> Events:
    """Make a track for each thread of the kernel, numbered from `first`: slices of its steps, and
    asynchronous slices of transfers and DST sections.
    """
    tracks = {name: first + n for n, name in enumerate(_threads(each))}
    file = Path(each.file).name
    events: Events = []
    for name, track in tracks.items():
        text = f"{each.kernel}: {name}"
        events.append(_metadata("thread_name", process, track, name=text, file=file))
        events.append(_metadata("thread_sort_index", process, track, sort_index=track))
    for step in each.steps:
        track = tracks[step.thread]
        begin, end = start + step.begin, start + step.end
        args = {"line": step.line, "file": file, **step.details}
        where = {"pid": process, "tid": track}
        events.append(
            {"ph": "X", **where, "name": step.name, "ts": begin, "dur": end - begin, "args": args}
        )
        if step.arrives:
            name = f"{step.name} under way"
            events += _asynchronous("noc", name, where, begin, start + step.arrives, args)
    for begin, end in each.sections:
        where = {"pid": process, "tid": tracks.get("math", first)}
        events += _asynchronous("dst", "DST section", where, start + begin, start + end, {})
    return events


def _asynchronous(
    category: str,
    name: str,
    where: dict[str, int],
    begin: float,
    end: float,
    args: Mapping[str, object],
) -> Events:
    place = f"{where['pid']}.{where['tid']}.{begin}"
    common = {**where, "cat": category, "name": name, "id": f"{category} {place}"}
    return [
        {"ph": "b", **common, "ts": begin, "args": args},
        {"ph": "e", **common, "ts": end, "args": {}},
    ]


def _metadata(kind: str, process: int, track: int, **values: object) -> dict[str, object]:
    return {"ph": "M", "pid": process, "tid": track, "name": kind, "args": values}
