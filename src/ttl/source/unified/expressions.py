"""Expressions of a unified body: their values and their effects."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING

from ttl.diagnostics import Label, Span, UsageError

from .. import tree
from ..functions import MISSING, called_function, member
from ..known import SCALARS, UNKNOWN, calculated
from ..walking import children
from .calls import call, spread
from .problems import NOT_HERE
from .things import (
    MOST_ITEMS,
    OF_TILES,
    SCALAR,
    Kind,
    Thing,
    container,
    container_of,
    item_of,
    joined,
    table,
    thing_of,
)
from .units import Effect

if TYPE_CHECKING:
    from .reading import Reader


def evaluate(reader: Reader, node: tree.Node) -> Thing:
    found = _EXPRESSIONS.get(type(node))
    if found is not None:
        return found(reader, node)
    parts(reader, node)
    return SCALAR


def parts(reader: Reader, node: tree.Node) -> list[Thing]:
    return [evaluate(reader, each) for each in children(node)]


def _attribute(reader: Reader, node: tree.Attribute) -> Thing:
    owner = evaluate(reader, node.owner)
    if owner.kind is Kind.TENSOR and node.name == "shape" and owner.value is not MISSING:
        return thing_of(tuple(owner.value.shape))
    if owner.value is not MISSING and owner.kind in (Kind.SCALAR, Kind.CONTAINER):
        found = _known_attribute(owner.value, node.name)
        if found is not MISSING:
            return thing_of(found)
        if isinstance(owner.value, ModuleType) and owner.value.__name__.startswith("ttl"):
            raise _no_such_name(reader.frame.span(node), owner.value, node.name)
    return Thing(Kind.METHOD, owner=owner, name=node.name, sites=owner.sites)


def _no_such_name(span: Span, module: ModuleType, name: str) -> UsageError:
    """Return the language's own error, which names similar names."""
    try:
        getattr(module, name)
    except UsageError as error:
        return UsageError(*(replace(each, primary=Label(span)) for each in error.diagnostics))
    raise AssertionError(f"{module.__name__} has {name}")


def _known_attribute(owner: object, name: str) -> object:
    if isinstance(owner, ModuleType):
        return vars(owner).get(name, MISSING)
    found = member(owner, name)
    is_function = called_function(found)[0] is not None
    return found if is_function or not hasattr(type(found), "__get__") else MISSING


def _item(reader: Reader, node: tree.Item) -> Thing:
    owner, place = evaluate(reader, node.owner), evaluate(reader, node.index).value
    if owner.kind is Kind.TENSOR:
        reader.unit.in_kernels = True
        return Thing(Kind.SLICE, owner.value)
    if owner.kind is not Kind.CONTAINER:
        return Thing(Kind.ELEMENT) if owner.kind is Kind.ELEMENT else SCALAR
    if isinstance(node.index, tree.Slice):
        is_known = owner.listed is not None and place is not MISSING
        return container(owner.listed[place]) if is_known else container_of(owner.any_item())  # type: ignore[index]
    return owner.at(place if place is not MISSING and isinstance(place, Hashable) else None)


def _slice(reader: Reader, node: tree.Slice) -> Thing:
    ends = (node.start, node.stop, node.step)
    values = [None if each is None else evaluate(reader, each).value for each in ends]
    is_known = all(each is None or type(each) is int for each in values)
    return Thing(value=slice(*values)) if is_known else SCALAR


def _operator(reader: Reader, node: tree.Unary | tree.Binary | tree.Compare | tree.Logic) -> Thing:
    """Read an operator: on blocks it computes; on numbers it is index arithmetic."""
    things = parts(reader, node)
    kinds = {thing.kind for thing in things}
    if not kinds.isdisjoint(OF_TILES):
        reader.does(Effect.COMPUTE, node)
        return Thing(Kind.VALUE)
    if Kind.CONTAINER in kinds:
        return container_of(joined(t.any_item() for t in things if t.kind is Kind.CONTAINER))
    return Thing(Kind.ELEMENT) if Kind.ELEMENT in kinds else Thing(value=_result(node, things))


def _result(node: tree.Expression, things: Sequence[Thing]) -> object:
    """Evaluate known numbers and strings."""
    values = [thing.value for thing in things]
    if any(type(each) not in SCALARS for each in values):
        return MISSING
    found = calculated(node, values)
    return MISSING if found is UNKNOWN else found


ON_IDENTITY = ("is", "is not", "in", "not in")


def _compare(reader: Reader, node: tree.Compare) -> Thing:
    if not all(sign in ON_IDENTITY for sign in node.signs):
        return _operator(reader, node)
    return Thing(value=_result(node, parts(reader, node)))


def _logic(reader: Reader, node: tree.Logic) -> Thing:
    things = parts(reader, node)
    decides = node.sign == "or"
    known = [thing.value for thing in things]
    if all(type(each) is bool for each in known):
        return Thing(value=decides if decides in known else not decides)
    return joined(things)


def _choice(reader: Reader, node: tree.Choice) -> Thing:
    test, *sides = parts(reader, node)
    is_known = type(test.value) is bool
    found = sides[not test.value] if is_known else joined(sides)
    return test if test.kind is Kind.ELEMENT and found.kind is Kind.SCALAR else found


def _bind(reader: Reader, node: tree.Bind) -> Thing:
    found = evaluate(reader, node.value)
    reader.bind(node.target, found)
    return found


def _function(reader: Reader, node: tree.Function) -> Thing:
    for each in node.parameters:
        if each.default is not None:
            evaluate(reader, each.default)
    return Thing(Kind.FUNCTION, function=node, around=reader.here)


def _sequence(reader: Reader, node: tree.Sequence) -> Thing:
    found = spread(reader, node.items)
    return container_of(found) if isinstance(found, Thing) else container(found)


def _table(reader: Reader, node: tree.Table) -> Thing:
    keys = [MISSING if key is None else evaluate(reader, key).value for key in node.keys]
    things = [evaluate(reader, each) for each in node.values]
    if any(type(key) not in SCALARS for key in keys):
        return container_of(joined(thing.inside for thing in things))
    return table(dict(zip(keys, things, strict=True)))


def _comprehension(reader: Reader, node: tree.Comprehension) -> Thing:
    length: int | None = None
    for each in node.generators:
        given = evaluate(reader, each.over)
        reader.bind(each.target, item_of(given))
        for test in each.tests:
            evaluate(reader, test)
        length = None if each.tests else length_of(given)
    if node.key is not None:
        evaluate(reader, node.key)
    made = container_of(evaluate(reader, node.value))
    if length is None or length > MOST_ITEMS or len(node.generators) > 1 or node.key is not None:
        return made
    return container(made.at(place) for place in range(length))


def length_of(over: Thing) -> int | None:
    """Return the number of rounds of a loop over it, or None."""
    held = over.value if over.items is None else over.items
    return len(held) if isinstance(held, (range, Mapping)) else None


def _suspend(reader: Reader, node: tree.Suspend) -> Thing:
    """Collect the values that a user's generator yields for the loop over it."""
    if not reader.calls or node.kind == "await":
        raise NOT_HERE.error((reader.frame, node), what=f"`{node.kind}`")
    found = SCALAR if node.value is None else evaluate(reader, node.value)
    reader.returned.append(found.inside if node.kind == "yield from" else found)
    return SCALAR


def unpacked(
    targets: Sequence[tree.Expression], thing: Thing
) -> Iterator[tuple[tree.Expression, Thing]]:
    """Yield the items for each target; a starred one gets a list of the rest."""
    starred = [place for place, each in enumerate(targets) if isinstance(each, tree.Starred)]
    for place, each in enumerate(targets):
        if not starred or place < starred[0]:
            yield each, item_of(thing, place)
        elif place > starred[0]:
            yield each, item_of(thing, place - len(targets))
        else:
            listed, others = thing.listed, len(targets) - 1 - place
            rest = None if listed is None else container(listed[place : len(listed) - others])
            yield each, rest or container_of(thing.inside)


_EXPRESSIONS: dict[type[tree.Node], Callable[..., Thing]] = {
    tree.Name: lambda reader, node: reader.read(node.binding),
    tree.Constant: lambda reader, node: Thing(value=node.value),
    tree.Attribute: _attribute,
    tree.Item: _item,
    tree.Slice: _slice,
    tree.Binary: _operator,
    tree.Unary: _operator,
    tree.Compare: _compare,
    tree.Logic: _logic,
    tree.Choice: _choice,
    tree.Bind: _bind,
    tree.Function: _function,
    tree.Sequence: _sequence,
    tree.Table: _table,
    tree.Starred: lambda reader, node: evaluate(reader, node.value),
    tree.Call: call,
    tree.LanguageCall: call,
    tree.Comprehension: _comprehension,
    tree.Suspend: _suspend,
}
