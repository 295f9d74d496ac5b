"""Access to single elements of a block in the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ttl.language.block import Block
from ttl.semantics.block_protocol import READ_ELEMENT, WRITE_ELEMENT
from ttl.semantics.dtypes import round_to
from ttl.semantics.types import Shape

from .block import SimBlock

if TYPE_CHECKING:
    from .kernel import KernelRun


def read(kernel: KernelRun, block: Block, coordinates: Shape) -> float:
    held = _step(kernel, block, READ_ELEMENT)
    return float(held.array[_place(held, coordinates)])


def write(kernel: KernelRun, block: Block, coordinates: Shape, value: float) -> None:
    held = _step(kernel, block, WRITE_ELEMENT)
    with np.errstate(over="ignore"):  # numbers beyond the largest become infinity
        rounded = round_to(np.array(value), held.end.buffer.held)
    held.array[_place(held, coordinates)] = rounded
    held.values = None


def _step(kernel: KernelRun, block: Block, event: int) -> SimBlock:
    assert isinstance(block, SimBlock)
    if block.kernel is not kernel:
        raise block.wrong_user(kernel)
    block.step(event)
    return block


def _place(block: SimBlock, coordinates: Shape) -> Shape:
    """Return the array index; a row of tiles has one dimension, its elements are in row 0."""
    return (0,) * (block.array.ndim - len(coordinates)) + coordinates
