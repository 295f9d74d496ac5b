"""Waiting kernels, with the texts for a deadlock's report."""

from __future__ import annotations

from collections.abc import Sequence
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
    in_tensor: bool = False

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

    `partners` are the kernels that could do it, ended or not: one of each group has to.
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
    net: str = ""  # the pipe's

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


def waiting_at_pipe(
    kernel: Kernel,
    span: Span | None,
    *,
    sends: bool,
    pipe: str,
    pipe_span: Span | None,
    net: str,
    for_send_of: Node | None,
    for_posts_of: Sequence[Node],
    partners: tuple[tuple[Kernel, ...], ...],
    started: Span | None,
) -> WaitingForNodes:
    """Describe a wait for a transfer that is not sent, or that receivers have not posted for.

    `partners` has one group for each awaited node.
    """
    if for_send_of is not None:
        nodes, act = [for_send_of], "send on"
    else:
        nodes, act = list(for_posts_of), "post a receive on"
    return WaitingForNodes(
        kernel=kernel[0],
        node=kernel[1],
        span=span,
        action="send" if sends else "receive",
        subject=f"pipe {pipe}",
        need=f"{_node_list(nodes)} to {act} pipe {pipe}",
        partners=partners,
        started=None if started is None or span is None or started.line == span.line else started,
        subject_span=pipe_span,
        net=net,
    )


def waiting_at_semaphore(
    kernel: Kernel,
    span: Span | None,
    *,
    semaphore: str,
    semaphore_span: Span | None,
    wanted: int,
    at_least: bool,
    value: int,
    changed_by: Sequence[Kernel],
) -> WaitingForNodes:
    text = f"at least {wanted}" if at_least else str(wanted)
    return WaitingForNodes(
        kernel=kernel[0],
        node=kernel[1],
        span=span,
        action="semaphore",
        subject=f"semaphore `{semaphore}`",
        need=f"`{semaphore}` to be {text} (it is {value})",
        partners=(tuple([other for other in changed_by if other != kernel]),),
        subject_span=semaphore_span,
    )


def _node_list(nodes: Sequence[Node]) -> str:
    shown = " and ".join(str(node) for node in nodes[:2])
    return f"node {shown}" if len(nodes) < 3 else f"node {shown} and {len(nodes) - 2} others"
