"""From the tree to Python again: as `ast`, as text and as code.

Every node keeps its place in the user's file. The tree has simpler statements than the user's
text and the supplied ones, but the same meaning.

rule FORMS   nodes with the same parts in `ast` are rows of one table, which read.py uses too
rule VALUES  a lambda with more statements than its `return` returns the last item of a tuple
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from inspect import Parameter as Kinds
from types import CodeType
from typing import Any

from ttl.semantics.function_source import FUTURE_FLAGS

from . import tree

# What looks the same ------------------------------------------------------------------------------

# Tree class, its `kind`, `ast` class, and the `ast` fields in the order of the tree's fields. A
# tree class for several `ast` classes has a first field that says which.
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
    kind: tuple[str, ...]  # its first field, if that says which `ast` class it is
    python: type[ast.AST]
    parts: tuple[tuple[str, str], ...]  # pairs of a tree field and an `ast` field


def _form(node: type[tree.Node], kind: str, python: type[ast.AST], parts: str) -> Form:
    kinds = (kind,) if kind else ()
    names = [each.name for each in fields(node)][1 + len(kinds) :]
    return Form(node, kinds, python, tuple(zip(names, parts.split(), strict=False)))


_FORMS = [_form(*row) for row in ROWS]
READ_FORMS = {each.python: each for each in _FORMS}
WRITTEN_FORMS = {(each.node, *each.kind): each for each in _FORMS}

SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.And: "and",
    ast.Or: "or",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
UNARY_SIGNS: dict[type[ast.AST], str] = {
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not",
}


# Writing ------------------------------------------------------------------------------------------

PythonNode = Any  # a node of `ast`: each class has its own fields
OPERATORS: dict[str, PythonNode] = {sign: kind for kind, sign in SIGNS.items()}
UNARY: dict[str, PythonNode] = {sign: kind for kind, sign in UNARY_SIGNS.items()}
COMPREHENSIONS = {"list": ast.ListComp, "set": ast.SetComp, "generator": ast.GeneratorExp}
BODIES = ("body", "then", "otherwise", "finally_")

# `Finish` has no Python of its own: the caller that runs the code supplies a statement for it.
MakeFinish = Callable[[tree.Finish], ast.stmt]


def write_finish(node: tree.Finish) -> ast.stmt:
    names: list[ast.expr] = [ast.Name(each.name, ast.Load()) for each in node.names]
    called = ast.Name(".wait" if node.is_wait else ".release", ast.Load())
    return ast.Expr(ast.Call(called, names, []))


class Writer:
    """Makes the `ast` of a function and of the functions in it."""

    def __init__(self, finish: MakeFinish = write_finish):
        self.finish = finish

    def expression(self, node: tree.Node) -> PythonNode:
        special = EXPRESSIONS.get(type(node))
        return _set_place(self.same_form(node) if special is None else special(self, node), node)

    def same_form(self, node: tree.Node) -> PythonNode:
        form = WRITTEN_FORMS.get((type(node),)) or WRITTEN_FORMS[type(node), node.kind]  # type: ignore[attr-defined]
        made: PythonNode = form.python()
        for field, name in form.parts:
            setattr(made, name, self.part(field, getattr(node, field)))
        if "ctx" in made._fields:
            made.ctx = ast.Load()
        if isinstance(node, tree.Statement):
            _complete(made, node)
        return made

    def part(self, field: str, part: PythonNode) -> PythonNode:
        if isinstance(part, tuple):
            return self.body(part) if field in BODIES else [self.part(field, p) for p in part]
        if field in ("sign", "signs"):
            return OPERATORS[part]()
        if field in ("target", "targets") and part is not None:
            return self.target(part)
        return self.expression(part) if isinstance(part, tree.Node) else part

    def target(self, node: tree.Expression, context: ast.expr_context | None = None) -> PythonNode:
        made = self.expression(node)
        _set_context(made, context or ast.Store())
        return made

    def body(self, nodes: Iterable[tree.Statement]) -> list[ast.stmt]:
        return [self.statement(node) for node in nodes]

    def statement(self, node: tree.Statement) -> ast.stmt:
        special = STATEMENTS.get(type(node))
        made = self.same_form(node) if special is None else special(self, node)
        return _set_place(made, node)  # type: ignore[no-any-return]

    def value(self, node: tree.Statement) -> PythonNode:
        """Return the value of a simple statement; a loop gives a list of the values in it."""
        made: PythonNode = self.statement(node)
        if isinstance(node, tree.Assign):
            return _set_place(ast.NamedExpr(made.targets[0], made.value), node)
        if isinstance(node, tree.Loop):
            generator = ast.comprehension(made.target, made.iter, [], 0)
            return _set_place(ast.ListComp(made.body[0].value, [generator]), node)
        return made.value

    def definition(self, node: tree.Function, name: str = "") -> ast.stmt:
        kind: PythonNode = ast.AsyncFunctionDef if node.is_async else ast.FunctionDef
        decorators = self.part("decorators", node.decorators)
        made = kind(name or node.name, self.arguments(node), self.body(node.body), decorators)
        made.returns = self.part("returns", node.returns)
        return _set_place(_complete(made, node), node)  # type: ignore[no-any-return]

    def arguments(self, node: tree.Function) -> ast.arguments:
        made = ast.arguments([], [], None, [], [], None, [])
        for each in node.parameters:
            annotation = self.part("annotation", each.annotation)
            argument = _set_place(ast.arg(each.variable.name, annotation), each)
            default = self.part("default", each.default)
            if each.kind == Kinds.VAR_POSITIONAL:
                made.vararg = argument
            elif each.kind == Kinds.VAR_KEYWORD:
                made.kwarg = argument
            elif each.kind == Kinds.KEYWORD_ONLY:
                made.kwonlyargs.append(argument)
                made.kw_defaults.append(default)
            else:
                is_only = each.kind == Kinds.POSITIONAL_ONLY
                (made.posonlyargs if is_only else made.args).append(argument)
                made.defaults += [] if default is None else [default]
        return made


def _set_place(made: PythonNode, node: tree.Node) -> PythonNode:
    made.lineno, made.col_offset, made.end_lineno, made.end_col_offset = node.place
    return made


def _complete(made: PythonNode, node: tree.Node) -> PythonNode:
    """Put `pass` into an empty body, and give a loop an empty `else`."""
    if "body" in made._fields and not made.body:
        made.body = [_set_place(ast.Pass(), node)]
    if isinstance(made, (ast.For, ast.While)):
        made.orelse = []
    if isinstance(made, ast.Try) and not made.handlers and not made.finalbody:
        made.finalbody = [_set_place(ast.Pass(), node)]
    return made


def _set_context(made: PythonNode, context: ast.expr_context) -> None:
    made.ctx = context
    inside = [made.value] if isinstance(made, ast.Starred) else getattr(made, "elts", ())
    for each in inside:
        _set_context(each, context)


# Expressions --------------------------------------------------------------------------------------


def _name(writer: Writer, node: tree.Name | tree.Target) -> ast.expr:
    context = ast.Load() if isinstance(node, tree.Name) else ast.Store()
    return ast.Name(node.binding.name, context)


def _binary(writer: Writer, node: tree.Binary) -> ast.expr:
    """Write a sum of many terms without recursion, because it is deep on its left."""
    chain = [node]
    while isinstance(inner := chain[-1].left, tree.Binary):
        chain.append(inner)
    found = writer.expression(chain[-1].left)
    for each in reversed(chain):
        right = writer.expression(each.right)
        found = _set_place(ast.BinOp(found, OPERATORS[each.sign](), right), each)
    return found  # type: ignore[no-any-return]


def _function(writer: Writer, node: tree.Function) -> ast.expr:
    several = [writer.value(each) for each in node.body]  # rule VALUES
    value = several[-1]
    if len(several) > 1:
        value = ast.Subscript(ast.Tuple(several, ast.Load()), ast.Constant(-1), ast.Load())
    return ast.Lambda(writer.arguments(node), _set_place(value, node.body[-1]))


def _comprehension(writer: Writer, node: tree.Comprehension) -> ast.expr:
    generators = writer.part("generators", node.generators)
    value = writer.expression(node.value)
    if node.key is not None:
        return ast.DictComp(writer.expression(node.key), value, generators)
    return COMPREHENSIONS[node.kind](value, generators)


def _unary(writer: Writer, node: tree.Unary) -> ast.expr:
    return ast.UnaryOp(UNARY[node.sign](), writer.expression(node.operand))


def _handler(writer: Writer, node: tree.Handler) -> ast.ExceptHandler:
    name = None if node.target is None else node.target.binding.name
    made = ast.ExceptHandler(writer.part("kind", node.kind), name, writer.body(node.body))
    return _complete(made, node)  # type: ignore[no-any-return]


# All other nodes have the same form in Python.
EXPRESSIONS: dict[type[tree.Node], Callable[..., object]] = {
    tree.Constant: lambda writer, node: ast.Constant(node.value),
    tree.Name: _name,
    tree.Target: _name,
    tree.Unary: _unary,
    tree.Binary: _binary,
    tree.Comprehension: _comprehension,
    tree.Function: _function,
    tree.Handler: _handler,
}

# Statements ---------------------------------------------------------------------------------------


def _assign(writer: Writer, node: tree.Assign) -> ast.stmt:
    if isinstance(node.value, tree.Function) and not node.value.is_lambda:
        (target,) = node.targets
        assert isinstance(target, tree.Target)
        return writer.definition(node.value, target.binding.name)
    return writer.same_form(node)  # type: ignore[no-any-return]


def _import(writer: Writer, node: tree.Import) -> ast.stmt:
    names = [
        _set_place(
            ast.alias(
                each.name or node.module, each.target.binding.name if each.has_alias else None
            ),
            each,
        )
        for each in node.names
    ]
    is_whole = any(each.name is None for each in node.names)
    return ast.Import(names) if is_whole else ast.ImportFrom(node.module or None, names, node.level)


def _declare(writer: Writer, node: tree.Declare) -> ast.stmt:
    kind = ast.Global if node.keyword == "global" else ast.Nonlocal
    return kind([each.name for each in node.bindings])


STATEMENTS: dict[type[tree.Node], Callable[..., object]] = {
    tree.Assign: _assign,
    tree.Delete: lambda writer, node: ast.Delete(
        [writer.target(each, ast.Del()) for each in node.targets]
    ),
    tree.Import: _import,
    tree.Declare: _declare,
    tree.Foreign: lambda writer, node: node.python,
    tree.Finish: lambda writer, node: writer.finish(node),
}

# As text and as code ------------------------------------------------------------------------------


def as_ast(function: tree.Function, finish: MakeFinish = write_finish) -> object:
    """Return the definition or the lambda."""
    writer = Writer(finish)
    return writer.expression(function) if function.is_lambda else writer.definition(function)


def as_code(function: tree.Function, free: Iterable[str], file: str, flags: int = 0) -> CodeType:
    """Compile with the names `free` as those of a function around it; `flags` are those of the
    original code, for its `from __future__` statements."""
    factory: PythonNode = ast.parse("def factory(): pass").body[0]
    factory.args.args = [ast.arg(name) for name in free]
    made = as_ast(function)
    factory.body = [ast.Expr(made) if isinstance(made, ast.Lambda) else made]
    module = ast.fix_missing_locations(ast.Module([factory], []))
    code = compile(module, file, "exec", flags & FUTURE_FLAGS, dont_inherit=True)
    return _find_code(_find_code(code, "factory"), function.name)


def _find_code(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


def as_text(*nodes: tree.Node) -> str:
    """Return an expression or statements as Python text."""
    (first, *_) = nodes
    if isinstance(first, tree.Expression):
        return ast.unparse(ast.fix_missing_locations(Writer().expression(first)))
    made = Writer().body(nodes)  # type: ignore[arg-type]
    return ast.unparse(ast.fix_missing_locations(ast.Module(made, [])))
