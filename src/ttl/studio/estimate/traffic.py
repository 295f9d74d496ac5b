"""Finds the links between routers that transfers pass, and the DRAM banks they use.

Rules
* route: both NoCs are rings in each axis, with one direction: NoC 0 goes east, then south, NoC 1
  north, then west.
* way: a read comes from the other end, a write goes there; a multicast takes each link once.
* class: alike nodes act at the same time, so their bytes add up.
* NoC: readers use NoC 0, writers NoC 1, like ttnn's kernel descriptors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ttl.artifact import CompiledOperation, ThreadKind
from ttl.target import Target
from ttl.target.costs import Places
from ttl.trace.calls import (
    NODE,
    PAGE_MASK,
    RECTANGLE,
    TENSOR,
    Recording,
    kind_of,
    node_place,
    rectangle,
    tensor_page,
)

Router = tuple[int, int]
Way = tuple[int, bool]  # the NoC, and whether it is a read


@dataclass(frozen=True, slots=True)
class Loads:
    """Traffic of all nodes of a class, in one run of calls."""

    links: np.ndarray  # link numbers
    shares: np.ndarray  # transfers on each link, per transfer of a node
    bank_bytes: np.ndarray  # bytes of each bank
    bank_requests: np.ndarray


class RunPlace(NamedTuple):
    """Position of recorded calls."""

    node_class: int
    kernel: int
    first: int  # index among the kernel's calls
    calls: int


class Routes:
    """Numbers of links, by NoC, axis and router."""

    def __init__(self, places: Places):
        self.columns, self.rows = places.size
        self.count = 4 * self.columns * self.rows
        self._known: dict[tuple[int, Router, Router], tuple[int, ...]] = {}

    def between(self, noc: int, source: Router, end: Router) -> tuple[int, ...]:
        key = noc, source, end
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(self._links(noc, source, end))
        return found

    def _links(self, noc: int, source: Router, end: Router) -> Iterator[int]:
        at, size = list(source), (self.columns, self.rows)
        step = -1 if noc else 1
        for axis in (1, 0) if noc else (0, 1):
            while at[axis] != end[axis]:
                yield ((noc * 2 + axis) * self.columns + at[0]) * self.rows + at[1]
                at[axis] = (at[axis] + step) % size[axis]


class Traffic:
    """Traffic of each run of calls of a class on links and banks."""

    def __init__(
        self,
        compiled: CompiledOperation,
        recording: Recording,
        target: Target,
        places: Places,
        groups: list[list[int]],
        rows: list[np.ndarray],
    ):
        self.compiled, self.recording, self.target = compiled, recording, target
        self.places, self.groups, self.rows = places, groups, rows
        self.routes = Routes(places)
        self.kernel_of = np.array([site.kernel for site in recording.sites])
        self._known: dict[RunPlace, Loads] = {}
        self._split: dict[tuple[int, int], np.ndarray] = {}
        self._banks: dict[tuple[Way, int], np.ndarray] = {}

    def of(self, run: RunPlace) -> Loads:
        found = self._known.get(run)
        if found is None:
            found = self._known[run] = self._loads(run)
        return found

    def _rows_of(self, node: int, kernel: int) -> np.ndarray:
        found = self._split.get((node, kernel))
        if found is None:
            own = self.rows[node]
            found = self._split[node, kernel] = own[self.kernel_of[own[:, 0]] == kernel]
        return found

    def _loads(self, run: RunPlace) -> Loads:
        links = np.zeros(self.routes.count)
        bank_requests = np.zeros(self.target.dram_banks)
        group = self.groups[run.node_class]
        size = 0
        for node in group:
            own = self._rows_of(node, run.kernel)[run.first : run.first + run.calls]
            size = int(own[0, 2])
            way = self._way_of(run, int(own[0, 0]))
            if self._is_dram(int(own[0, 1])):
                banks = (own[:, 1] & PAGE_MASK) % self.target.dram_banks
                requests = np.bincount(banks, minlength=self.target.dram_banks)
                bank_requests += requests
                links += requests @ self._bank_links(way, node)
            else:
                for target in own[:, 1].tolist():
                    links[self._find_passed_links(way, node, target)] += 1
        used = np.flatnonzero(links)
        return Loads(used, links[used] / run.calls, size * bank_requests, bank_requests)

    def _way_of(self, run: RunPlace, site: int) -> Way:
        noc = int(self.compiled.kernels[run.kernel].thread is ThreadKind.WRITER)
        return noc, self.recording.sites[site].name.startswith("noc_async_read")

    def _is_dram(self, target: int) -> bool:
        if kind_of(target) != TENSOR:
            return False
        return self.compiled.operands[tensor_page(target)[0]].memory.buffer_type == "DRAM"

    def _bank_links(self, way: Way, node: int) -> np.ndarray:
        """Return a matrix, banks by links, with 1 where a page of the bank passes the link."""
        found = self._banks.get((way, node))
        if found is None:
            ends = self.places.dram[way[0]]
            found = self._banks[way, node] = np.zeros((len(ends), self.routes.count))
            for bank, end in enumerate(ends):
                found[bank, list(self._links(way, node, end))] = 1
        return found

    def _find_passed_links(self, way: Way, node: int, target: int) -> list[int]:
        passed: set[int] = set()
        for end in self._ends(target):
            passed.update(self._links(way, node, end))
        return sorted(passed)

    def _links(self, way: Way, node: int, end: Router) -> tuple[int, ...]:  # rule way
        noc, is_read = way
        own = self._router(*self.recording.nodes[node][:2])
        return self.routes.between(noc, *((end, own) if is_read else (own, end)))

    def _router(self, x: int, y: int) -> Router:
        """Return the router of a grid node."""
        return self.places.columns[x], self.places.rows[y]

    def _ends(self, target: int) -> Iterator[Router]:
        """Yield the routers of target nodes; none for tensors in L1, which are on all nodes."""
        kind = kind_of(target)
        if kind == NODE:
            yield self._router_of_place(*node_place(target))
        elif kind == RECTANGLE:
            x0, y0, x1, y1 = rectangle(target)
            for x in self.target.noc_columns:
                for y in self.target.noc_rows:
                    if x0 <= x <= x1 and y0 <= y <= y1:
                        yield self._router_of_place(x, y)

    def _router_of_place(self, x: int, y: int) -> Router:
        return self._router(self.target.noc_columns.index(x), self.target.noc_rows.index(y))
