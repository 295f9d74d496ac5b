"""The older spelling of threads, in which a buffer and its block have one name.

    async def mm(lhs: Tensor, out: Tensor):    async def mm(lhs: CircularBuffer, ...):
        await lhs                                  block = lhs.pop()
        out = lhs + lhs                            result = out.reserve(); result.store(...)
        yield out                                  (its body ends)

rule AWAIT `await x` takes the next block of x; from there on x is this block
rule STORE `x = value` stores into a block of x that is reserved there
rule YIELD `yield x` ends what is written to x: its block is reserved at the start of the body
rule OWN   a reserved block that is sent to other cores is the core's own part of the tensor
rule WAIT  a transfer that nothing waits for is waited for where it starts
rule SET   a semaphore that is set on other cores keeps the own value: who sends in one turn waits
           in the next, as custom_dm_turn_based_matmul of the guide does
"""

from __future__ import annotations

import ast
from copy import deepcopy
from typing import Any

from ttl.semantics.function_source import Definition
from ttl.source.recompile import at, method_call

OWN = ".own_"  # before a parameter: the stream of its tensor


def is_older(tree: Definition) -> bool:
    return any(_is_tensor(argument) for argument in tree.args.args)


def _is_tensor(argument: ast.arg) -> bool:
    given = argument.annotation
    name = getattr(given, "id", None) or getattr(given, "attr", None) or getattr(given, "value", "")
    return name == "Tensor"


def in_todays_spelling(tree: Definition) -> Definition:
    tree = deepcopy(tree)  # of which others have the original
    names = {argument.arg for argument in tree.args.args if _is_tensor(argument)}
    waits = [each.value for each in ast.walk(tree) if getattr(each, "attr", "") == "wait"]  # type: ignore[attr-defined]
    waited = {each.id for each in waits if isinstance(each, ast.Name)}
    tree.body = _Rewriting(names, waited).statements(tree.body)
    return tree


class _Rewriting(ast.NodeTransformer):
    def __init__(self, names: set[str], waited: set[str]):
        self.names, self.waited = names, waited

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        stored = {name for statement in body for name in self._assigned(statement)}
        found: list[ast.stmt] = []
        values = [getattr(statement, "value", None) for statement in body]
        yielded = {name for value in values for name in self._named(value, ast.Yield)}
        for name in sorted(yielded - stored):  # rule YIELD
            found.append(_acquire(name, "reserve", body[0]))
        for statement in body:
            found += self._statement(statement)
        return found or [at(ast.Pass(), body[0])]

    def _named(self, node: Any, kind: type[ast.AST]) -> list[str]:
        """The buffers of `await x` or `yield x, y`."""
        value = node.value if isinstance(node, kind) else None  # type: ignore[attr-defined]
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        return [name for name in names if name in self.names]

    def _assigned(self, statement: ast.stmt) -> list[str]:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        return [each.id for each in targets if isinstance(each, ast.Name) and each.id in self.names]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        value = getattr(node, "value", None)
        if isinstance(node, ast.Expr):
            if self._named(value, ast.Yield):
                return []
            if awaited := self._named(value, ast.Await):  # rule AWAIT
                return [_acquire(name, "pop", node) for name in awaited]
        if stored := self._assigned(node):
            return self._store(stored[0], node)
        if isinstance(node, (ast.For, ast.If)):
            node.body = self.statements(node.body)
            node.orelse = self.statements(node.orelse) if node.orelse else []
            return [node]
        return [*self._sent(node), self.visit(node), *self._started(node), *self._kept(node)]

    def _started(self, node: Any) -> list[ast.stmt]:  # rule WAIT
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if called(getattr(node, "value", None)) != "dma" or not isinstance(target, ast.Name):
            return []
        wait = method_call(ast.Name(target.id, ast.Load()), "wait", node)
        return [] if target.id in self.waited else [at(ast.Expr(wait), node)]

    def _store(self, name: str, node: Any) -> list[ast.stmt]:  # rule STORE
        call = method_call(_block(name), "store", node)
        call.args = [self.visit(node.value)]
        return [_acquire(name, "reserve", node), at(ast.Expr(call), node)]

    def _sent(self, node: ast.stmt) -> list[ast.stmt]:  # rule OWN
        found: list[ast.stmt] = []
        for call in ast.walk(node):
            if called(call) != "dma" or not _keyword(call, "mcast"):
                continue
            source = call.args[0]  # type: ignore[attr-defined]
            if isinstance(source, ast.Name) and source.id in self.names:
                found.append(_fill(source.id, node))
        return found

    def _kept(self, node: ast.stmt) -> list[ast.stmt]:  # rule SET
        call = node.value if isinstance(node, ast.Expr) else None
        if called(call) != "set" or not _keyword(call, "mcast"):
            return []
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        again = method_call(call.func.value, "wait", node)
        again.args = [call.args[0]]
        again.keywords = [ast.keyword("reset", ast.Constant(0))]
        return [at(ast.Expr(again), node)]

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return at(_block(node.id), node) if node.id in self.names else node


def _block(name: str) -> ast.Name:
    return ast.Name(f".{name}", ast.Load())


def _acquire(name: str, method: str, place: ast.AST) -> ast.stmt:
    call = method_call(ast.Name(name, ast.Load()), method, place)
    return at(ast.Assign([ast.Name(f".{name}", ast.Store())], call), place)


def _fill(name: str, place: ast.AST) -> ast.stmt:
    """`dma(stream[core_index(0), core_index(1)], block).wait()`"""
    core: list[ast.expr] = [
        ast.Call(ast.Name("core_index", ast.Load()), [ast.Constant(dim)], []) for dim in range(2)
    ]
    stream = ast.Name(OWN + name, ast.Load())
    source = ast.Subscript(stream, ast.Tuple(core, ast.Load()), ast.Load())
    transfer = ast.Call(ast.Name("dma", ast.Load()), [source, _block(name)], [])
    return at(ast.Expr(method_call(transfer, "wait", place)), place)


def called(node: Any) -> str:
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "id", "") or getattr(function, "attr", "")


def _keyword(node: Any, name: str) -> bool:
    return any(each.arg == name for each in node.keywords)
