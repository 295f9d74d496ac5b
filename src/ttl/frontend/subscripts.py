"""Items of tensors, of known objects, and of sequences at run-time places."""

from __future__ import annotations

import operator
from functools import partial

import numpy as np

from . import scalars
from .builder import KernelBuilder
from .data_movement import tensor_slice
from .hir import BlockValue, RunTime, Scalar, Value, is_run_time, kind_of
from .in_python import in_python, require_python
from .items import from_start, iterated
from .joins import choose
from .problems import FlowBroken, describe, raised
from .texts import known_text
from .value_ranges import as_constant, is_reached, known_number, needs_constant


def item_at(builder: KernelBuilder, owner: object, index: Value) -> Value:
    """Evaluate `owner[index]`."""
    index = known_text(builder, index)
    if builder.is_tensor(owner):
        return tensor_slice(builder, owner, index)
    if (handler := builder.handlers.subscripts.get(type(owner))) is not None:
        return handler(builder, owner, index)
    if isinstance(owner, RunTime) or isinstance(index, BlockValue):
        return require_python(operator.getitem, owner, index)
    if is_run_time(index):
        return _item_at_run_time(builder, owner, index)
    return _item(builder, owner, index)


def _item(builder: KernelBuilder, owner: object, index: Value) -> Value:
    found = in_python(operator.getitem, owner, index)
    return builder.new(found) if isinstance(owner, list) and isinstance(index, slice) else found


def _item_at_run_time(builder: KernelBuilder, owner: Value, index: Value) -> Value:
    """Select an item of a tuple or list by a chain of conditions."""
    given = index
    what = f"an item of {describe(owner)} that is known only at run time"
    if isinstance(index, tuple):
        return _item(builder, owner, as_constant(builder, index, what))
    if kind_of(index) is int and (known := known_number(builder, index)) is not None:
        return _item(builder, owner, known)
    if isinstance(getattr(owner, "first", owner), np.ndarray):
        owner = iterated(owner)
    if not isinstance(owner, (tuple, list, range)) or not isinstance(index, Scalar):
        raise needs_constant(builder, index, what)
    if any(isinstance(item, (list, dict, set)) for item in owner):  # they may change
        raise needs_constant(builder, index, what)
    if not owner or is_reached(builder, index, len(owner)):
        raise raised(f"IndexError: {type(owner).__name__} index out of range")
    index = from_start(builder, owner, index)

    def from_position(position: int) -> Value:
        if position == len(owner) - 1:
            return owner[position]
        is_here = scalars.compare(builder, "==", index, position)
        others = partial(from_position, position + 1)
        return choose(builder, is_here, lambda: owner[position], others)

    try:
        return from_position(0)
    except FlowBroken as broken:
        if builder.may_be_unrolled:  # an unrolled loop sees each block
            raise broken
        raise needs_constant(builder, given, what) from None
