"""Run the traces of some nodes against each other, without data.

rule CREDITS     reserve takes free space and pop returns it, wait takes a pushed block and push
                 adds one, as at the two ends of a dataflow buffer
rule RENDEZVOUS  the n-th send of a pipe and the n-th post of each receiver are one transfer, which
                 is over for all when all have started it
rule KAHN        buffers and pipes have one reader and one writer: it does not matter which kernel
                 runs first; if one order gets stuck, all do
rule MONOTONE    the same holds for a semaphore whose value only grows, if waits are by >=, or by ==
                 at its final value; for others see semaphores.py
rule PERIOD      some kernels stop at the end of each iteration until all others must wait; by rule
                 KAHN the others then have only one possible state. A state that was seen before,
                 except for the remaining iterations, is a period, and is skipped as long as no loop
                 ends
rule LATE        a kernel may be held back: it takes one step only when no other can continue. So
                 whatever the others do before that step, they can do before it; by rule KAHN, they
                 can do no more
rule EARLY       or it comes first: the others take one step each, while it cannot continue
rule ANCHOR      the first of the stopping kernels has the most iterations; a kernel that runs many
                 iterations while they stop depends on none of them, and joins them
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from .events import SEMAPHORE_VALUES, Event, NumberedPipe, WalkEventKind
from .hopes import Hope
from .pipe_states import NotOwn, PipeState
from .reserved import Blocks
from .statements import BudgetSpent, Items, Repeat

LONE_ITERATIONS = 64  # rule ANCHOR
SHORTEST_SKIPPED = 4  # remaining iterations of a loop that are worth a search for a period
KEPT_STATES = 8  # with equal positions


class TraceTask:
    """A kernel on a node, with its position in its trace."""

    __slots__ = (
        "blocked",
        "blocks",
        "groups",
        "is_done",
        "items",
        "kernel",
        "node",
        "number",
        "position",
        "remaining",
        "stack",
        "transfers",
    )

    def __init__(self, number: int, kernel: int, node: int, items: Items):
        self.number = number
        self.kernel = kernel
        self.node = node
        self.items = items
        self.position = 0
        self.remaining = 0  # iterations of the innermost loop, without the current one
        self.stack: list[tuple[Items, int, int]] = []
        self.transfers: dict[Hashable, tuple[int, int, Any]] = {}  # pipe, number, operation
        self.groups: dict[int, list[tuple[int, int, Any]]] = {}
        self.blocked: Event | None = None
        self.blocks = Blocks()
        self.is_done = False

    def place(self) -> tuple[Any, ...]:
        """Return the position without remaining iterations; traces compare by identity."""
        loops = tuple([(id(items), position) for items, position, _ in self.stack])
        return (id(self.items), self.position, loops)

    def remaining_iterations(self) -> list[int]:
        return [self.remaining, *(remaining for _, _, remaining in self.stack)]

    def skip(self, periods: int, done: Sequence[int]) -> None:
        self.remaining -= periods * done[0]
        self.stack = [
            (items, position, remaining - periods * each)
            for (items, position, remaining), each in zip(self.stack, done[1:], strict=True)
        ]


Cell = tuple[int, int]  # a semaphore on a node


@dataclass(frozen=True, slots=True)
class MachineStart:
    """The conditions before the kernels run."""

    block_counts: tuple[int, ...]
    pipes: Sequence[NumberedPipe]
    node_numbers: dict[tuple[int, ...], int]
    initial: tuple[int, ...]  # of the semaphores
    sends_block: bool = False  # a send waits for posts when it starts, as in compiled kernels
    loose: frozenset[Cell] = frozenset()  # semaphores that break rule MONOTONE
    hopeful: bool = False  # a wait at a loose one ends if it could end in some order
    seed: int | None = None  # shuffles the order of kernels at loose ones
    late: tuple[int, int] | None = None  # node and kernel that come last (rule LATE)
    early: tuple[int, int] | None = None  # node and kernel that come first (rule EARLY)


class TraceMachine:
    """The state of all kernels on some nodes."""

    def __init__(
        self, start: MachineStart, traces: Mapping[int, Sequence[Items]], most_events: int
    ):
        self.start = start
        self.traces = traces
        self.most_events = most_events
        self.must_wait: set[tuple[int, int]] = set()  # rule OWN of pipe_states
        self._begin()

    def _begin(self) -> None:
        start, traces = self.start, self.traces
        self.budget = self.most_events
        self.tasks: list[TraceTask] = []
        for node, of_kernels in traces.items():
            for kernel, items in enumerate(of_kernels):
                self.tasks.append(TraceTask(len(self.tasks), kernel, node, items))
        counts = start.block_counts
        # By node: free and pushed blocks of each buffer; then the sleepers at its ends.
        self.free = {node: list(counts) for node in traces}
        self.filled = {node: [0] * len(counts) for node in traces}
        self.level = {node: [0] * len(counts) for node in traces}  # pushed but not popped
        self.sleeping: dict[tuple[WalkEventKind, int, int], TraceTask] = {}
        self.pipes: dict[int, PipeState] = {}
        self.has_own = any(pipe.is_own for pipe in start.pipes)
        self.values: dict[Cell, int] = {}
        self.hopes: dict[Cell, Hope] = {}  # of loose ones
        self.semaphore_sleepers: dict[Cell, list[TraceTask]] = {}
        self.random = None if start.seed is None else Random(start.seed)
        self.noted: list[tuple[TraceTask, Event]] = []  # with rule LATE: events for orders.py
        self.ready = deque(self.tasks)
        self.anchors: set[TraceTask] | None = None
        self.has_turns = start.late is not None or start.early is not None
        if self.tasks and start.seed is None and not self.has_turns:
            self.anchors = {max(self.tasks, key=lambda task: _iterations(task.items))}
        self.stopped: list[TraceTask] = []  # anchors that let others run
        self.iterations: dict[TraceTask, int] = {}  # of other tasks since then
        self.seen: dict[Hashable, list[list[list[int]]]] = {}

    def run(self) -> bool:
        """Run until no kernel can continue; return whether all have ended."""
        while True:
            try:
                self._run()
                for pipe in self.pipes.values():
                    pipe.refuse_unreceived()
            except NotOwn as found:
                self.must_wait.add(found.send)
                self._begin()
            else:
                return all(task.is_done for task in self.tasks)

    def _run(self) -> None:
        while self.ready or self.stopped:
            if not self.ready:
                self._skip_periods()
                self.ready.extend(self.stopped)
                self.stopped = []
                self.iterations = {}
            if self.random is not None:
                self.ready.rotate(self.random.randrange(len(self.ready)))
            if self.has_turns:
                self._turn()
            self._advance(self.ready.popleft())

    @property
    def own_nets(self) -> set[str]:
        """The nets whose sources have received their own data."""
        return {self.start.pipes[n].net for n, pipe in self.pipes.items() if pipe.has_own}

    @property
    def stuck(self) -> list[TraceTask]:
        return [task for task in self.tasks if not task.is_done]

    def _advance(self, task: TraceTask) -> None:
        """Run a task until it must wait or ends."""
        task.blocked = None
        events = 0
        while True:
            if task.position == len(task.items):
                if self._goes_on(task):
                    continue
                break
            item = task.items[task.position]
            if isinstance(item, Repeat):
                task.stack.append((task.items, task.position, task.remaining))
                task.items, task.position, task.remaining = item.items, 0, item.times - 1
                continue
            events += 1
            if self.random is not None and self._lets_others_first(task, item):
                break
            if not HANDLERS[item[0]](self, task, item):
                task.blocked = item
                break
            task.position += 1
            if self.has_turns and self._is_interrupted(task, item):
                break
        self.budget -= events
        if self.budget < 0:
            raise BudgetSpent

    def _turn(self) -> None:
        """Put the next task in front (rules LATE and EARLY)."""
        early = [each for each in self.ready if (each.node, each.kernel) == self.start.early]
        if early:
            self.ready.remove(early[0])
            self.ready.appendleft(early[0])
        elif (self.ready[0].node, self.ready[0].kernel) == self.start.late:
            self.ready.rotate(-1)

    def _is_interrupted(self, task: TraceTask, event: Event) -> bool:
        if event[0] in NOTED:
            self.noted.append((task, event))
        if self.start.early is None and (task.node, task.kernel) != self.start.late:
            return False
        self.ready.append(task)
        return True

    def _goes_on(self, task: TraceTask) -> bool:
        """Enter the next iteration, or leave the loop; False at the trace's end or to let others
        run."""
        if task.remaining:
            task.remaining -= 1
            task.position = 0
            return not self._stops(task)
        if not task.stack:
            task.is_done = True
            return False
        task.items, task.position, task.remaining = task.stack.pop()
        task.position += 1
        return True

    def _stops(self, task: TraceTask) -> bool:
        if self.anchors is None or task.remaining < SHORTEST_SKIPPED:
            return False
        if task not in self.anchors:
            done = self.iterations[task] = self.iterations.get(task, 0) + 1
            if done < LONE_ITERATIONS:
                return False
            self.anchors.add(task)
        self.stopped.append(task)
        return True

    def touch(self, task: TraceTask, event: Event) -> bool:
        return True

    touched = touch

    # Buffers (rule CREDITS)

    def reserve(self, task: TraceTask, event: Event) -> bool:
        return self._take(task, event, self.free) and self.follow(task, event)

    def wait(self, task: TraceTask, event: Event) -> bool:
        return self._take(task, event, self.filled)

    def _take(self, task: TraceTask, event: Event, credits: dict[int, list[int]]) -> bool:
        kind, buffer, _ = event
        own = credits[task.node]
        if not own[buffer]:
            self.sleeping[kind, task.node, buffer] = task
            return False
        own[buffer] -= 1
        return True

    def push(self, task: TraceTask, event: Event) -> bool:
        self.level[task.node][event[1]] += 1
        self.follow(task, event)
        return self._give(task, event, self.filled, WalkEventKind.WAIT)

    def pop(self, task: TraceTask, event: Event) -> bool:
        self.level[task.node][event[1]] -= 1
        return self._give(task, event, self.free, WalkEventKind.RESERVE)

    def _give(
        self, task: TraceTask, event: Event, credits: dict[int, list[int]], taken_by: WalkEventKind
    ) -> bool:
        buffer = event[1]
        credits[task.node][buffer] += 1
        if self.sleeping:
            sleeper = self.sleeping.pop((taken_by, task.node, buffer), None)
            if sleeper is not None:
                self.ready.append(sleeper)
        return True

    # Pipes (rule RENDEZVOUS)

    def _pipe(self, number: int) -> PipeState:
        known = self.pipes.get(number)
        if known is None:
            pipe, numbers = self.start.pipes[number], self.start.node_numbers
            known = self.pipes[number] = PipeState(number, pipe, numbers, self.must_wait)
        return known

    def post(self, task: TraceTask, event: Event) -> bool:
        _, number, op, slot = event
        pipe = self._pipe(number)
        task.transfers[slot] = (number, pipe.post(task, op), op)
        self._wake(pipe)
        return True

    def send(self, task: TraceTask, event: Event) -> bool:
        _, number, op, slot = event
        pipe = self._pipe(number)
        pipe.prepare_send(task, op)
        if self.start.sends_block and not pipe.has_all_posts(task, pipe.sent):
            pipe.sleepers.append(task)
            return False
        task.transfers[slot] = (number, pipe.sent, op)
        pipe.sent += 1
        self._wake(pipe)
        return True

    def _wake(self, pipe: PipeState) -> None:
        if pipe.sleepers:
            self.ready.extend(pipe.sleepers)
            pipe.sleepers = []

    def _is_over(self, task: TraceTask, transfer: tuple[int, int, Any]) -> bool:
        number, sent, op = transfer
        pipe = self._pipe(number)
        if pipe.complete() > sent:
            return True
        may_be_own = task.node == pipe.source and pipe.sent > sent and op.pipe is op.destination
        if may_be_own and pipe.has_all_posts(task, sent):  # rule OWN
            self._wake(pipe)
            return True
        pipe.sleepers.append(task)
        return False

    def follow(self, task: TraceTask, event: Event) -> bool:
        if self.has_own:
            task.blocks.follow(event)
        return True

    hand_over = resume = follow

    def finish(self, task: TraceTask, event: Event) -> bool:
        transfer = task.transfers.get(event[1])
        return transfer is None or self._is_over(task, transfer)

    def new_group(self, task: TraceTask, event: Event) -> bool:
        task.groups[event[1]] = []
        return True

    def add(self, task: TraceTask, event: Event) -> bool:
        _, group, _, slot = event
        if slot in task.transfers:
            task.groups.setdefault(group, []).append(task.transfers[slot])
        return True

    def finish_group(self, task: TraceTask, event: Event) -> bool:
        return self.open_transfer(task, event) is None

    def open_transfer(self, task: TraceTask, event: Event) -> tuple[int, int, Any] | None:
        """Return the transfer that a task waits for, or None."""
        if event[0] is WalkEventKind.FINISH:
            found = [task.transfers[event[1]]]
        else:
            found = task.groups.get(event[1], [])
        return next((each for each in found if not self._is_over(task, each)), None)

    # Semaphores

    def value(self, semaphore: int, node: int) -> int:
        return self.values.get((semaphore, node), self.start.initial[semaphore])

    def semaphore_wait(self, task: TraceTask, event: Event) -> bool:
        _, semaphore, _, wanted, at_least = event
        cell = (semaphore, task.node)
        value = self.value(semaphore, task.node)
        if value >= wanted if at_least else value == wanted:
            return True
        if self.start.hopeful and cell in self.hopes and self.hopes[cell].can_be(wanted, at_least):
            return True
        self.semaphore_sleepers.setdefault(cell, []).append(task)
        return False

    def semaphore_set(self, task: TraceTask, event: Event) -> bool:
        _, semaphore, _, value, nodes = event
        for node in nodes:
            if (hope := self._hope(semaphore, node)) is not None:
                hope.bases.add(value)
            self._change(semaphore, node, value)
        return True

    def semaphore_inc(self, task: TraceTask, event: Event) -> bool:
        _, semaphore, _, added, nodes = event
        for node in nodes:
            if (hope := self._hope(semaphore, node)) is not None:
                hope.add(added)
            value = self.value(semaphore, node) + added
            self._change(semaphore, node, value % SEMAPHORE_VALUES)
        return True

    def _hope(self, semaphore: int, node: int) -> Hope | None:
        cell = (semaphore, node)
        if cell not in self.start.loose:
            return None
        return self.hopes.setdefault(cell, Hope(self.start.initial[semaphore]))

    def _change(self, semaphore: int, node: int, value: int) -> None:
        self.values[semaphore, node] = value
        self.ready.extend(self.semaphore_sleepers.pop((semaphore, node), ()))

    def _lets_others_first(self, task: TraceTask, event: Event) -> bool:
        """Sometimes let others act first at a loose semaphore, where the order matters."""
        if (
            self.random is None
            or event[0] < WalkEventKind.SEMAPHORE_WAIT
            or self.random.random() < 0.5
        ):
            return False
        self.ready.append(task)
        return True

    # rule PERIOD

    def _skip_periods(self) -> None:
        key = self.state()
        left = [task.remaining_iterations() for task in self.tasks]
        earlier = self.seen.setdefault(key, [])
        for before in earlier:
            periods = _periods(before, left)
            if periods:
                for task, was, now in zip(self.tasks, before, left, strict=True):
                    task.skip(periods, [a - b for a, b in zip(was, now, strict=True)])
                return
        if len(earlier) == KEPT_STATES:
            earlier.pop(0)
        earlier.append(left)

    def state(self) -> Hashable:
        """Return all but the remaining iterations; pipes count from complete transfers."""
        complete = {number: pipe.complete() for number, pipe in self.pipes.items()}
        return (
            tuple([task.place() for task in self.tasks]),
            tuple([tuple(free) for free in self.free.values()]),
            tuple([tuple(filled) for filled in self.filled.values()]),
            tuple(
                [
                    (
                        number,
                        pipe.sent - complete[number],
                        tuple([posted - complete[number] for posted in pipe.posted.values()]),
                    )
                    for number, pipe in self.pipes.items()
                ]
            ),
            tuple([_open(task, complete) for task in self.tasks if task.transfers]),
            tuple(
                [
                    (number, own.number - complete[number], own.task.blocks.age(own.block))
                    for number, pipe in self.pipes.items()
                    for own in pipe.owed
                ]
            ),
            tuple([task.blocks.state() for task in self.tasks]) if self.has_own else (),
            tuple(self.values.items()),
            tuple([(len(hope.bases), len(hope.sums)) for hope in self.hopes.values()]),
        )


def _open(task: TraceTask, complete: dict[int, int]) -> Hashable:
    """Return a task's incomplete transfers, count_events from the complete ones."""
    slots = tuple(
        [
            (slot, pipe, number - complete[pipe])
            for slot, (pipe, number, _) in task.transfers.items()
            if number >= complete[pipe]
        ]
    )
    groups = tuple(
        [
            (group, pipe, number - complete[pipe])
            for group, added in task.groups.items()
            for pipe, number, _ in added
            if number >= complete[pipe]
        ]
    )
    return task.number, slots, groups


def _periods(before: list[list[int]], now: list[list[int]]) -> int:
    """Return how often the steps in between can repeat before a loop ends."""
    most = 0
    for was, left in zip(before, now, strict=True):
        for a, b in zip(was, left, strict=True):
            if a < b:
                return 0
            if a > b:
                possible = b // (a - b)
                if not possible:
                    return 0
                most = min(most, possible) if most else possible
    return most


def _iterations(items: Items) -> int:
    return max(
        (item.times * (1 + _iterations(item.items)) for item in items if isinstance(item, Repeat)),
        default=0,
    )


NOTED = (
    WalkEventKind.TOUCH,
    WalkEventKind.TOUCHED,
    WalkEventKind.SEMAPHORE_WAIT,
    WalkEventKind.SEMAPHORE_SET,
    WalkEventKind.SEMAPHORE_INC,
)
# The method for each kind of event has its name.
HANDLERS = {kind: getattr(TraceMachine, kind.name.lower()) for kind in WalkEventKind}
