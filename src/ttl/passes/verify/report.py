"""Report stuck kernels and leftover blocks in the simulator's words."""

from __future__ import annotations

from collections.abc import Sequence

from ttl.diagnostics import Diagnostic
from ttl.diagnostics.buffer_ends import KernelEnd, leftover
from ttl.diagnostics.waiting import AnyWaiting, Waiting, waiting_at_pipe, waiting_at_semaphore
from ttl.diagnostics.waiting import Kernel as KernelOnNode
from ttl.dialects.locations import span_of

from .events import Event, WalkEventKind, count_events, events_of
from .machine import TraceMachine, TraceTask
from .walk import WalkedModule


class Report:
    """Knows which kernels act on buffers, pipes and semaphores, on all nodes."""

    def __init__(self, walked: WalkedModule):
        self.walked = walked

    def waiting(self, task: TraceTask, machine: TraceMachine, node: int) -> AnyWaiting:
        event = task.blocked
        assert event is not None
        kernel = self._on_node(task.kernel, node)
        if event[0] in (WalkEventKind.RESERVE, WalkEventKind.WAIT):
            return self._at_buffer(task, event, machine, kernel)
        if event[0] is WalkEventKind.SEMAPHORE_WAIT:
            return self._at_semaphore(task, event, machine, kernel)
        return self._at_pipe(task, event, machine, kernel)

    def _at_buffer(
        self, task: TraceTask, event: Event, machine: TraceMachine, kernel: KernelOnNode
    ) -> Waiting:
        kind, number, op = event
        buffer = self.walked.buffers[number]
        return Waiting(
            kernel=kernel[0],
            node=kernel[1],
            span=span_of(op.location),
            action="reserve" if kind is WalkEventKind.RESERVE else "wait",
            buffer=buffer.name,
            buffer_span=buffer.span,
            filled=machine.level[task.node][number],
            capacity=buffer.block_count,
            in_tensor=buffer.in_tensor,
        )

    def _at_pipe(
        self, task: TraceTask, event: Event, machine: TraceMachine, kernel: KernelOnNode
    ) -> AnyWaiting:
        if event[0] is WalkEventKind.SEND:
            number, sends, started = event[1], True, None
            count = machine.pipes[number].sent
        else:
            transfer = machine.open_transfer(task, event)
            assert transfer is not None
            number, count, copy = transfer
            sends, started = copy.pipe is copy.destination, span_of(copy.location)
        pipe, state = self.walked.names.pipes[number], machine.pipes[number]
        is_sent = event[0] is WalkEventKind.SEND or state.sent > count
        nodes = self.walked.nodes
        missing = [nodes[receiver] for receiver, posted in state.posted.items() if posted <= count]
        waited_for = missing if is_sent else [pipe.source]
        return waiting_at_pipe(
            kernel,
            span_of(event[2].location),
            sends=sends,
            pipe=pipe.name,
            pipe_span=pipe.span,
            net=pipe.net,
            for_send_of=None if is_sent else pipe.source,
            for_posts_of=missing,
            partners=tuple(
                [
                    self._partners(
                        node, WalkEventKind.POST if is_sent else WalkEventKind.SEND, number
                    )
                    for node in waited_for
                ]
            ),
            started=started,
        )

    def _partners(
        self, node: tuple[int, ...], kind: WalkEventKind, pipe: int
    ) -> tuple[KernelOnNode, ...]:
        """Return the kernels of a node that act on the pipe; if none does, all that could."""
        number = self.walked.names.node_numbers[node]
        found = [
            kernel
            for kernel, items in enumerate(self.walked.traces[number])
            if any(True for _ in events_of(items, kind, pipe))
        ]
        moving = [n for n, kernel in enumerate(self.walked.kernels) if kernel.thread != "compute"]
        return tuple([self._on_node(kernel, number) for kernel in found or moving])

    def _at_semaphore(
        self, task: TraceTask, event: Event, machine: TraceMachine, kernel: KernelOnNode
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
        changes = (WalkEventKind.SEMAPHORE_SET, WalkEventKind.SEMAPHORE_INC)
        return [
            self._on_node(kernel, number)
            for number, traces in enumerate(self.walked.traces)
            for kernel, items in enumerate(traces)
            if any(
                node in event[4] for kind in changes for event in events_of(items, kind, semaphore)
            )
        ]

    def _on_node(self, kernel: int, node: int) -> KernelOnNode:
        return self.walked.kernels[kernel].name, self.walked.nodes[node]

    def kernels_at(self, kind: WalkEventKind) -> dict[str, str | None]:
        """Return the kernel that reserves or waits for blocks of each buffer, on any node."""
        found: dict[str, str | None] = {buffer.name: None for buffer in self.walked.buffers}
        for _, kernel, event in self.walked.events(kind):
            name = self.walked.buffers[event[1]].name
            found[name] = found[name] or kernel
        return found

    def pipe_counts(self, waiting: Sequence[AnyWaiting]) -> tuple[str, ...]:
        """Note pipes waited at whose ends send and post unequal numbers."""
        notes = []
        subjects = {entry.subject for entry in waiting}
        for number, pipe in enumerate(self.walked.names.pipes):
            if f"pipe {pipe.name}" not in subjects:
                continue
            sent = self._count(pipe.source, WalkEventKind.SEND, number)
            for node in pipe.receivers:
                posted = self._count(node, WalkEventKind.POST, number)
                if posted != sent:
                    notes.append(
                        f"through pipe {pipe.name} node {pipe.source} sends {_times(sent)}, "
                        f"node {node} posts {_times(posted)}"
                    )
                    break
        return tuple(notes[:2])

    def _count(self, node: tuple[int, ...], kind: WalkEventKind, pipe: int) -> int:
        traces = self.walked.traces[self.walked.names.node_numbers[node]]
        return sum(
            times
            for items in traces
            for event, times in count_events(items)
            if event[0] is kind and event[1] == pipe
        )

    def leftover(self, number: int, nodes: list[int]) -> Diagnostic:
        buffer, first = self.walked.buffers[number], nodes[0]
        return leftover(
            buffer.name,
            buffer.span,
            self._end(first, number, WalkEventKind.PUSH),
            self._end(first, number, WalkEventKind.POP),
            node=self.walked.nodes[first],
            holding_nodes=len(nodes),
            node_count=len(self.walked.nodes),
        )

    def _end(self, node: int, buffer: int, kind: WalkEventKind) -> KernelEnd:
        acquires = WalkEventKind.RESERVE if kind is WalkEventKind.PUSH else WalkEventKind.WAIT
        for kernel, items in zip(self.walked.kernels, self.walked.traces[node], strict=True):
            events = [(event, times) for event, times in count_events(items) if event[1] == buffer]
            first = next((event for event, _ in events if event[0] is acquires), None)
            if first is not None:
                released = sum(times for event, times in events if event[0] is kind)
                span = span_of(first[2].location)
                return KernelEnd(
                    "push" if kind is WalkEventKind.PUSH else "pop", kernel.name, released, span
                )
        return KernelEnd("push" if kind is WalkEventKind.PUSH else "pop")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
