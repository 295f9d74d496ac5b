"""Find accesses to tensors that nothing orders.

rule CLOCK    a kernel's clock counts its own steps, and how many steps of each other kernel are
              known to have happened before
rule RELEASE  push, pop, a copy to or from a pipe and a change of a semaphore pass on the facts
              their kernel knows; its next step is a new one
rule ACQUIRE  wait, reserve, the end of a copy through a pipe and the end of a semaphore's wait take
              these facts over; for a semaphore's wait, semaphore_clocks.py finds them
rule ACCESS   a copy accesses its slice from its start to its wait
rule RACE     two accesses to one unit, one of them a write, race unless the kernel that starts the
              second knows that the first had ended before
rule ALIKE    two writes of equal bytes do not race. A later read of the unit is ordered if it is
              ordered after either; a later write must be ordered after both
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import product, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ttl.diagnostics import Diagnostic, RuleBroken, accesses
from ttl.semantics.layout import TILE_LAYOUT
from ttl.semantics.tensor_like import StoredTensor
from ttl.semantics.types import Shape
from ttl.trace import EventKind

from .overwrites import units_of
from .place import Place, labels, span_of

if TYPE_CHECKING:
    from .buffer import BufferEnd
    from .copies import TensorTransfer
    from .kernel import KernelRun
    from .pipes import Meeting
    from .semaphores import NodeSemaphore, SemaphoreWait

Known = dict["KernelRun", int]  # never changed after it is passed on


@dataclass(slots=True, eq=False)
class Clock:
    """Facts a kernel knows about the others, and its own step."""

    kernel: KernelRun
    known: Known = field(default_factory=dict)
    step: int = 1

    def release(self) -> Known:  # rule RELEASE
        handed_on = {**self.known, self.kernel: self.step}
        self.step += 1
        return handed_on

    def acquire(self, given: Known) -> None:  # rule ACQUIRE
        known = self.known
        if any(known.get(kernel, 0) < step for kernel, step in given.items()):
            self.known = join_known(known, given)


def join_known(one: Known, other: Known) -> Known:
    found = dict(one)
    for kernel, step in other.items():
        if found.get(kernel, 0) < step:
            found[kernel] = step
    return found


class TensorAccess(NamedTuple):
    """A finished read or write."""

    kernel: KernelRun
    end: int  # the step of its kernel
    is_write: bool
    place: Place
    written: bytes = b""  # the bytes written; for a read, those of an earlier write, if any


class Copied(NamedTuple):
    """The facts kept about a copy from or to a tensor."""

    kernel: KernelRun
    place: Place
    tensor: StoredTensor
    starts: Shape
    shape: Shape
    is_write: bool
    name: str  # the tensor's

    @classmethod
    def of(cls, transfer: TensorTransfer) -> Copied:
        part = transfer.part
        return cls(
            transfer.kernel,
            transfer.place,
            part.tensor,
            part.starts,
            part.shape,
            transfer.is_write,
            transfer.subject,
        )

    @property
    def units(self) -> product[tuple[int, ...]]:
        """Iterate over the tiles of a slice, or the elements of a row-major one."""
        bounds = zip(self.starts, self.shape, strict=True)
        return product(*[range(start, start + size) for start, size in bounds])


class Races:
    """The clocks of one run, and the latest accesses to each unit of each tensor.

    Programs with semaphores use SemaphoreRaces: only after the run is known what their waits order.
    """

    __slots__ = ("_clocks", "_given", "_latest", "_meetings", "_starts", "written_alike")

    def __init__(self) -> None:
        self._clocks: dict[KernelRun, Clock] = {}
        self._given: dict[BufferEnd, deque[Known]] = {}  # given by the other end to this one
        self._meetings: dict[Meeting, Known] = {}
        self._starts: dict[int, tuple[Known, int]] = {}  # by the identity of the transfer
        self._latest: dict[int, dict[Shape, list[TensorAccess]]] = {}  # by identity of storage
        self.written_alike: dict[int, Diagnostic] = {}  # the first one for each storage

    def clock(self, kernel: KernelRun) -> Clock:
        clock = self._clocks.get(kernel)
        if clock is None:
            clock = self._clocks[kernel] = Clock(kernel)
        return clock

    # Buffers

    def at_buffer(self, kernel: KernelRun, kind: EventKind, end: BufferEnd) -> None:
        """Update the clocks after an acquire or a release."""
        clock = self.clock(kernel)
        if kind in (EventKind.BUFFER_PUSH, EventKind.BUFFER_POP):
            self._given_at(end.other).append(clock.release())
        else:
            clock.acquire(self._given_at(end).popleft())

    def _given_at(self, end: BufferEnd) -> deque[Known]:
        given = self._given.get(end)
        if given is None:
            given = self._given[end] = deque([{}] * (end.count if end.is_producer else 0))
        return given

    # Pipes: after a meeting, all participants know everything that any knew on arrival

    def at_pipe(self, kernel: KernelRun, meeting: Meeting, is_end: bool) -> None:
        clock = self.clock(kernel)
        known = self._meetings.get(meeting, {})
        if is_end:
            clock.acquire(known)
        else:
            self._meetings[meeting] = join_known(known, clock.release())

    # Semaphores: only SemaphoreRaces gets these calls

    def on_semaphore_change(
        self, kernel: KernelRun, semaphore: NodeSemaphore, value: int, is_set: bool
    ) -> None:
        raise AssertionError("a program without semaphores changes one")

    def on_semaphore_wait(self, kernel: KernelRun, wait: SemaphoreWait) -> None:
        raise AssertionError("a program without semaphores waits for one")

    def on_semaphore_pass(self, kernel: KernelRun, wait: SemaphoreWait) -> None:
        raise AssertionError("a program without semaphores waits for one")

    # After the run; this class raises races as they happen

    def check(self) -> None:
        """Raise KernelFault for the first race that is known only now."""

    def cause_of_deadlock(self) -> Diagnostic | None:
        """Return a race that decides whether the kernels end, or None."""
        return None

    # Tensors

    def at_tensor(self, transfer: TensorTransfer, is_end: bool) -> None:
        if not is_end:
            self.copy_starts(transfer.kernel, id(transfer))
            return
        written = read_written(transfer) if transfer.is_write else repeat(b"")
        self.copy_ends(id(transfer), Copied.of(transfer), written)

    def copy_starts(self, kernel: KernelRun, number: int) -> None:
        clock = self.clock(kernel)
        self._starts[number] = (clock.known, clock.step)
        clock.step += 1  # accesses that end later have not ended before this copy

    def copy_ends(self, number: int, copied: Copied, written: Iterable[bytes]) -> None:
        clock = self.clock(copied.kernel)
        known, step = self._starts.pop(number)
        access = TensorAccess(copied.kernel, clock.step, copied.is_write, copied.place)
        clock.step += 1
        latest = self._latest.setdefault(id(copied.tensor.storage), {})
        for unit, data in zip(copied.units, written, strict=False):
            own, before = access._replace(written=data), latest.get(unit, [])
            latest[unit] = self._check_access(own, known, step, before, copied, unit)

    def _check_access(
        self,
        access: TensorAccess,
        known: Known,
        step: int,
        before: list[TensorAccess],
        copied: Copied,
        unit: Shape,
    ) -> list[TensorAccess]:
        """Raise the first race; return the accesses to compare with later ones."""
        kernel = access.kernel
        alike: list[TensorAccess] = []
        unordered: list[TensorAccess] = []
        for each in before:
            knows = step - 1 if each.kernel is kernel else known.get(each.kernel, 0)
            if each.end > knows:
                unordered.append(each)
            elif each.is_write and not access.is_write:
                access = access._replace(written=each.written)
        for each in unordered:
            if not (access.is_write or each.is_write):
                continue
            if not access.written or access.written != each.written:  # rule RACE
                raise self.race(access, each, copied, unit)
            alike.append(each)  # rule ALIKE
        self._note_alike(access, alike, copied, unit)
        if not access.is_write:
            return _with_read(before, access)
        # Later accesses come after this and all others, but a read may follow an equal earlier
        # write.
        kept = [each for each in before if not each.is_write and each.written != access.written]
        return [*kept, *alike, access]

    def race(
        self, access: TensorAccess, other: TensorAccess, copied: Copied, unit: Shape
    ) -> RuleBroken:
        clash = Clash(access, other, copied.tensor, unit)
        return clash.broken(accesses.race, copied.name).with_place(access.place)

    def _note_alike(
        self, access: TensorAccess, alike: list[TensorAccess], copied: Copied, unit: Shape
    ) -> None:
        tensor = copied.tensor
        if alike and id(tensor.storage) not in self.written_alike:
            rule = partial(accesses.written_twice, why=accesses.SAME_BYTES)
            found = Clash(access, alike[0], tensor, unit).diagnostic(rule, copied.name)
            self.written_alike[id(tensor.storage)] = found


def _with_read(before: list[TensorAccess], read: TensorAccess) -> list[TensorAccess]:
    """Add a read, one for each kernel; reads of different bytes count as reading no known write."""
    others = [each for each in before if each.is_write or each.kernel is not read.kernel]
    own = [each for each in before if not each.is_write and each.kernel is read.kernel]
    if any(each.written != read.written for each in own):
        read = read._replace(written=b"")
    return [*others, read]


def read_written(transfer: TensorTransfer) -> Iterable[bytes]:
    """Return the bytes of a just finished write by unit, without the padding of its block."""
    part, words = transfer.part, np.empty_like(transfer.block.words)
    part.tensor.storage.read(part, words)
    return [row.tobytes() for row in units_of(words, part)]


class Clash(NamedTuple):
    """Two accesses to one unit of a tensor; a message about them points at `one`."""

    one: TensorAccess
    other: TensorAccess
    tensor: StoredTensor
    unit: Shape

    def broken(self, rule: Callable[..., RuleBroken], name: str) -> RuleBroken:
        one, other = _describe(self.one), _describe(self.other)
        what = "tile" if self.tensor.layout is TILE_LAYOUT else "element"
        secondary = labels([(self.other.place, other.label)])
        return rule(one, other, self.unit, name, what, secondary)

    def diagnostic(self, rule: Callable[..., RuleBroken], name: str) -> Diagnostic:
        """Describe the clash as a fault that is found after the run."""
        return self.broken(rule, name).at(span_of(self.one.place), _describe(self.one).label)


def _describe(access: TensorAccess) -> accesses.Access:
    kernel = access.kernel
    return accesses.Access(kernel.name, kernel.coordinate, access.is_write)
