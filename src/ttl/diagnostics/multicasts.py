"""The rule for a block that another node writes."""

from __future__ import annotations

from . import catalogue as codes
from .diagnostic import RuleBroken

Node = tuple[int, ...]


def receiver_not_ready(buffer: str, sender: Node, receiver: Node) -> RuleBroken:
    """Describe a multicast into a block not yet reserved; nodes are (x, y), cores (y, x)."""
    return codes.RECEIVER_NOT_READY.broken(
        f"core {receiver[::-1]} has not reserved the block of `{buffer}` that this multicast from "
        f"core {sender[::-1]} writes",
        "let each receiver reserve() first and signal it by a semaphore: "
        "sem.inc(1, core=sender); the sender waits for all of them",
    )
