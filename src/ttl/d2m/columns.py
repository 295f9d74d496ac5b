"""Values of which a row has one, and where they need bcast().

`rowmax` and `rowsum` give tiles whose first column is the value. Calculated with a whole block
element by element they would meet other columns, which hold nothing: that is a mistake which no
shape shows. A thread's statements are walked in order, loops twice, so that what an iteration hands
to the next is known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

COLUMN, WHOLE = "column", "whole"
Kind = str | None  # None: a number, a fill, or not known

REDUCING = ("rowmax", "rowsum")
ELEMENTWISE_CALLS = ("exp", "sqrt", "rsqrt", "recip", "maximum")
ACQUIRING = ("pop", "reserve")


def missing_broadcasts(body: list[ast.stmt]) -> list[ast.BinOp | ast.Call]:
    """The operations between a column and a whole block, in the order of the source."""
    walk = _Walk()
    walk.statements(body)
    return sorted(walk.found, key=lambda node: (node.lineno, node.col_offset))


class _Walk:
    def __init__(self) -> None:
        self.kinds: dict[str, Kind] = {}
        self.found: set[ast.BinOp | ast.Call] = set()

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
            before = set(self.found)
            self.statements(node.body)
            self.found = before  # what the first iteration does not know yet, the next does
            self.statements(node.body)
        elif isinstance(node, ast.If):
            self.statements(node.body)
            self.statements(node.orelse)
        elif isinstance(node, ast.Expr):
            self.expression(node.value)

    def expression(self, node: ast.expr) -> Kind:
        if isinstance(node, ast.Name):
            return self.kinds.get(node.id)
        if isinstance(node, ast.BinOp):
            left, right = self.expression(node.left), self.expression(node.right)
            if isinstance(node.op, ast.MatMult):
                return WHOLE
            return self.elementwise(node, [left, right])
        if isinstance(node, ast.UnaryOp):
            return self.expression(node.operand)
        return self.call(node) if isinstance(node, ast.Call) else None

    def call(self, node: ast.Call) -> Kind:
        kinds = [self.expression(argument) for argument in node.args]
        if isinstance(node.func, ast.Attribute):
            return WHOLE if node.func.attr in ACQUIRING else None
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in REDUCING:
            return COLUMN
        if name in ELEMENTWISE_CALLS:
            return self.elementwise(node, kinds)
        return WHOLE if name in ("bcast", "transpose") else None

    def elementwise(self, node: ast.BinOp | ast.Call, kinds: list[Kind]) -> Kind:
        known = set(kinds) - {None}
        if len(known) == 2:
            self.found.add(node)
            return WHOLE
        return known.pop() if known else None
