"""Messages about the two ends of a dataflow buffer, for every engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from . import catalogue as codes
from .diagnostic import Diagnostic, Label, RuleBroken
from .span import Span

CALLS = {"push": "reserve", "pop": "wait"}  # the release, and the call that acquires


@dataclass(frozen=True, slots=True)
class KernelEnd:
    """A node's kernel at one end: its release call, how often, and where it acquires first."""

    release_call: Literal["push", "pop"]
    kernel: str | None = None
    released: int = 0
    span: Span | None = None

    def __str__(self) -> str:
        if self.kernel is None:
            return f"no kernel calls {self.release_call}()"
        times = "once" if self.released == 1 else f"{self.released} times"
        return f"`{self.kernel}` calls {self.release_call}() {times}"

    @property
    def labels(self) -> tuple[Label, ...]:
        if self.kernel is None or self.span is None:
            return ()
        return (Label(self.span, f"`{self.kernel}` calls {CALLS[self.release_call]}() here"),)


def leftover(
    buffer: str,
    buffer_span: Span | None,
    producer: KernelEnd,
    consumer: KernelEnd,
    *,
    node: tuple[int, ...],
    holding_nodes: int,
    node_count: int,
    pages: int = 0,
) -> Diagnostic:
    """Describe blocks that were pushed and never popped, or `pages` if they are no whole blocks."""
    noun, left = "page" if pages else "block", pages or producer.released - consumer.released
    amount = f"1 {noun} is" if left == 1 else f"{left} {noun}s are"
    broken = codes.BUFFER_LEFTOVER.broken(
        f"{amount} left in `{buffer}` at the end of the operation",
        "let the consumer wait for as many blocks as the producer pushes",
        notes=(
            f"on node {node} {producer}, {consumer}",
            f"seen on {holding_nodes} of {node_count} nodes",
        ),
        secondary=producer.labels + consumer.labels,
        pushed=producer.released,
        popped=consumer.released,
    )
    return broken.at(buffer_span, f"`{buffer}` declared here")


def second_kernel(action: str, buffer: str, first: str, where: Span | None) -> RuleBroken:
    """Describe a second kernel at one end of a buffer; `first` came first."""
    label = None if where is None else Label(where, f"`{first}` calls {action}() here")
    other_call = "wait" if action == "reserve" else "reserve"
    return codes.BUFFER_ENDS.broken(
        f"two kernels call {action}() on `{buffer}`; the other one is `{first}`",
        "give each of the kernels a dataflow buffer of its own",
        f"if one of them is to be at the other end of `{buffer}`, call {other_call}() there",
        secondary=() if label is None else (label,),
    )


def not_backed(buffer: str) -> RuleBroken:
    """Describe publish() of a dataflow buffer that has its own memory."""
    return codes.PUBLISHED.broken(
        f"`{buffer}` lies in no tensor: publish() has nothing to make readable",
        "make the buffer by ttl.make_tensor_backed_dfb(tensor, shape), "
        "or fill it: reserve(), ttl.copy(), push()",
    )


def published_twice(buffer: str) -> RuleBroken:
    return codes.PUBLISHED.broken(
        f"`{buffer}` was published before",
        "call publish() once, before any loop: it makes all blocks of the buffer readable",
    )
