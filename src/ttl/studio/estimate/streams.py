"""Steps of each processor of a node, from the recorded calls; alike nodes share them.

A compute kernel is three threads, as on the chip: unpack waits for filled pages and frees them,
math has the DST sections, pack reserves pages and fills them.
"""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import Any

import numpy as np

from ttl.artifact import CompiledOperation, ThreadKind
from ttl.target import Target
from ttl.target.costs import Places
from ttl.trace.calls import (
    KIND_SHIFT,
    RECTANGLE,
    TENSOR,
    CallSite,
    Recording,
    kind_of,
    node_place,
    rectangle,
    tensor_page,
)

from .calls import ComputeCosts
from .traffic import RunPlace, Traffic


class Do(IntEnum):
    """Kind of a thread's step, with its operands."""

    WAIT_FRONT = auto()  # buffer, pages; also for the next three
    POP = auto()
    RESERVE = auto()
    PUSH = auto()
    POLL = auto()
    READ = auto()  # (path, loads), transfers, bytes of each; also for the next one
    WRITE = auto()
    MULTICAST = auto()  # (receivers, loads), transfers, bytes of each
    SET_ID = auto()  # id of later reads
    READ_BARRIER = auto()  # id, or 0 for all
    WRITE_BARRIER = auto()
    FLUSH = auto()
    SIGNAL = auto()  # deliveries, value; adds
    SIGNAL_SET = auto()
    AWAIT = auto()  # address, value
    SET = auto()
    WORK = auto()  # cycles
    UNPACK = auto()  # calls, cycles of each; also for the next one
    MATH = auto()
    MATH_ALONE = auto()  # on values in DST
    ACQUIRE = auto()
    COMMIT = auto()
    SECTION_WAIT = auto()
    RELEASE = auto()


Row = tuple[int, int, int, int]  # a row of Recording.calls
Run = tuple[Row, int, int]  # the call, its repeats, its index among the kernel's calls
Step = tuple[Do, int, Any, Any, Any]  # kind, site, three operands


@dataclass(slots=True)
class ThreadPlan:
    kernel: int
    role: str  # reader, writer, unpack, math, pack
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Nodes whose kernels make the same calls, with the first node's targets."""

    nodes: tuple[int, ...]
    threads: tuple[ThreadPlan, ...]


@dataclass(frozen=True, slots=True)
class Delivery:
    """Signal to the nodes of a class: `weight` signals for each receiving node."""

    node_class: int
    address: int
    weight: float


_BUFFER_STEPS = {
    "cb_wait_front": (Do.WAIT_FRONT, 0),
    "cb_pop_front": (Do.POP, 0),
    "cb_reserve_back": (Do.RESERVE, 2),
    "cb_push_back": (Do.PUSH, 2),
}
_SECTIONS = {
    "tile_regs_acquire": (Do.ACQUIRE, 1),
    "tile_regs_commit": (Do.COMMIT, 1),
    "tile_regs_wait": (Do.SECTION_WAIT, 2),
    "tile_regs_release": (Do.RELEASE, 2),
}
_TRANSFERS = (
    (r"noc_async_read(_page)?", Do.READ),
    (r"noc_async_write_multicast\w*", Do.MULTICAST),
    (r"noc_async_write(_page)?|noc_inline_dw_write", Do.WRITE),
)
_UNPACK, _MATH, _PACK = range(3)


class AlikeNodes:
    """Nodes of a recording in groups that do the same, and the calls of each group's first node.

    Depends on no cost: all runs of the model share one.
    """

    def __init__(
        self,
        compiled: CompiledOperation,
        recording: Recording,
        target: Target,
        places: Places,
        is_each_alone: bool = False,
    ):
        is_noc = np.array([site.name.startswith("noc_") for site in recording.sites], bool)
        rows = _rows_by_node(recording)
        self.groups = _group_nodes(rows, is_noc, is_each_alone)
        self.class_of = {node: n for n, group in enumerate(self.groups) for node in group}
        self.traffic = Traffic(compiled, recording, target, places, self.groups, rows)
        self.runs: list[list[list[Run]]] = []  # indexed by class and kernel
        for group in self.groups:
            own = rows[group[0]]
            kernels = self.traffic.kernel_of[own[:, 0]]
            self.runs.append(
                [_join_runs(own[kernels == n], is_noc) for n in range(len(compiled.kernels))]
            )

    def with_runs(self, runs: list[list[list[Run]]]) -> AlikeNodes:
        """Copy with other calls."""
        other = copy(self)
        other.runs = runs
        return other


class Streams:
    """Classes of nodes of a recording, with the steps of their threads."""

    def __init__(
        self,
        compiled: CompiledOperation,
        recording: Recording,
        target: Target,
        costs: ComputeCosts,
        alike: AlikeNodes,
    ):
        self.compiled, self.recording, self.target = compiled, recording, target
        self.costs = costs
        self.groups, self.class_of = alike.groups, alike.class_of
        self.traffic = alike.traffic
        self.classes = [
            NodeClass(tuple(group), self._threads(alike.runs[n], n))
            for n, group in enumerate(alike.groups)
        ]

    def _threads(self, runs: list[list[Run]], number: int) -> tuple[ThreadPlan, ...]:
        plans: list[ThreadPlan] = []
        for position, kernel in enumerate(self.compiled.kernels):
            is_compute = kernel.thread is ThreadKind.COMPUTE
            roles = ("unpack", "math", "pack") if is_compute else (kernel.thread.value,)
            own = [ThreadPlan(position, role) for role in roles]
            make = self._compute_steps if is_compute else self._movement_steps
            for run in runs[position]:
                make(own, run, number)
            plans += own
        return tuple(plans)

    # Data movement

    def _movement_steps(self, plans: list[ThreadPlan], run: Run, number: int) -> None:
        (index, target, value, address), count, _ = run
        site = self.recording.sites[index]
        steps = plans[0].steps
        merged = self._transfer(site, number, run)
        if merged is not None:
            steps.append(merged)
            return
        step = self._movement_step(site, number, index, target, value, address)
        if step is not None:
            steps.extend([step] * count)

    def _transfer(self, site: CallSite, number: int, run: Run) -> Step | None:
        (index, target, value, address), count, first = run
        do = next((do for pattern, do in _TRANSFERS if re.fullmatch(pattern, site.name)), None)
        if do is None:
            return None
        loads = self.traffic.of(RunPlace(number, site.kernel, first, count))
        if do is Do.MULTICAST:
            return do, index, (address, loads), count, value
        path = self._path("read" if do is Do.READ else "write", target, number)
        return do, index, (path, loads), count, value

    def _movement_step(
        self, site: CallSite, number: int, index: int, target: int, value: int, address: int
    ) -> Step | None:
        name = site.name
        if name in _BUFFER_STEPS:
            return _BUFFER_STEPS[name][0], index, site.buffers[0], target, 0
        if name == "cb_pages_reservable_at_back":
            return Do.POLL, index, site.buffers[0], target, 0
        if name.startswith("noc_semaphore_wait"):
            return Do.AWAIT, index, address, value, 0
        if name == "noc_semaphore_set":
            return Do.SET, index, address, value, 0
        if name.startswith("noc_semaphore_"):
            kind = Do.SIGNAL if "inc" in name else Do.SIGNAL_SET
            return kind, index, self._deliveries(number, target, address), value, 0
        return _barrier(name, index, value)

    def _path(self, way: str, target: int, number: int) -> str:
        """Return the name of the costs' row for a transfer."""
        if kind_of(target) == TENSOR:
            memory = self.compiled.operands[tensor_page(target)[0]].memory
            return f"dram_{way}" if memory.buffer_type == "DRAM" else f"l1_{way}_both_axes"
        x, y = node_place(target)
        own_x, own_y = self._noc_place(self.groups[number][0])
        return f"l1_{way}_{'one_axis' if x == own_x or y == own_y else 'both_axes'}"

    def _noc_place(self, node: int) -> tuple[int, int]:
        x, y = self.recording.nodes[node][:2]
        return self.target.noc_columns[x], self.target.noc_rows[y]

    def _deliveries(self, number: int, target: int, address: int) -> tuple[Delivery, ...]:
        x0, y0, x1, y1 = (
            rectangle(target) if kind_of(target) == RECTANGLE else node_place(target) * 2
        )
        reached: dict[int, int] = {}
        for node in range(len(self.recording.nodes)):
            x, y = self._noc_place(node)
            if x0 <= x <= x1 and y0 <= y <= y1:
                reached[self.class_of[node]] = reached.get(self.class_of[node], 0) + 1
        senders = len(self.groups[number])
        return tuple(
            Delivery(each, address, count * senders / len(self.groups[each]))
            for each, count in sorted(reached.items())
        )

    # Compute

    def _compute_steps(self, plans: list[ThreadPlan], run: Run, number: int) -> None:
        (index, first, second, _), count, _ = run
        site = self.recording.sites[index]
        name = site.name
        if name in _BUFFER_STEPS:
            do, role = _BUFFER_STEPS[name]
            plans[role].steps += [(do, index, site.buffers[0], first, 0)] * count
        elif name in _SECTIONS:
            do, role = _SECTIONS[name]
            plans[role].steps += [(do, index, 0, 0, 0)] * count
        elif "init" in site.units:
            for role, cycles in self.costs.init(name):
                plans[role].steps.append((Do.WORK, index, count * cycles, 0, 0))
        elif "pack" in site.units:
            cycles = self.costs.pack(site, first)
            plans[_PACK].steps.append((Do.WORK, index, count * cycles, 0, 0))
        else:
            self._math_steps(plans, site, index, count, first * second)

    def _math_steps(
        self, plans: list[ThreadPlan], site: CallSite, index: int, count: int, tiles: int
    ) -> None:
        unpack, math = self.costs.unpack(site), self.costs.math(site)
        call = self.costs.call_cycles
        if not site.buffers:
            plans[_MATH].steps.append((Do.MATH_ALONE, index, count, math * tiles + call, 0))
            return
        plans[_UNPACK].steps.append((Do.UNPACK, index, count, unpack * tiles + call, 0))
        plans[_MATH].steps.append((Do.MATH, index, count, math * tiles + call, 0))


def _barrier(name: str, index: int, value: int) -> Step | None:
    rules: tuple[tuple[str, Do], ...] = (
        (r"noc_async_read_set_trid", Do.SET_ID),
        (r"noc_async_read_barrier\w*", Do.READ_BARRIER),
        (r"noc_async_writes?_flushed\w*", Do.FLUSH),
        (r"noc_async_(write|atomic|full)_barrier\w*", Do.WRITE_BARRIER),
    )
    found = next((do for pattern, do in rules if re.fullmatch(pattern, name)), None)
    return None if found is None else (found, index, value, 0, 0)


def _rows_by_node(recording: Recording) -> list[np.ndarray]:
    sites = len(recording.sites)
    nodes = recording.calls[:, 0] // sites
    order = np.argsort(nodes, kind="stable")
    rows = recording.calls[order].copy()
    rows[:, 0] %= sites
    ends = np.searchsorted(nodes[order], np.arange(len(recording.nodes) + 1))
    return [rows[ends[n] : ends[n + 1]] for n in range(len(recording.nodes))]


def _mask(rows: np.ndarray, is_noc: np.ndarray) -> np.ndarray:
    """Mask values that differ between nodes that do the same: addresses, but not their kind."""
    masked = rows.copy()
    moves = is_noc[rows[:, 0]]
    kinds = rows[:, 1] >> KIND_SHIFT << KIND_SHIFT
    in_tensor = rows[:, 1] >> KIND_SHIFT == TENSOR
    kept = np.where(in_tensor, rows[:, 1] & np.uint32(0xFF000000), kinds)
    masked[:, 1] = np.where(moves, kept, rows[:, 1])
    return masked


def _group_nodes(
    rows: list[np.ndarray], is_noc: np.ndarray, is_each_alone: bool
) -> list[list[int]]:
    groups: dict[object, list[int]] = {}
    for node, own in enumerate(rows):
        key = node if is_each_alone else _sort_by_kernel(_mask(own, is_noc)).tobytes()
        groups.setdefault(key, []).append(node)
    return list(groups.values())


def _sort_by_kernel(rows: np.ndarray) -> np.ndarray:
    """Sort calls by kernel: the order between kernels is the executor's, and has no meaning."""
    return rows[np.argsort(rows[:, 0], kind="stable")]


def _join_runs(rows: np.ndarray, is_noc: np.ndarray) -> list[Run]:
    """Join consecutive calls that only differ in the page, and count them."""
    if not len(rows):
        return []
    masked = _mask(rows, is_noc)
    changes = np.flatnonzero((masked[1:] != masked[:-1]).any(axis=1)) + 1
    starts = np.concatenate(([0], changes))
    ends = np.concatenate((changes, [len(rows)]))
    counts = (ends - starts).tolist()
    firsts: list[Row] = list(map(tuple, rows[starts].tolist()))
    return list(zip(firsts, counts, starts.tolist(), strict=True))
