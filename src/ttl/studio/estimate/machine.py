"""Event simulation: runs the threads of one node of each class in the order of their times.

Rules
* thread: steps run in order; a step begins when the one before it has ended.
* buffer: waits and reservations end when enough pages are filled or free.
* read-ahead: if a poll finds no room, the steps that it would have postponed run at once.
* transfer: latency, then the slowest of issue, the node's own link, the links on the way and DRAM;
  a node represents its whole class on links and in DRAM, and shares these with the others.
* link, bank: transfers pass one at a time, in the order in which they begin.
* DST: math holds a section until its commit, pack from there to its release.
* sources: the unpacker is at most one tile ahead of the matrix unit.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from ttl.artifact import CompiledOperation
from ttl.target import Target
from ttl.target.costs import Costs

from .parts import Dram, EventNode, EventThread, Pages, Spent, Stuck, TimedStep
from .streams import Delivery, Do, Step, Streams
from .traffic import Loads

BARRIER, SEMAPHORE, DST, SOURCES = "barrier", "semaphore", "DST", "sources"

Signal = tuple[tuple[Delivery, ...], float, bool]  # arguments of _deliver()


class EventMachine:
    """Runs the streams with the costs of one case."""

    def __init__(self, compiled: CompiledOperation, streams: Streams, costs: Costs, target: Target):
        self.costs, self.target, self.streams = costs, target, streams
        sections = 1 if streams.costs.is_full_sync else 2
        self.dram = Dram()
        self.links = np.zeros(streams.traffic.routes.count)  # the time when each is free again
        self.banks = np.zeros(target.dram_banks)
        self.queue: list[tuple[float, int, EventThread | Signal]] = []
        self.number = 0
        self.nodes = [EventNode(compiled, len(each.nodes), sections) for each in streams.classes]
        for node, each in zip(self.nodes, streams.classes, strict=True):
            node.threads = [EventThread(plan, node) for plan in each.threads]
            for semaphore in compiled.semaphores:
                node.words[semaphore.index * target.l1_alignment_bytes] = semaphore.initial
        self.end = 0.0
        self.slices: list[TimedStep] | None = None  # all steps, if they are wanted
        self._read_costs()

    def _read_costs(self) -> None:
        costs = self.costs
        self.start = costs["processor.kernel_start_cycles"]
        self.buffer_call = costs["processor.buffer_call_cycles"]
        self.barrier_call = costs["processor.barrier_cycles"]
        self.section_call = costs["processor.section_cycles"]
        self.signal_issue = costs["noc.signal_issue_cycles"]
        self.one_way = costs["noc.one_way_cycles"]
        self.link_rate = costs["noc.link_bytes_per_cycle"]
        keys = ("latency_cycles", "issue_cycles", "bytes_per_cycle")
        names = {name.split(".")[1] for name in costs.numbers if name.startswith("noc.")}
        self.paths = {
            path: tuple(costs[f"noc.{path}.{key}"] for key in keys)
            for path in names
            if f"noc.{path}.latency_cycles" in costs.numbers
        }

    def run(self) -> float:
        """Run until all threads end and return the cycles; raise Stuck if none can continue."""
        for node in self.nodes:
            for thread in node.threads:
                thread.time = self.start
                self._queue(thread.time, thread)
        while self.queue:
            time, _, what = heappop(self.queue)
            if isinstance(what, EventThread):
                self._run_thread(what)
            else:
                self._deliver(time, *what)
        threads = [thread for node in self.nodes for thread in node.threads]
        if not all(thread.is_done for thread in threads):
            raise Stuck
        self.end = max((thread.time for thread in threads), default=0.0)
        return self.end

    def _queue(self, time: float, what: EventThread | Signal) -> None:
        self.number += 1
        heappush(self.queue, (time, self.number, what))

    def _run_thread(self, thread: EventThread) -> None:
        while not thread.is_done:
            if self.queue and self.queue[0][0] < thread.time:
                self._queue(thread.time, thread)
                return
            position = thread.position
            if position in thread.skipped:
                thread.position += 1
                continue
            if not self._step(thread, thread.steps[position]):
                return
            thread.position = position + 1

    def _step(self, thread: EventThread, step: Step) -> bool:
        """Run a step; False if it cannot run yet: then the thread is woken later and retries."""
        before = thread.time
        if not _RULES[step[0]](self, thread, step):
            if not thread.is_waiting:
                thread.is_waiting, thread.since = True, before
            return False
        spent = thread.spent.get(step[1])
        if spent is None:
            spent = thread.spent[step[1]] = Spent()
        begin = before
        if thread.is_waiting:
            thread.is_waiting = False
            begin = thread.since
            self._waited(thread, spent, thread.reason, before - begin)
        end, thread.early = thread.time - thread.early, 0.0
        spent.times += 1
        spent.busy += end - before
        if self.slices is not None:
            held = (thread.arrives, thread.held, thread.held_for)
            self.slices.append(TimedStep(thread, step, begin, end, *held))
        thread.arrives = thread.held = 0.0
        return True

    def _waited(self, thread: EventThread, spent: Spent, reason: str, cycles: float) -> None:
        spent.waited += cycles
        spent.reason = thread.held_for = reason
        thread.held += cycles
        thread.reasons[reason] = thread.reasons.get(reason, 0.0) + cycles

    def _wait_until(self, thread: EventThread, step: Step, reason: str, time: float) -> None:
        """End a wait whose end, `time`, is known now."""
        if time > thread.time:
            spent = thread.spent.setdefault(step[1], Spent())
            waited = time - thread.time
            self._waited(thread, spent, reason, waited)
            spent.busy -= waited
            thread.time = time

    def _hold_up(self, thread: EventThread, reason: str, waiting: list[EventThread]) -> bool:
        """Block a thread; whoever supplies what it waits for wakes it."""
        thread.reason = reason
        waiting.append(thread)
        return False

    def _wake(self, waiting: list[EventThread], time: float) -> None:
        for thread in waiting:
            thread.time = max(thread.time, time)
            self._queue(thread.time, thread)
        waiting.clear()

    # rule buffer

    def _wait_front(self, thread: EventThread, step: Step) -> bool:
        pages: Pages = thread.node.buffers[step[2]]
        if pages.filled < step[3]:
            return self._hold_up(thread, f"{pages.name} is empty", pages.waiting)
        thread.time += self.buffer_call
        return True

    def _reserve(self, thread: EventThread, step: Step) -> bool:
        pages: Pages = thread.node.buffers[step[2]]
        wanted = step[3] - thread.owed.get(step[2], 0)
        if pages.capacity - pages.filled < wanted:
            return self._hold_up(thread, f"{pages.name} is full", pages.waiting)
        thread.owed.pop(step[2], None)
        thread.time += self.buffer_call
        return True

    def _push_or_pop(self, thread: EventThread, step: Step) -> bool:
        pages: Pages = thread.node.buffers[step[2]]
        thread.time += self.buffer_call
        pages.filled += step[3] if step[0] is Do.PUSH else -step[3]
        self._wake(pages.waiting, thread.time)
        return True

    # rule read-ahead

    def _poll(self, thread: EventThread, step: Step) -> bool:
        pages: Pages = thread.node.buffers[step[2]]
        thread.time += self.buffer_call
        if step[3] > pages.capacity or pages.capacity - pages.filled >= step[3]:
            return True
        barrier = self._next_barrier(thread)
        if barrier is None:
            return True
        self._do_early(thread, barrier)
        position = barrier + 1
        while position < len(thread.steps) and thread.steps[position][0] is Do.PUSH:
            push = thread.steps[position]
            thread.owed[push[2]] = thread.owed.get(push[2], 0) + push[3]
            self._do_early(thread, position)
            position += 1
        return True

    def _next_barrier(self, thread: EventThread) -> int | None:
        """Return the barrier after the coming reads; None if no reads are in flight."""
        is_second = False
        for position in range(thread.position + 1, len(thread.steps)):
            do = thread.steps[position][0]
            if position in thread.skipped:
                return None
            if do is Do.RESERVE:
                is_second = True
            elif do is Do.READ_BARRIER:
                return position if is_second else None
            elif do not in (Do.POLL, Do.SET_ID, Do.READ):
                return None
        return None

    def _do_early(self, thread: EventThread, position: int) -> None:
        before, early = thread.time, thread.early
        thread.early = 0.0
        self._step(thread, thread.steps[position])
        thread.early = early + thread.time - before
        thread.skipped.add(position)

    # rule transfer

    def _read(self, thread: EventThread, step: Step) -> bool:
        arrives, thread.read_link = self._move(thread, step, thread.read_link)
        known = thread.reads.get(thread.read_id, 0.0)
        thread.reads[thread.read_id] = max(known, arrives)
        return True

    def _write(self, thread: EventThread, step: Step) -> bool:
        arrives, thread.write_link = self._move(thread, step, thread.write_link)
        thread.written = max(thread.written, arrives)
        return True

    def _move(self, thread: EventThread, step: Step, link: float) -> tuple[float, float]:
        """Return the times when the bytes have arrived and when the node's link is free again."""
        _, _, (path, loads), count, size = step
        latency, issue, rate = self.paths[path]
        begin = thread.time
        on_link = count * size / rate
        issued = count * issue
        thread.time += issued
        arrives = max(begin + latency + max(issued, on_link), link + on_link)
        link = max(begin, link) + on_link
        served = self._pass(loads, begin + latency / 2, count * size / self.link_rate)
        if path in ("dram_read", "dram_write"):
            used = self._dram(thread, path == "dram_read", step, begin + latency / 2)
            served = max(served, used)
        thread.arrives = max(arrives, served + latency / 2)
        return thread.arrives, link

    def _pass(self, loads: Loads, begin: float, cycles: float) -> float:  # rule link
        """Return the time when the links on the way are passed; one node takes `cycles` on them."""
        if not loads.links.size:
            return 0.0
        free = np.maximum(self.links[loads.links], begin) + loads.shares * cycles
        self.links[loads.links] = free
        return float(free.max())

    def _dram(self, thread: EventThread, is_read: bool, step: Step, arrival: float) -> float:
        _, _, (_, loads), count, size = step
        costs, dram = self.costs, self.dram
        moved = thread.node.count * count * size
        one_way = moved / costs[f"dram.all_nodes_{'read' if is_read else 'write'}_bytes_per_cycle"]
        both = moved / costs["dram.mixed_bytes_per_cycle"]
        dram.free = max(dram.free, arrival) + both
        dram.busy += max(both, one_way)
        served = max(dram.free, self._bank(loads, arrival))
        if is_read:
            dram.read_bytes += moved
            dram.read_free = max(dram.read_free, arrival) + one_way
            return max(served, dram.read_free)
        dram.written_bytes += moved
        dram.write_free = max(dram.write_free, arrival) + one_way
        return max(served, dram.write_free)

    def _bank(self, loads: Loads, arrival: float) -> float:  # rule bank
        cycles = np.maximum(
            loads.bank_bytes / self.costs["dram.bank_bytes_per_cycle"],
            loads.bank_requests * self.costs["dram.bank_request_cycles"],
        )
        free = np.maximum(self.banks, arrival) + cycles
        self.banks = np.where(cycles > 0, free, self.banks)
        return float(free[cycles > 0].max(initial=0.0))

    def _multicast(self, thread: EventThread, step: Step) -> bool:
        _, _, (receivers, loads), count, size = step
        latency, issue, rate = self.paths["l1_write_both_axes"]
        packets = -(-size // self.target.noc_burst_bytes)
        handshake = self.costs.handshake_of(receivers)
        on_link = count * (packets * handshake + size / rate)
        begin = thread.time
        thread.time += count * packets * issue
        own = max(begin, thread.write_link) + on_link
        thread.write_link = max(own, self._pass(loads, begin, on_link))
        thread.arrives = thread.write_link + latency
        thread.written = max(thread.written, thread.arrives)
        return True

    def _set_id(self, thread: EventThread, step: Step) -> bool:
        thread.read_id = step[2]
        return True

    def _read_barrier(self, thread: EventThread, step: Step) -> bool:
        ids = [step[2]] if step[2] else list(thread.reads)
        arrives = max((thread.reads.pop(each, 0.0) for each in ids), default=0.0)
        thread.time += self.barrier_call
        self._wait_until(thread, step, BARRIER, arrives)
        return True

    def _write_barrier(self, thread: EventThread, step: Step) -> bool:
        thread.time += self.barrier_call
        until = thread.write_link if step[0] is Do.FLUSH else thread.written
        self._wait_until(thread, step, BARRIER, until)
        return True

    # Signals

    def _signal(self, thread: EventThread, step: Step) -> bool:
        is_set = step[0] is Do.SIGNAL_SET
        thread.time += self.signal_issue
        # After earlier writes, which take the same route.
        leaves = max(thread.time, thread.write_link)
        self._queue(leaves + self.one_way, (step[2], step[3], is_set))
        thread.written = max(thread.written, leaves + 2 * self.one_way)
        return True

    def _deliver(
        self, time: float, deliveries: tuple[Delivery, ...], value: float, is_set: bool
    ) -> None:
        for each in deliveries:
            node = self.nodes[each.node_class]
            before = node.words.get(each.address, 0.0)
            after = value if is_set else before + value * each.weight
            node.words[each.address] = after
            self._wake_words(node, time)

    def _wake_words(self, node: EventNode, time: float) -> None:
        waiting, node.word_waiters = node.word_waiters, []
        for thread, address, wanted in waiting:
            if node.words.get(address, 0.0) + 1e-6 >= wanted:
                self._wake([thread], time)
            else:
                node.word_waiters.append((thread, address, wanted))

    def _await(self, thread: EventThread, step: Step) -> bool:
        node, address, wanted = thread.node, step[2], step[3]
        if node.words.get(address, 0.0) + 1e-6 < wanted:
            thread.reason = SEMAPHORE
            node.word_waiters.append((thread, address, wanted))
            return False
        thread.time += self.buffer_call
        return True

    def _set(self, thread: EventThread, step: Step) -> bool:
        thread.time += self.buffer_call
        thread.node.words[step[2]] = step[3]
        self._wake_words(thread.node, thread.time)
        return True

    # rule DST, rule sources

    def _work(self, thread: EventThread, step: Step) -> bool:
        thread.time += step[2]
        return True

    def _unpack(self, thread: EventThread, step: Step) -> bool:
        _, _, count, cycles, _ = step
        node = thread.node
        if node.groups_ahead >= 1:
            return self._hold_up(thread, SOURCES, node.source_waiters)
        self._wait_until(thread, step, SOURCES, node.unpack_gate)
        begin = thread.time
        thread.time += count * cycles
        node.unpacked.append((begin + cycles, thread.time))
        node.groups_ahead += 1
        self._wake(node.source_waiters, begin + cycles)
        return True

    def _math(self, thread: EventThread, step: Step) -> bool:
        _, _, count, cycles, _ = step
        node = thread.node
        if not node.unpacked:
            return self._hold_up(thread, SOURCES, node.source_waiters)
        first, last = node.unpacked.popleft()
        self._wait_until(thread, step, SOURCES, first)
        begin = thread.time
        thread.time = begin + count * cycles
        self._wait_until(thread, step, SOURCES, last + cycles)
        node.groups_ahead -= 1
        node.unpack_gate = thread.time - cycles
        self._wake(node.source_waiters, begin)
        return True

    def _math_alone(self, thread: EventThread, step: Step) -> bool:
        thread.time += step[2] * step[3]
        return True

    def _acquire(self, thread: EventThread, step: Step) -> bool:
        node = thread.node
        if not node.free_sections:
            return self._hold_up(thread, DST, node.section_waiters)
        node.free_sections -= 1
        thread.time += self.section_call
        return True

    def _commit(self, thread: EventThread, step: Step) -> bool:
        thread.time += self.section_call
        thread.node.committed += 1
        self._wake(thread.node.section_waiters, thread.time)
        return True

    def _section_wait(self, thread: EventThread, step: Step) -> bool:
        node = thread.node
        if not node.committed:
            return self._hold_up(thread, DST, node.section_waiters)
        node.committed -= 1
        thread.time += self.section_call
        return True

    def _release(self, thread: EventThread, step: Step) -> bool:
        thread.time += self.section_call
        thread.node.free_sections += 1
        self._wake(thread.node.section_waiters, thread.time)
        return True


_RULES = {
    Do.WAIT_FRONT: EventMachine._wait_front,
    Do.POP: EventMachine._push_or_pop,
    Do.RESERVE: EventMachine._reserve,
    Do.PUSH: EventMachine._push_or_pop,
    Do.POLL: EventMachine._poll,
    Do.READ: EventMachine._read,
    Do.WRITE: EventMachine._write,
    Do.MULTICAST: EventMachine._multicast,
    Do.SET_ID: EventMachine._set_id,
    Do.READ_BARRIER: EventMachine._read_barrier,
    Do.WRITE_BARRIER: EventMachine._write_barrier,
    Do.FLUSH: EventMachine._write_barrier,
    Do.SIGNAL: EventMachine._signal,
    Do.SIGNAL_SET: EventMachine._signal,
    Do.AWAIT: EventMachine._await,
    Do.SET: EventMachine._set,
    Do.WORK: EventMachine._work,
    Do.UNPACK: EventMachine._unpack,
    Do.MATH: EventMachine._math,
    Do.MATH_ALONE: EventMachine._math_alone,
    Do.ACQUIRE: EventMachine._acquire,
    Do.COMMIT: EventMachine._commit,
    Do.SECTION_WAIT: EventMachine._section_wait,
    Do.RELEASE: EventMachine._release,
}
