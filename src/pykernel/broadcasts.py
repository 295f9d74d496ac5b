"""Values with one row or one column, and where they are broadcast.

`rowmax` and `rowsum` return tiles whose first column is the value; a tensor of one row has it in
the first row of its tiles. An operation with a whole block repeats them along that dimension, as
numpy does. The shape of a tile does not show this, so the statements of a thread are read for it.
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
from ttl.source.flow import Forward
from ttl.source.making import make_call, outer_name
from ttl.source.trees import value_around
from ttl.source.walking import Changer

from . import functions
from .bodies import ACQUIRING

# The dimensions with one value: {-1} for a column. None: a number, a fill, or unknown.
Once = frozenset[int]
Kind = Once | None
Kinds = Mapping[Binding, Kind]
WHOLE: Once = frozenset()
MIXED: Once = frozenset({0})  # differs between paths

REDUCING = (functions.rowmax, functions.rowsum)
ELEMENTWISE_CALLS = (
    functions.exp,
    functions.sqrt,
    functions.rsqrt,
    functions.recip,
    functions.maximum,
)
SPREAD = ".spread"  # the name of spread() in a rewritten thread

Elementwise = tree.Binary | tree.Call
Needed = Mapping[Elementwise, list[Once]]  # the dimensions to repeat each operand along


def once_of(shape: Iterable[int]) -> Once:
    """Return the dimensions in which a tensor of this shape has one value."""
    *rows, columns = shape
    found = {-1} if columns == 1 else set()
    return frozenset(found | ({-2} if all(size == 1 for size in rows) else set()))


def find_undecided(thread: tree.Function, function: FunctionType) -> list[Elementwise]:
    """List operations on a value whose dimensions with one value differ between paths."""
    mixed = [node for node, needed in _needed(thread, function, {}).items() if needed is None]
    return sorted(mixed, key=lambda node: node.place)


def with_broadcasts(
    thread: tree.Function, function: FunctionType, parameters: Mapping[str, Once]
) -> tree.Function:
    """Wrap broadcast operands in `.spread(x, like, dims)`."""
    found = _needed(thread, function, parameters)
    needed = {node: dims for node, dims in found.items() if dims is not None and any(dims)}
    return _Spreading(needed, thread.scope).node(thread)  # type: ignore[no-any-return]


def spread(x: Any, like: Any, dims: tuple[int, ...]) -> Any:
    """Repeat `x` along dimensions for an operation with a block that has more of them."""
    if not dims:
        return x
    return math.broadcast(x, dims=list(dims), shape=common_shape(x.type.shape, like.type.shape))


def common_shape(first: Shape, second: Shape) -> Shape:
    return tuple(map(max, first, second))


def _needed(
    thread: tree.Function, function: FunctionType, parameters: Mapping[str, Once]
) -> dict[Elementwise, list[Once] | None]:
    """Return the dimensions to repeat operands along; None if they differ between paths."""
    analysis = _Analysis(function, parameters)
    analysis.function(thread, {})
    return analysis.needed


class _Analysis(Forward[Kinds]):
    def __init__(self, function: FunctionType, parameters: Mapping[str, Once]) -> None:
        super().__init__()
        self.thread, self.parameters = function, parameters
        # The last pass over a node knows its operands completely.
        self.needed: dict[Elementwise, list[Once] | None] = {}

    def join(self, one: Kinds, other: Kinds) -> Kinds:
        return {name: _join(one.get(name), other.get(name)) for name in {**one, **other}}

    def step(self, node: tree.Statement, state: Kinds) -> Kinds:
        if not isinstance(node, (tree.Assign, tree.Evaluate)):
            return state
        kind = self.kind(node.value, state)
        targets = node.targets if isinstance(node, tree.Assign) else ()
        names = [each.binding for each in targets if isinstance(each, tree.Target)]
        return {**state, **dict.fromkeys(names, kind)}

    def kind(self, node: tree.Expression, state: Kinds) -> Kind:
        if isinstance(node, tree.Name):
            return state.get(node.binding)
        if isinstance(node, tree.Binary):
            kinds = [self.kind(node.left, state), self.kind(node.right, state)]
            return _product(*kinds) if node.sign == "@" else self.elementwise(node, kinds)
        if isinstance(node, tree.Unary):
            return self.kind(node.operand, state)
        return self.call(node, state) if isinstance(node, tree.Call) else None

    def call(self, node: tree.Call, state: Kinds) -> Kind:
        kinds = [self.kind(argument, state) for argument in node.arguments]
        first = kinds[0] if kinds else None
        if isinstance(node.function, tree.Attribute) and node.method in ACQUIRING:
            owner = node.function.owner
            is_name = isinstance(owner, tree.Name)
            return self.parameters.get(owner.binding.name, WHOLE) if is_name else None  # type: ignore[attr-defined]
        which = value_around(node.function, self.thread)
        if is_one_of(which, REDUCING):
            kind = (first or WHOLE) | {-1}
            # rowmax(x, other) is no less than another column
            is_mixed = any(other not in (None, kind) for other in kinds[1:])
            self.needed[node] = None if is_mixed else []
            return kind
        if is_one_of(which, ELEMENTWISE_CALLS):
            return self.elementwise(node, kinds)
        if which is functions.transpose and first is not None and first is not MIXED:
            return frozenset(-3 - dim for dim in first)
        return WHOLE if is_one_of(which, (functions.bcast, functions.transpose)) else None

    def elementwise(self, node: Elementwise, kinds: list[Kind]) -> Kind:
        known = [kind for kind in kinds if kind is not None]
        if not known:
            return None
        if MIXED in known:
            self.needed[node] = None if len(kinds) > 1 else []
            return MIXED
        common = frozenset.intersection(*known)
        self.needed[node] = [WHOLE if kind is None else kind - common for kind in kinds]
        return common


def is_one_of(value: object, several: Iterable[object]) -> bool:
    return any(value is each for each in several)


def _product(left: Kind, right: Kind) -> Kind:
    """Give the product rows of the left and columns of the right."""
    rows = (left or WHOLE) & {-2}
    return rows | ((right or WHOLE) & {-1})


def _join(one: Kind, other: Kind) -> Kind:
    if one is None or other is None:
        return other if one is None else one
    return one if one == other else MIXED


class _Spreading(Changer):
    """Makes `.spread(.1 := a, .2 := b, ()) - .spread(.2, .1, (-1,))` of `a - b`, to evaluate both
    once and in order."""

    def __init__(self, needed: Needed, scope: Scope) -> None:
        self.needed, self.scope, self.count = needed, scope, 0

    def node(self, node: Any) -> Any:
        dims, found = self.needed.get(node), super().node(node)
        if dims is None:
            return found
        is_call = isinstance(found, tree.Call)
        operands = found.arguments if is_call else (found.left, found.right)
        first, second = (self._kept(each) for each in operands)
        left = _spread(first, second, dims[0])
        right = _spread(_again(second), _again(first), dims[1])
        if is_call:
            return replace(found, arguments=(left, right))
        return replace(found, left=left, right=right)

    def _kept(self, operand: tree.Expression) -> tree.Bind:
        self.count += 1
        variable = self.scope.variable(f".operand_{self.count}")
        return tree.Bind(operand.place, tree.Target(operand.place, variable), operand)


def _again(kept: tree.Bind) -> tree.Name:
    return tree.Name(kept.place, kept.target.binding)


def _spread(value: tree.Expression, like: tree.Expression, dims: Once) -> tree.Expression:
    place = value.place
    numbers = tuple(tree.Constant(place, dim) for dim in sorted(dims))
    return make_call(outer_name(SPREAD, place), value, like, tree.Sequence(place, "tuple", numbers))
