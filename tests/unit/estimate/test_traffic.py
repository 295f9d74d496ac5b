"""Links of the NoCs and banks of DRAM."""

from __future__ import annotations

from typing import Any

import pytest

from timed_operations import chain, grid_stream, same_tile, zeros
from ttl.studio.estimate import estimate
from ttl.studio.estimate.result import Model
from ttl.studio.estimate.traffic import Routes
from ttl.target import load
from ttl.target.costs import Case, load_costs, read_costs

COSTS = load_costs("wormhole_b0")
PLACES = read_costs(COSTS, Case.TYPICAL).places


def passed(noc: int, source: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int, int]]:
    """Axis and router of the links on the way."""
    routes = Routes(PLACES)
    found = []
    for link in routes.between(noc, source, end):
        assert link < routes.count and link // (2 * routes.columns * routes.rows) == noc
        rest, y = divmod(link, routes.rows)
        axis, x = divmod(rest, routes.columns)
        found.append((axis % 2, x, y))
    return found


def test_noc_0_goes_east_and_then_south() -> None:
    assert passed(0, (1, 1), (3, 2)) == [(0, 1, 1), (0, 2, 1), (1, 3, 1)]


def test_noc_1_goes_north_and_then_west() -> None:
    assert passed(1, (3, 2), (1, 1)) == [(1, 3, 2), (0, 3, 1), (0, 2, 1)]


def test_the_other_direction_is_around_the_ring() -> None:
    columns, rows = PLACES.size
    assert len(passed(0, (3, 2), (1, 1))) == columns - 2 + rows - 1
    assert len(passed(1, (1, 1), (3, 2))) == columns - 2 + rows - 1
    assert passed(0, (4, 4), (4, 4)) == []


def test_reads_of_all_nodes_are_slower_on_noc_1(record: Any) -> None:
    """As published: 195 bytes a cycle on NoC 0, 80 on NoC 1; writes the other way round."""

    def cycles(is_crossed: bool) -> dict[str, float]:
        x, y = zeros(64 * 32, 256), zeros(64 * 32, 256)
        found = record(grid_stream((8, 8), 8, is_crossed), x, y)
        made = estimate(found.compiled, found.recording, COSTS)
        return {
            each.kernel: sum(dict(each.waits).get(key, 0.0) for key in ("barrier",))
            * made.microseconds.typical
            for each in made.threads
        }

    usual, crossed = cycles(False), cycles(True)
    assert crossed["read"] > 1.8 * usual["read"]
    assert crossed["write"] > 1.3 * usual["write"]


def test_the_other_order_of_kernels_is_proposed(record: Any) -> None:
    x, y = zeros(64 * 32, 256), zeros(64 * 32, 256)
    found = record(grid_stream((8, 8), 8, True), x, y)
    made = estimate(found.compiled, found.recording, COSTS)
    texts = [each.text for each in made.changes]
    assert any("`read` defined before `write`" in text and "saves" in text for text in texts)
    usual = record(grid_stream((8, 8), 8, False), x, y)
    made = estimate(usual.compiled, usual.recording, COSTS)
    assert not any("defined before" in each.text for each in made.changes)


def test_one_bank_serves_one_page_after_the_other(record: Any) -> None:
    found = record(same_tile((8, 8)), zeros(32, 32), zeros(64 * 32, 32))
    model = Model(found.compiled, found.recording, COSTS)
    costs = model.costs()
    (reader,) = [t for t in model.run(costs).nodes[0].threads if t.plan.role == "reader"]
    least = 64 * 2048 / costs["dram.bank_bytes_per_cycle"]
    assert reader.time > least + costs["processor.kernel_start_cycles"]


def test_a_transfer_loads_the_links_on_its_way_and_no_other(record: Any) -> None:
    """Nodes of a chain send to their right neighbour on NoC 0: no two of them share a link."""
    found = record(chain(4), zeros(32, 32), zeros(32, 128))
    model = Model(found.compiled, found.recording, COSTS)
    machine = model.run(model.costs())
    sends = [
        step[2][1]
        for node in machine.nodes
        for thread in node.threads
        for step in thread.steps
        if thread.plan.role == "reader" and step[0].name in ("WRITE", "MULTICAST")
        if step[4] == 2048
    ]
    links = [int(link) for each in sends for link in each.links]
    assert len(set(links)) == len(links) == 3
    assert all((each.shares == 1).all() for each in sends)


@pytest.mark.parametrize("name", ["wormhole_b0", "blackhole"])
def test_every_node_and_bank_has_a_router(name: str) -> None:
    target = load(name)
    places = read_costs(load_costs(name), Case.TYPICAL).places
    assert (len(places.columns), len(places.rows)) == target.grid
    assert [len(banks) for banks in places.dram] == [target.dram_banks] * 2
    nodes = {(x, y) for x in places.columns for y in places.rows}
    assert not nodes & {router for banks in places.dram for router in banks}
