"""Costs of compute API calls on each thread, by the formats of their buffers."""

from __future__ import annotations

import re

from ttl.artifact import CompiledOperation
from ttl.target.costs import Costs
from ttl.trace.calls import CallSite

_UNPACK, _MATH, _PACK = range(3)


class ComputeCosts:
    """Costs of one operation's calls; collects the calls without a known cost."""

    def __init__(self, compiled: CompiledOperation, costs: Costs):
        self.costs = costs
        self.page_bytes = {buffer.index: buffer.page_bytes for buffer in compiled.buffers}
        configs = [kernel.config for kernel in compiled.kernels if kernel.config is not None]
        self.fidelity = configs[0].math_fidelity if configs else "HiFi4"
        self.is_full_sync = any(config.dst_full_sync_en for config in configs)
        self.call_cycles = costs["processor.compute_call_cycles"]
        self.unknown: set[str] = set()

    @property
    def phases(self) -> float:
        cycles = "compute.matmul_cycles"
        return self.costs[f"{cycles}.{self.fidelity}"] / self.costs[f"{cycles}.LoFi"]

    def init(self, name: str) -> list[tuple[int, float]]:
        """Return (thread, cycles) of an init call."""
        if name == "compute_kernel_hw_startup":
            return [(role, self.costs["processor.startup_cycles"]) for role in range(3)]
        cycles = self.costs["processor.init_cycles"]
        if "pack" in name:
            return [(_PACK, cycles)]
        if re.fullmatch(r"\w*_tile_(un)?init", name):
            return [(_MATH, cycles)]
        roles = (_UNPACK, _MATH, _PACK) if name.startswith("reduce") else (_UNPACK, _MATH)
        return [(role, cycles) for role in roles]

    def pack(self, site: CallSite, tiles: int) -> float:
        bytes_of_tile = self.page_bytes[site.buffers[-1]] if site.buffers else 0
        rate = self.costs["compute.pack_bytes_per_cycle"]
        tile = max(self.costs["compute.pack_tile_cycles"], bytes_of_tile / rate)
        return tiles * tile + self.costs["compute.pack_call_cycles"]

    def unpack(self, site: CallSite) -> float:
        """Return the cycles to unpack a tile of each operand; a product keeps one operand."""
        sizes = [self.page_bytes[each] for each in site.buffers]
        rate = self.costs["compute.unpack_bytes_per_cycle"]
        if site.name.startswith("matmul"):
            return sum(sizes) / len(sizes) / rate
        return sum(sizes) / rate + self.costs["compute.unpack_tile_cycles"]

    def math(self, site: CallSite) -> float:
        name = site.name
        if name.startswith("matmul"):
            ideal = self.costs[f"compute.matmul_cycles.{self.fidelity}"]
            return ideal + self.costs["compute.matmul_overhead_cycles"]
        for row in self.costs.calls:
            if re.fullmatch(row.pattern, name):
                return row.cycles * (self.phases if row.is_per_phase else 1)
        self.unknown.add(name)
        return self.costs["compute.other_call_cycles"]
