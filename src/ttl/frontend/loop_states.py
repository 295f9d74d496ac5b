"""Abstract states of iterations: equal states mean that iterations do the same."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from functools import lru_cache

from ttl.source import tree
from ttl.source.bindings import Binding
from ttl.source.walking import walk

from .builder import KernelBuilder
from .hir import HeldBlock, RunTime, Value, kind_of, leaves
from .state import Local


def state_of(
    builder: KernelBuilder, mentioned: Iterable[Binding], changed: Collection[Local] = ()
) -> Hashable:
    """Summarize variables. All numbers of changed variables are alike."""
    values, variables = builder.state.values, builder.variables(mentioned)
    ordered = sorted(variables, key=lambda variable: variable.order)
    found = leaves([values.get(each) for each in ordered])
    held = {leaf for leaf in found if isinstance(leaf, HeldBlock)}
    blocks = sorted(held, key=lambda block: block.age)
    return tuple([shape(builder, values.get(v), blocks, is_any=v in changed) for v in ordered])


@lru_cache(maxsize=256)
def constants_of(nodes: tuple[tree.Node, ...]) -> dict[Binding, list[tree.Constant | None]]:
    """List the constants that statements assign to each variable; None for other values."""
    found, given = dict[Binding, list[tree.Constant | None]](), dict[tree.Node, tree.Constant]()
    for each in walk(*nodes):
        if isinstance(each, tree.Assign) and isinstance(each.value, tree.Constant):
            given |= dict.fromkeys(each.targets, each.value)
        elif isinstance(each, tree.Target):
            found.setdefault(each.binding, []).append(given.get(each))
    return found


def flags_of(node: tree.Node) -> set[Binding]:
    """Return the variables that a loop sets only to constants: which one matters."""
    return {binding for binding, given in constants_of((node,)).items() if None not in given}


def shape(
    builder: KernelBuilder, value: Value, blocks: Sequence[HeldBlock] = (), is_any: bool = False
) -> Hashable:
    """Summarize a value: blocks by acquisition order, with `is_any` all numbers alike."""
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
