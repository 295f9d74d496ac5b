"""`from sim.typedefs import Pipe`, as programs of the public simulator's source tree write."""

from ttl.language import Count, DstT, Index, NodeCoord, NodeRange, Pipe, Shape, Size

CoreCoord = NodeCoord  # until 0.11 of the specification
CoreRange = NodeRange

__all__ = [
    "CoreCoord", "CoreRange", "Count", "DstT", "Index", "NodeCoord", "NodeRange", "Pipe", "Shape",
    "Size",
]  # fmt: skip
