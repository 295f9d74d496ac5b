"""The marks of an artifact in the executor's own copy of the C++, and the events they make.

They are of recorded_calls.h, as what device functions tell: nothing in a unit without its flag.
"""

from __future__ import annotations

from collections.abc import Iterator

from ttl.artifact import MARK_KINDS, CompiledOperation, Kernel, Mark, NamedPipe

FIRST_KIND = 12  # in the order of MARK_KINDS, as in TtlEventKind (runtime/program.h)
BY_MARK, NO_SUBJECT = 1 << 31, 0x7FFF
SENDS = ("pipe_send", "pipe_send_end", "pipe_send_ends")


def marked_lines(compiled: CompiledOperation, kernel: Kernel) -> Iterator[str]:
    """The C++ of a kernel with a statement at each of its marks; the lines keep their numbers."""
    statements: dict[int, str] = {}
    numbers = {name: number for number, name in enumerate(_subjects(compiled))}
    for position, mark in enumerate(kernel.marks):
        kind = FIRST_KIND + MARK_KINDS.index(mark.kind)
        number = numbers.get(mark.subject, NO_SUBJECT)
        statement = f"TTL_MARK({kind}, {position}, {number}, {mark.place}, {mark.value}); "
        statements[mark.cpp_line] = statements.get(mark.cpp_line, "") + statement
    for number, line in enumerate(kernel.cpp_source.splitlines(), 1):
        yield statements.get(number, "") + line


class Subjects:
    """The pipes and semaphores of events."""

    def __init__(self, compiled: CompiledOperation):
        self.names = _subjects(compiled)
        self.nets: dict[str, list[NamedPipe]] = {}
        for pipe in compiled.pipes:
            self.nets.setdefault(pipe.net, []).append(pipe)
        self.known: dict[tuple[str, bool, tuple[int, int]], list[str]] = {}

    def of(self, mark: Mark, subject: int, node: tuple[int, int]) -> str:
        name = self.names[subject >> 16 & NO_SUBJECT]
        if name not in self.nets:
            return name
        return self._pipes(name, mark.kind in SENDS, node)[subject & 0xFFFF]

    def _pipes(self, net: str, is_send: bool, node: tuple[int, int]) -> list[str]:
        """Return the node's pipes."""
        found = self.known.get((net, is_send, node))
        if found is None:
            x, y = node
            found = self.known[net, is_send, node] = [
                f"pipe {pipe.name}"
                for pipe in self.nets[net]
                if (
                    pipe.source == node
                    if is_send
                    else pipe.first[0] <= x <= pipe.last[0] and pipe.first[1] <= y <= pipe.last[1]
                )
            ]
        return found


def _subjects(compiled: CompiledOperation) -> list[str]:
    """The nets and semaphores of all marks, in one order."""
    names = (mark.subject for kernel in compiled.kernels for mark in kernel.marks)
    return list(dict.fromkeys(name for name in names if name))
