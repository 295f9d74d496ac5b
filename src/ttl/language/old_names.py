"""What earlier versions of the specification wrote, what is written now, and since when.

Programs that were written for them run as they are; a note shows the present spelling.
"""

from __future__ import annotations

from typing import NamedTuple


class Renamed(NamedTuple):
    present: str
    version: str = ""  # of the specification that changed it; none has changed a mere habit


# Names of `ttl`: each is the very object that has the present name.
OLD_NAMES = {
    "CircularBuffer": Renamed("DataflowBuffer", "0.5"),
    "CoreCoord": Renamed("NodeCoord", "0.11"),
    "CoreRange": Renamed("NodeRange", "0.11"),
    "core": Renamed("node", "0.11"),
    "kernel": Renamed("operation", "0.13"),
    "make_circular_buffer_like": Renamed("make_dataflow_buffer_like", "0.5"),
}
# Arguments of calls, and the names of what is called.
OLD_ARGUMENTS = {
    "acc": (Renamed("block += value", "0.12"), ("store",)),
    "buffer_factor": (
        Renamed("block_count=", "0.15"),
        ("make_circular_buffer_like", "make_dataflow_buffer_like"),
    ),
}
BUFFER_RELEASES = {  # of a dataflow buffer: of the oldest block that the kernel holds of it
    "push": Renamed("push() of the block that reserve() returned", "0.7"),
    "pop": Renamed("pop() of the block that wait() returned", "0.7"),
}
WITHOUT_PARENTHESES = {name: Renamed(f"@ttl.{name}()") for name in ("compute", "datamovement")}
