"""What a kernel uses when it runs: buffers, matrix products, integer types, by its live code.

rule LIVE      of a branch whose test is known only one side is live; nothing is after a `return`,
               `raise`, `break` or `continue`; a loop over nothing has no live body
rule KNOWN     constants are known, and so is what the names around a function stand for, and what
               is calculated of these; variables are, as long as all paths agree about them
rule FOLLOWED  a call of a function that is known is read with what is known of its arguments
rule FORGOTTEN what goes where it is not followed any more (into a list, to somebody unknown, into
               a variable that a loop changes) is used: buffers in it as such, functions are called
"""

from __future__ import annotations

import ast
import dis
import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from ttl.diagnostics.frames import is_user_file
from ttl.language.buffer import DataflowBuffer
from ttl.language.operation import is_tensor
from ttl.semantics.dtypes import DTYPES, DType
from ttl.semantics.function_source import FunctionTree, function_tree

from .constants import (
    PURE,
    UNKNOWN,
    attempt,
    attribute,
    calculated,
    is_any_unknown,
    is_scalar,
    truth,
)
from .functions import MISSING, environment, named_value, own_code
from .scopes import COMPREHENSIONS, own_names, parameters, shared_names, stored_names

DEEPEST_CALL = 32
MOST_CALLS = 1024


@dataclass(slots=True)
class Uses:
    """Of one kernel, or of several."""

    held: set[DType] = field(default_factory=set)  # by the buffers it uses
    integers: set[DType] = field(default_factory=set)  # that values may be cast to
    has_matmul: bool = False

    def add(self, other: Uses) -> None:
        self.held |= other.held
        self.integers |= other.integers
        self.has_matmul |= other.has_matmul


@dataclass(slots=True, eq=False)
class _Frame:
    """A function that is being read: what its variables are known to be."""

    own: frozenset[str]
    around: FunctionType | _Frame
    values: dict[str, Any]
    depth: int
    changing: frozenset[str] = frozenset()  # those of its own that functions in it change
    returned: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class _Nested:
    """A function that is defined in one of these, with the values of its defaults."""

    tree: FunctionTree
    frame: _Frame
    defaults: dict[str, Any]


Callee = FunctionType | _Nested


def live_uses(function: FunctionType, found: Uses) -> None:
    """Adds what a kernel, and what it calls, uses."""
    _Reader(found).call(function, [], {}, 0)


class _Reader:
    def __init__(self, found: Uses):
        self.found = found
        self.results: dict[tuple[object, ...], Any] = {}  # of the calls that were read
        self.kept: list[object] = []  # else another could have the id of one of them
        self.forgotten: dict[int, object] = {}

    # Calls ----------------------------------------------------------------------------------------

    def call(
        self, callee: Callee, arguments: Sequence[Any], keywords: dict[str, Any], depth: int
    ) -> Any:  # rule FOLLOWED
        """What it returns, if that is known."""
        tree = callee.tree if isinstance(callee, _Nested) else function_tree(own_code(callee))
        if tree is None or len(self.results) > MOST_CALLS or depth > DEEPEST_CALL:
            self._unread(callee, (*arguments, *keywords.values()))
            return UNKNOWN
        values = self._bound(callee, tree, arguments, keywords)
        key = (id(tree), id(callee), *((name, _key(values[name])) for name in sorted(values)))
        if key not in self.results:
            self.results[key] = UNKNOWN  # for a function that calls itself
            self.kept += (tree, callee, *values.values())
            around = callee.frame if isinstance(callee, _Nested) else callee
            frame = _Frame(own_names(tree), around, values, depth + 1, shared_names(tree))
            self.results[key] = self._result(tree, frame)
        return self.results[key]

    def _result(self, tree: FunctionTree, frame: _Frame) -> Any:
        if isinstance(tree, ast.Lambda):
            return self.value(tree.body, frame)
        is_end_reached = self.body(tree.body, frame)
        if len(frame.returned) == 1 and not is_end_reached:
            return frame.returned[0]
        self.forget(*frame.returned)
        return UNKNOWN

    def _bound(
        self,
        callee: Callee,
        tree: FunctionTree,
        arguments: Sequence[Any],
        keywords: dict[str, Any],
    ) -> dict[str, Any]:
        positional = [argument.arg for argument in (*tree.args.posonlyargs, *tree.args.args)]
        own = set(parameters(tree.args))
        known = _defaults(callee, positional) | dict(zip(positional, arguments, strict=False))
        known |= {name: value for name, value in keywords.items() if name in own}
        left = [value for name, value in keywords.items() if name not in own]
        self.forget(*arguments[len(positional) :], *left)
        changing = shared_names(tree)
        self.forget(*(value for name, value in known.items() if name in changing))
        return {n: v for n, v in known.items() if v is not UNKNOWN and n not in changing}

    def _unread(self, callee: Callee, arguments: Iterable[Any]) -> None:
        """Without its source, and not to end either: all that is in its code is taken as live."""
        self.forget(*arguments)
        if isinstance(callee, _Nested):
            for node in ast.walk(callee.tree):
                self.found.has_matmul |= isinstance(node, ast.MatMult)
                if isinstance(node, ast.Name):
                    self.forget(self.name(node, callee.frame))
            return
        self.found.has_matmul |= has_matmul(own_code(callee))
        self.forget(*(value for _, value in environment(callee)))

    def forget(self, *values: Any) -> None:  # rule FORGOTTEN
        for value in values:
            if value is UNKNOWN or is_scalar(value) or id(value) in self.forgotten:
                continue
            self.forgotten[id(value)] = value
            if isinstance(value, DataflowBuffer):
                self.found.held.add(value.dtype)
            elif value is operator.matmul:
                self.found.has_matmul = True
            elif isinstance(value, MethodType):
                self.forget(value.__func__, value.__self__)
            elif isinstance(value, _Nested) or _is_users(value):
                self.call(value, [], {}, 1)
            else:
                self.forget(*_parts(value))

    # Statements -----------------------------------------------------------------------------------

    def body(self, statements: Iterable[ast.stmt], frame: _Frame) -> bool:
        """Is its end reached?"""
        return all(self.statement(statement, frame) for statement in statements)

    def statement(self, node: ast.stmt, frame: _Frame) -> bool:
        if isinstance(node, ast.If):
            return self._if(node, frame)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            self._loop(node, frame)
        elif isinstance(node, ast.Assign):
            value = self.value(node.value, frame)
            for target in node.targets:
                self.bind(target, value, frame)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            self._assign(node, frame)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.bind(ast.Name(node.name), self._nested(node, frame), frame)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            return self._with(node, frame)
        elif isinstance(node, ast.Return):
            frame.returned.append(None if node.value is None else self.value(node.value, frame))
            return False
        elif isinstance(node, (ast.Try, ast.TryStar, ast.Match)):
            self._any_of(node, frame)
        elif not isinstance(node, ast.ClassDef):
            self._parts_of(node, frame)
            return not isinstance(node, (ast.Raise, ast.Break, ast.Continue))
        return True

    def _if(self, node: ast.If, frame: _Frame) -> bool:  # rule LIVE
        test = truth(self.value(node.test, frame))
        if test is not None:
            return self.body(node.body if test else node.orelse, frame)
        before = dict(frame.values)
        then = self.body(node.body, frame)
        after, frame.values = frame.values, before
        otherwise = self.body(node.orelse, frame)
        if then and otherwise:
            self._join(after, frame)
        elif then:
            frame.values = after
        return then or otherwise

    def _join(self, other: dict[str, Any], frame: _Frame) -> None:
        values = frame.values
        frame.values = {n: v for n, v in values.items() if _is_same(other.get(n, UNKNOWN), v)}
        for found in (values, other):
            self.forget(*(value for name, value in found.items() if name not in frame.values))

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, frame: _Frame) -> None:
        if isinstance(node, ast.While):
            self._change([node], frame)
            is_live = truth(self.value(node.test, frame)) is not False
        else:
            items = self.value(node.iter, frame)
            is_live = items is UNKNOWN or attempt(len, items) != 0
            self._change([node] if is_live else node.orelse, frame)
            self.forget(items)
        if is_live:
            self.body(node.body, frame)
            self._change([node], frame)
        self.body(node.orelse, frame)

    def _change(self, statements: Iterable[ast.AST], frame: _Frame) -> None:
        """What these store into is not known any more."""
        for name in stored_names(statements):
            self.forget(frame.values.pop(name, UNKNOWN))

    def _assign(self, node: ast.AnnAssign | ast.AugAssign, frame: _Frame) -> None:
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.bind(node.target, self.value(node.value, frame), frame)
            return
        before = self.value(node.target, frame) if isinstance(node.target, ast.Name) else UNKNOWN
        value = self.binary(node.op, before, self.value(node.value, frame))
        self.bind(node.target, value, frame)

    def _with(self, node: ast.With | ast.AsyncWith, frame: _Frame) -> bool:
        for item in node.items:
            self.forget(self.value(item.context_expr, frame))
            if item.optional_vars is not None:
                self.bind(item.optional_vars, UNKNOWN, frame)
        return self.body(node.body, frame)

    def _any_of(self, node: ast.Try | ast.TryStar | ast.Match, frame: _Frame) -> None:
        """Of a `try` or `match`, of which any part may be what is done."""
        self._change([node], frame)
        self._parts_of(node, frame)
        if isinstance(node, ast.Match):
            bodies = [case.body for case in node.cases]
        else:
            handlers = [handler.body for handler in node.handlers]
            bodies = [node.body, *handlers, node.orelse, node.finalbody]
        for body in bodies:
            self.body(body, frame)
            self._change([node], frame)

    def _parts_of(self, node: ast.AST, frame: _Frame) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.forget(self.value(child, frame))
            elif not isinstance(child, ast.stmt):
                self._parts_of(child, frame)

    def bind(self, target: ast.expr, value: Any, frame: _Frame) -> None:
        if isinstance(target, ast.Name):
            if target.id in frame.own and target.id not in frame.changing:
                frame.values[target.id] = value
            else:
                self.forget(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            is_known = isinstance(value, (tuple, list)) and len(value) == len(target.elts)
            if not is_known or any(isinstance(part, ast.Starred) for part in target.elts):
                self.forget(value)
                value = (UNKNOWN,) * len(target.elts)
            for part, item in zip(target.elts, value, strict=True):
                self.bind(part, item, frame)
        else:
            self.forget(value)
            self._parts_of(target, frame)

    # Expressions ----------------------------------------------------------------------------------

    def value(self, node: ast.expr, frame: _Frame) -> Any:  # rule KNOWN
        """UNKNOWN if it is not known."""
        read = _EXPRESSIONS.get(type(node))
        if read is not None:
            return read(self, node, frame)
        self._parts_of(node, frame)
        return UNKNOWN

    def constant(self, node: ast.Constant, frame: _Frame) -> Any:
        return node.value

    def name(self, node: ast.Name, frame: _Frame) -> Any:
        around: FunctionType | _Frame = frame
        while isinstance(around, _Frame):
            if node.id in around.own:
                return around.values.get(node.id, UNKNOWN)
            around = around.around
        value = named_value(node.id, around)
        return UNKNOWN if value is MISSING else value

    def attribute(self, node: ast.Attribute, frame: _Frame) -> Any:
        owner = self.value(node.value, frame)
        return UNKNOWN if owner is UNKNOWN else attribute(owner, node.attr)

    def subscript(self, node: ast.Subscript, frame: _Frame) -> Any:
        owner, index = self.value(node.value, frame), self.value(node.slice, frame)
        is_known = not is_any_unknown(owner, index) and not is_tensor(owner)
        found = attempt(operator.getitem, owner, index) if is_known else UNKNOWN
        if found is UNKNOWN:
            self.forget(owner, index)
        return found

    def tuple(self, node: ast.Tuple, frame: _Frame) -> Any:
        values = [self.value(part, frame) for part in node.elts]
        if not is_any_unknown(*values):
            return tuple(values)
        self.forget(*values)
        return UNKNOWN

    def binary_operation(self, node: ast.BinOp, frame: _Frame) -> Any:
        return self.binary(node.op, self.value(node.left, frame), self.value(node.right, frame))

    def binary(self, operation: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(operation, ast.MatMult) and is_any_unknown(left, right):
            self.found.has_matmul = True
        value = UNKNOWN
        if is_scalar(left) and is_scalar(right):
            value = calculated(type(operation), left, right)
        else:
            self.forget(left, right)
        return value

    def unary(self, node: ast.UnaryOp, frame: _Frame) -> Any:
        return calculated(type(node.op), self.value(node.operand, frame))

    def compare(self, node: ast.Compare, frame: _Frame) -> Any:
        operands = [self.value(part, frame) for part in (node.left, *node.comparators)]
        pairs = zip(node.ops, operands, operands[1:], strict=False)
        results = [calculated(type(op), left, right) for op, left, right in pairs]
        truths = [truth(result) for result in results]
        if False in truths:
            return False
        return UNKNOWN if None in truths else True

    def choice(self, node: ast.BoolOp, frame: _Frame) -> Any:
        found: list[Any] = []
        for part in node.values:
            found.append(self.value(part, frame))
            if truth(found[-1]) is isinstance(node.op, ast.Or):  # the others are not looked at
                break
        if all(truth(value) is not None for value in found):
            return found[-1]
        self.forget(*found)
        return UNKNOWN

    def conditional(self, node: ast.IfExp, frame: _Frame) -> Any:
        test = truth(self.value(node.test, frame))
        if test is not None:
            return self.value(node.body if test else node.orelse, frame)
        self.forget(self.value(node.body, frame), self.value(node.orelse, frame))
        return UNKNOWN

    def named(self, node: ast.NamedExpr, frame: _Frame) -> Any:
        value = self.value(node.value, frame)
        self.bind(node.target, value, frame)
        return value

    def comprehension(self, node: Any, frame: _Frame) -> Any:
        targets = stored_names(node.generators)
        inner = _Frame(frozenset(targets), frame, {}, frame.depth)
        self._parts_of(node, inner)
        return UNKNOWN

    def _nested(self, node: FunctionTree, frame: _Frame) -> Any:
        arguments = node.args
        positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        names = positional[len(positional) - len(arguments.defaults) :]
        pairs = [*zip(names, arguments.defaults, strict=True)]
        pairs += [
            (argument.arg, default)
            for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if default is not None
        ]
        return _Nested(node, frame, {name: self.value(part, frame) for name, part in pairs})

    def call_expression(self, node: ast.Call, frame: _Frame) -> Any:
        callee = self.value(node.func, frame)
        starred = any(isinstance(part, ast.Starred) for part in node.args)
        arguments = [self.value(part, frame) for part in node.args]
        keywords = {part.arg or "": self.value(part.value, frame) for part in node.keywords}
        method = attempt(getattr, callee, "__call__")
        method = callee if isinstance(callee, MethodType) else method
        if isinstance(method, MethodType) and _is_users(method.__func__):
            arguments, callee = [method.__self__, *arguments], method.__func__
        is_followed = isinstance(callee, _Nested) or _is_users(callee)
        if is_followed and not starred and "" not in keywords:
            return self.call(callee, arguments, keywords, frame.depth)
        values = [*arguments, *keywords.values()]
        if any(callee is pure for pure in PURE) and not is_any_unknown(*values):
            return attempt(callee, *arguments, **keywords)
        self._elsewhere(callee, values)
        return UNKNOWN

    def _elsewhere(self, callee: Any, values: Iterable[Any]) -> None:
        """A call of the language, of Python, or of somebody who is not known."""
        self.found.integers |= {dtype for value in values if (dtype := _integer(value))}
        self.forget(*values, callee, getattr(callee, "__self__", None))
        if isinstance(callee, type):  # its methods are called by whoever has the object
            self.forget(*vars(callee).values())


_EXPRESSIONS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Constant: _Reader.constant,
    ast.Name: _Reader.name,
    ast.Attribute: _Reader.attribute,
    ast.Subscript: _Reader.subscript,
    ast.Tuple: _Reader.tuple,
    ast.BinOp: _Reader.binary_operation,
    ast.UnaryOp: _Reader.unary,
    ast.Compare: _Reader.compare,
    ast.BoolOp: _Reader.choice,
    ast.IfExp: _Reader.conditional,
    ast.NamedExpr: _Reader.named,
    ast.Lambda: _Reader._nested,
    ast.Call: _Reader.call_expression,
    **dict.fromkeys(COMPREHENSIONS, _Reader.comprehension),
}


def _is_users(value: Any) -> bool:
    return isinstance(value, FunctionType) and is_user_file(own_code(value).co_filename)


def _key(value: Any) -> object:
    return (type(value), value) if is_scalar(value) else id(value)


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return one is not UNKNOWN
    return is_scalar(one) and type(one) is type(other) and bool(one == other)


def _defaults(callee: Callee, positional: Sequence[str]) -> dict[str, Any]:
    if isinstance(callee, _Nested):
        return dict(callee.defaults)
    given = callee.__defaults__ or ()
    names = positional[len(positional) - len(given) :]
    return dict(zip(names, given, strict=False)) | (callee.__kwdefaults__ or {})


def _integer(value: Any) -> DType | None:
    """The type of integers that it is, of the embedded or the real ttnn."""
    name = getattr(value, "name", None) if not is_scalar(value) else None
    dtype = DTYPES.get(name.lower()) if isinstance(name, str) else None
    return dtype if dtype is not None and not dtype.is_float else None


def _parts(value: Any) -> Iterator[Any]:
    """What can be reached through a container, or through an object of the user's."""
    if isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords)
    elif isinstance(value, (type, ModuleType, DType, BuiltinMethodType)) or is_tensor(value):
        return
    else:
        yield from getattr(value, "__dict__", {}).values()
        for kind in type(value).__mro__:
            names = kind.__dict__.get("__slots__", ())
            for name in (names,) if isinstance(names, str) else names:
                yield attempt(getattr, value, name)


@functools.lru_cache(maxsize=1024)
def has_matmul(code: CodeType) -> bool:
    """Is there an `@` in it, or in a function in it?"""
    instructions = dis.get_instructions(code)
    if any(i.opname == "BINARY_OP" and i.argrepr in ("@", "@=") for i in instructions):
        return True
    return any(has_matmul(const) for const in code.co_consts if isinstance(const, CodeType))
