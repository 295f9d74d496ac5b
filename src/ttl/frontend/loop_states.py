"""The abstract state of an iteration: by it those are known that do the same."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence

from ttl.source.bindings import Binding

from .builder import KernelBuilder
from .hir import HeldBlock, RunTime, Value, kind_of
from .state import Variable


def state_of(
    builder: KernelBuilder, mentioned: Iterable[Binding], changed: Collection[Variable] = ()
) -> Hashable:
    """What variables are. Numbers that are changed are any numbers."""
    values, variables = builder.state.values, builder.variables(mentioned)
    ordered = sorted(variables, key=lambda variable: variable.order)
    blocks = sorted(_blocks_in([values.get(each) for each in ordered]), key=lambda b: b.age)
    return tuple([shape(builder, values.get(v), blocks, is_any=v in changed) for v in ordered])


def _blocks_in(value: Value) -> set[HeldBlock]:
    if isinstance(value, (list, tuple)):
        return set[HeldBlock]().union(*map(_blocks_in, value))
    return {value} if isinstance(value, HeldBlock) else set()


def shape(
    builder: KernelBuilder, value: Value, blocks: Sequence[HeldBlock] = (), is_any: bool = False
) -> Hashable:
    """Of blocks the order in which they were acquired; `is_any`: any number is like it."""
    if isinstance(value, (tuple, list)):
        return type(value), tuple([shape(builder, item, blocks, is_any) for item in value])
    if is_any and (kind := kind_of(value)) is not None:
        return kind
    if isinstance(value, RunTime):
        is_done = value in builder.state.released
        if isinstance(value, HeldBlock) and not is_done:
            return value.acquire.becomes, value.buffer, blocks.index(value)
        return type(value), value.type, is_done
    if isinstance(value, (dict, set)):
        return type(value), len(value)
    is_constant = value is None or isinstance(value, (bool, int, float, str))
    return type(value), value if is_constant else None
