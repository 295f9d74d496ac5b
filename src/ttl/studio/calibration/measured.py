"""Computes costs from the zones that the device profiler has logged.

Rules
* stream: n transfers take a latency plus n times the larger of a call's cost and bytes / rate.
  Small pages give the call's cost, large ones the rate, one page the latency.
* difference: a tile's cost is the difference of many tiles and few, so that calls, waits and the
  zone itself do not count.
* grid: the bytes of all nodes, divided by the time from the first start to the last end.
* spread: a cost is [best, typical, worst]: the fastest, median and slowest repeat.
"""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeAlias

from ttl.device.profile import MATH, Zone

UNPACK, PACK = "TRISC_0", "TRISC_2"
SMALL, TILE, LARGE = 576, 2048, 4096  # page size in bytes
SOURCE = "measured by ttl calibrate"
CLOCK = "clock_ghz"
_NAME = re.compile(r"(\w+?)_(\d+)_(\d+)")

Costs: TypeAlias = dict[str, Any]  # JSON, of the form that target/costs.py describes
Key = tuple[str, int, int]  # kind, bytes, count


@dataclass(frozen=True, slots=True)
class Region:
    """Zone from its start to its end."""

    processor: str
    run: str
    start: int
    end: int


class Measured:
    """Regions of a log, by the names of their signposts."""

    def __init__(self, zones: Iterable[Zone]):
        self.regions: dict[Key, list[Region]] = defaultdict(list)
        begun: dict[object, list[int]] = defaultdict(list)
        for zone in zones:
            named = _NAME.fullmatch(zone.name)
            if named is None:
                continue
            place = zone.device, zone.core, zone.processor, zone.run, zone.name
            if zone.is_start:
                begun[place].append(zone.cycles)
            elif begun[place]:
                key = named[1], int(named[2]), int(named[3])
                region = Region(zone.processor, zone.run, begun[place].pop(), zone.cycles)
                self.regions[key].append(region)

    def cycles(self, kind: str, size: int, count: int, processor: str = "") -> list[int]:
        """Return each repeat's cycles, ascending; data movement has its region on one processor."""
        found = self.regions.get((kind, size, count), [])
        own = (each for each in found if processor in ("", each.processor))
        return sorted(each.end - each.start for each in own)

    def counts(self, kind: str, size: int) -> list[int]:
        return sorted(n for name, bytes_, n in self.regions if (name, bytes_) == (kind, size))

    def of_one(self, kind: str, size: int, processor: str = "") -> list[float]:  # rule difference
        """Return the cost of one more: [best, typical, worst]; empty unless two counts exist."""
        counts = self.counts(kind, size)
        if len(counts) < 2:
            return []
        few, many = (self.cycles(kind, size, n, processor) for n in counts[-2:])
        if not few or not many:
            return []
        tiles = counts[-1] - counts[-2]
        return [(_of(many) - _of(few)) / tiles for _of in (min, median, max)]

    def grid_rates(self, kind: str) -> list[float]:  # rule grid
        """Return each repeat's bytes per cycle, descending."""
        rates = []
        for (name, size, count), regions in self.regions.items():
            by_run: dict[str, list[Region]] = defaultdict(list)
            for each in regions:
                by_run[each.run].append(each)
            for own in by_run.values():
                cycles = max(each.end for each in own) - min(each.start for each in own)
                if name == kind and cycles > 0:
                    rates.append(len(own) * size * count / cycles)
        return sorted(rates, reverse=True)


def calibrate_costs(
    costs: Costs, zones: Iterable[Zone], clock_mhz: float | None
) -> tuple[Costs, list[str]]:
    """Replace published costs of a chip by measured ones; return the costs and the names of the
    replaced numbers.
    """
    made, measured = copy.deepcopy(costs), Measured(zones)
    names = []
    for name, values in _numbers(costs, measured, clock_mhz):
        values = [round(each, 2) for each in values]
        if len(values) == 3 and all(each > 0 for each in values):
            _put(made, name, sorted(values, reverse=values[0] > values[-1]))
            names.append(name)
    return made, names


def _numbers(
    costs: Costs, measured: Measured, clock_mhz: float | None
) -> Iterator[tuple[str, list[float]]]:
    if clock_mhz:
        yield CLOCK, [clock_mhz / 1e3] * 3
    zone = costs["profiler"]["zone_cycles"]["value"]
    for where, axes in (("dram", ""), ("l1", "_both_axes")):
        for way in ("read", "write"):
            yield from _stream(measured, f"{where}_{way}", f"{where}_{way}{axes}", zone)
    for way in ("read", "write"):
        yield f"dram.all_nodes_{way}_bytes_per_cycle", _spread(measured.grid_rates(f"grid_{way}"))
    yield from _compute(costs, measured)


def _stream(
    measured: Measured, kind: str, path: str, zone: float
) -> Iterator[tuple[str, list[float]]]:  # rule stream
    issue, large = measured.of_one(kind, SMALL), measured.of_one(kind, LARGE)
    yield f"noc.{path}.issue_cycles", issue
    yield f"noc.{path}.bytes_per_cycle", [LARGE / each for each in large if each > 0]
    one, more = _spread(measured.cycles(kind, TILE, 1)), measured.of_one(kind, TILE)
    pairs = zip(one, more, strict=True) if one and more else ()
    yield f"noc.{path}.latency_cycles", [whole - each - zone for whole, each in pairs]


def _compute(costs: Costs, measured: Measured) -> Iterator[tuple[str, list[float]]]:
    ideal = costs["compute"]["matmul_cycles"]["HiFi4"]["value"]
    over = [each - ideal for each in measured.of_one("HiFi4", TILE, MATH)]
    yield "compute.matmul_overhead_cycles", over
    # With one phase the matrix unit waits for the unpacker.
    unpacked = measured.of_one("LoFi", TILE, UNPACK)
    yield "compute.unpack_bytes_per_cycle", [TILE / each for each in unpacked if each > 0]
    tile = costs["compute"]["pack_bytes_per_cycle"]["value"]
    packed = measured.of_one("abs", TILE, PACK)
    yield "compute.pack_call_cycles", [each - TILE / tile for each in packed]
    calls = [row["call"] for row in costs["compute"]["calls"]]
    for kind in sorted({kind for kind, _, _ in measured.regions}):
        if f"{kind}_tile" in calls:
            yield f"compute.calls.{kind}_tile", measured.of_one(kind, TILE, MATH)


def _spread(values: Sequence[float]) -> list[float]:
    return [values[0], median(values), values[-1]] if values else []


def _put(costs: Costs, name: str, values: list[float]) -> None:
    leaf = {"value": values, "source": SOURCE}
    *groups, last = name.split(".")
    if groups == ["compute", "calls"]:
        row = next(row for row in costs["compute"]["calls"] if row["call"] == last)
        row["math_cycles"] = leaf
        return
    for group in groups:
        costs = costs[group]
    costs[last] = leaf
