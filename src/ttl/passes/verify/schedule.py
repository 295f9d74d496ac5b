"""Can all kernels come to their ends? ttl-verify-pipenet-schedule.

Nodes that no pipe or semaphore connects are looked at one by one, and of those that do the same
only the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ttl.diagnostics import Diagnostic, RuleBroken, codes
from ttl.diagnostics.buffer_ends import End, leftover
from ttl.diagnostics.deadlock import deadlock_diagnostic
from ttl.diagnostics.waiting import (
    AnyWaiting,
    Waiting,
    waiting_at_pipe,
    waiting_at_semaphore,
)
from ttl.diagnostics.waiting import Kernel as KernelOnNode
from ttl.dialects.locations import span_of

from .events import Event, Kind, counted
from .machine import Machine, Start, Task
from .semaphores import TRIED_ORDERS, loose_semaphores
from .skeleton import BudgetSpent, Items
from .walk import WalkedModule

# How many events of connected nodes are gone through. About a third of a second.
MOST_EVENTS = 300_000
MOST_BLOCKS = 32  # the largest block_count that is tried as a remedy


@dataclass(frozen=True, slots=True)
class Part:
    """Nodes that are connected, and how many other parts do the same."""

    nodes: tuple[int, ...]
    alike: tuple[tuple[int, ...], ...]  # their nodes, its own first


def check_schedule(walked: WalkedModule, most_events: int = MOST_EVENTS) -> list[Diagnostic]:
    """Deadlocks, blocks that are left over, and what could not be proven."""
    if not walked.is_complete:
        return []
    checker = _Checker(walked, most_events)
    try:
        return checker.check()
    except BudgetSpent:
        return [not_proven(f"{most_events} steps of its kernels are not enough to see its end")]


def not_proven(why: str, *notes: str) -> Diagnostic:
    return RuleBroken(
        codes.NOT_PROVEN,
        f"it is not proven that the operation ends: {why}",
        notes=notes,
        helps=("run it on the simulator, which finds what goes wrong in one order",),
    ).at(None)


class _Checker:
    def __init__(self, walked: WalkedModule, most_events: int):
        self.walked = walked
        self.most_events = most_events
        self.parts = _parts(walked)

    def check(self) -> list[Diagnostic]:
        found: list[Diagnostic] = []
        stuck: list[tuple[Part, Machine]] = []
        done: list[tuple[Part, Machine]] = []
        for part in self.parts:
            loose = loose_semaphores(self.walked, part.nodes)
            start = self._start(loose=loose, hopeful=True) if loose else self._start()
            machine = self._machine(part, start)
            machine.run()
            (stuck if machine.stuck else done).append((part, machine))
            if loose and not machine.stuck:
                found.append(self._other_orders(part, start))
        if stuck:
            return [self._deadlock(stuck, self._start())]
        return [*found, *self._leftovers(done), *self._blocking_sends()]

    def _other_orders(self, part: Part, start: Start) -> Diagnostic:
        """The order matters at these semaphores: a few are tried, nothing is proven."""
        names = sorted({self.walked.semaphores[number].name for number, _ in start.loose})
        which = ", ".join(f"`{name}`" for name in names)
        for seed in range(TRIED_ORDERS):
            tried = replace(start, hopeful=False, seed=seed)
            machine = self._machine(part, tried)
            if not machine.run():
                shown = self._deadlock([(part, machine)], tried)
                message = "in some orders of the kernels this is a " + shown.message
                return replace(shown, code=codes.ORDER_DEPENDENT, message=message)
        return not_proven(
            f"the value of {which} does not only grow, so the order of the kernels matters",
            f"{TRIED_ORDERS} orders were tried, and all kernels ended in each",
        )

    def _machine(self, part: Part, start: Start | None = None) -> Machine:
        traces = {node: self.walked.traces[node] for node in part.nodes}
        return Machine(start or self._start(), traces, self.most_events)

    def _start(self, **changed: Any) -> Start:
        walked = self.walked
        start = Start(
            tuple([buffer.block_count for buffer in walked.buffers]),
            walked.names.pipes,
            walked.names.node_numbers,
            tuple([semaphore.initial for semaphore in walked.semaphores]),
        )
        return replace(start, **changed) if changed else start

    def _blocking_sends(self) -> list[Diagnostic]:
        """A compiled send waits for the posts when it starts: before it, they must be there."""
        if not self.walked.names.pipes:
            return []
        start = self._start(sends_block=True)
        stuck = []
        for part in self.parts:
            if len(part.nodes) > 1 or part.nodes[0] in self._own_receivers():
                machine = self._machine(part, start)
                if not machine.run():
                    stuck.append((part, machine))
        if not stuck:
            return []
        shown = self._deadlock(stuck, start)
        return [
            replace(
                shown,
                code=codes.SEND_BEFORE_POST,
                message="compiled, a send waits for the posts of its receivers when it starts, and "
                "here they cannot be posted before: " + shown.message.removeprefix("deadlock: "),
            )
        ]

    def _own_receivers(self) -> set[int]:
        numbers = self.walked.names.node_numbers
        return {
            numbers[pipe.source]
            for pipe in self.walked.names.pipes
            if pipe.source in pipe.receivers
        }

    # Deadlocks

    def _deadlock(self, stuck: Sequence[tuple[Part, Machine]], start: Start) -> Diagnostic:
        entries = [
            (node, task.kernel, self._waiting(task, machine, node))
            for part, machine in stuck
            for task in machine.stuck
            for node in _copies(part, task.node)
        ]
        entries.sort(key=lambda entry: entry[:2])
        waiting = [entry for _, _, entry in entries]
        diagnostic = deadlock_diagnostic(
            waiting,
            producers=self._kernels_at(Kind.RESERVE),
            consumers=self._kernels_at(Kind.WAIT),
            node_count=len(self.walked.nodes),
            enough=self._enough(waiting, stuck, start),
        )
        return replace(diagnostic, notes=diagnostic.notes + self._pipe_counts(waiting))

    def _waiting(self, task: Task, machine: Machine, node: int) -> AnyWaiting:
        event = task.blocked
        assert event is not None
        kernel = self._on_node(task.kernel, node)
        if event[0] in (Kind.RESERVE, Kind.WAIT):
            return self._at_buffer(task, event, machine, kernel)
        if event[0] is Kind.SEMAPHORE_WAIT:
            return self._at_semaphore(task, event, machine, kernel)
        return self._at_pipe(task, event, machine, kernel)

    def _at_buffer(
        self, task: Task, event: Event, machine: Machine, kernel: KernelOnNode
    ) -> Waiting:
        kind, number, op = event
        buffer = self.walked.buffers[number]
        return Waiting(
            kernel=kernel[0],
            node=kernel[1],
            span=span_of(op.location),
            action="reserve" if kind is Kind.RESERVE else "wait",
            buffer=buffer.name,
            buffer_span=buffer.span,
            filled=machine.level[task.node][number],
            capacity=buffer.block_count,
        )

    def _at_pipe(
        self, task: Task, event: Event, machine: Machine, kernel: KernelOnNode
    ) -> AnyWaiting:
        if event[0] is Kind.SEND:
            number, sends, started = event[1], True, None
            count = machine.pipes[number].sent
        else:
            transfer = machine.open_transfer(task, event)
            assert transfer is not None
            number, count, copy = transfer
            sends, started = copy.pipe is copy.destination, span_of(copy.location)
        pipe, state = self.walked.names.pipes[number], machine.pipes[number]
        is_sent = event[0] is Kind.SEND or state.sent > count
        nodes = self.walked.nodes
        missing = [nodes[receiver] for receiver, posted in state.posted.items() if posted <= count]
        waited_for = missing if is_sent else [pipe.source]
        return waiting_at_pipe(
            kernel,
            span_of(event[2].location),
            sends=sends,
            pipe=pipe.name,
            pipe_span=pipe.span,
            for_send_of=None if is_sent else pipe.source,
            for_posts_of=missing,
            partners=tuple([
                self._partners(node, Kind.POST if is_sent else Kind.SEND, number)
                for node in waited_for
            ]),
            started=started,
        )  # fmt: skip

    def _partners(self, node: tuple[int, ...], kind: Kind, pipe: int) -> tuple[KernelOnNode, ...]:
        """The kernels of a node that act on the pipe; if none does, all that could."""
        number = self.walked.names.node_numbers[node]
        found = [
            kernel
            for kernel, items in enumerate(self.walked.traces[number])
            if any(event[0] is kind and event[1] == pipe for event, _ in counted(items))
        ]
        moving = [n for n, kernel in enumerate(self.walked.kernels) if kernel.thread != "compute"]
        return tuple([self._on_node(kernel, number) for kernel in found or moving])

    def _at_semaphore(
        self, task: Task, event: Event, machine: Machine, kernel: KernelOnNode
    ) -> AnyWaiting:
        _, number, op, wanted, at_least = event
        semaphore = self.walked.semaphores[number]
        return waiting_at_semaphore(
            kernel,
            span_of(op.location),
            semaphore=semaphore.name,
            semaphore_span=semaphore.span,
            wanted=wanted,
            at_least=at_least,
            value=machine.value(number, task.node),
            changed_by=self._changers(number, task.node),
        )

    def _changers(self, semaphore: int, node: int) -> list[KernelOnNode]:
        changes = (Kind.SEMAPHORE_SET, Kind.SEMAPHORE_INC)
        return [
            self._on_node(kernel, number)
            for number, traces in enumerate(self.walked.traces)
            for kernel, items in enumerate(traces)
            if any(
                event[0] in changes and event[1] == semaphore and node in event[4]
                for event, _ in counted(items)
            )
        ]

    def _on_node(self, kernel: int, node: int) -> KernelOnNode:
        return self.walked.kernels[kernel].name, self.walked.nodes[node]

    def _kernels_at(self, kind: Kind) -> dict[str, str | None]:
        """Which kernel reserves or waits for blocks of a buffer, on any node."""
        found: dict[str, str | None] = {buffer.name: None for buffer in self.walked.buffers}
        for _, traces in self.walked.distinct():
            for kernel, items in zip(self.walked.kernels, traces, strict=True):
                for event, _ in counted(items):
                    name = self.walked.buffers[event[1]].name if event[0] is kind else None
                    if name is not None and found[name] is None:
                        found[name] = kernel.name
        return found

    def _enough(
        self,
        waiting: Iterable[AnyWaiting],
        stuck: Sequence[tuple[Part, Machine]],
        start: Start,
    ) -> dict[str, int | None]:
        """The smallest block_count of each full buffer with which nothing is stuck."""
        full = {
            entry.buffer
            for entry in waiting
            if isinstance(entry, Waiting) and entry.action == "reserve"
        }
        return {
            name: self._enough_of(self.walked.names.buffers[name], stuck, start)
            for name in sorted(full)
        }

    def _enough_of(
        self, buffer: int, stuck: Sequence[tuple[Part, Machine]], start: Start
    ) -> int | None:
        """More blocks never do harm: halving finds the smallest number."""
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

    def _ends(
        self, stuck: Sequence[tuple[Part, Machine]], buffer: int, count: int, start: Start
    ) -> bool:
        counts = list(start.block_counts)
        counts[buffer] = count
        larger = replace(start, block_counts=tuple(counts))
        try:
            return all(self._machine(part, larger).run() for part, _ in stuck)
        except BudgetSpent:
            return False

    def _pipe_counts(self, waiting: Sequence[AnyWaiting]) -> tuple[str, ...]:
        """Of the pipes that are waited at: who sends and posts more often than the others."""
        notes = []
        subjects = {entry.subject for entry in waiting}
        for number, pipe in enumerate(self.walked.names.pipes):
            if f"pipe {pipe.name}" not in subjects:
                continue
            sent = self._count(pipe.source, Kind.SEND, number)
            for node in pipe.receivers:
                posted = self._count(node, Kind.POST, number)
                if posted != sent:
                    notes.append(
                        f"through pipe {pipe.name} node {pipe.source} sends {_times(sent)}, "
                        f"node {node} posts {_times(posted)}"
                    )
                    break
        return tuple(notes[:2])

    def _count(self, node: tuple[int, ...], kind: Kind, pipe: int) -> int:
        traces = self.walked.traces[self.walked.names.node_numbers[node]]
        return sum(
            times
            for items in traces
            for event, times in counted(items)
            if event[0] is kind and event[1] == pipe
        )

    # Leftovers

    def _leftovers(self, done: Sequence[tuple[Part, Machine]]) -> list[Diagnostic]:
        holding: dict[int, list[int]] = {}
        for part, machine in done:
            for node in part.nodes:
                for buffer in range(len(self.walked.buffers)):
                    if machine.level[node][buffer]:
                        holding.setdefault(buffer, []).extend(_copies(part, node))
        return [self._leftover(buffer, sorted(holding[buffer])) for buffer in sorted(holding)]

    def _leftover(self, number: int, nodes: list[int]) -> Diagnostic:
        buffer, first = self.walked.buffers[number], nodes[0]
        return leftover(
            buffer.name,
            buffer.span,
            self._end(first, number, Kind.PUSH),
            self._end(first, number, Kind.POP),
            node=self.walked.nodes[first],
            holding_nodes=len(nodes),
            node_count=len(self.walked.nodes),
        )

    def _end(self, node: int, buffer: int, kind: Kind) -> End:
        acquires = Kind.RESERVE if kind is Kind.PUSH else Kind.WAIT
        for kernel, items in zip(self.walked.kernels, self.walked.traces[node], strict=True):
            events = [(event, times) for event, times in counted(items) if event[1] == buffer]
            first = next((event for event, _ in events if event[0] is acquires), None)
            if first is not None:
                released = sum(times for event, times in events if event[0] is kind)
                span = span_of(first[2].location)
                return End("push" if kind is Kind.PUSH else "pop", kernel.name, released, span)
        return End("push" if kind is Kind.PUSH else "pop")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _copies(part: Part, node: int) -> list[int]:
    """The nodes that stand where `node` does in the parts that do the same."""
    position = part.nodes.index(node)
    return [nodes[position] for nodes in part.alike]


def _parts(walked: WalkedModule) -> list[Part]:
    """Groups of nodes that pipes and semaphores connect; alone and alike ones are one part."""
    connects = bool(walked.names.pipes or walked.semaphores)
    groups = _connected(walked) if connects else [(node,) for node in range(len(walked.nodes))]
    alike: dict[Any, list[tuple[int, ...]]] = {}
    for nodes in groups:
        is_alone = not connects or (
            len(nodes) == 1 and not _acts_on_others(walked.traces[nodes[0]])
        )
        key = tuple([id(trace) for trace in walked.traces[nodes[0]]]) if is_alone else nodes
        alike.setdefault(key, []).append(nodes)
    return [Part(same[0], tuple(same)) for same in alike.values()]


def _connected(walked: WalkedModule) -> list[tuple[int, ...]]:
    leader = list(range(len(walked.nodes)))

    def find(node: int) -> int:
        while leader[node] != node:
            leader[node] = node = leader[leader[node]]
        return node

    for node, traces in enumerate(walked.traces):
        for other in {other for items in traces for other in _reached(walked, items)}:
            low, high = sorted((find(node), find(other)))
            leader[high] = low
    groups: dict[int, list[int]] = {}
    for node in range(len(walked.nodes)):
        groups.setdefault(find(node), []).append(node)
    return [tuple(nodes) for nodes in groups.values()]


def _reached(walked: WalkedModule, items: Items) -> Iterable[int]:
    """The nodes that a kernel acts on, or that have to act for it."""
    numbers = walked.names.node_numbers
    for event, _ in counted(items):
        if event[0] in (Kind.POST, Kind.SEND):
            pipe = walked.names.pipes[event[1]]
            yield numbers[pipe.source]
            yield from (numbers[node] for node in pipe.receivers)
        elif event[0] in (Kind.SEMAPHORE_SET, Kind.SEMAPHORE_INC):
            yield from event[4]


def _acts_on_others(traces: Sequence[Items]) -> bool:
    return any(event[0] >= Kind.POST for items in traces for event, _ in counted(items))
