"""Bodies that make the same program each time they run, told by a list of what they may use.

rule NAMES     a name of a scope around a function is a constant of a listed type, a listed builtin,
               something of the language, ttl, math or ttnn as a module, or a function of the user's
               that uses nothing else itself
rule MODULES   of a module only what is listed, and only by its name there: `ttl.copy`, `math.pi`
rule MEMBERS   of everything else, only attributes that are listed; none is written
rule TENSORS   of a tensor only its kind; only functions of the language are called with it
rule SYNTAX    only statements and expressions that are listed; text is not formatted
rule WATCHED   what the names stood for is noted, for comparison when the body would run again

All other bodies run at every call. Kernels are read as the rest of a body: what they name becomes a
part of the program.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum
from operator import is_
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

from ttl import language
from ttl.diagnostics.frames import is_pyttlang_file, is_user_file
from ttl.language import Operation
from ttl.semantics.dtypes import DType, as_dtype
from ttl.semantics.function_source import FunctionTree, function_tree
from ttl.semantics.syntax import walk
from ttl.source.frozen import names_around
from ttl.source.functions import MISSING, builtins_of, named_value, own_code

CONSTANTS = {bool, int, float, str, bytes, type(None), DType}  # not classes derived from them
BUILTINS = {
    abs, all, any, bool, dict, divmod, enumerate, float, frozenset, int, isinstance, len, list, map,
    max, min, pow, range, reversed, round, set, slice, sorted, sum, tuple, zip, IndexError,
    NotImplementedError, RuntimeError, TypeError, ValueError,
}  # fmt: skip
MODULES = ("math", "ttl", "ttl.block", "ttl.math", "ttl.ttnn", "ttnn")
LANGUAGE = ("ttl.block", "ttl.language", "ttl.math")  # who defines what a body may use of ttl
RUNS_MORE = (Operation, language.operation, language.autotune)
OF_TENSORS = {"dtype", "layout", "padded_shape", "shape"}
OF_PYTHON = {"append", "count", "extend", "get", "index", "insert", "items", "keys", "values"}
CLASSES = (
    language.Block, language.BlockExpression, language.DataflowBuffer, language.GroupTransfer,
    language.MulticastRemoteSemaphore, language.Pipe, language.PipeNet, language.DstPipeIdentity,
    language.Semaphore, language.SrcPipeIdentity, language.Transfer,
    language.UnicastRemoteSemaphore,
)  # fmt: skip
MEMBERS = {name for each in CLASSES for name in dir(each) if name[0] != "_"} | OF_PYTHON
SYNTAX = (
    ast.Assert, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Break, ast.Continue, ast.Expr,
    ast.For, ast.FunctionDef, ast.If, ast.Pass, ast.Raise, ast.Return, ast.While, ast.With,
    ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.Dict, ast.DictComp,
    ast.GeneratorExp, ast.IfExp, ast.Lambda, ast.List, ast.ListComp, ast.Name, ast.NamedExpr,
    ast.Set, ast.SetComp, ast.Slice, ast.Starred, ast.Subscript, ast.Tuple, ast.UnaryOp,
    ast.arg, ast.arguments, ast.comprehension, ast.keyword, ast.withitem,
    ast.boolop, ast.cmpop, ast.expr_context, ast.operator, ast.unaryop,
)  # fmt: skip

Defaults = tuple[Any, ...]
# With its code, its defaults, and those of parameters that are given by name only.
Function = tuple[FunctionType, CodeType, Defaults | None, Defaults]
# A name and what it stands for: in the names of a module, or in a scope around a function.
Named = tuple[dict[str, Any], str, object]
Captured = tuple[CellType, object]


class RunsAlways(Exception):
    """A body uses something that is not listed."""


@dataclass(slots=True)
class Seen:  # rule WATCHED
    """What a body depends on beside its arguments."""

    functions: list[Function] = field(default_factory=list)
    names: list[Named] = field(default_factory=list)
    captured: list[Captured] = field(default_factory=list)

    def is_unchanged(self) -> bool:
        for function, code, defaults, named in self.functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
            found = named_defaults(function)
            if len(found) != len(named) or not all(map(is_, found, named)):
                return False
        for names, name, value in self.names:
            if names.get(name, MISSING) is not value:
                return False
        try:
            return all([cell.cell_contents is value for cell, value in self.captured])
        except ValueError:  # it has no value any more
            return False


def named_defaults(function: FunctionType) -> Defaults:
    named = function.__kwdefaults__ or {}
    return (*named, *named.values())


def seen_by(operation: Operation, tensors: Collection[str]) -> Seen | None:
    """What the body of an operation depends on; None if it has to run at every call."""
    reader = _Reader()
    try:
        reader.read(operation.function, tensors)
        if isinstance(grid := operation.grid, FunctionType):
            reader.read(grid, own_code(grid).co_varnames)
        elif callable(grid):
            return None
    except RunsAlways:
        return None
    return reader.seen


class _Reader:
    def __init__(self) -> None:
        self.seen = Seen()
        self.known: set[FunctionType] = set()

    def read(self, function: Any, tensors: Collection[str] = ()) -> None:
        """A function, of which these names stand for tensors."""
        if not isinstance(function, FunctionType):
            raise RunsAlways
        code = function.__code__
        if not is_user_file(code.co_filename) or own_code(function) is not code:
            raise RunsAlways
        if (tree := function_tree(code)) is None:
            raise RunsAlways
        self.known.add(function)
        named = named_defaults(function)
        self.seen.functions.append((function, code, function.__defaults__, named))
        for value in (*(function.__defaults__ or ()), *named):
            self.allow(value)
        _Names(self, tree, self._outer(function), {*tensors}).check()

    def _outer(self, function: FunctionType) -> dict[str, object]:  # rule WATCHED
        code, seen = function.__code__, self.seen
        for name in names_around(code):
            names: dict[str, Any] = function.__globals__
            seen.names.append((names, name, names.get(name, MISSING)))
            if name not in names:
                builtins = builtins_of(function)
                seen.names.append((builtins, name, builtins.get(name, MISSING)))
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            seen.captured.append((cell, named_value(name, function)))
        return {name: named_value(name, function)
                for name in (*names_around(code), *code.co_freevars)}  # fmt: skip

    def member(self, module: ModuleType, name: str) -> object:  # rule MODULES
        value = vars(module).get(name, MISSING)
        self.seen.names.append((vars(module), name, value))
        return value

    def allow(self, value: object) -> None:  # rule NAMES
        """RunsAlways if it is not listed."""
        if type(value) in CONSTANTS:
            return
        if isinstance(value, (tuple, frozenset)) and type(value) in (tuple, frozenset):
            for item in value:
                self.allow(item)
        elif isinstance(value, FunctionType) and is_user_file(value.__code__.co_filename):
            if value not in self.known:
                self.read(value)
        elif not (is_of_language(value) or _is_listed(value)):
            raise RunsAlways


def is_of_language(value: object) -> bool:
    """A function or class of ours that describes the program, and does nothing else."""
    if not isinstance(value, (FunctionType, BuiltinFunctionType, type)) or value in RUNS_MORE:
        return False
    code = getattr(value, "__code__", None)
    is_ours = code is None or is_pyttlang_file(code.co_filename)
    return is_ours and (value.__module__ or "").startswith(LANGUAGE)


def _is_listed(value: object) -> bool:
    if isinstance(value, BuiltinFunctionType) and value.__module__ == "math":
        return getattr(math, value.__name__, None) is value
    if isinstance(value, Enum):
        return type(value).__module__.partition(".")[0] in ("ttl", "ttnn")
    if isinstance(value, (type, BuiltinFunctionType)):
        return value in BUILTINS
    return as_dtype(value) is not None


class _Names:
    """Looks at the definition of one function."""

    def __init__(
        self, reader: _Reader, tree: FunctionTree, outer: dict[str, object], tensors: set[str]
    ):
        self.reader, self.tree, self.outer, self.tensors = reader, tree, outer, tensors

    def check(self) -> None:
        bound = {node.arg for node in walk(self.tree) if isinstance(node, ast.arg)}
        bound |= {node.id for node in walk(self.tree)
                  if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}  # fmt: skip
        bound |= {node.name for node in walk(self.tree)
                  if isinstance(node, ast.FunctionDef) and node is not self.tree}  # fmt: skip
        if bound & {*self.outer}:  # also the name of something else in a function within
            raise RunsAlways
        body = self.tree.body
        for node in body if isinstance(body, list) else [body]:
            self.visit(node)

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Attribute):
            self._attribute(node)
        elif not isinstance(node, SYNTAX):  # rule SYNTAX
            raise RunsAlways
        elif isinstance(node, ast.Name):
            self._name(node)
        elif isinstance(node, ast.Call):
            self._call(node)
        else:
            for child in _evaluated(node):
                self.visit(child)

    def _name(self, node: ast.Name) -> None:
        if node.id in self.tensors:  # rule TENSORS
            raise RunsAlways
        if node.id in self.outer:
            self.reader.allow(self.outer[node.id])

    def _attribute(self, node: ast.Attribute) -> None:
        if (value := self._resolved(node)) is not None:
            self.reader.allow(value)
        elif not isinstance(node.ctx, ast.Load):
            raise RunsAlways
        elif isinstance(node.value, ast.Name) and node.value.id in self.tensors:
            if node.attr not in OF_TENSORS:
                raise RunsAlways
        elif node.attr in MEMBERS or node.attr in OF_TENSORS:  # rule MEMBERS
            self.visit(node.value)
        else:
            raise RunsAlways

    def _call(self, node: ast.Call) -> None:
        self.visit(node.func)
        takes_tensors = is_of_language(self._resolved(node.func))
        for each in (*node.args, *(keyword.value for keyword in node.keywords)):
            operand = each.value if isinstance(each, ast.Subscript) else each
            if takes_tensors and isinstance(operand, ast.Name) and operand.id in self.tensors:
                if isinstance(each, ast.Subscript):
                    self.visit(each.slice)
            else:
                self.visit(each)

    def _resolved(self, node: ast.expr) -> Any:
        """What an outer name, or a member of a module that has one, stands for."""
        if isinstance(node, ast.Name):
            return self.outer.get(node.id)
        if not isinstance(node, ast.Attribute):
            return None
        owner = self._resolved(node.value)
        if isinstance(owner, type) and issubclass(owner, Enum) and owner.__module__ != "__main__":
            return owner.__members__.get(node.attr)
        if not isinstance(owner, ModuleType):
            return None
        if owner.__name__ not in MODULES or sys.modules.get(owner.__name__) is not owner:
            raise RunsAlways
        return self.reader.member(owner, node.attr)


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """What a node consists of, without annotations, which call nothing."""
    for name, part in ast.iter_fields(node):
        parts = [each for each in (part if isinstance(part, list) else [part])
                 if isinstance(each, ast.AST)]  # fmt: skip
        if name in ("annotation", "returns"):
            if any(isinstance(each, ast.Call) for one in parts for each in walk(one)):
                raise RunsAlways
        else:
            yield from parts
