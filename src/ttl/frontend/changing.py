"""Values that branches and loops can change.

A variable that a branch or a loop gives another value becomes a result of the operation: scalars
and block expressions, also those in tuples, lists and slices. Other values (blocks, transfers,
strings, ...) are known while translating and must stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute, SSAValue

from ttl.diagnostics import codes
from ttl.dialects import ttl

from .builder import FlowBroken, KernelBuilder, Unusable, Value, value_name
from .scalars import TYPES, as_kind, kind_of


@dataclass(frozen=True, slots=True)
class Slot:
    """Stands for a result in a template of a value."""

    number: int


@dataclass(frozen=True, slots=True)
class HandedSlot:
    """Stands for a block or a transfer that a loop hands on."""

    number: int


def changes(value: Value) -> bool:
    """Can it be a result of a branch or a loop?"""
    if isinstance(value, SSAValue):
        is_expression = ttl.is_block_value(value.type) and not isinstance(
            value.owner, (ttl.AcquireOp, ttl.TensorSliceOp)
        )
        return is_expression or kind_of(value) is not None
    return kind_of(value) is not None


def is_readable(value: Value) -> bool:
    """A block that other kernels wrote: what it holds can stand for it."""
    return isinstance(value, SSAValue) and isinstance(value.owner, ttl.WaitOp)


def filled(
    template: Any, results: Sequence[SSAValue], handed: Sequence[SSAValue] = ()
) -> Any:
    """The template with results, and what is handed on, in place of its slots."""
    if isinstance(template, Slot):
        return results[template.number]
    if isinstance(template, HandedSlot):
        return handed[template.number]
    if isinstance(template, (tuple, list)):
        items = [filled(item, results, handed) for item in template]
        is_itself = all(one is other for one, other in zip(items, template, strict=True))
        return template if is_itself else type(template)(items)
    if isinstance(template, slice):
        return slice(*(filled(part, results) for part in parts_of(template)))
    return template


def parts_of(value: slice) -> tuple[Any, Any, Any]:
    return value.start, value.stop, value.step


def zipped(one: Any, other: Any) -> Iterator[tuple[Any, Any]] | None:
    """The items of two containers of the same kind and length."""
    if type(one) is not type(other):
        return None
    if isinstance(one, (tuple, list)) and len(one) == len(other):
        return zip(one, other, strict=True)
    return zip(parts_of(one), parts_of(other), strict=True) if isinstance(one, slice) else None


def rebuilt(like: Any, items: list[Any]) -> Any:
    return slice(*items) if isinstance(like, slice) else type(like)(items)


def typed(builder: KernelBuilder, value: Value, type: Attribute) -> SSAValue:
    for kind, scalar in TYPES.items():
        if scalar == type:
            return as_kind(builder, value, kind)
    assert isinstance(value, SSAValue)
    return value


def name_value(value: Value, name: str) -> None:
    if isinstance(value, SSAValue) and value.name_hint is None and name.isidentifier():
        value.name_hint = value_name(name)


def on_some_paths(name: str) -> Unusable:
    return Unusable(
        FlowBroken(
            codes.NOT_IN_KERNELS,
            f"`{name}` has a value on some paths only",
            helps=("assign it before the `if` or the loop",),
        )
    )
