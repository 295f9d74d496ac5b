"""ttl-lower-signpost-to-emitc: turn a signpost into a C++ scope with a profiler zone in it.

The attribute `ttl.signposts` of a kernel maps zone names to names of signposts.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr

from ttl.dialects import ttl
from ttl.dialects.building import walk

from ..module_pass import Maker, erase, kernels
from .cpp_file import SIGNPOSTS, verbatim

Zones = dict[str, str]


def apply(op: ModuleOp) -> None:
    for kernel in kernels(op):
        zones: Zones = {}
        for signpost in [each for each in walk(kernel) if isinstance(each, ttl.SignpostOp)]:
            _lower(signpost, zones)
        if zones:
            names = {zone: StringAttr(name) for zone, name in zones.items()}
            kernel.attributes[SIGNPOSTS] = DictionaryAttr(names)


def _lower(signpost: ttl.SignpostOp, zones: Zones) -> None:
    make = Maker.before(signpost)
    if signpost.is_end is not None:
        verbatim(make, "}")
    else:
        verbatim(make, "{")
        verbatim(make, f'DeviceZoneScopedN("{_zone(signpost.region_name.data, zones)}");')
    erase(signpost)


def _zone(name: str, zones: Zones) -> str:
    """Return a zone name for the profiler that no other signpost has."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)
    zone, number = plain, 1
    while zones.setdefault(zone, name) != name:
        number += 1
        zone = f"{plain}_{number}"
    return zone
