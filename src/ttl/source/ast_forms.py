"""Nodes of `ast` and nodes of the tree that have the same parts: one table for both directions.

A row has the class of the tree, that of `ast`, and the fields of the latter in the order of the
fields of the former. Where a class of the tree stands for several of `ast`, its first field says
which.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, fields

from . import tree

ROWS: tuple[tuple[type[tree.Node], str, type[ast.AST], str], ...] = (
    (tree.Constant, "", ast.Constant, "value"),
    (tree.Attribute, "", ast.Attribute, "value attr"),
    (tree.Item, "", ast.Subscript, "value slice"),
    (tree.Slice, "", ast.Slice, "lower upper step"),
    (tree.Sequence, "tuple", ast.Tuple, "elts"),
    (tree.Sequence, "list", ast.List, "elts"),
    (tree.Sequence, "set", ast.Set, "elts"),
    (tree.Table, "", ast.Dict, "keys values"),
    (tree.Starred, "", ast.Starred, "value"),
    (tree.Unary, "", ast.UnaryOp, "op operand"),
    (tree.Compare, "", ast.Compare, "ops left comparators"),
    (tree.Logic, "", ast.BoolOp, "op values"),
    (tree.Choice, "", ast.IfExp, "test body orelse"),
    (tree.Text, "", ast.JoinedStr, "values"),
    (tree.Formatted, "", ast.FormattedValue, "value conversion format_spec"),
    (tree.Bind, "", ast.NamedExpr, "target value"),
    (tree.Keyword, "", ast.keyword, "arg value"),
    (tree.LanguageCall, "", ast.Call, "func args keywords"),
    (tree.Call, "", ast.Call, "func args keywords"),
    (tree.Suspend, "await", ast.Await, "value"),
    (tree.Suspend, "yield", ast.Yield, "value"),
    (tree.Suspend, "yield from", ast.YieldFrom, "value"),
    (tree.Generator, "", ast.comprehension, "target iter ifs is_async"),
    (tree.Assign, "", ast.Assign, "targets value"),
    (tree.Update, "", ast.AugAssign, "target op value"),
    (tree.Delete, "", ast.Delete, "targets"),
    (tree.Evaluate, "", ast.Expr, "value"),
    (tree.Branch, "", ast.If, "test body orelse"),
    (tree.Loop, "", ast.For, "target iter body"),
    (tree.While, "", ast.While, "test body"),
    (tree.Entered, "", ast.withitem, "context_expr optional_vars"),
    (tree.With, "", ast.With, "items body"),
    (tree.Return, "", ast.Return, "value"),
    (tree.Jump, "break", ast.Break, ""),
    (tree.Jump, "continue", ast.Continue, ""),
    (tree.Assert, "", ast.Assert, "test msg"),
    (tree.Raise, "", ast.Raise, "exc cause"),
    (tree.Try, "", ast.Try, "body handlers orelse finalbody"),
)


@dataclass(frozen=True, slots=True)
class Form:
    node: type[tree.Node]
    kind: tuple[str, ...]  # its first field, if that says which class of `ast` it is
    python: type[ast.AST]
    parts: tuple[tuple[str, str], ...]  # the fields of the node, and those of `ast`


def _form(node: type[tree.Node], kind: str, python: type[ast.AST], parts: str) -> Form:
    kinds = (kind,) if kind else ()
    names = [each.name for each in fields(node)][1 + len(kinds) :]
    return Form(node, kinds, python, tuple(zip(names, parts.split(), strict=False)))


_FORMS = [_form(*row) for row in ROWS]
READ_FORMS = {each.python: each for each in _FORMS}
WRITTEN_FORMS = {(each.node, *each.kind): each for each in _FORMS}

SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>", ast.And: "and", ast.Or: "or",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
UNARY_SIGNS: dict[type[ast.AST], str] = {
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not",
}  # fmt: skip
