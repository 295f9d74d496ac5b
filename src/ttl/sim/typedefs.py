"""`from sim.typedefs import Pipe`, for programs from the public simulator's source tree."""

from ttl.language import Count, DstT, Index, NodeCoord, NodeRange, Pipe, Shape, Size

CoreCoord = NodeCoord  # the specification's name until 0.11
CoreRange = NodeRange

__all__ = [
    "CoreCoord",
    "CoreRange",
    "Count",
    "DstT",
    "Index",
    "NodeCoord",
    "NodeRange",
    "Pipe",
    "Shape",
    "Size",
]
