"""Kernels that cannot go on, in the words of a deadlock's report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .span import Span

Node = tuple[int, ...]
Kernel = tuple[str, Node]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A kernel that waits at a dataflow buffer; `filled` and `capacity` count blocks."""

    kernel: str
    node: Node
    span: Span | None
    action: Literal["wait", "reserve"]
    buffer: str
    buffer_span: Span | None
    filled: int
    capacity: int
    polls: bool = False

    @property
    def subject(self) -> str:
        return self.buffer

    @property
    def need(self) -> str:
        what = "a block" if self.action == "wait" else "space"
        again = ", and asks again and again" if self.polls else ""
        return f"{what} in `{self.buffer}` ({self.filled} of {self.capacity} filled){again}"

    @property
    def sentence(self) -> str:
        return f"`{self.kernel}` waits for {self.need}"

    @property
    def declared(self) -> tuple[Span | None, str]:
        return self.buffer_span, f"`{self.buffer}` declared here"

    @property
    def facts(self) -> dict[str, Any]:
        return {"buffer": self.buffer, "filled": self.filled, "capacity": self.capacity}


@dataclass(frozen=True, slots=True)
class WaitingForNodes:
    """A kernel that waits at a pipe or a semaphore for something that a node has to do.

    `partners` are the kernels that could do it, whether they have ended or not: one of each group
    has to.
    """

    kernel: str
    node: Node
    span: Span | None
    action: Literal["send", "receive", "semaphore"]
    subject: str
    need: str
    partners: tuple[tuple[Kernel, ...], ...]
    started: Span | None = None
    subject_span: Span | None = None

    @property
    def sentence(self) -> str:
        return f"`{self.kernel}` on node {self.node} waits for {self.need}"

    @property
    def declared(self) -> tuple[Span | None, str]:
        return self.subject_span, f"{self.subject} declared here"

    @property
    def facts(self) -> dict[str, Any]:
        return {"subject": self.subject, "need": self.need}


AnyWaiting = Waiting | WaitingForNodes
