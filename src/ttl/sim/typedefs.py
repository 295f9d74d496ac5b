"""`from sim.typedefs import Pipe`, as programs of the public simulator's source tree write."""

from ttl.language import Count, DstT, Index, NodeCoord, NodeRange, Pipe, Shape, Size
from ttl.language.old_names import OLD_NAMES

__all__ = ["Count", "DstT", "Index", "NodeCoord", "NodeRange", "Pipe", "Shape", "Size"]

_OLD = {old: globals()[now.present] for old, now in OLD_NAMES.items() if now.present in __all__}
globals().update(_OLD)
__all__ += list(_OLD)
