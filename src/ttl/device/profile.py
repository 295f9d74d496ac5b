"""Turn the device profiler's log into a trace's events: kernels and signposts.

rule LAST     the log has the zones of all runs; those of the last run belong to this launch
rule CORES    cores have their places on the chip as names, in the order of the nodes: columns and
              rows, without harvested ones
rule THREE    a compute kernel starts with the first of its three processors and ends with the last;
              its signposts are the math processor's
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from ttl.artifact import CompiledOperation, Coordinate, ThreadKind
from ttl.trace import EventKind, Recorder

from .processors import PROCESSORS, calls_in, kernel_on

START, END = ("ZONE_START", "begin"), ("ZONE_END", "end")  # the second form: older versions
MATH = "TRISC_1"
_BY_NAME = {processor.profiler_name: processor for processor in PROCESSORS}


@dataclass(frozen=True, slots=True)
class Zone:
    """One end of a zone."""

    device: int
    core: Coordinate  # on the chip
    processor: str
    run: str
    cycles: int
    name: str
    is_start: bool
    line: int  # in the C++


@dataclass(frozen=True, slots=True)
class ZoneEvent:
    cycles: int
    kind: EventKind
    node: Coordinate
    kernel: str
    subject: str = ""
    line: int = 0


class ProfilerLog:
    """Reads rows incrementally; the first rows name the columns."""

    def __init__(self) -> None:
        self._columns: list[str] = []
        self.clock_mhz: float | None = None

    def zones(self, lines: Sequence[str]) -> list[Zone]:
        found = []
        for row in csv.reader(lines, skipinitialspace=True):
            if "core_x" in row:
                self._columns = row
            elif not self._columns:
                self.clock_mhz = _clock_mhz(row) or self.clock_mhz
            elif self._columns and len(row) >= len(self._columns):
                fields = dict(zip(self._columns, row, strict=False))
                phase = fields.get("type") or fields.get("zone phase", "")
                if phase in START + END and fields["RISC processor type"] in _BY_NAME:
                    found.append(_zone(fields, phase in START))
        return found


def _clock_mhz(row: Sequence[str]) -> float | None:
    """Read the clock from the first line: `ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, ...`"""
    entries = dict(entry.split(":", 1) for entry in row if ":" in entry)
    text = entries.get("CHIP_FREQ[MHz]", "").strip()
    return float(text) if text.isdecimal() else None


def _zone(fields: dict[str, str], is_start: bool) -> Zone:
    line = fields.get("source line", "")
    return Zone(
        device=int(fields["PCIe slot"]),
        core=(int(fields["core_x"]), int(fields["core_y"])),
        processor=fields["RISC processor type"],
        run=fields.get("run host ID") or fields.get("Run ID", ""),
        cycles=int(fields["time[cycles since reset]"]),
        name=fields["zone name"],
        is_start=is_start,
        line=int(line) if line.isdecimal() else 0,
    )


def record_zones(compiled: CompiledOperation, zones: Sequence[Zone], recorder: Recorder) -> bool:
    """Add the last run's events, device by device; return False if the cores are not the nodes.

    The value of an event is the number of cycles since the first kernel of its device started.
    """
    devices = sorted({zone.device for zone in zones})
    runs = [_events(compiled, [z for z in zones if z.device == device]) for device in devices]
    if not runs or None in runs:
        return False
    for number, events in enumerate(runs):
        assert events is not None
        if number:
            next_device(compiled, recorder)
        first = min((event.cycles for event in events), default=0)
        for event in sorted(events, key=attrgetter("cycles")):
            value = event.cycles - first
            recorder.record(event.kind, event.node, event.kernel, event.subject, value, event.line)
    return True


def next_device(compiled: CompiledOperation, recorder: Recorder) -> None:
    """Begin the call of a mesh's next device; each has its own in a trace, as in the simulator."""
    recorder.record(EventKind.OPERATION_END, (), "", compiled.name)
    recorder.record(EventKind.OPERATION_START, (), "", compiled.name)


def _events(compiled: CompiledOperation, zones: Sequence[Zone]) -> list[ZoneEvent] | None:
    last = max(zones, key=attrgetter("cycles")).run  # rule LAST
    own = [zone for zone in zones if zone.run == last]
    nodes = _nodes(compiled, own)
    if nodes is None:
        return None
    return [*_kernel_events(compiled, own, nodes), *_signpost_events(compiled, own, nodes)]


def _nodes(
    compiled: CompiledOperation, zones: Sequence[Zone]
) -> dict[Coordinate, Coordinate] | None:  # rule CORES
    first, last = compiled.core_range
    places: list[dict[int, int]] = []
    for axis in range(2):
        found = sorted({zone.core[axis] for zone in zones})
        wanted = range(first[axis], last[axis] + 1)
        if len(found) != len(wanted):
            return None
        places.append(dict(zip(found, wanted, strict=True)))
    return {zone.core: (places[0][zone.core[0]], places[1][zone.core[1]]) for zone in zones}


def _kernel_events(
    compiled: CompiledOperation, zones: Sequence[Zone], nodes: dict[Coordinate, Coordinate]
) -> Iterator[ZoneEvent]:  # rule THREE
    ends: dict[tuple[Coordinate, str], list[int]] = {}
    for zone in zones:
        kernel = kernel_on(compiled, _BY_NAME[zone.processor])
        if kernel is not None and zone.name.endswith("-KERNEL"):
            ends.setdefault((nodes[zone.core], kernel.name), []).append(zone.cycles)
    for (node, name), cycles in sorted(ends.items()):
        yield ZoneEvent(min(cycles), EventKind.KERNEL_START, node, name)
        yield ZoneEvent(max(cycles), EventKind.KERNEL_END, node, name)


def _signpost_events(
    compiled: CompiledOperation, zones: Sequence[Zone], nodes: dict[Coordinate, Coordinate]
) -> Iterator[ZoneEvent]:
    for zone in zones:
        kernel = kernel_on(compiled, _BY_NAME[zone.processor])
        if kernel is None or (kernel.thread is ThreadKind.COMPUTE and zone.processor != MATH):
            continue
        lines = list(calls_in(kernel, f'DeviceZoneScopedN("{zone.name}")'))
        if lines:  # otherwise a zone of the firmware
            kind = EventKind.SIGNPOST_BEGIN if zone.is_start else EventKind.SIGNPOST_END
            span = kernel.span_of(zone.line if zone.line in lines else lines[0])
            # The program's name; for a kernel from elsewhere, the profiler's.
            name = dict(kernel.signposts).get(zone.name, zone.name)
            line = 0 if span is None else span.line
            yield ZoneEvent(zone.cycles, kind, nodes[zone.core], kernel.name, name, line)
