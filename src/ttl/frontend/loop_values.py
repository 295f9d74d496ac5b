"""Values that branches and loops can change.

A variable that a branch or a loop gives another value becomes a result of the operation: scalars
and block expressions, also those in tuples, lists and slices. Other values (blocks, transfers,
strings, ...) are known while compiling and must stay the same.

A template is a value with slots in the place of what the operation gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute

from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type, tensor_of
from ttl.semantics.dtypes import float32

from .builder import KernelBuilder
from .hir import KINDS, BlockValue, HeldBlock, RunTime, SliceValue, Value, items_of, kind_of, leaves
from .scalars import as_kind
from .state import Local


@dataclass(frozen=True, slots=True)
class Slot:
    """A result in a template of a value."""

    number: int


@dataclass(frozen=True, slots=True)
class BlockSlot:
    """A block or transfer, carried by a loop, in a template."""

    number: int


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A value made of results: `make` gets the replacements of the parts."""

    parts: tuple[object, ...]
    make: Callable[..., object]


def changes(value: Value) -> bool:
    """Can it be a result of a branch or a loop?"""
    if isinstance(value, BlockValue):
        return not isinstance(value, (HeldBlock, SliceValue))
    return kind_of(value) is not None


def fill_template(
    template: object, results: Sequence[RunTime], blocks: Sequence[RunTime] = ()
) -> object:
    """Fill a template's slots with results and carried blocks."""
    if isinstance(template, Slot):
        return results[template.number]
    if isinstance(template, BlockSlot):
        return blocks[template.number]
    if isinstance(template, Rebuilt):
        return template.make(*(fill_template(part, results, blocks) for part in template.parts))
    if (parts := items_of(template)) is None:
        return template
    items = [fill_template(part, results, blocks) for part in parts]
    is_itself = all(one is other for one, other in zip(items, parts, strict=True))
    return template if is_itself else rebuild(template, items)


def slots_of(template: object) -> list[Slot | BlockSlot]:
    return [leaf for leaf in leaves(template) if isinstance(leaf, (Slot, BlockSlot))]


def zip_items(one: object, other: object) -> Iterator[tuple[object, object]] | None:
    """Pair the items of two containers of the same kind and length."""
    items, others = items_of(one), items_of(other)
    if type(one) is not type(other) or items is None or others is None:
        return None
    return zip(items, others, strict=True) if len(items) == len(others) else None


def rebuild(like: object, items: list[object]) -> object:
    if isinstance(like, slice):
        return slice(*items)
    make: Callable[..., object] = getattr(like, "_make", type(like))
    return make(items)


def has(container: Value, value: Value) -> bool:
    """Is it one of the items of a list, tuple or dict?"""
    if not isinstance(container, (list, tuple, dict)):
        return False
    items = container.values() if isinstance(container, dict) else container
    return any(item is value or has(item, value) for item in items)


def names_of(values: Mapping[Local, Value], value: Value) -> list[Local]:
    """List the variables whose value it is, or whose value contains it."""
    return [each for each, found in values.items() if found is value or has(found, value)]


def convert_type(builder: KernelBuilder, value: Value, type: Attribute) -> RunTime:
    if (kind := KINDS.get(type)) is not None:
        return as_kind(builder, value, kind)
    assert isinstance(value, RunTime)
    if value.type != type:
        return builder.block_value(ttl.BLOCK_MATH["typecast"], [value], type)
    return value


def common_type(one: Attribute, other: Attribute) -> Attribute | None:
    """Return a type for values of both types. In DST all floats are alike: blocks of them have
    values of float32 there."""
    if one == other:
        return one
    if not (ttl.is_block_value(one) and ttl.is_block_value(other)):
        return None
    types = (block_type(one), block_type(other))
    are_floats = all(type.dtype is not None and type.dtype.is_float for type in types)
    shape = types[0].shape
    return tensor_of(shape, float32) if are_floats and shape == types[1].shape and shape else None
