"""Values of which a row or a column of tiles has one, and where they are broadcast.

`rowmax` and `rowsum` give tiles whose first column is the value, a tensor of one row has it in the
first row of its tiles. With a whole block they are calculated as numpy does: repeated along the
dimension that they have once. One tile has the shape of one tile, so what a value has once is read
from the statements of a thread: they are walked in order, loops until what an iteration leaves to
the next is known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from ttl.language import math
from ttl.semantics.function_source import Definition
from ttl.semantics.types import Shape
from ttl.source.recompile import at

# The dimensions along which there is one value: {-1} of a column. None: a number, a fill, or not
# known.
Once = frozenset[int]
Kind = Once | None
WHOLE: Once = frozenset()
MIXED: Once = frozenset({0})  # one on one path, another on the other

REDUCING = ("rowmax", "rowsum")
ELEMENTWISE_CALLS = ("exp", "sqrt", "rsqrt", "recip", "maximum")
ACQUIRING = ("pop", "reserve")
SPREAD = ".spread"  # the name of spread() in a thread that was rewritten

Elementwise = ast.BinOp | ast.Call


def once_of(shape: Iterable[int]) -> Once:
    """Of a tensor."""
    *rows, columns = shape
    found = {-1} if columns == 1 else set()
    return frozenset(found | ({-2} if all(size == 1 for size in rows) else set()))


def undecided(body: list[ast.stmt]) -> list[Elementwise]:
    """Operations with a value that has not the same dimensions once on all paths."""
    walk = _Walk({})
    walk.statements(_Plain().visit(ast.Module(deepcopy(body), [])).body)
    return sorted(walk.mixed, key=lambda node: (node.lineno, node.col_offset))


def with_broadcasts(tree: Definition, parameters: Mapping[str, Once]) -> Definition:
    """The tree of a thread, in which `.spread(x, like, dims)` stands for what is broadcast."""
    found = _Plain().visit(deepcopy(tree))
    walk = _Walk(parameters)
    walk.statements(found.body)
    return _Spreading(walk.needed).visit(found) if walk.needed else tree


def spread(x: Any, like: Any, dims: tuple[int, ...]) -> Any:
    """`x` repeated along dimensions, to calculate with a block that has more of them."""
    return math.broadcast(x, dims=list(dims), shape=common_shape(x.type.shape, like.type.shape))


def common_shape(first: Shape, second: Shape) -> Shape:
    return tuple(map(max, first, second))


class _Plain(ast.NodeTransformer):
    """`a += b` is an assignment like others: a new value."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if not isinstance(node.target, ast.Name):
            return node
        again = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        return at(ast.Assign([node.target], at(ast.BinOp(again, node.op, node.value), node)), node)


class _Walk:
    def __init__(self, parameters: Mapping[str, Once]) -> None:
        self.parameters = parameters
        self.kinds: dict[str, Kind] = {}
        self.needed: dict[Elementwise, list[Once]] = {}  # what each operand is repeated along
        self.mixed: set[Elementwise] = set()

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            kind = self.expression(node.value)
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.kinds[target.id] = kind
        elif isinstance(node, ast.For):
            self.loop(node)
        elif isinstance(node, ast.If):
            before = dict(self.kinds)
            self.statements(node.body)
            after, self.kinds = self.kinds, before
            self.statements(node.orelse)
            self.kinds = _joined(self.kinds, after)
        elif isinstance(node, ast.Expr):
            self.expression(node.value)

    def loop(self, node: ast.For) -> None:
        """What is known of a value can only become less: that ends."""
        found = dict(self.needed), set(self.mixed)
        while True:
            before = dict(self.kinds)
            self.needed, self.mixed = dict(found[0]), set(found[1])
            self.statements(node.body)
            self.kinds = _joined(before, self.kinds)
            if self.kinds == before:
                return

    def expression(self, node: ast.expr) -> Kind:
        if isinstance(node, ast.Name):
            return self.kinds.get(node.id)
        if isinstance(node, ast.BinOp):
            left, right = self.expression(node.left), self.expression(node.right)
            if isinstance(node.op, ast.MatMult):
                return _product(left, right)
            return self.elementwise(node, [left, right])
        if isinstance(node, ast.UnaryOp):
            return self.expression(node.operand)
        return self.call(node) if isinstance(node, ast.Call) else None

    def call(self, node: ast.Call) -> Kind:
        kinds = [self.expression(argument) for argument in node.args]
        first = kinds[0] if kinds else None
        if isinstance(node.func, ast.Attribute):
            is_block = node.func.attr in ACQUIRING and isinstance(node.func.value, ast.Name)
            return self.parameters.get(node.func.value.id, WHOLE) if is_block else None  # type: ignore[attr-defined]
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in REDUCING:
            return self.reduction(node, (first or WHOLE) | {-1}, kinds[1:])
        if name in ELEMENTWISE_CALLS:
            return self.elementwise(node, kinds)
        if name == "transpose" and first is not None and first is not MIXED:
            return frozenset(-3 - dim for dim in first)
        return WHOLE if name in ("bcast", "transpose") else None

    def reduction(self, node: ast.Call, kind: Once, others: list[Kind]) -> Kind:
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


def _product(left: Kind, right: Kind) -> Kind:
    """Rows of the left and columns of the right: of a value that has them once, once."""
    rows = (left or WHOLE) & {-2}
    return rows | ((right or WHOLE) & {-1})


def _joined(first: Mapping[str, Kind], second: Mapping[str, Kind]) -> dict[str, Kind]:
    """Where two paths meet."""
    found = dict(first)
    for name, kind in second.items():
        other = found.get(name)
        if other is None or kind is None or other == kind:
            found[name] = kind if other is None else other
        else:
            found[name] = MIXED
    return found


class _Spreading(ast.NodeTransformer):
    """`a - b` becomes `(.n := a) - .spread(b, .n, (-1,))`: both are evaluated once, in order."""

    def __init__(self, needed: Mapping[Elementwise, list[Once]]):
        self.needed, self.count = needed, 0

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        dims = self.needed.get(node)
        self.generic_visit(node)
        if dims is not None:
            node.left, node.right = self._pair([node.left, node.right], dims)
        return at(node, node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        dims = self.needed.get(node)
        self.generic_visit(node)
        if dims is not None:
            node.args = self._pair(node.args, dims)
        return at(node, node)

    def _pair(self, operands: list[ast.expr], dims: list[Once]) -> list[ast.expr]:
        names = [self._name() for _ in operands]
        kept = [
            at(ast.NamedExpr(ast.Name(name, ast.Store()), operand), operand)
            for name, operand in zip(names, operands, strict=True)
        ]
        if not dims[0]:
            return [kept[0], _spread(operands[1], _load(names[0]), dims[1])]
        left, right = _spread(kept[0], kept[1], dims[0]), _load(names[1])
        return [left, _spread(right, _load(names[0]), dims[1]) if dims[1] else right]

    def _name(self) -> str:
        self.count += 1
        return f".operand_{self.count}"


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _spread(value: ast.expr, like: ast.expr, dims: Once) -> ast.expr:
    numbers: list[ast.expr] = [ast.Constant(dim) for dim in sorted(dims)]
    arguments = [value, like, ast.Tuple(numbers, ast.Load())]
    return at(ast.Call(_load(SPREAD), arguments, []), value)
