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

import math
import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum
from operator import is_
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

from ttl import language
from ttl.diagnostics.frames import is_pyttlang_file, is_user_file
from ttl.language import Operation
from ttl.semantics.dtypes import DType, as_dtype
from ttl.source import tree
from ttl.source.bindings import Around, Variable
from ttl.source.frozen import names_around
from ttl.source.functions import MISSING, builtins_of, named_value, own_code
from ttl.source.trees import tree_of
from ttl.source.walking import children, stored, walk

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
    tree.Assert, tree.Assign, tree.Branch, tree.Evaluate, tree.Jump, tree.Loop, tree.Raise,
    tree.Return, tree.Update, tree.While, tree.With,
    tree.Binary, tree.Bind, tree.Call, tree.Choice, tree.Compare, tree.Comprehension, tree.Constant,
    tree.Function, tree.Item, tree.Logic, tree.Name, tree.Sequence, tree.Slice, tree.Starred,
    tree.Table, tree.Target, tree.Unary,
    tree.Entered, tree.Generator, tree.Keyword, tree.Parameter,
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
        if (found := tree_of(function)) is None:
            raise RunsAlways
        self.known.add(function)
        named = named_defaults(function)
        self.seen.functions.append((function, code, function.__defaults__, named))
        for value in (*(function.__defaults__ or ()), *named):
            self.allow(value)
        self._watch(function)
        given = {each.variable for each in found.parameters if each.variable.name in tensors}
        names = _Names(self, function, given)
        for node in found.body:
            names.visit(node)

    def _watch(self, function: FunctionType) -> None:  # rule WATCHED
        code, seen = function.__code__, self.seen
        for name in names_around(code):
            names: dict[str, Any] = function.__globals__
            seen.names.append((names, name, names.get(name, MISSING)))
            if name not in names:
                builtins = builtins_of(function)
                seen.names.append((builtins, name, builtins.get(name, MISSING)))
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            seen.captured.append((cell, named_value(name, function)))

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
    """Looks at the tree of one function, of which these variables are tensors."""

    def __init__(self, reader: _Reader, function: FunctionType, tensors: set[Variable]):
        self.reader, self.function, self.tensors = reader, function, tensors

    def visit(self, node: tree.Node) -> None:
        if isinstance(node, tree.Attribute):
            self._attribute(node)
        elif not isinstance(node, SYNTAX) or _computes_elsewhere(node):  # rule SYNTAX
            raise RunsAlways
        elif isinstance(node, tree.Name):
            self._name(node)
        elif isinstance(node, tree.Call):
            self._call(node)
        else:
            for child in children(node):
                self.visit(child)

    def _name(self, node: tree.Name) -> None:
        if self._is_tensor(node):  # rule TENSORS
            raise RunsAlways
        if isinstance(node.binding, Around):
            self.reader.allow(named_value(node.binding.name, self.function))

    def _is_tensor(self, node: tree.Node) -> bool:
        return isinstance(node, tree.Name) and node.binding in self.tensors

    def _attribute(self, node: tree.Attribute) -> None:
        if (value := self._resolved(node)) is not None:
            self.reader.allow(value)
        elif self._is_tensor(node.owner):
            if node.name not in OF_TENSORS:
                raise RunsAlways
        elif node.name in MEMBERS or node.name in OF_TENSORS:  # rule MEMBERS
            self.visit(node.owner)
        else:
            raise RunsAlways

    def _call(self, node: tree.Call) -> None:
        self.visit(node.function)
        takes_tensors = is_of_language(self._resolved(node.function))
        for each in node.given:
            operand = each.owner if isinstance(each, tree.Item) else each
            if takes_tensors and self._is_tensor(operand):
                if isinstance(each, tree.Item):
                    self.visit(each.index)
            else:
                self.visit(each)

    def _resolved(self, node: tree.Expression) -> Any:
        """What an outer name, or a member of a module that has one, stands for."""
        if isinstance(node, tree.Name):
            is_around = isinstance(node.binding, Around)
            return named_value(node.binding.name, self.function) if is_around else None
        if not isinstance(node, tree.Attribute):
            return None
        owner = self._resolved(node.owner)
        if isinstance(owner, type) and issubclass(owner, Enum) and owner.__module__ != "__main__":
            return owner.__members__.get(node.name)
        if not isinstance(owner, ModuleType):
            return None
        if owner.__name__ not in MODULES or sys.modules.get(owner.__name__) is not owner:
            raise RunsAlways
        return self.reader.member(owner, node.name)


def _computes_elsewhere(node: tree.Node) -> bool:
    """Does it write an attribute, or does an annotation call something?"""
    if isinstance(node, tree.Function) and node.is_async:
        return True
    annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
    calls = () if annotation is None else walk(annotation)
    return any(isinstance(each, tree.Attribute) for each in stored(node)) or any(
        isinstance(each, tree.Call) for each in calls
    )
