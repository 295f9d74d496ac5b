"""The cost files of the chips, and what is wrong with others."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ttl.target import TARGETS
from ttl.target.costs import Case, load_costs, read_costs


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("case", Case)
def test_the_file_of_every_chip_is_valid(name: str, case: Case) -> None:
    costs = read_costs(load_costs(name), case)
    assert costs.chip == name
    assert costs["compute.matmul_cycles.HiFi4"] == 4 * costs["compute.matmul_cycles.LoFi"]


def changed(path: str, value: Any) -> Any:
    data = copy.deepcopy(load_costs("wormhole_b0"))
    *groups, last = path.split(".")
    part = data
    for group in groups:
        part = part[group]
    if value is None:
        del part[last]
    else:
        part[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("clock_ghz", None, "clock_ghz is missing"),
        ("clock_ghz", {"value": 1}, "clock_ghz is not an object with value and source"),
        ("clock_ghz", {"value": 1, "source": ""}, "clock_ghz has no source"),
        ("clock_ghz", {"value": -1, "source": "x"}, "neither a positive number nor"),
        ("clock_ghz", {"value": [1, 3, 2], "source": "x"}, "not between the best and the worst"),
        ("noc.dram_read.slow", {"value": 1, "source": "x"}, "noc.dram_read.slow is not a cost"),
        ("noc.multicast_handshake_cycles", {"value": [[9, 1], [4, 1]], "source": "x"}, "ascending"),
        ("noc.places", {"value": {"size": [10, 12]}, "source": "x"}, "has no size, columns"),
        (
            "noc.places",
            {
                "value": {"size": [2, 2], "columns": [1], "rows": [2], "dram": [[], []]},
                "source": "x",
            },
            "are not on its two NoCs",
        ),
        ("compute.calls", [{"call": "x"}], r"compute.calls\[0\] is not an object"),
    ],
)
def test_what_is_wrong_is_named(path: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_costs(changed(path, value), Case.TYPICAL)


def test_the_handshake_of_a_multicast_lies_between_the_rows() -> None:
    costs = read_costs(load_costs("wormhole_b0"), Case.TYPICAL)
    rows = dict(costs.handshake)
    assert costs.handshake_of(1) == rows[4]
    assert rows[9] < costs.handshake_of(16) < rows[25]
    assert costs.handshake_of(1000) == rows[56]
