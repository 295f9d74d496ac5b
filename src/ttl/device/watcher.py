"""Read the watcher's log: the last waypoint of each processor of each core."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ttl.artifact import CompiledOperation, Coordinate, Kernel

from .processors import PROCESSORS, Processor, is_core_of, kernel_on


@dataclass(frozen=True, slots=True)
class WaypointWait:
    """The condition that a processor at a waypoint waits for, and the calls with that waypoint."""

    text: str
    calls: tuple[str, ...]


WAITS = {
    "CWFW": WaypointWait("for a block in a dataflow buffer", ("cb_wait_front",)),
    "CRBW": WaypointWait("for space in a dataflow buffer", ("cb_reserve_back",)),
    "NSW": WaypointWait("for the value of a semaphore", ("noc_semaphore_wait(",)),
    "NSMW": WaypointWait("for a semaphore to reach a value", ("noc_semaphore_wait_min",)),
    "NRBW": WaypointWait("for data it reads", ("noc_async_read_barrier",)),
    "NWBW": WaypointWait("for writes to be acknowledged", ("noc_async_write_barrier",)),
    "NWFW": WaypointWait("for writes to leave", ("noc_async_writes_flushed",)),
    "NABW": WaypointWait("for atomic increments to be acknowledged", ("noc_async_atomic_barrier",)),
    "NFBW": WaypointWait("for all its transfers", ("noc_async_full_barrier",)),
    "MWDW": WaypointWait("for registers that the packer has not emptied", ("tile_regs_acquire",)),
    "DPW": WaypointWait("for the print server to take what it prints", ("DPRINT",)),
}
# Waypoints that firmware shows for a processor without a kernel.
IDLE = ("", "W", "D", "GW", "GD", "I", "X", "INIT", "NTW", "NTD", "RW", "RD")

_CORE = re.compile(
    r"Device (?P<device>\d+) worker core\(x= ?(?P<x>\d+),y= ?(?P<y>\d+)\)[^:]*:\s*"
    r"(?P<points>[^\s,]*(?:, *[^\s,]*)+)"  # each padded to four characters
)
_DUMP = re.compile(r"Dump #\d+ at ")
_END = re.compile(r"Dump #\d+ completed")
_UNREAD = re.compile(r"cb\[(\d+)\]\(rcv (\d+)!=ack (\d+)\)")


@dataclass(slots=True)
class Standing:
    """Processors of one kernel on a device that are at the same waypoint."""

    device: int
    kernel: Kernel
    processor: Processor
    waypoint: str
    nodes: list[Coordinate] = field(default_factory=list)

    @property
    def wait(self) -> WaypointWait | None:
        return WAITS.get(self.waypoint)


def find_standing(compiled: CompiledOperation, lines: Iterable[str]) -> list[Standing]:
    """Return where the operation's kernels were at the watcher's last check."""
    found: dict[tuple[int, str, str, str], Standing] = {}
    for line in _last_dump(lines):
        core = _CORE.match(line)
        if core is None or not is_core_of(compiled, (int(core["x"]), int(core["y"]))):
            continue
        for processor, point in zip(PROCESSORS, core["points"].split(","), strict=False):
            point = point.strip()
            kernel = kernel_on(compiled, processor)
            if kernel is not None and point not in IDLE:
                device = int(core["device"])
                key = device, kernel.name, processor.role, point
                at = found.setdefault(key, Standing(device, kernel, processor, point))
                at.nodes.append((int(core["x"]), int(core["y"])))
    return list(found.values())


def unread_buffers(compiled: CompiledOperation, lines: Iterable[str]) -> list[str]:
    """Return buffers that hold pages; the watcher logs these with TT_METAL_WATCHER_DUMP_ALL=1."""
    names = {buffer.index: buffer.name for buffer in compiled.buffers}
    found: dict[str, int] = {}
    for line in _last_dump(lines):
        for index, received, taken in _UNREAD.findall(line):
            if int(index) in names:
                pages = (int(received) - int(taken)) & 0xFFFF
                found.setdefault(names[int(index)], pages)
    return [f"`{name}` holds {pages} pages" for name, pages in found.items()]


def _last_dump(lines: Iterable[str]) -> list[str]:
    """Return the last complete dump, if there is one: the watcher may be writing."""
    dump: list[str] = []
    complete: list[str] = []
    for line in lines:
        if _DUMP.match(line):
            dump = []
        dump.append(line)
        if _END.match(line):
            complete = dump
    return complete or dump
