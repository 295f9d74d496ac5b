"""Numbers that depend on data, in a rehearsal: a condition on one takes both sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NoReturn

from ttl.language.engine import engine

from .. import tree
from ..bindings import Around
from ..making import make_assign, make_call, outer_name
from ..tree import Body
from ..walking import Changer
from .units import Unit


class NotFollowed(Exception):
    """The body depends on data, or takes too long to follow."""


class Opaque:
    """An unknown number. Arithmetic keeps it opaque; using its value raises NotFollowed."""

    __slots__ = ()

    def _same(self, *others: object) -> Opaque:
        return self

    def _needed(self, *others: object) -> NoReturn:
        raise NotFollowed("the value of an element")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _same
    __rtruediv__ = __neg__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = _same
    __eq__ = __ne__ = _same  # type: ignore[assignment]
    __hash__ = object.__hash__
    __bool__ = __index__ = __int__ = __float__ = __getattr__ = __getitem__ = __iter__ = _needed


OPAQUE = Opaque()


def note_reached(number: int) -> None:
    """Tell the engine which statement is next; a rehearsal calls this before each one."""
    engine("reached()").reached(number)  # type: ignore[attr-defined]


def ask(value: object, may_leave: bool) -> bool | None:
    """Return the side of a condition, or None for both. NotFollowed if one leaves a loop."""
    if not isinstance(value, Opaque):
        return bool(value)
    if may_leave:
        raise NotFollowed("an element decides about a jump")
    return None


REACHED, ASKED, OPAQUE_NAME = ".reached", ".asked", ".opaque"
FOLLOWING = {REACHED: note_reached, ASKED: ask, OPAQUE_NAME: OPAQUE}


def call_of(name: str, at: tree.Node, *arguments: tree.Expression | str | int) -> tree.Call:
    """Make a call of one of our functions at the place of a node."""
    given = tuple(
        each if isinstance(each, tree.Node) else tree.Constant(at.place, each) for each in arguments
    )
    return make_call(outer_name(name, at.place), *given)


class Followed(Changer):
    """Changes a kernel's statements to report which one is next, and to ask about conditions."""

    def __init__(self, units: Iterable[Unit], numbers: Mapping[Unit, int]):
        self.units = {unit.node: unit for unit in units if unit.argument is None}
        self.numbers = numbers

    def node(self, node: tree.Node) -> object:
        made = self.inside(node)
        if isinstance(made, tree.Branch) and made.test in self.units:
            return self._both(made, self.units[made.test])
        if not isinstance(node, tree.Statement) or node not in self.units:
            return made
        call = call_of(REACHED, node, self.numbers[self.units[node]])
        return tree.Evaluate(node.place, call), made

    def _both(self, node: tree.Branch, head: Unit) -> Body:
        """Take both sides if data decides, and make names assigned there opaque."""
        place, inside = node.place, [u for u in self.units.values() if head in u.controls()]
        answer = f"{ASKED}_{place.line}_{place.column}"
        call = call_of(ASKED, node, node.test, any(unit.is_jump for unit in inside))
        names = sorted({name for unit in inside for name in unit.binds}, key=lambda n: n.name)
        unsure = tuple(make_assign(name, outer_name(OPAQUE_NAME, place), place) for name in names)
        sides = (
            ("is not", False, node.then),
            ("is not", True, node.otherwise),
            ("is", None, unsure),
        )
        branches = []
        for sign, value, body in sides:
            others = (tree.Constant(place, value),)
            test = tree.Compare(place, (sign,), outer_name(answer, place), others)
            branches += [replace(node, test=test, then=body, otherwise=())] if body else []
        return (make_assign(Around(answer), call, place), *branches)
