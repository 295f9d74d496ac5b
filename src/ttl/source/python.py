"""From the tree to Python again: as `ast`, as text and as code.

Every node keeps the place of the user's that it has in the tree. The tree has simpler statements
than the user's text, and those that were supplied: it means the same, and runs the same.

rule HOISTED a lambda that has more than what it returns becomes a definition, before its statement
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from inspect import Parameter as Kinds
from types import CodeType
from typing import Any

from ttl.semantics.function_source import FUTURE_FLAGS

from . import tree
from .read_expressions import SIGNS, UNARY_SIGNS

OPERATORS: dict[str, Any] = {sign: kind for kind, sign in SIGNS.items()}
UNARY: dict[str, Any] = {sign: kind for kind, sign in UNARY_SIGNS.items()}
SEQUENCES = {"tuple": ast.Tuple, "list": ast.List, "set": ast.Set}
COMPREHENSIONS = {"list": ast.ListComp, "set": ast.SetComp, "generator": ast.GeneratorExp}
SUSPENDING = {"await": ast.Await, "yield": ast.Yield, "yield from": ast.YieldFrom}

# `Finish` has no Python of its own: whoever runs the code says what stands for it.
MakeFinish = Callable[[tree.Finish], ast.stmt]


def no_finish(node: tree.Finish) -> ast.stmt:
    names: list[ast.expr] = [ast.Name(each.name, ast.Load()) for each in node.names]
    called = ast.Name(".wait" if node.is_wait else ".release", ast.Load())
    return ast.Expr(ast.Call(called, names, []))


class Writer:
    """Makes `ast` of one function, and of those in it."""

    def __init__(self, finish: MakeFinish = no_finish):
        self.finish = finish
        self.hoisted: list[ast.stmt] = []  # before the statement that is being written
        self.count = 0

    def expression(self, node: tree.Expression) -> Any:
        return _placed(EXPRESSIONS[type(node)](self, node), node)

    def optional(self, node: tree.Expression | None) -> Any:
        return None if node is None else self.expression(node)

    def expressions(self, nodes: Iterable[tree.Expression]) -> list[Any]:
        return [self.expression(each) for each in nodes]

    def target(self, node: tree.Expression, context: ast.expr_context | None = None) -> Any:
        context = context or ast.Store()
        if isinstance(node, tree.Sequence):
            made: Any = SEQUENCES[node.kind]([self.target(each, context) for each in node.items])
        elif isinstance(node, tree.Starred):
            made = ast.Starred(self.target(node.value, context))
        else:
            made = EXPRESSIONS[type(node)](self, node)
        made.ctx = context
        return _placed(made, node)

    def body(self, nodes: Iterable[tree.Statement], place: tree.Node) -> list[ast.stmt]:
        found = [made for node in nodes for made in self.statement(node)]
        return found or [_placed(ast.Pass(), place)]

    def statement(self, node: tree.Statement) -> list[ast.stmt]:
        outer, self.hoisted = self.hoisted, []
        made = _placed(STATEMENTS[type(node)](self, node), node)
        found = [*self.hoisted, made]
        self.hoisted = outer
        return found

    def definition(self, node: tree.Function, name: str = "") -> ast.stmt:
        kind: Any = ast.AsyncFunctionDef if node.is_async else ast.FunctionDef
        decorators = self.expressions(node.decorators)
        made = kind(name or node.name, self.arguments(node), self.body(node.body, node), decorators)
        made.returns = self.optional(node.returns)
        return _placed(made, node)  # type: ignore[no-any-return]

    def arguments(self, node: tree.Function) -> ast.arguments:
        made = ast.arguments([], [], None, [], [], None, [])
        for each in node.parameters:
            argument = _placed(ast.arg(each.variable.name, self.optional(each.annotation)), each)
            default = self.optional(each.default)
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


def _placed(made: Any, node: tree.Node) -> Any:
    made.lineno, made.col_offset, made.end_lineno, made.end_col_offset = node.place
    return made


# Expressions --------------------------------------------------------------------------------------


def _name(writer: Writer, node: tree.Name | tree.Target) -> ast.expr:
    context = ast.Load() if isinstance(node, tree.Name) else ast.Store()
    return ast.Name(node.binding.name, context)


def _table(writer: Writer, node: tree.Table) -> ast.expr:
    return ast.Dict([writer.optional(key) for key in node.keys], writer.expressions(node.values))


def _compare(writer: Writer, node: tree.Compare) -> ast.expr:
    signs = [OPERATORS[sign]() for sign in node.signs]
    return ast.Compare(writer.expression(node.first), signs, writer.expressions(node.others))


def _binary(writer: Writer, node: tree.Binary) -> ast.expr:
    """Of a sum of many terms, which is deep to its left, term by term."""
    chain = [node]
    while isinstance(inner := chain[-1].left, tree.Binary):
        chain.append(inner)
    found = writer.expression(chain[-1].left)
    for each in reversed(chain):
        right = writer.expression(each.right)
        found = _placed(ast.BinOp(found, OPERATORS[each.sign](), right), each)
    return found  # type: ignore[no-any-return]


def _choice(writer: Writer, node: tree.Choice) -> ast.expr:
    return ast.IfExp(*writer.expressions((node.test, node.then, node.otherwise)))


def _formatted(writer: Writer, node: tree.Formatted) -> ast.expr:
    value, spec = writer.expression(node.value), writer.optional(node.spec)
    return ast.FormattedValue(value, node.conversion, spec)


def _bind(writer: Writer, node: tree.Bind) -> ast.expr:
    return ast.NamedExpr(writer.target(node.target), writer.expression(node.value))


def _call(writer: Writer, node: tree.Call) -> ast.expr:
    keywords = [
        _placed(ast.keyword(each.name, writer.expression(each.value)), each)
        for each in node.keywords
    ]
    function = writer.expression(node.function)
    return ast.Call(function, writer.expressions(node.arguments), keywords)


def _function(writer: Writer, node: tree.Function) -> ast.expr:
    returned = node.body[0] if node.is_lambda and len(node.body) == 1 else None
    if isinstance(returned, tree.Return) and returned.value is not None:
        return ast.Lambda(writer.arguments(node), writer.expression(returned.value))
    writer.count += 1
    name = f".lambda_{writer.count}"
    writer.hoisted.append(writer.definition(node, name))  # rule HOISTED
    return ast.Name(name, ast.Load())


def _comprehension(writer: Writer, node: tree.Comprehension) -> ast.expr:
    generators = [_generator(writer, each) for each in node.generators]
    value = writer.expression(node.value)
    if node.key is not None:
        return ast.DictComp(writer.expression(node.key), value, generators)
    return COMPREHENSIONS[node.kind](value, generators)


def _generator(writer: Writer, node: tree.Generator) -> ast.comprehension:
    target, over = writer.target(node.target), writer.expression(node.over)
    return ast.comprehension(target, over, writer.expressions(node.tests), int(node.is_async))


EXPRESSIONS: dict[type[tree.Node], Callable[[Writer, Any], Any]] = {
    tree.Constant: lambda writer, node: ast.Constant(node.value),
    tree.Name: _name,
    tree.Target: _name,
    tree.Attribute: lambda writer, node: ast.Attribute(
        writer.expression(node.owner), node.name, ast.Load()
    ),
    tree.Item: lambda writer, node: ast.Subscript(
        writer.expression(node.owner), writer.expression(node.index), ast.Load()
    ),
    tree.Slice: lambda writer, node: ast.Slice(
        *map(writer.optional, (node.start, node.stop, node.step))
    ),
    tree.Sequence: lambda writer, node: _sequence(node.kind, writer.expressions(node.items)),
    tree.Table: _table,
    tree.Starred: lambda writer, node: ast.Starred(writer.expression(node.value), ast.Load()),
    tree.Unary: lambda writer, node: ast.UnaryOp(
        UNARY[node.sign](), writer.expression(node.operand)
    ),
    tree.Binary: _binary,
    tree.Compare: _compare,
    tree.Logic: lambda writer, node: ast.BoolOp(
        OPERATORS[node.sign](), writer.expressions(node.operands)
    ),
    tree.Choice: _choice,
    tree.Text: lambda writer, node: ast.JoinedStr(writer.expressions(node.pieces)),
    tree.Formatted: _formatted,
    tree.Bind: _bind,
    tree.Call: _call,
    tree.LanguageCall: _call,
    tree.Suspend: lambda writer, node: SUSPENDING[node.kind](writer.optional(node.value)),
    tree.Comprehension: _comprehension,
    tree.Function: _function,
}


def _sequence(kind: str, items: list[Any]) -> ast.expr:
    return ast.Set(items) if kind == "set" else SEQUENCES[kind](items, ast.Load())


# Statements ---------------------------------------------------------------------------------------


def _assign(writer: Writer, node: tree.Assign) -> ast.stmt:
    if isinstance(node.value, tree.Function) and not node.value.is_lambda:
        return writer.definition(node.value, _only_name(node.targets))
    return ast.Assign([writer.target(each) for each in node.targets], writer.expression(node.value))


def _only_name(targets: tuple[tree.Expression, ...]) -> str:
    (target,) = targets
    assert isinstance(target, tree.Target)
    return target.binding.name


def _branch(writer: Writer, node: tree.Branch) -> ast.stmt:
    otherwise = writer.body(node.otherwise, node) if node.otherwise else []
    return ast.If(writer.expression(node.test), writer.body(node.then, node), otherwise)


def _loop(writer: Writer, node: tree.Loop) -> ast.stmt:
    over, target = writer.expression(node.over), writer.target(node.target)
    return ast.For(target, over, writer.body(node.body, node), [])


def _with(writer: Writer, node: tree.With) -> ast.stmt:
    items = [
        ast.withitem(
            writer.expression(each.value),
            None if each.target is None else writer.target(each.target),
        )
        for each in node.items
    ]
    return ast.With(items, writer.body(node.body, node))


def _try(writer: Writer, node: tree.Try) -> ast.stmt:
    handlers = [
        _placed(
            ast.ExceptHandler(
                writer.optional(each.kind),
                None if each.target is None else each.target.binding.name,
                writer.body(each.body, each),
            ),
            each,
        )
        for each in node.handlers
    ]
    otherwise = writer.body(node.otherwise, node) if node.otherwise else []
    finally_ = writer.body(node.finally_, node) if node.finally_ or not handlers else []
    return ast.Try(writer.body(node.body, node), handlers, otherwise, finally_)


def _import(writer: Writer, node: tree.Import) -> ast.stmt:
    names = [
        _placed(
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


STATEMENTS: dict[type[tree.Node], Callable[[Writer, Any], Any]] = {
    tree.Assign: _assign,
    tree.Update: lambda writer, node: ast.AugAssign(
        writer.target(node.target),
        OPERATORS[node.sign](),
        writer.expression(node.value),
    ),
    tree.Delete: lambda writer, node: ast.Delete(
        [writer.target(each, ast.Del()) for each in node.targets]
    ),
    tree.Evaluate: lambda writer, node: ast.Expr(writer.expression(node.value)),
    tree.Branch: _branch,
    tree.Loop: _loop,
    tree.While: lambda writer, node: ast.While(
        writer.expression(node.test), writer.body(node.body, node), []
    ),
    tree.With: _with,
    tree.Return: lambda writer, node: ast.Return(writer.optional(node.value)),
    tree.Jump: lambda writer, node: ast.Break() if node.kind == "break" else ast.Continue(),
    tree.Assert: lambda writer, node: ast.Assert(
        writer.expression(node.test), writer.optional(node.message)
    ),
    tree.Raise: lambda writer, node: ast.Raise(
        writer.optional(node.error), writer.optional(node.cause)
    ),
    tree.Try: _try,
    tree.Import: _import,
    tree.Declare: _declare,
    tree.Foreign: lambda writer, node: node.python,
    tree.Finish: lambda writer, node: writer.finish(node),
}

# As text and as code ------------------------------------------------------------------------------


def as_ast(function: tree.Function, finish: MakeFinish = no_finish) -> Any:
    """Of the definition, or of the lambda; one that has more than its value is a definition."""
    writer = Writer(finish)
    if function.is_lambda and len(function.body) == 1:
        return writer.expression(function)
    return writer.definition(function)


def as_code(
    function: tree.Function, free: Iterable[str], file: str, flags: int = 0
) -> CodeType:
    """In which the names `free` are those of a function around it; `flags`: of the original code,
    for its `from __future__` statements."""
    factory: Any = ast.parse("def factory(): pass").body[0]
    factory.args.args = [ast.arg(name) for name in free]
    made = as_ast(function)
    factory.body = [ast.Expr(made) if isinstance(made, ast.Lambda) else made]
    module = ast.fix_missing_locations(ast.Module([factory], []))
    code = compile(module, file, "exec", flags & FUTURE_FLAGS, dont_inherit=True)
    return _nested(_nested(code, "factory"), function.name)


def _nested(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


def as_text(*nodes: tree.Node) -> str:
    """As Python writes an expression, or statements."""
    (first, *_) = nodes
    if isinstance(first, tree.Expression):
        return ast.unparse(ast.fix_missing_locations(Writer().expression(first)))
    made = [each for node in nodes for each in Writer().statement(node)]  # type: ignore[arg-type]
    return ast.unparse(ast.fix_missing_locations(ast.Module(made, [])))
