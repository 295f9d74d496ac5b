"""The register uses of a kernel: buffers, matmuls, reductions, integer types, by its live code.

rule KNOWN     constants, values of outer names, variables assigned once to a known value, and
               Python's results for these without a call are known
rule LIVE      a branch with a known test has one live side; no code after `return`, `raise`,
               `break` or `continue` is live, nor the body of a loop over nothing
rule FOLLOWED  a call of a known function is read with the known arguments
rule USED      a known value that goes elsewhere (to the language, into a list, to an unknown
               callee) is used: its buffers count, its functions are called
"""

from __future__ import annotations

import operator
from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from inspect import Parameter as Kinds
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import TypeGuard

from ttl.diagnostics.frames import is_user_file
from ttl.language.arguments import is_tensor
from ttl.language.buffer import DataflowBuffer
from ttl.language.functions import SUMS
from ttl.semantics.dtypes import DType, as_dtype
from ttl.semantics.function_source import global_names
from ttl.semantics.kernel_config import Sum
from ttl.semantics.numpy_numbers import python_number

from .. import tree
from ..bindings import Around, Binding, Variable
from ..functions import MISSING, environment, fields_of, named_value, own_code
from ..known import PURE, SCALARS, UNKNOWN, attribute, calculated, truth
from ..trees import tree_of
from ..walking import children, walk

SUMS_BY_NAME = {function.__name__: kind for function, kind in SUMS.items()}
DEEPEST_CALL = 32
MOST_CALLS = 1024


@dataclass(slots=True)
class Uses:
    """The uses of one or several kernels."""

    held: set[DType] = field(default_factory=set)  # by the used buffers
    integers: set[DType] = field(default_factory=set)  # possible results of a cast
    sums: set[Sum] = field(default_factory=set)

    def add(self, other: Uses) -> None:
        self.held |= other.held
        self.integers |= other.integers
        self.sums |= other.sums


@dataclass(slots=True, eq=False)
class _Frame:
    """The known values of variables in a call being read."""

    function: FunctionType  # called, or around the called one
    once: frozenset[Variable]  # with one assignment in the text
    depth: int
    values: ChainMap[Binding, object] = field(
        default_factory=ChainMap
    )  # followed by the outer ones
    returned: list[object] = field(default_factory=list)

    def lookup(self, binding: Binding) -> object:
        if isinstance(binding, Around):
            value = named_value(binding.name, self.function)
            return UNKNOWN if value is MISSING else python_number(value)
        return self.values.get(binding, UNKNOWN)


@dataclass(frozen=True, slots=True, eq=False)
class _Nested:
    """A function defined in a function being read."""

    tree: tree.Function
    frame: _Frame
    defaults: dict[str, object]


Callee = FunctionType | _Nested


def live_uses(function: FunctionType, found: Uses) -> None:
    """Add the uses of a kernel and of the functions it calls."""
    reader = _Reader(found)
    try:
        reader.call(function, [], {}, 0)
    except RecursionError:  # Python itself can run an expression this deep
        reader.unread(function, ())


class _Reader:
    def __init__(self, found: Uses):
        self.found = found
        self.results: dict[tuple[object, ...], object] = {}  # of the calls read so far
        self.used: dict[int, object] = {}
        self.kept: list[object] = []  # keeps ids from being used again

    # Calls ----------------------------------------------------------------------------------------

    def call(
        self, callee: Callee, arguments: Sequence[object], keywords: dict[str, object], depth: int
    ) -> object:  # rule FOLLOWED
        """Return the result of a call, if it is known."""
        found = callee.tree if isinstance(callee, _Nested) else tree_of(callee)
        if found is None or len(self.results) > MOST_CALLS or depth > DEEPEST_CALL:
            self.unread(callee, (*arguments, *keywords.values()))
            return UNKNOWN
        frame = _frame_of(callee, found, depth + 1)
        self._give(frame, callee, found, arguments, keywords)
        given = (
            (name, type(each), each if isinstance(each, SCALARS) else id(each))
            for name, each in frame.values.maps[0].items()
        )
        key = (callee, *given)
        if key not in self.results:
            self.results[key] = UNKNOWN  # for a function that calls itself
            self.kept.append([*frame.values.values()])
            self.results[key] = self._result(found, frame)
        return self.results[key]

    def _result(self, function: tree.Function, frame: _Frame) -> object:
        is_end_reached = self.body(function.body, frame)
        if len(frame.returned) == 1 and not is_end_reached:
            return frame.returned[0]
        self.use(*frame.returned)
        return UNKNOWN

    def _give(
        self,
        frame: _Frame,
        callee: Callee,
        function: tree.Function,
        arguments: Sequence[object],
        keywords: dict[str, object],
    ) -> None:
        kinds = (Kinds.POSITIONAL_ONLY, Kinds.POSITIONAL_OR_KEYWORD)
        positional = [each.variable.name for each in function.parameters if each.kind in kinds]
        given = _defaults(callee, positional) | dict(zip(positional, arguments, strict=False))
        given |= keywords
        self.use(*arguments[len(positional) :])
        for each in function.parameters:
            is_rest = each.kind in (Kinds.VAR_POSITIONAL, Kinds.VAR_KEYWORD)
            if not is_rest and each.variable in frame.once and each.variable.name in given:
                frame.values[each.variable] = given.pop(each.variable.name)
        self.use(*given.values())

    def unread(self, callee: Callee, arguments: Iterable[object]) -> None:
        """Assume that a function uses everything it names, because it is not read to its end."""
        self.use(*arguments)
        self.found.sums |= {*Sum}
        if isinstance(callee, FunctionType):
            self.use(*(value for _, value in environment(callee)))
        else:
            names = (node for node in walk(callee.tree) if isinstance(node, tree.Name))
            self.use(*(callee.frame.lookup(node.binding) for node in names))

    def use(self, *values: object) -> None:  # rule USED
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
            elif isinstance(value, FunctionType):  # of a library
                named = SUMS_BY_NAME.keys() & global_names(own_code(value))
                sums = {SUMS_BY_NAME[name] for name in named}
                self.found.sums |= {SUMS[value]} if value in SUMS else sums
            else:
                self.use(*_parts(value))

    # Statements -----------------------------------------------------------------------------------

    def body(self, statements: Iterable[tree.Statement], frame: _Frame) -> bool:  # rule LIVE
        """Pass statements; return whether the end is reached."""
        return all(self.statement(statement, frame) for statement in statements)

    def statement(self, node: tree.Statement, frame: _Frame) -> bool:
        if isinstance(node, tree.Branch):
            test = truth(self.visit(node.test, frame))
            sides = ((True, node.then), (False, node.otherwise))
            live = [body for outcome, body in sides if test in (None, outcome)]
            return any([self.body(body, frame) for body in live])  # a list, to read both
        if isinstance(node, (tree.Loop, tree.While)):
            self._loop(node, frame)
        elif isinstance(node, tree.Assign):
            value = self.visit(node.value, frame)
            for target in node.targets:
                self._bind(target, value, frame)
        elif isinstance(node, tree.Return):
            frame.returned.append(self.visit(node.value, frame))
        else:
            self.visit(node, frame)
        return not isinstance(node, (tree.Return, tree.Raise, tree.Jump))

    def _loop(self, node: tree.Loop | tree.While, frame: _Frame) -> None:
        value = self.visit(node.test if isinstance(node, tree.While) else node.over, frame)
        is_known = isinstance(node, tree.While) or isinstance(value, (list, tuple, dict, range))
        if not is_known or truth(value) is not False:
            self.use(value)
            if isinstance(node, tree.Loop):
                self._bind(node.target, UNKNOWN, frame)
            self.body(node.body, frame)

    def _bind(self, target: tree.Expression, value: object, frame: _Frame) -> None:
        if isinstance(target, tree.Target) and target.binding in frame.once:
            frame.values[target.binding] = value
        elif (
            isinstance(target, tree.Sequence)
            and isinstance(value, tuple)
            and len(value) == len(target.items)
        ):
            for part, item in zip(target.items, value, strict=True):
                self._bind(part, item, frame)
        else:
            self.use(value, *(self.visit(part, frame) for part in children(target)))

    # Expressions ----------------------------------------------------------------------------------

    def visit(self, node: tree.Node | None, frame: _Frame) -> object:
        """Return the known value of a node; use its parts if it is unknown."""
        if isinstance(node, (tree.Binary, tree.Update)) and node.sign == "@":
            self.found.sums.add(Sum.MATMUL)
        elif isinstance(node, tree.Foreign):  # no kernel can have it, so its Python is not read
            self.found.sums |= {*Sum}
        if node is None:
            return None
        if (special := VISITS.get(type(node))) is not None:
            return special(self, node, frame)
        values: list[object] = []
        for name in node.parts:
            part = getattr(node, name)
            parts = part if isinstance(part, tuple) else (part,)
            if parts and isinstance(parts[0], tree.Statement):
                self.body(parts, frame)
            else:
                values += [self.visit(each, frame) for each in parts]
        return self.calculated(node, values)

    def calculated(self, node: tree.Node, values: Sequence[object]) -> object:
        found = calculated(node, values)
        if found is UNKNOWN:
            self.use(*values)
        return found

    def binary(self, node: tree.Binary, frame: _Frame) -> object:
        """Read a sum of up to a thousand terms without recursion."""
        chain: list[tree.Expression] = [node]
        while isinstance(last := chain[-1], tree.Binary):
            chain.append(last.left)
        value = self.visit(chain.pop(), frame)
        for each in reversed(chain):
            assert isinstance(each, tree.Binary)
            self.found.sums |= {Sum.MATMUL} if each.sign == "@" else set()
            value = self.calculated(each, [value, self.visit(each.right, frame)])
        return value

    def attribute(self, node: tree.Attribute, frame: _Frame) -> object:
        owner = self.visit(node.owner, frame)
        found = attribute(owner, node.name)
        if found is UNKNOWN:
            self.use(owner)
        return found

    def bind(self, node: tree.Bind, frame: _Frame) -> object:
        value = self.visit(node.value, frame)
        self._bind(node.target, value, frame)
        return value

    def choice(self, node: tree.Choice, frame: _Frame) -> object:
        test = truth(value := self.visit(node.test, frame))
        if test is not None:
            return self.visit(node.then if test else node.otherwise, frame)
        self.use(value, self.visit(node.then, frame), self.visit(node.otherwise, frame))
        return UNKNOWN

    def logic(self, node: tree.Logic, frame: _Frame) -> object:
        """Return the operand that decides, while all are known."""
        is_known, value = True, UNKNOWN
        for part in node.operands:
            value = self.visit(part, frame)
            test = truth(value)
            if test is (node.sign == "or"):  # Python skips the others
                break
            is_known = is_known and test is not None
            if not is_known:
                self.use(value)
        if is_known:
            return value
        self.use(value)
        return UNKNOWN

    def function(self, node: tree.Function, frame: _Frame) -> object:
        defaults = {
            each.variable.name: self.visit(each.default, frame)
            for each in node.parameters
            if each.default is not None
        }
        nested = _Nested(node, frame, defaults)
        if not node.decorators:
            return nested
        self.use(*(self.visit(each, frame) for each in node.decorators), nested)
        return UNKNOWN

    def called(self, node: tree.Call, frame: _Frame) -> object:
        callee = self.visit(node.function, frame)
        arguments = [self.visit(part, frame) for part in node.arguments]
        keywords = {part.name or "": self.visit(part.value, frame) for part in node.keywords}
        is_starred = "" in keywords or any(isinstance(a, tree.Starred) for a in node.arguments)
        if any(callee is pure for pure in PURE) and not is_starred and not keywords:
            return self.calculated(node, [callee, *arguments])
        method = callee if isinstance(callee, MethodType) else getattr(callee, "__call__", None)  # noqa: B004
        if isinstance(method, MethodType) and _is_followed(method.__func__):
            arguments, callee = [method.__self__, *arguments], method.__func__
        if _is_followed(callee) and not is_starred:
            return self.call(callee, arguments, keywords, frame.depth)
        values = [*arguments, *keywords.values()]
        self.found.integers |= {dtype for value in values if (dtype := _integer(value))}
        self.use(*values, callee)
        if isinstance(callee, type):  # holders of the object call its methods
            self.use(*vars(callee).values())
        return UNKNOWN


VISITS: dict[type[tree.Node], Callable[..., object]] = {
    tree.Constant: lambda reader, node, frame: node.value,
    tree.Name: lambda reader, node, frame: frame.lookup(node.binding),
    tree.Target: lambda reader, node, frame: UNKNOWN,
    tree.Attribute: _Reader.attribute,
    tree.Binary: _Reader.binary,
    tree.Bind: _Reader.bind,
    tree.Choice: _Reader.choice,
    tree.Logic: _Reader.logic,
    tree.Function: _Reader.function,
    tree.Call: _Reader.called,
    tree.LanguageCall: _Reader.called,
}


# Functions ----------------------------------------------------------------------------------------


def _frame_of(callee: Callee, function: tree.Function, depth: int) -> _Frame:
    if isinstance(callee, _Nested):
        around = callee.frame
        return _Frame(around.function, around.once, depth, around.values.new_child())
    return _Frame(callee, _assigned_once(function), depth)


@lru_cache(maxsize=1024)
def _assigned_once(function: tree.Function) -> frozenset[Variable]:
    """Return the variables that apparently have one value while the function runs."""
    counts: Counter[Binding] = Counter()
    for node in walk(function):
        if isinstance(node, tree.Target):
            counts[node.binding] += 1
        elif isinstance(node, tree.Parameter):
            counts[node.variable] += 1
    return frozenset(
        each
        for each, count in counts.items()
        if count == 1 and isinstance(each, Variable) and each not in each.scope.shared
    )


def _defaults(callee: Callee, positional: Sequence[str]) -> dict[str, object]:
    if isinstance(callee, _Nested):
        return dict(callee.defaults)
    given = callee.__defaults__ or ()
    return dict(zip(positional[::-1], given[::-1], strict=False)) | (callee.__kwdefaults__ or {})


def _is_followed(value: object) -> TypeGuard[Callee]:
    if isinstance(value, FunctionType):
        return is_user_file(own_code(value).co_filename)
    return isinstance(value, _Nested)


# Values -------------------------------------------------------------------------------------------


def _integer(value: object) -> DType | None:
    """Return the integer type that the value names, if any."""
    dtype = as_dtype(value)
    return dtype if dtype is not None and not dtype.is_float else None


def _parts(value: object) -> Iterator[object]:
    """Yield the parts of a container, a method, or a user's object."""
    if isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, partial):
        yield from (value.func, value.args, value.keywords)
    elif isinstance(value, MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, BuiltinMethodType):
        yield value.__self__
    elif not isinstance(value, (type, ModuleType, DType)) and not is_tensor(value):
        yield from fields_of(value)
