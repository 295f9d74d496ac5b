"""Parts of a simulated machine: threads, nodes with their buffers and registers, DRAM."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from ttl.artifact import Buffer, CompiledOperation

from .streams import Step, ThreadPlan

COMPILERS = "compiler's"  # before the names of buffers that the compiler adds


@dataclass(slots=True)
class Spent:
    """Cycles spent at one place in the program."""

    busy: float = 0.0
    waited: float = 0.0
    times: int = 0
    reason: str = ""  # of the wait


@dataclass(slots=True)
class Pages:
    """Buffer of a node."""

    name: str
    capacity: int
    filled: int = 0
    waiting: list[EventThread] = field(default_factory=list)


class EventThread:
    """Processor of a node, or one of the three threads of its compute processor."""

    def __init__(self, plan: ThreadPlan, node: EventNode):
        self.plan, self.node = plan, node
        self.steps: list[Step] = plan.steps
        self.position = 0
        self.time = 0.0
        self.is_waiting = False
        self.since = 0.0
        self.reason = ""
        self.spent: dict[int, Spent] = {}
        self.reasons: dict[str, float] = {}
        self.read_id = 0
        self.reads: dict[int, float] = {}  # when the reads of an id have arrived
        self.written = 0.0  # when all writes have arrived
        self.read_link = self.write_link = 0.0  # free again
        self.skipped: set[int] = set()
        self.owed: dict[int, int] = {}  # pages pushed earlier than recorded
        self.arrives = 0.0  # end of the current step's transfer
        self.held, self.held_for = 0.0, ""  # cycles waited, and the last reason
        self.early = 0.0  # cycles of steps that a poll ran early

    @property
    def is_done(self) -> bool:
        return self.position >= len(self.steps)


def _name(buffer: Buffer) -> str:
    return f"{COMPILERS} {buffer.name}" if buffer.compiler_allocated else buffer.name


class EventNode:
    """Node that represents `count` nodes."""

    def __init__(self, compiled: CompiledOperation, count: int, sections: int):
        self.count = count
        self.buffers = {
            each.index: Pages(_name(each), each.block_tiles * each.block_count)
            for each in compiled.buffers
        }
        self.threads: list[EventThread] = []
        self.words: dict[int, float] = {}
        self.word_waiters: list[tuple[EventThread, int, float]] = []
        self.free_sections = sections
        self.committed = 0
        self.section_waiters: list[EventThread] = []
        self.unpacked: deque[tuple[float, float]] = (
            deque()
        )  # when the first and the last tile arrive
        self.unpack_gate = 0.0
        self.groups_ahead = 0
        self.source_waiters: list[EventThread] = []


@dataclass(slots=True)
class Dram:
    """DRAM traffic of all nodes, in bytes and cycles."""

    read_free: float = 0.0
    write_free: float = 0.0
    free: float = 0.0
    read_bytes: float = 0.0
    written_bytes: float = 0.0
    busy: float = 0.0


@dataclass(frozen=True, slots=True)
class TimedStep:
    """Step of a thread, with its wait."""

    thread: EventThread
    step: Step
    begin: float
    end: float
    arrives: float = 0.0  # end of its transfer, if it has one
    waited: float = 0.0
    reason: str = ""  # why it waited, if it did


class Stuck(Exception):
    """All threads wait, because nodes of one class wait for each other."""
