"""Spellings of earlier versions of the specification, with today's and the version of change.

Programs in the old spellings run unmodified; a note shows today's.
"""

from __future__ import annotations

from typing import NamedTuple


class Renamed(NamedTuple):
    present: str
    version: str = ""  # of the specification that changed it; "" for a spelling never in it


# Names of `ttl`, each the same object as today's name.
OLD_NAMES = {
    "CircularBuffer": Renamed("DataflowBuffer", "0.5"),
    "CoreCoord": Renamed("NodeCoord", "0.11"),
    "CoreRange": Renamed("NodeRange", "0.11"),
    "core": Renamed("node", "0.11"),
    "kernel": Renamed("operation", "0.13"),
    "make_circular_buffer_like": Renamed("make_dataflow_buffer_like", "0.5"),
}
# Arguments, and the functions that take them.
OLD_ARGUMENTS = {
    "acc": (Renamed("block += value", "0.12"), ("store",)),
    "buffer_factor": (
        Renamed("block_count=", "0.15"),
        ("make_circular_buffer_like", "make_dataflow_buffer_like"),
    ),
}
BUFFER_RELEASES = {  # methods of a dataflow buffer, which release the oldest block held
    "push": Renamed("push() of the block that reserve() returned", "0.7"),
    "pop": Renamed("pop() of the block that wait() returned", "0.7"),
}
WITHOUT_PARENTHESES = {name: Renamed(f"@ttl.{name}()") for name in ("compute", "datamovement")}
