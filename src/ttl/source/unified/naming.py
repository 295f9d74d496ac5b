"""The names of what an expanded operation declares: kernels see it through parts of theirs only."""

from __future__ import annotations

from typing import Any

from ttl.language.buffer import DataflowBuffer
from ttl.language.engine import scope
from ttl.language.pipes import PipeNet
from ttl.language.semaphores import Semaphore


def name_declared(prefix: str, name: str, value: Any) -> None:
    """Called by the function that a body becomes, after the statement that gives the name."""
    if isinstance(value, (list, tuple)):
        for place, item in enumerate(value):
            name_declared(prefix, f"{name}_{place}", item)
    elif isinstance(value, (DataflowBuffer, PipeNet, Semaphore)):
        collected = scope("an operation")
        others: list[Any] = [*collected.buffers, *collected.pipe_nets, *collected.semaphores]
        taken = {each.name for each in others if each is not value}
        value.name = f"{prefix}{name}"
        if value.name in taken:
            value.name += f"_{value.index}"
