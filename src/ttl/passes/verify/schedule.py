"""ttl-verify-pipenet-schedule: check that all kernels end.

Nodes that no pipe or semaphore connects are checked one by one, and of nodes that do the same only
the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ttl.diagnostics import Diagnostic, Label, Severity, codes
from ttl.diagnostics.deadlock import deadlock_diagnostic
from ttl.diagnostics.loopback import source_left_out
from ttl.diagnostics.waiting import AnyWaiting, Waiting

from .events import WalkEventKind, count_events
from .machine import MachineStart, TraceMachine
from .orders import Schedules
from .report import Report
from .semaphores import TRIED_ORDERS, loose_semaphores
from .statements import BudgetSpent, Items
from .walk import WalkedModule

# Most events of connected nodes in a run, which takes about a third of a second.
MOST_EVENTS = 300_000
PASSED_OVER = "a value may be passed over: wait for a semaphore that only grows by wait_ge()"
MOST_BLOCKS = 32  # the largest block_count tried as a fix


@dataclass(frozen=True, slots=True)
class ConnectedNodes:
    """Connected nodes, and the other parts that do the same."""

    nodes: tuple[int, ...]
    alike: tuple[tuple[int, ...], ...]  # nodes of these parts, its own first


Stuck = Sequence[tuple[ConnectedNodes, TraceMachine]]  # or done


def check_schedule(
    walked: WalkedModule, most_events: int = MOST_EVENTS, with_warnings: bool = False
) -> list[Diagnostic]:
    """Find deadlocks, leftover blocks and, with `with_warnings`, unproven ends."""
    if not walked.is_complete:
        return []
    try:
        return _Checker(walked, most_events).check(with_warnings)
    except BudgetSpent:
        why = f"{most_events} steps of its kernels are not enough to see its end"
        return [not_proven(why)] if with_warnings else []


def start_of(walked: WalkedModule) -> MachineStart:
    return MachineStart(
        tuple([buffer.block_count for buffer in walked.buffers]),
        walked.names.pipes,
        walked.names.node_numbers,
        tuple([semaphore.initial for semaphore in walked.semaphores]),
    )


def schedules_of(walked: WalkedModule, most_events: int) -> Schedules:
    return Schedules(walked, start_of(walked), most_events)


def not_proven(why: str, *notes: str, place: Label | None = None) -> Diagnostic:
    found = codes.NOT_PROVEN.broken(
        f"it is not proven that the operation ends: {why}",
        "run it on the simulator in many orders: ttl explore FILE",
        notes=notes,
    )
    return found.at(None) if place is None else found.at(place.span, place.text)


class _Checker:
    def __init__(self, walked: WalkedModule, most_events: int):
        self.walked = walked
        self.most_events = most_events
        self.parts = _parts(walked)
        self.report = Report(walked)

    def check(self, with_warnings: bool) -> list[Diagnostic]:
        found: list[Diagnostic] = []
        stuck: list[tuple[ConnectedNodes, TraceMachine]] = []
        done: list[tuple[ConnectedNodes, TraceMachine]] = []
        for part in self.parts:
            machine = self._machine(part, self._hopeful(part))
            machine.run()
            (stuck if machine.stuck else done).append((part, machine))
            if not machine.stuck and machine.start.loose:
                other = self._other_orders(part, machine.start)
                found += [other] if with_warnings or other.severity is Severity.ERROR else []
        if stuck:
            return [self._deadlock(stuck, self._start())]
        own = {net for _, machine in done for net in machine.own_nets}
        spans = self.walked.names.net_spans
        notes = [source_left_out(net, spans[net]) for net in spans if net in own]
        return [*found, *self._leftovers(done), *self._blocking_sends(), *notes]

    def _hopeful(self, part: ConnectedNodes, **changed: object) -> MachineStart:
        """Let waits at semaphores whose order matters end if they can end in some order."""
        loose = loose_semaphores(self.walked, part.nodes)
        return self._start(loose=loose, hopeful=True, **changed)

    def _other_orders(self, part: ConnectedNodes, start: MachineStart) -> Diagnostic:
        """Try a few orders at semaphores whose order matters; this proves nothing."""
        numbers = sorted({number for number, _ in start.loose})
        loose = [self.walked.semaphores[number] for number in numbers]
        for seed in range(TRIED_ORDERS):
            tried = replace(start, hopeful=False, seed=seed)
            machine = self._machine(part, tried)
            if not machine.run():
                shown = self._deadlock([(part, machine)], tried)
                message = "in some orders of the kernels this is a " + shown.message
                helps = (PASSED_OVER, *shown.helps[:1])
                return replace(shown, message=message, helps=helps)
        which = ", ".join(f"`{semaphore.name}`" for semaphore in loose)
        span, text = loose[0].span, f"`{loose[0].name}` declared here"
        return not_proven(
            f"the value of {which} does not only grow, so the order of the kernels matters",
            f"{TRIED_ORDERS} orders were tried, and all kernels ended in each",
            place=None if span is None else Label(span, text),
        )

    def _machine(self, part: ConnectedNodes, start: MachineStart) -> TraceMachine:
        traces = {node: self.walked.traces[node] for node in part.nodes}
        return TraceMachine(start, traces, self.most_events)

    def _start(self, **changed: Any) -> MachineStart:
        return replace(start_of(self.walked), **changed)

    def _blocking_sends(self) -> list[Diagnostic]:
        """Find deadlocks of compiled sends, which wait for the posts when they start."""
        if not self.walked.names.pipes:
            return []
        stuck = []
        for part in self.parts:
            machine = self._machine(part, self._hopeful(part, sends_block=True))
            if not machine.run():
                stuck.append((part, machine))
        if not stuck:
            return []
        shown = self._deadlock(stuck, self._start(sends_block=True))
        return [
            replace(
                shown,
                code=codes.SEND_BEFORE_POST,
                message="compiled, a send waits for the posts of its receivers when it starts, and "
                "here they cannot be posted before: " + shown.message.removeprefix("deadlock: "),
            )
        ]

    def _deadlock(self, stuck: Stuck, start: MachineStart) -> Diagnostic:
        entries = [
            (node, task.kernel, self.report.waiting(task, machine, node))
            for part, machine in stuck
            for task in machine.stuck
            for node in _copies(part, task.node)
        ]
        entries.sort(key=lambda entry: entry[:2])
        waiting = [entry for _, _, entry in entries]
        enough = self._enough(waiting, stuck, start)
        is_alone = any(count is not None for count in enough.values())
        diagnostic = deadlock_diagnostic(
            waiting,
            producers=self.report.kernels_at(WalkEventKind.RESERVE),
            consumers=self.report.kernels_at(WalkEventKind.WAIT),
            node_count=len(self.walked.nodes),
            enough=enough,
            together={} if is_alone or not enough else self._together(stuck, start),
        )
        return replace(diagnostic, notes=diagnostic.notes + self.report.pipe_counts(waiting))

    def _enough(
        self, waiting: Iterable[AnyWaiting], stuck: Stuck, start: MachineStart
    ) -> dict[str, int | None]:
        """Return the smallest block_count of each full buffer that avoids the deadlock."""
        full = {
            entry.buffer
            for entry in waiting
            if isinstance(entry, Waiting) and entry.action == "reserve"
        }
        return {
            name: self._enough_of(self.walked.names.buffers[name], stuck, start)
            for name in sorted(full)
        }

    def _together(self, stuck: Stuck, start: MachineStart) -> dict[str, int]:
        """Return counts that help together, each as small as possible; {} if none help."""
        most = tuple(max(MOST_BLOCKS, count) for count in start.block_counts)
        larger = replace(start, block_counts=most)
        if not self._ends(stuck, 0, most[0], larger):
            return {}
        found = {}
        for name, number in self.walked.names.buffers.items():
            before = start.block_counts[number]
            counts = list(larger.block_counts)
            counts[number] = before
            fewest = replace(larger, block_counts=tuple(counts))
            if not self._ends(stuck, number, before, fewest):
                counts[number] = found[name] = self._enough_of(number, stuck, fewest) or before
            larger = replace(larger, block_counts=tuple(counts))
        return found

    def _enough_of(self, buffer: int, stuck: Stuck, start: MachineStart) -> int | None:
        """Find the smallest count by halving: more blocks never do harm."""
        low, high = start.block_counts[buffer], MOST_BLOCKS  # too few, and enough
        if high <= low or not self._ends(stuck, buffer, high, start):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if self._ends(stuck, buffer, middle, start):
                high = middle
            else:
                low = middle
        return high

    def _ends(self, stuck: Stuck, buffer: int, count: int, start: MachineStart) -> bool:
        counts = list(start.block_counts)
        counts[buffer] = count
        larger = replace(start, block_counts=tuple(counts))
        try:
            return all(self._machine(part, larger).run() for part, _ in stuck)
        except BudgetSpent:
            return False

    def _leftovers(self, done: Stuck) -> list[Diagnostic]:
        holding: dict[int, list[int]] = {}
        for part, machine in done:
            for node in part.nodes:
                for buffer, declared in enumerate(self.walked.buffers):
                    if machine.level[node][buffer] and not declared.in_tensor:
                        holding.setdefault(buffer, []).extend(_copies(part, node))
        return [self.report.leftover(buffer, sorted(holding[buffer])) for buffer in sorted(holding)]


def _copies(part: ConnectedNodes, node: int) -> list[int]:
    """Return the nodes with the position of `node` in the parts that do the same."""
    position = part.nodes.index(node)
    return [nodes[position] for nodes in part.alike]


def _parts(walked: WalkedModule) -> list[ConnectedNodes]:
    """Group nodes that pipes and semaphores connect; lone nodes that are alike form one part."""
    connects = bool(walked.names.pipes or walked.semaphores)
    groups = (
        _connected_groups(walked) if connects else [(node,) for node in range(len(walked.nodes))]
    )
    alike: dict[Any, list[tuple[int, ...]]] = {}
    for nodes in groups:
        is_alone = not connects or (
            len(nodes) == 1 and not _acts_on_others(walked.traces[nodes[0]])
        )
        key = tuple([id(trace) for trace in walked.traces[nodes[0]]]) if is_alone else nodes
        alike.setdefault(key, []).append(nodes)
    return [ConnectedNodes(same[0], tuple(same)) for same in alike.values()]


def _connected_groups(walked: WalkedModule) -> list[tuple[int, ...]]:
    leader = list(range(len(walked.nodes)))

    def find(node: int) -> int:
        while leader[node] != node:
            leader[node] = node = leader[leader[node]]
        return node

    for node, traces in enumerate(walked.traces):
        for other in {other for items in traces for other in _reached_nodes(walked, items)}:
            low, high = sorted((find(node), find(other)))
            leader[high] = low
    groups: dict[int, list[int]] = {}
    for node in range(len(walked.nodes)):
        groups.setdefault(find(node), []).append(node)
    return [tuple(nodes) for nodes in groups.values()]


def _reached_nodes(walked: WalkedModule, items: Items) -> Iterable[int]:
    """Return the nodes that a kernel acts on, or that must act for it."""
    numbers = walked.names.node_numbers
    for event, _ in count_events(items):
        if event[0] in (WalkEventKind.POST, WalkEventKind.SEND):
            pipe = walked.names.pipes[event[1]]
            yield numbers[pipe.source]
            yield from (numbers[node] for node in pipe.receivers)
        elif event[0] in (WalkEventKind.SEMAPHORE_SET, WalkEventKind.SEMAPHORE_INC):
            yield from event[4]


def _acts_on_others(traces: Sequence[Items]) -> bool:
    return any(
        event[0] >= WalkEventKind.POST for items in traces for event, _ in count_events(items)
    )
