"""Kernels that leave out nothing, as most do: a quick look saves implicit_sync.py the long one.

What it says no to is read as a whole. It says yes where

rule BLOCK     each acquire is that of a `with`, of a buffer by its name;
rule TRANSFER  each `name = ttl.copy(...)` is followed in its own body by `name.wait()`, and nothing
               mentions the name in between; or it is `ttl.copy(...).wait()`;
rule CALL      what else is called is ours, harmless, or a method of a variable, and what names
               around the kernel stand for cannot call functions of the user's;
rule PATH      no statement leaves its body, and no function or comprehension is inside.
"""

from __future__ import annotations

import ast
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType, ModuleType
from typing import Any

from ttl.diagnostics.frames import is_pyttlang_file
from ttl.language.arguments import is_tensor
from ttl.language.buffer import DataflowBuffer
from ttl.language.copies import copy
from ttl.semantics.syntax import child_nodes

from .functions import MISSING, named_value, own_code
from .handles import ACQUIRES, RELEASES

# Builtins a block may be given to: they do not keep it.
HARMLESS = (abs, bool, getattr, hasattr, id, isinstance, len, print, range, repr, str, type)
NUMBERS = (bool, int, float, str, type(None))
UNUSUAL = CO_VARARGS | CO_VARKEYWORDS | CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
TAKEN = frozenset((*ACQUIRES, *RELEASES))
EXPRESSIONS = (
    ast.BinOp, ast.BoolOp, ast.Compare, ast.Constant, ast.Dict, ast.IfExp, ast.JoinedStr,
    ast.FormattedValue, ast.List, ast.Slice, ast.Subscript, ast.Tuple, ast.UnaryOp, ast.keyword,
    ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip


def leaves_out_nothing(function: FunctionType, tree: ast.AST) -> bool:
    """Is there nothing to release or to wait for, that can be seen at once?"""
    if not isinstance(tree, ast.FunctionDef) or own_code(function).co_argcount:
        return False
    try:
        _Look(function).body(tree.body)
    except _Unsure:
        return False
    return True


class _Unsure(Exception):
    """It has to be read as a whole."""


class _Look:
    def __init__(self, function: FunctionType):
        code = own_code(function)
        if code.co_flags & UNUSUAL or code.co_kwonlyargcount or code.co_cellvars:
            raise _Unsure
        self.function = function
        self.own = frozenset(code.co_varnames)
        self.under_way: set[str] = set()

    def body(self, body: list[ast.stmt]) -> None:
        before = frozenset(self.under_way)
        for node in body:
            self.statement(node, before)
        if self.under_way != before:  # rule TRANSFER
            raise _Unsure

    def statement(self, node: ast.stmt, before: frozenset[str]) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            self._assign(node.targets[0], node.value)
        elif isinstance(node, ast.AugAssign):
            self.target(node.target)
            self.value(node.value)
        elif isinstance(node, ast.Expr):
            self._expression(node.value, before)
        elif isinstance(node, ast.With):
            for item in node.items:
                self._acquire(item)
            self.body(node.body)
        elif isinstance(node, ast.For):
            self.value(node.iter)
            self.target(node.target)
            self.body(node.body)
            self.body(node.orelse)
        elif isinstance(node, ast.If):
            self.value(node.test)
            self.body(node.body)
            self.body(node.orelse)
        elif not isinstance(node, ast.Pass):  # rule PATH
            raise _Unsure

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        self.target(target)
        if isinstance(value, ast.Call) and self._named(value.func) is copy:
            self._arguments(value)
            if not isinstance(target, ast.Name):
                raise _Unsure
            self.under_way.add(target.id)
        else:
            self.value(value)

    def _expression(self, node: ast.expr, before: frozenset[str]) -> None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            waited = node.func.value
            if node.func.attr == "wait" and not node.args and not node.keywords:
                if isinstance(waited, ast.Name) and waited.id in self.under_way - before:
                    self.under_way.remove(waited.id)
                    return
                if isinstance(waited, ast.Call) and self._named(waited.func) is copy:
                    self._arguments(waited)
                    return
        self.value(node)

    def _acquire(self, item: ast.withitem) -> None:  # rule BLOCK
        call = item.context_expr
        if not isinstance(call, ast.Call) or call.args or call.keywords:
            raise _Unsure
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in ACQUIRES:
            raise _Unsure
        if not isinstance(self._named(call.func.value), DataflowBuffer):
            raise _Unsure
        if item.optional_vars is not None:
            self.target(item.optional_vars)

    def target(self, node: ast.expr) -> None:
        for each in node.elts if isinstance(node, ast.Tuple) else [node]:
            if not isinstance(each, ast.Name) or each.id in self.under_way:
                raise _Unsure
            if each.id not in self.own:  # of a scope around
                raise _Unsure

    # Expressions ----------------------------------------------------------------------------------

    def value(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Name):
            if node.id in self.under_way or not self._is_quiet(self._named(node), node):
                raise _Unsure
        elif isinstance(node, ast.Attribute):
            self._attribute(node)
        elif isinstance(node, EXPRESSIONS):
            for child in child_nodes(node):
                self.value(child)
        else:
            raise _Unsure

    def _call(self, node: ast.Call) -> None:  # rule CALL
        called = self._named(node.func)
        if isinstance(node.func, ast.Attribute) and called is MISSING:
            if not isinstance(node.func.value, ast.Name) or node.func.value.id not in self.own:
                raise _Unsure
            self._attribute(node.func)  # a method of a variable
        elif called is copy or not (_is_ours(called) or any(called is f for f in HARMLESS)):
            raise _Unsure
        self._arguments(node)

    def _arguments(self, node: ast.Call) -> None:
        for each in (*node.args, *node.keywords):
            self.value(each)

    def _attribute(self, node: ast.Attribute) -> None:
        if node.attr in TAKEN:
            raise _Unsure
        found = self._named(node)
        if found is MISSING:
            self.value(node.value)
        elif not self._is_quiet(found, node):
            raise _Unsure

    def _named(self, node: ast.expr) -> Any:
        """What a name around the kernel, or one in a module of the language, stands for."""
        if isinstance(node, ast.Name) and node.id not in self.own:
            return named_value(node.id, self.function)
        if isinstance(node, ast.Attribute):
            owner = self._named(node.value)
            if isinstance(owner, ModuleType):
                return vars(owner).get(node.attr, MISSING)
        return MISSING

    def _is_quiet(self, found: Any, node: ast.expr) -> bool:
        """Can it call nothing of the user's?"""
        if found is MISSING:
            return isinstance(node, ast.Name) and node.id in self.own
        is_value = type(found) in NUMBERS or isinstance(found, DataflowBuffer) or is_tensor(found)
        return is_value or _is_ours(found)


def _is_ours(found: Any) -> bool:
    return isinstance(found, FunctionType) and is_pyttlang_file(own_code(found).co_filename)
