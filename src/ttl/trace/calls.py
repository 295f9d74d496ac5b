"""The calls of the chip that kernels make, with their operands: what an estimate works on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .events import Node

# Where a transfer goes, in the two highest bits of a call's `target`.
NODE, TENSOR, RECTANGLE = 1, 2, 3
KIND_SHIFT = 30
TENSOR_SHIFT, PAGE_MASK = 24, 0xFFFFFF


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call in the text of a kernel, with the same buffers each time."""

    kernel: int  # its position among the kernels
    name: str
    buffers: tuple[int, ...]  # that it works on, by index, in the order of the arguments
    line: int  # the program's, 0 if it is not known
    units: tuple[str, ...] = ()  # of the chip that do something: unpack, math, pack, init, ...


@dataclass(frozen=True, slots=True)
class Recording:
    """The calls of all kernels on all nodes.

    Each is a row: node * sites + site, target or first count, bytes or value or second count,
    address or third count. Rows of one kernel on one node are in the order of its calls.
    """

    sites: tuple[CallSite, ...]
    nodes: tuple[Node, ...]
    calls: np.ndarray  # uint32, (calls, 4)
    written: tuple[bool, ...]  # of the tensors

    def of(self, node: int) -> np.ndarray:
        """Rows of a node, the first column the site alone."""
        count = len(self.sites)
        rows: np.ndarray = self.calls[self.calls[:, 0] // count == node]
        rows[:, 0] %= count
        return rows


def kind_of(target: int) -> int:
    return target >> KIND_SHIFT


def tensor_page(target: int) -> tuple[int, int]:
    """The number of a tensor, and the page."""
    return target >> TENSOR_SHIFT & 0x3F, target & PAGE_MASK


def node_place(target: int) -> tuple[int, int]:
    """Coordinates on the NoC."""
    return target >> 8 & 0xFF, target & 0xFF


def rectangle(target: int) -> tuple[int, int, int, int]:
    """Coordinates on the NoC: of two corners, in ascending order."""
    x0, y0, x1, y1 = (target >> shift & 63 for shift in (18, 12, 6, 0))
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
