"""The abstract state of an iteration: by it those are known that do the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from functools import lru_cache

from ttl.source import tree
from ttl.source.bindings import Binding
from ttl.source.walking import walk

from .builder import KernelBuilder
from .hir import HeldBlock, RunTime, Value, kind_of, leaves
from .state import Variable


def state_of(
    builder: KernelBuilder, mentioned: Iterable[Binding], changed: Collection[Variable] = ()
) -> Hashable:
    """What variables are. Numbers that are changed are any numbers."""
    values, variables = builder.state.values, builder.variables(mentioned)
    ordered = sorted(variables, key=lambda variable: variable.order)
    found = leaves([values.get(each) for each in ordered])
    held = {leaf for leaf in found if isinstance(leaf, HeldBlock)}
    blocks = sorted(held, key=lambda block: block.age)
    return tuple([shape(builder, values.get(v), blocks, is_any=v in changed) for v in ordered])


@lru_cache(maxsize=256)
def flags_of(node: tree.Node) -> frozenset[Binding]:
    """The variables that a loop gives nothing but constants: of these it matters which."""
    nodes = [*walk(node)]
    stores = Counter(each.binding for each in nodes if isinstance(each, tree.Target))
    constants = Counter(
        target.binding
        for each in nodes
        if isinstance(each, tree.Assign) and isinstance(each.value, tree.Constant)
        for target in each.targets
        if isinstance(target, tree.Target)
    )
    return frozenset(binding for binding, count in constants.items() if count == stores[binding])


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
