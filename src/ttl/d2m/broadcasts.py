"""Values of which a row or a column of tiles has one, and where they are broadcast.

`rowmax` and `rowsum` give tiles whose first column is the value, a tensor of one row has it in the
first row of its tiles. With a whole block they are calculated as numpy does: repeated along the
dimension that they have once. One tile has the shape of one tile, so what a value has once is read
from the statements of a thread: they are walked in order, loops until what an iteration leaves to
the next is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import FunctionType
from typing import Any

from ttl.language import math
from ttl.semantics.types import Shape
from ttl.source import tree
from ttl.source.bindings import Binding, Scope
from ttl.source.making import around
from ttl.source.trees import value_around
from ttl.source.walking import Changer

from . import functions
from .bodies import ACQUIRING

# The dimensions along which there is one value: {-1} of a column. None: a number, a fill, or not
# known.
Once = frozenset[int]
Kind = Once | None
WHOLE: Once = frozenset()
MIXED: Once = frozenset({0})  # one on one path, another on the other

REDUCING = (functions.rowmax, functions.rowsum)
ELEMENTWISE_CALLS = (
    functions.exp, functions.sqrt, functions.rsqrt, functions.recip, functions.maximum,
)  # fmt: skip
SPREAD = ".spread"  # the name of spread() in a thread that was rewritten

Elementwise = tree.Binary | tree.Call


def once_of(shape: Iterable[int]) -> Once:
    """Of a tensor."""
    *rows, columns = shape
    found = {-1} if columns == 1 else set()
    return frozenset(found | ({-2} if all(size == 1 for size in rows) else set()))


def undecided(thread: tree.Function, function: FunctionType) -> list[Elementwise]:
    """Operations with a value that has not the same dimensions once on all paths."""
    walk = _Walk(function, {})
    walk.statements(thread.body)
    return sorted(walk.mixed, key=lambda node: node.place)


def with_broadcasts(
    thread: tree.Function, function: FunctionType, parameters: Mapping[str, Once]
) -> tree.Function:
    """The tree of a thread, in which `.spread(x, like, dims)` stands for what is broadcast."""
    walk = _Walk(function, parameters)
    walk.statements(thread.body)
    if not walk.needed:
        return thread
    changed: tree.Function = _Spreading(walk.needed, thread.scope).node(thread)
    return changed


def spread(x: Any, like: Any, dims: tuple[int, ...]) -> Any:
    """`x` repeated along dimensions, to calculate with a block that has more of them."""
    return math.broadcast(x, dims=list(dims), shape=common_shape(x.type.shape, like.type.shape))


def common_shape(first: Shape, second: Shape) -> Shape:
    return tuple(map(max, first, second))


class _Walk:
    def __init__(self, function: FunctionType, parameters: Mapping[str, Once]) -> None:
        self.function, self.parameters = function, parameters
        self.kinds: dict[Binding, Kind] = {}
        self.needed: dict[Elementwise, list[Once]] = {}  # what each operand is repeated along
        self.mixed: set[Elementwise] = set()

    def statements(self, body: Iterable[tree.Statement]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: tree.Statement) -> None:
        if isinstance(node, tree.Assign):
            kind = self.expression(node.value)
            for target in node.targets:
                if isinstance(target, tree.Target):
                    self.kinds[target.binding] = kind
        elif isinstance(node, tree.Loop):
            self.loop(node)
        elif isinstance(node, tree.Branch):
            before = dict(self.kinds)
            self.statements(node.then)
            after, self.kinds = self.kinds, before
            self.statements(node.otherwise)
            self.kinds = _joined(self.kinds, after)
        elif isinstance(node, tree.Evaluate):
            self.expression(node.value)

    def loop(self, node: tree.Loop) -> None:
        """What is known of a value can only become less: that ends."""
        found = dict(self.needed), set(self.mixed)
        while True:
            before = dict(self.kinds)
            self.needed, self.mixed = dict(found[0]), set(found[1])
            self.statements(node.body)
            self.kinds = _joined(before, self.kinds)
            if self.kinds == before:
                return

    def expression(self, node: tree.Expression) -> Kind:
        if isinstance(node, tree.Name):
            return self.kinds.get(node.binding)
        if isinstance(node, tree.Binary):
            left, right = self.expression(node.left), self.expression(node.right)
            return (
                _product(left, right) if node.sign == "@" else self.elementwise(node, [left, right])
            )
        if isinstance(node, tree.Unary):
            return self.expression(node.operand)
        return self.call(node) if isinstance(node, tree.Call) else None

    def call(self, node: tree.Call) -> Kind:
        kinds = [self.expression(argument) for argument in node.arguments]
        first = kinds[0] if kinds else None
        if isinstance(node.function, tree.Attribute) and node.method in ACQUIRING:
            owner = node.function.owner
            is_name = isinstance(owner, tree.Name)
            return self.parameters.get(owner.binding.name, WHOLE) if is_name else None  # type: ignore[attr-defined]
        which = value_around(node.function, self.function)
        if is_one_of(which, REDUCING):
            return self.reduction(node, (first or WHOLE) | {-1}, kinds[1:])
        if is_one_of(which, ELEMENTWISE_CALLS):
            return self.elementwise(node, kinds)
        if which is functions.transpose and first is not None and first is not MIXED:
            return frozenset(-3 - dim for dim in first)
        return WHOLE if is_one_of(which, (functions.bcast, functions.transpose)) else None

    def reduction(self, node: tree.Call, kind: Once, others: list[Kind]) -> Kind:
        """`rowmax(x, other)`, which is no less than another column."""
        if any(other not in (None, kind) for other in others):
            self.mixed.add(node)
        return kind

    def elementwise(self, node: Elementwise, kinds: list[Kind]) -> Kind:
        known = [kind for kind in kinds if kind is not None]
        if not known:
            return None
        if MIXED in known:
            if len(kinds) > 1:
                self.mixed.add(node)
            return MIXED
        common = frozenset.intersection(*known)
        needed = [WHOLE if kind is None else kind - common for kind in kinds]
        if any(needed):
            self.needed[node] = needed
        return common


def is_one_of(value: object, several: Iterable[object]) -> bool:
    return any(value is each for each in several)


def _product(left: Kind, right: Kind) -> Kind:
    """Rows of the left and columns of the right: of a value that has them once, once."""
    rows = (left or WHOLE) & {-2}
    return rows | ((right or WHOLE) & {-1})


def _joined(first: Mapping[Binding, Kind], second: Mapping[Binding, Kind]) -> dict[Binding, Kind]:
    """Where two paths meet."""
    found = dict(first)
    for name, kind in second.items():
        other = found.get(name)
        if other is None or kind is None or other == kind:
            found[name] = kind if other is None else other
        else:
            found[name] = MIXED
    return found


class _Spreading(Changer):
    """`a - b` becomes `(.n := a) - .spread(b, .n, (-1,))`: both are evaluated once, in order."""

    def __init__(self, needed: Mapping[Elementwise, list[Once]], scope: Scope):
        self.needed, self.scope, self.count = needed, scope, 0

    def node(self, node: Any) -> Any:
        dims = self.needed.get(node)
        found = super().node(node)
        if dims is None:
            return found
        if isinstance(found, tree.Binary):
            left, right = self._pair([found.left, found.right], dims)
            return replace(found, left=left, right=right)
        return replace(found, arguments=tuple(self._pair(found.arguments, dims)))

    def _pair(self, operands: Iterable[tree.Expression], dims: list[Once]) -> list[tree.Expression]:
        kept = [self._kept(each) for each in operands]
        names = [tree.Name(each.place, each.target.binding) for each in kept]
        if not dims[0]:
            return [kept[0], _spread(kept[1].value, names[0], dims[1])]
        left = _spread(kept[0], kept[1], dims[0])
        return [left, _spread(names[1], names[0], dims[1]) if dims[1] else names[1]]

    def _kept(self, operand: tree.Expression) -> tree.Bind:
        self.count += 1
        variable = self.scope.variable(f".operand_{self.count}")
        return tree.Bind(operand.place, tree.Target(operand.place, variable), operand)


def _spread(value: tree.Expression, like: tree.Expression, dims: Once) -> tree.Expression:
    place = value.place
    numbers = tuple(tree.Constant(place, dim) for dim in sorted(dims))
    arguments = (value, like, tree.Sequence(place, "tuple", numbers))
    return tree.Call(place, around(SPREAD, place), arguments, ())
