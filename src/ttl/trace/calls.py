"""Recorded calls of the chip with their operands, from which estimates are made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .events import Node

# Destinations of a transfer, in the two highest bits of a call's `target`.
NODE, TENSOR, RECTANGLE = 1, 2, 3
KIND_SHIFT = 30
TENSOR_SHIFT, PAGE_MASK = 24, 0xFFFFFF


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call in the text of a kernel, with the same buffers each time."""

    kernel: int  # its position among the kernels
    name: str
    buffers: tuple[int, ...]  # their indices, in the order of the arguments
    line: int  # in the program; 0 if unknown
    units: tuple[str, ...] = ()  # the chip's units at work: unpack, math, pack, init, ...


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
        """Return the rows of a node, with only the site in the first column."""
        count = len(self.sites)
        rows: np.ndarray = self.calls[self.calls[:, 0] // count == node]
        rows[:, 0] %= count
        return rows


def kind_of(target: int) -> int:
    return target >> KIND_SHIFT


def tensor_page(target: int) -> tuple[int, int]:
    """Return the number of a tensor and the page."""
    return target >> TENSOR_SHIFT & 0x3F, target & PAGE_MASK


def node_place(target: int) -> tuple[int, int]:
    """Return the coordinates on the NoC."""
    return target >> 8 & 0xFF, target & 0xFF


def rectangle(target: int) -> tuple[int, int, int, int]:
    """Return the NoC coordinates of two corners, in ascending order."""
    x0, y0, x1, y1 = (target >> shift & 63 for shift in (18, 12, 6, 0))
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
