"""Costs of a chip's parts: one JSON file per chip, every number with its source.

A number is `{"value": v, "source": s}`; v is one number, or [best, typical, worst] where sources
differ. `--costs FILE` takes a file of the same form.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any

from .data_formats import MATH_FIDELITIES

PATHS = tuple(
    f"{where}_{way}"
    for where, ways in (
        ("dram", ("read", "write")),
        ("l1", ("read_one_axis", "read_both_axes", "write_one_axis", "write_both_axes")),
    )
    for way in ways
)
PATH_KEYS = ("latency_cycles", "issue_cycles", "bytes_per_cycle")
# Group -> its numbers; tables and calls have their own checks.
GROUPS = {
    "": ("clock_ghz", "dispatch_us"),
    "noc": ("link_bytes_per_cycle", "one_way_cycles", "signal_issue_cycles"),
    "dram": (
        "peak_bytes_per_cycle",
        "all_nodes_read_bytes_per_cycle",
        "all_nodes_write_bytes_per_cycle",
        "mixed_bytes_per_cycle",
        "bank_bytes_per_cycle",
        "bank_request_cycles",
    ),
    "processor": (
        "kernel_start_cycles",
        "buffer_call_cycles",
        "barrier_cycles",
        "compute_call_cycles",
        "section_cycles",
        "init_cycles",
        "startup_cycles",
    ),
    "compute": (
        "unpack_bytes_per_cycle",
        "unpack_tile_cycles",
        "pack_bytes_per_cycle",
        "pack_tile_cycles",
        "pack_call_cycles",
        "matmul_overhead_cycles",
        "other_call_cycles",
    ),
    "profiler": ("zone_cycles",),
}
HANDSHAKE = ("noc", "multicast_handshake_cycles")
PLACES = ("noc", "places")


class Case(IntEnum):
    """The value to use if the sources of a number differ."""

    BEST, TYPICAL, WORST = range(3)


@dataclass(frozen=True, slots=True)
class CallCost:
    """The cost of a compute API call for a tile, on the math thread."""

    pattern: str
    cycles: float
    is_per_phase: bool = False  # of the math fidelity


@dataclass(frozen=True, slots=True)
class Places:
    """The NoC's routers: columns and rows, and which of them have nodes or DRAM."""

    size: tuple[int, int]
    columns: tuple[int, ...]  # of the grid of nodes
    rows: tuple[int, ...]
    dram: tuple[tuple[tuple[int, int], ...], ...]  # by NoC, by bank


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a chip in one case: plain numbers, by `group.name`."""

    chip: str
    numbers: dict[str, float]
    handshake: tuple[tuple[int, float], ...]  # receivers of a multicast, cycles; ascending
    calls: tuple[CallCost, ...]  # the first matching pattern wins
    places: Places

    def __getitem__(self, name: str) -> float:
        return self.numbers[name]

    def handshake_of(self, receivers: int) -> float:
        """Return the handshake's cycles, interpolated between rows of the table."""
        (n0, c0), *others = self.handshake
        if receivers <= n0:
            return c0
        for n1, c1 in others:
            if receivers <= n1:
                return c0 + (c1 - c0) * (receivers - n0) / (n1 - n0)
            n0, c0 = n1, c1
        return c0


@cache  # bounded: there are few chips
def load_costs(name: str) -> dict[str, Any]:
    """Return the parsed file of a chip."""
    import json

    with open(os.path.join(os.path.dirname(__file__), f"{name}.costs.json")) as file:
        costs: dict[str, Any] = json.load(file)
    return costs


def read_costs(data: object, case: Case) -> Costs:
    """Return the costs in one case, or raise ValueError about the wrong data."""
    if not isinstance(data, dict):
        raise ValueError("the root is not an object")
    names = _names()
    _check_keys(data, names)
    numbers = {name: _number(_at(data, name), name, case) for name in names}
    chip = data.get("chip")
    if not isinstance(chip, str):
        raise ValueError("chip is not a string")
    return Costs(chip, numbers, _handshake(data), _calls(data, case), _places(data))


def _names() -> list[str]:
    """Return the paths of all numbers."""
    names = [f"{group}.{key}" if group else key for group, keys in GROUPS.items() for key in keys]
    names += [f"noc.{path}.{key}" for path in PATHS for key in PATH_KEYS]
    return names + [f"compute.matmul_cycles.{fidelity}" for fidelity in MATH_FIDELITIES]


def _check_keys(data: dict[str, object], names: list[str]) -> None:
    """Raise ValueError for an unknown key, which is a typing error."""
    known = {"chip", "compute.calls", ".".join(HANDSHAKE), ".".join(PLACES), *names}
    for path in _paths(data, ""):
        if path not in known:
            raise ValueError(f"{path} is not a cost")


def _paths(part: object, at: str) -> list[str]:
    if not isinstance(part, dict) or "value" in part:
        return [at]
    return [each for key, value in part.items() for each in _paths(value, f"{at}.{key}".strip("."))]


def _at(data: object, name: str) -> Any:
    for key in name.split("."):
        if not isinstance(data, dict) or key not in data:
            raise ValueError(f"{name} is missing")
        data = data[key]
    return data


def _value(leaf: object, name: str) -> Any:
    if not isinstance(leaf, dict) or set(leaf) != {"value", "source"}:
        raise ValueError(f"{name} is not an object with value and source")
    if not isinstance(leaf["source"], str) or not leaf["source"]:
        raise ValueError(f"{name} has no source")
    return leaf["value"]


def _number(leaf: object, name: str, case: Case) -> float:
    value = _value(leaf, name)
    three = value if isinstance(value, list) else [value] * len(Case)
    if len(three) != len(Case) or not all(_is_positive(each) for each in three):
        raise ValueError(f"{name} is neither a positive number nor [best, typical, worst]")
    if not (sorted(three) == three or sorted(three, reverse=True) == three):
        raise ValueError(f"{name}: the typical value is not between the best and the worst")
    return float(three[case])


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _handshake(data: object) -> tuple[tuple[int, float], ...]:
    name = ".".join(HANDSHAKE)
    rows = _value(_at(data, name), name)
    is_table = (
        isinstance(rows, list)
        and bool(rows)
        and all(
            isinstance(row, list) and len(row) == 2 and all(map(_is_positive, row)) for row in rows
        )
    )
    if not is_table or sorted(rows) != rows:
        raise ValueError(f"{name} is not a list of [receivers, cycles], ascending")
    return tuple((int(n), float(cycles)) for n, cycles in rows)


def _places(data: object) -> Places:
    name = ".".join(PLACES)
    value = _value(_at(data, name), name)
    try:
        size, columns, rows = (tuple(map(int, value[key])) for key in ("size", "columns", "rows"))
        dram = tuple(tuple((int(x), int(y)) for x, y in banks) for banks in value["dram"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{name} has no size, columns, rows and dram") from None
    routers = [(x, y) for x in columns for y in rows] + [each for banks in dram for each in banks]
    if len(size) != 2 or len(dram) != 2 or not all(x < size[0] and y < size[1] for x, y in routers):
        raise ValueError(f"{name} has routers that are not on its two NoCs")
    return Places((size[0], size[1]), columns, rows, dram)


def _calls(data: object, case: Case) -> tuple[CallCost, ...]:
    rows = _at(data, "compute.calls")
    if not isinstance(rows, list):
        raise ValueError("compute.calls is not a list")
    found = []
    for position, row in enumerate(rows):
        name = f"compute.calls[{position}]"
        if not isinstance(row, dict) or set(row) - {"per_phase"} != {"call", "math_cycles"}:
            raise ValueError(f"{name} is not an object with call and math_cycles")
        cycles = _number(row["math_cycles"], name, case)
        found.append(CallCost(str(row["call"]), cycles, bool(row.get("per_phase"))))
    return tuple(found)
