"""What a kernel uses when it runs: buffers, matmuls, reductions, integer types, by its live code.

rule KNOWN     constants are known, what the names around a function stand for, variables that are
               assigned once, to something known, and what Python makes of these without a call
rule LIVE      of a branch whose test is known only one side is live; nothing is after a `return`,
               `raise`, `break` or `continue`; a loop over nothing has no live body
rule FOLLOWED  a call of a function that is known is read with what is known of its arguments
rule USED      what is known and goes elsewhere (to the language, into a list, to somebody unknown)
               is used: buffers in it as such, functions in it are called
"""

from __future__ import annotations

import ast
import dis
import functools
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from ttl.diagnostics import RuleBroken
from ttl.diagnostics.frames import is_user_file
from ttl.language.arguments import is_tensor
from ttl.language.buffer import DataflowBuffer
from ttl.language.functions import SUMS
from ttl.semantics.dtypes import DType, as_dtype
from ttl.semantics.function_source import Definition, FunctionTree, function_tree
from ttl.semantics.kernel_config import Sum
from ttl.semantics.numpy_numbers import python_number
from ttl.semantics.syntax import walk

from .functions import MISSING, environment, named_value, own_code
from .numpy_numbers import has_numpy
from .scopes import COMPREHENSIONS, default_nodes, own_names, parameters, positional_names
from .uses import uses_of_all

UNKNOWN: Final = object()
SCALARS = (bool, int, float, str, type(None))
SUMS_BY_NAME = {function.__name__: kind for function, kind in SUMS.items()}
DEEPEST_CALL = 32
MOST_CALLS = 1024

# Of what is known these give what is known; a power may take for ever.
CALCULATING = (
    ast.Subscript, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Call,
)  # fmt: skip
PARTS = (
    ast.Constant, ast.Attribute, ast.Slice, ast.operator, ast.unaryop, ast.cmpop, ast.boolop,
    ast.Load,
)  # fmt: skip
NEVER = (ast.Pow, ast.LShift, ast.MatMult)
PURE = (abs, bool, float, getattr, hasattr, int, isinstance, len, max, min, range, str, sum, tuple)


@dataclass(slots=True)
class Uses:
    """Of one kernel, or of several."""

    held: set[DType] = field(default_factory=set)  # by the buffers it uses
    integers: set[DType] = field(default_factory=set)  # that values may be cast to
    sums: set[Sum] = field(default_factory=set)

    def add(self, other: Uses) -> None:
        self.held |= other.held
        self.integers |= other.integers
        self.sums |= other.sums


@dataclass(slots=True, eq=False)
class _Frame:
    """A function that is being read: what is known of its variables."""

    own: frozenset[str]
    around: FunctionType | _Frame
    values: dict[str, Any]
    depth: int
    once: frozenset[str] = frozenset()  # the variables that are assigned at one place only
    returned: list[Any] = field(default_factory=list)

    def lookup(self, name: str) -> Any:
        around: FunctionType | _Frame = self
        while isinstance(around, _Frame):
            if name in around.own:
                return around.values.get(name, UNKNOWN)
            around = around.around
        value = named_value(name, around)
        return UNKNOWN if value is MISSING else python_number(value)


@dataclass(frozen=True, slots=True, eq=False)
class _Nested:
    """A function that is defined in one of these."""

    tree: FunctionTree
    frame: _Frame
    defaults: dict[str, Any]


Callee = FunctionType | _Nested


def live_uses(function: FunctionType, found: Uses) -> None:
    """Adds what a kernel, and what it calls, uses."""
    reader = _Reader(found)
    try:
        reader.call(function, [], {}, 0)
    except RecursionError:  # of an expression that Python itself, which runs it, does not mind
        reader.unread(function, ())


class _Reader:
    def __init__(self, found: Uses):
        self.found = found
        self.results: dict[tuple[object, ...], Any] = {}  # of the calls that were read
        self.used: dict[int, object] = {}
        self.kept: list[object] = []  # else others could get their ids

    # Calls ----------------------------------------------------------------------------------------

    def call(
        self, callee: Callee, arguments: Sequence[Any], keywords: dict[str, Any], depth: int
    ) -> Any:  # rule FOLLOWED
        """What it returns, if that is known."""
        tree = callee.tree if isinstance(callee, _Nested) else function_tree(own_code(callee))
        if tree is None or len(self.results) > MOST_CALLS or depth > DEEPEST_CALL:
            self.unread(callee, (*arguments, *keywords.values()))
            return UNKNOWN
        values = self._bound(callee, tree, arguments, keywords)
        key = (callee, *((name, _identity(values[name])) for name in sorted(values)))
        if key not in self.results:
            self.results[key] = UNKNOWN  # for a function that calls itself
            self.kept.append(values)
            around = callee.frame if isinstance(callee, _Nested) else callee
            own, once = own_names(tree), _assigned_once(tree)
            values = {name: value for name, value in values.items() if name in once}
            self.results[key] = self._result(tree, _Frame(own, around, values, depth + 1, once))
        return self.results[key]

    def _result(self, tree: FunctionTree, frame: _Frame) -> Any:
        if isinstance(tree, ast.Lambda):
            return self.visit(tree.body, frame)
        is_end_reached = self.body(tree.body, frame)
        if len(frame.returned) == 1 and not is_end_reached:
            return frame.returned[0]
        self.use(*frame.returned)
        return UNKNOWN

    def _bound(
        self, callee: Callee, tree: FunctionTree, arguments: Sequence[Any], given: dict[str, Any]
    ) -> dict[str, Any]:
        positional = positional_names(tree.args)
        bound = _defaults(callee, positional) | dict(zip(positional, arguments, strict=False))
        bound |= given
        own, once = set(parameters(tree.args)), _assigned_once(tree)
        self.use(*arguments[len(positional) :])
        self.use(*(value for name, value in bound.items() if name not in own & once))
        return {name: value for name, value in bound.items() if name in own}

    def unread(self, callee: Callee, arguments: Iterable[Any]) -> None:
        """Without its source, and not to its end: all that is in its code is taken as live."""
        self.use(*arguments)
        if isinstance(callee, FunctionType):
            self.found.sums |= sums_in(own_code(callee))
            self.use(*(value for _, value in environment(callee)))
        else:
            for node in walk(callee.tree):
                self._see(node)
                if isinstance(node, ast.Name):
                    self.use(callee.frame.lookup(node.id))
                elif isinstance(node, ast.Attribute) and node.attr in SUMS_BY_NAME:
                    self.found.sums.add(SUMS_BY_NAME[node.attr])

    def _see(self, node: ast.AST) -> None:
        if isinstance(node, ast.MatMult):
            self.found.sums.add(Sum.MATMUL)

    def use(self, *values: Any) -> None:  # rule USED
        for value in values:
            if value is UNKNOWN or isinstance(value, SCALARS) or id(value) in self.used:
                continue
            self.used[id(value)] = value
            if isinstance(value, DataflowBuffer):
                self.found.held.add(value.dtype)
            elif value is operator.matmul:
                self.found.sums.add(Sum.MATMUL)
            elif _is_followed(value):
                self.call(value, [], {}, 1)
            elif isinstance(value, FunctionType):
                self.found.sums |= {SUMS[value]} if value in SUMS else sums_in(own_code(value))
            else:
                self.use(*_parts(value))

    # Statements -----------------------------------------------------------------------------------

    def body(self, statements: Iterable[ast.stmt], frame: _Frame) -> bool:  # rule LIVE
        """Is its end reached?"""
        return all(self.statement(statement, frame) for statement in statements)

    def statement(self, node: ast.stmt, frame: _Frame) -> bool:
        if isinstance(node, ast.If):
            test = truth(self.visit(node.test, frame))
            bodies = [node.body if test else node.orelse]
            if test is None:
                bodies = [node.body, node.orelse]
            return any([self.body(body, frame) for body in bodies])  # both are read
        if isinstance(node, (ast.For, ast.While)):
            self._loop(node, frame)
        elif isinstance(node, ast.Assign):
            value = self.visit(node.value, frame)
            for target in node.targets:
                self._bind(target, value, frame)
        elif isinstance(node, Definition):
            self._bind(ast.Name(node.name), self._nested(node, frame), frame)
        elif isinstance(node, ast.Return):
            frame.returned.append(None if node.value is None else self.visit(node.value, frame))
        elif not isinstance(node, ast.ClassDef):
            if isinstance(node, ast.AugAssign):
                self._see(node.op)
            self._children(node, frame)
        return not isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue))

    def _loop(self, node: ast.For | ast.While, frame: _Frame) -> None:
        value = self.visit(node.test if isinstance(node, ast.While) else node.iter, frame)
        is_known = isinstance(node, ast.While) or isinstance(value, (list, tuple, dict, range))
        if not is_known or truth(value) is not False:
            self.use(value)
            self.body(node.body, frame)
        self.body(node.orelse, frame)

    def _bind(self, target: ast.expr, value: Any, frame: _Frame) -> None:
        if isinstance(target, ast.Name) and target.id in frame.once:
            frame.values[target.id] = value
        elif (
            isinstance(target, ast.Tuple)
            and isinstance(value, tuple)
            and len(value) == len(target.elts)
        ):
            for part, item in zip(target.elts, value, strict=True):
                self._bind(part, item, frame)
        else:
            self.use(value)
            self._children(target, frame)

    def _children(self, node: ast.AST, frame: _Frame) -> None:
        """In the order of the text; what they are known to be is used."""
        for _, part in ast.iter_fields(node):
            parts = part if isinstance(part, list) else [part]
            if parts and isinstance(parts[0], ast.stmt):
                self.body(parts, frame)
                continue
            for child in parts:
                if isinstance(child, ast.expr):
                    self.use(self.visit(child, frame))
                elif isinstance(child, ast.AST):
                    self._children(child, frame)

    # Expressions ----------------------------------------------------------------------------------

    def visit(self, node: ast.expr, frame: _Frame) -> Any:
        """What it is known to be; all that it may be else is used."""
        value = known(node, frame)
        if value is not UNKNOWN:
            return value
        if isinstance(node, ast.Call):
            return self._call(node, frame)
        if isinstance(node, ast.Lambda):
            return self._nested(node, frame)
        if isinstance(node, ast.NamedExpr):
            self._bind(node.target, value := self.visit(node.value, frame), frame)
            return value
        if isinstance(node, ast.IfExp):
            test = truth(self.visit(node.test, frame))
            if test is not None:
                return self.visit(node.body if test else node.orelse, frame)
        elif isinstance(node, ast.BoolOp):
            return self._choice(node, frame)
        elif isinstance(node, ast.BinOp):
            self._see(node.op)
        elif isinstance(node, COMPREHENSIONS):
            frame = _Frame(uses_of_all(node.generators).stored, frame, {}, frame.depth)
        self._children(node, frame)
        return UNKNOWN

    def _choice(self, node: ast.BoolOp, frame: _Frame) -> Any:
        value: Any = UNKNOWN
        for part in node.values:
            self.use(value)
            value = self.visit(part, frame)
            if truth(value) is isinstance(node.op, ast.Or):  # the others are not looked at
                return value if part is node.values[0] else UNKNOWN
        self.use(value)
        return UNKNOWN

    def _nested(self, node: FunctionTree, frame: _Frame) -> _Nested:
        defaults = default_nodes(node.args).items()
        return _Nested(node, frame, {name: self.visit(part, frame) for name, part in defaults})

    def _call(self, node: ast.Call, frame: _Frame) -> Any:
        callee = self.visit(node.func, frame)
        arguments = [self.visit(part, frame) for part in node.args]
        keywords = {part.arg or "": self.visit(part.value, frame) for part in node.keywords}
        method = callee if isinstance(callee, MethodType) else getattr(callee, "__call__", None)  # noqa: B004
        if isinstance(method, MethodType) and _is_followed(method.__func__):
            arguments, callee = [method.__self__, *arguments], method.__func__
        is_starred = any(isinstance(part, ast.Starred) for part in node.args) or "" in keywords
        if _is_followed(callee) and not is_starred:
            return self.call(callee, arguments, keywords, frame.depth)
        values = [*arguments, *keywords.values()]
        self.found.integers |= {dtype for value in values if (dtype := _integer(value))}
        self.use(*values, callee)
        if isinstance(callee, type):  # its methods are called by whoever has the object
            self.use(*vars(callee).values())
        return UNKNOWN


def known(node: ast.expr, frame: _Frame) -> Any:  # rule KNOWN
    """UNKNOWN if it is not known, or if it has no value."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return frame.lookup(node.id)
    if isinstance(node, ast.Attribute):
        owner = known(node.value, frame)
        if isinstance(owner, ModuleType):  # one may import what is asked for
            return vars(owner).get(node.attr, UNKNOWN)
        return UNKNOWN if owner is UNKNOWN else _attempt(getattr, owner, node.attr)
    if isinstance(node, ast.Subscript) and is_tensor(known(node.value, frame)):
        return UNKNOWN
    return _calculated(node, frame) if isinstance(node, CALCULATING) else UNKNOWN


def _calculated(node: ast.expr, frame: _Frame) -> Any:
    """Python's own result, if all names in it are known and it calls nothing but what is PURE."""
    values: dict[str, Any] = {}
    for part in walk(node):
        if isinstance(part, ast.Name):
            values[part.id] = frame.lookup(part.id)
            if values[part.id] is UNKNOWN or has_numpy(values[part.id]):
                return UNKNOWN  # a kernel calculates with Python's numbers
        elif isinstance(part, ast.Call):
            callee = known(part.func, frame)
            if not any(callee is pure for pure in PURE):
                return UNKNOWN
        elif isinstance(part, NEVER) or not isinstance(part, (*CALCULATING, *PARTS)):
            return UNKNOWN
    expression = compile(ast.Expression(node), "", "eval", dont_inherit=True)
    return _attempt(eval, expression, {"__builtins__": {}}, values)


def _attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """What the run would make of it; what it would raise is its own affair."""
    try:
        return function(*arguments)
    except (Exception, RuleBroken):
        return UNKNOWN


def truth(value: Any) -> bool | None:
    """None if it is not known."""
    found = UNKNOWN if value is UNKNOWN else _attempt(bool, value)
    return found if isinstance(found, bool) else None


@functools.lru_cache(maxsize=1024)
def _assigned_once(tree: FunctionTree) -> frozenset[str]:
    """The names that have one value while the function runs, as far as one can see."""
    counts = Counter(parameters(tree.args))
    for node in walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            counts[node.id] += 1
        elif isinstance(node, Definition) and node is not tree:
            counts[node.name] += 1
        elif isinstance(node, (ast.Nonlocal, ast.Global)):
            counts.update(dict.fromkeys(node.names, 2))
    rest = {each.arg for each in (tree.args.vararg, tree.args.kwarg) if each is not None}
    return frozenset(name for name, count in counts.items() if count == 1) - rest


def _identity(value: Any) -> object:
    return (type(value), value) if isinstance(value, SCALARS) else id(value)


def _is_followed(value: Any) -> bool:
    if isinstance(value, FunctionType):
        return is_user_file(own_code(value).co_filename)
    return isinstance(value, _Nested)


def _defaults(callee: Callee, positional: Sequence[str]) -> dict[str, Any]:
    if isinstance(callee, _Nested):
        return dict(callee.defaults)
    given = callee.__defaults__ or ()
    return dict(zip(positional[::-1], given[::-1], strict=False)) | (callee.__kwdefaults__ or {})


def _integer(value: Any) -> DType | None:
    """The type of integers that it is, if it is one."""
    dtype = as_dtype(value)
    return dtype if dtype is not None and not dtype.is_float else None


def _parts(value: Any) -> Iterator[Any]:
    """What can be reached through a container, a method, or an object of the user's."""
    if isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords)
    elif isinstance(value, MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, BuiltinMethodType):
        yield value.__self__
    elif not isinstance(value, (type, ModuleType, DType)) and not is_tensor(value):
        yield from getattr(value, "__dict__", {}).values()
        slots = [each.__dict__.get("__slots__", ()) for each in type(value).__mro__]
        for names in slots:
            for name in (names,) if isinstance(names, str) else names:
                yield getattr(value, name, None)


@functools.lru_cache(maxsize=1024)
def sums_in(code: CodeType) -> frozenset[Sum]:
    """What a code, or a function in it, adds up: read off its instructions and names."""
    found = {SUMS_BY_NAME[name] for name in code.co_names if name in SUMS_BY_NAME}
    instructions = dis.get_instructions(code)
    if any(i.opname == "BINARY_OP" and i.argrepr in ("@", "@=") for i in instructions):
        found.add(Sum.MATMUL)
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return frozenset(found).union(*map(sums_in, inner))
