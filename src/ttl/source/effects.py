"""What a kernel, and each helper, does with handles: blocks it acquires, transfers it starts.

The rules are those of implicit_sync.py; SITE, VARIABLE, FINISH, ESCAPE, BUFFER and AT_ONCE are read
here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from ttl.semantics.function_source import Definition, FunctionTree

from .scopes import COMPREHENSIONS, own_names, own_nodes, stored_names

Loop = ast.For | ast.AsyncFor | ast.While
Body = Definition | Loop

RELEASES = frozenset({"push", "pop", "release"})
ACQUIRES = frozenset({"reserve", "wait"})
RELEASED_BY = {"push": "reserve", "pop": "wait"}


class Meaning(Enum):
    """What an expression that names something outside of a function stands for."""

    COPY = "ttl.copy"
    BUFFER = "a dataflow buffer"
    HARMLESS = "a function that does not keep its arguments"
    OTHER = "something that is no dataflow buffer"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True, eq=False)
class SourceFunction:
    """A function as the analysis sees it: its definition, and what the names in it mean."""

    tree: Definition
    resolve: Callable[[ast.expr], Meaning | SourceFunction]


class Scope:
    """A function or lambda, and the functions nested in it by name."""

    def __init__(self, node: FunctionTree, parent: Scope | None):
        self.node = node
        self.parent = parent
        self.functions: dict[str, Scope] = {}

    def variable(self, name: str) -> Variable:  # rule VARIABLE
        scope: Scope | None = self
        while scope is not None and name not in own_names(scope.node):
            scope = scope.parent
        return scope, name

    def function(self, name: str) -> Scope | None:
        owner, _ = self.variable(name)
        return owner.functions.get(name) if owner is not None else None


Variable = tuple[Scope | None, str]  # None: of a scope outside of the kernel or helper
Callee = Meaning | SourceFunction | Scope


@dataclass(slots=True, eq=False)
class Site:
    call: ast.Call
    is_transfer: bool
    variable: Variable
    scope: Scope
    body: Body | None  # None: bound where no body could finish it


@dataclass(slots=True, eq=False)
class Finish:
    node: ast.expr
    scope: Scope
    is_wait: bool


@dataclass(slots=True)
class _Passed:
    """A block given to a helper, or to a function nested in the kernel."""

    variable: Variable
    scope: Scope
    call: ast.Call
    callee: SourceFunction | Scope
    parameter: str


@dataclass(slots=True)
class Handle:
    """What is known of a variable, or of several that are one."""

    variables: list[Variable] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    finishes: list[Finish] = field(default_factory=list)
    escapes: bool = False
    is_passed: bool = False  # to anybody at all

    def finished_by(self, is_transfer: bool) -> list[Finish]:
        return [finish for finish in self.finishes if finish.is_wait is is_transfer]


class Effects:
    """Those of one kernel or helper; `known` are the ones that were read, by their definitions."""

    def __init__(self, function: SourceFunction, known: dict[Definition, Effects]):
        known[function.tree] = self  # first: helpers may recurse
        self.function = function
        self.known = known
        self.by_variable: dict[Variable, Handle] = {}
        self.at_once: list[tuple[ast.Call, Body]] = []
        self.passed: list[_Passed] = []
        self.bound_names: set[int] = set()  # ids of the Name nodes that sites bind
        self.buffer_releases: set[tuple[str, str]] = set()  # the acquire, and the buffer as written
        self.root = Scope(function.tree, None)
        self.is_complete = False
        _Walker(self, self.root, function.tree).function_body(function.tree)
        for given in self.passed:
            self._pass_on(given)
        for handle in self.handles:  # rule BUFFER
            handle.escapes |= any(self._is_released_by_buffer(site.call) for site in handle.sites)
        self.is_complete = True

    def _is_released_by_buffer(self, site: ast.Call) -> bool:
        acquire = site.func
        if not isinstance(acquire, ast.Attribute) or not self.buffer_releases:
            return False
        return (acquire.attr, ast.unparse(acquire.value)) in self.buffer_releases

    @classmethod
    def of(cls, function: SourceFunction, known: dict[Definition, Effects]) -> Effects:
        return known.get(function.tree) or cls(function, known)

    @property
    def handles(self) -> list[Handle]:
        return list({id(handle): handle for handle in self.by_variable.values()}.values())

    def handle(self, variable: Variable) -> Handle:
        if variable not in self.by_variable:
            self.by_variable[variable] = Handle([variable])
        return self.by_variable[variable]

    def join(self, one: Variable, other: Variable) -> None:
        left, right = self.handle(one), self.handle(other)
        if left is right:
            return
        left.variables += right.variables
        left.sites += right.sites
        left.finishes += right.finishes
        left.escapes |= right.escapes
        left.is_passed |= right.is_passed
        for variable in right.variables:
            self.by_variable[variable] = left

    def _pass_on(self, given: _Passed) -> None:  # rule FINISH
        handle, callee = self.handle(given.variable), given.callee
        if isinstance(callee, Scope):
            parameter = self.handle((callee, given.parameter))
        else:
            helper = Effects.of(callee, self.known)
            parameter = helper.handle((helper.root, given.parameter))
            handle.escapes |= not helper.is_complete  # what it does with it is not known yet
        handle.escapes |= parameter.escapes
        if parameter.finished_by(is_transfer=False):
            handle.finishes.append(Finish(given.call, given.scope, is_wait=False))


class _Walker:
    """Reads one function and those nested in it."""

    def __init__(self, effects: Effects, scope: Scope, body: Body | None):
        self.effects = effects
        self.scope = scope
        self.body = body
        self.shadowed: set[str] = set()  # by the targets of comprehensions

    def handle(self, name: ast.Name) -> Handle:
        return self.effects.handle(self.scope.variable(name.id))

    # Statements -----------------------------------------------------------------------------------

    def function_body(self, node: Definition) -> None:
        # Names of nested functions are known before their definition: they are called later.
        for child in own_nodes(node):
            if isinstance(child, Definition):
                self.scope.functions[child.name] = Scope(child, self.scope)
        self.statements(node.body)

    def statements(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, Definition):
            self._nested(node)
        elif isinstance(node, Loop):
            self._loop(node)
        elif isinstance(node, ast.Assign):
            self._assign(node.targets, node.value)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._assign([node.target], node.value)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            self._with(node)
        elif isinstance(node, ast.Return):
            self.escape(node.value)
        elif isinstance(node, ast.Expr) and self._is_copy(node.value) and self.body is not None:
            self.visit(node.value)
            assert isinstance(node.value, ast.Call)
            self.effects.at_once.append((node.value, self.body))  # rule AT_ONCE
        elif not isinstance(node, ast.ClassDef):
            self._children(node)

    def _nested(self, node: Definition) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            self.escape(default)
        scope = self.scope.functions[node.name]
        if scope.node is not node:  # defined twice: each has its own names
            scope = Scope(node, self.scope)
        _Walker(self.effects, scope, node).function_body(node)

    def _loop(self, node: Loop) -> None:
        if isinstance(node, ast.While):
            self._without_body().visit(node.test)  # rule SITE
        else:
            self.escape(node.iter)
        outer, self.body = self.body, node
        self.statements(node.body)
        self.body = outer
        self.statements(node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            for name in self.visit(item.context_expr):
                self._finish(name, item.context_expr, is_wait=False)
                if isinstance(item.optional_vars, ast.Name):
                    alias = self.scope.variable(item.optional_vars.id)
                    self.effects.join(self.scope.variable(name.id), alias)
        self.statements(node.body)

    def _children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self.statement(child)
            elif isinstance(child, ast.expr):
                self.visit(child)
            else:  # an except handler, a case of a match, a keyword
                self._children(child)

    # Bindings -------------------------------------------------------------------------------------

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:
        pairs = _pairs(targets[0], value) if len(targets) == 1 else None
        names = [target for target in targets if isinstance(target, ast.Name)]
        if pairs is not None:
            for part, item in pairs:
                if isinstance(part, ast.Name):
                    self._bind([part], item)
                else:
                    self.escape(item)
        elif len(names) == len(targets):
            self._bind(names, value)
        else:
            self.escape(value)
        for target in targets:
            self._target(target)

    def _target(self, node: ast.expr) -> None:
        """The expressions in it: of `held[f(x)]`, say."""
        if isinstance(node, (ast.Tuple, ast.List)):
            for part in node.elts:
                self._target(part)
        elif not isinstance(node, ast.Name):
            self._children(node)

    def _bind(self, targets: list[ast.Name], value: ast.expr) -> list[ast.Name]:
        names = self.visit(value)
        leaves = list(_leaves(value))
        calls = [leaf for leaf in leaves if isinstance(leaf, ast.Call) and self._is_site(leaf)]
        variables = [self.scope.variable(target.id) for target in targets]
        for variable in variables:
            for name in names:
                self.effects.join(self.scope.variable(name.id), variable)
            if calls:  # a = b = x.wait()
                self.effects.join(variables[0], variable)
        handle = self.effects.handle(variables[0])
        if calls:
            self.effects.bound_names |= {id(target) for target in targets}
            # One name for a handle that is new and for one that is old: which, only the run knows.
            handle.escapes |= bool(names) or (len(leaves) > 1 and len(calls) < len(leaves))
        handle.sites += [
            Site(call, self._is_copy(call), variables[0], self.scope, self.body) for call in calls
        ]
        return targets

    def _is_site(self, node: ast.Call) -> bool:  # rule SITE
        if self._is_copy(node):
            return True
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in ACQUIRES:
            return False
        receiver = node.func.value
        if isinstance(receiver, ast.Name) and self._is_local(receiver):
            return not self.handle(receiver).sites  # else `receiver` is a transfer
        if self._is_copy(receiver):
            return False  # ttl.copy(...).wait()
        return self._resolve(receiver) in (Meaning.BUFFER, Meaning.UNKNOWN)

    # Expressions ----------------------------------------------------------------------------------

    def visit(self, node: ast.expr) -> list[ast.Name]:
        """The variables that `node` may be, the object itself and not a value made of it."""
        found: list[ast.Name] = []
        if isinstance(node, ast.Name):
            self._resolve(node)  # a helper that is only named may be called by whoever gets it
            found = [node]
        elif isinstance(node, ast.NamedExpr):
            found = self._bind([node.target], node.value)
        elif isinstance(node, (ast.IfExp, ast.BoolOp)):
            if isinstance(node, ast.IfExp):
                self.visit(node.test)
            found = [name for part in _alternatives(node) for name in self.visit(part)]
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Attribute):
            self._attribute(node)
        elif isinstance(node, ast.Lambda):
            _Walker(self.effects, Scope(node, self.scope), None).escape(node.body)
        elif isinstance(node, COMPREHENSIONS):
            self._comprehension(node)
        elif isinstance(node, KEEPING):
            for child in ast.iter_child_nodes(node):
                self.escape(child)
        else:
            self._children(node)
        return [name for name in found if name.id not in self.shadowed]

    def escape(self, node: ast.AST | None) -> None:  # rule ESCAPE
        """`node` is kept by somebody: so are the handles it may be."""
        if isinstance(node, ast.expr):
            for name in self.visit(node):
                self.handle(name).escapes = True

    def _attribute(self, node: ast.Attribute) -> None:
        names = self.visit(node.value)
        self._resolve(node)
        if node.attr in RELEASED_BY:
            self.effects.buffer_releases.add((RELEASED_BY[node.attr], ast.unparse(node.value)))
        if node.attr in RELEASES or node.attr == "wait":
            for name in names:
                if len(names) > 1:  # (a if c else b).pop()
                    self.handle(name).escapes = True
                else:
                    self._finish(name, node, is_wait=node.attr == "wait")

    def _finish(self, name: ast.Name, node: ast.expr, is_wait: bool) -> None:  # rule FINISH
        self.handle(name).finishes.append(Finish(node, self.scope, is_wait))

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> None:
        inner = self._without_body()
        inner.shadowed |= stored_names(generator.target for generator in node.generators)
        for generator in node.generators:
            inner.escape(generator.iter)
            for condition in generator.ifs:
                inner.visit(condition)
        for result in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
            inner.escape(result)

    def _without_body(self) -> _Walker:
        inner = _Walker(self.effects, self.scope, None)
        inner.shadowed |= self.shadowed
        return inner

    # Calls ----------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> None:
        self.visit(node.func)
        callee = self._callee(node.func)
        arguments: list[tuple[int | str | None, ast.expr]] = [*enumerate(node.args)]
        arguments += [(keyword.arg, keyword.value) for keyword in node.keywords]
        for key, argument in arguments:
            for name in self.visit(argument):
                self.handle(name).is_passed = True
                if callee not in (Meaning.COPY, Meaning.HARMLESS):
                    self._pass(name, node, callee, key)

    def _pass(self, name: ast.Name, call: ast.Call, callee: Callee, key: int | str | None) -> None:
        has_starred = any(isinstance(argument, ast.Starred) for argument in call.args)
        parameter = None
        if not isinstance(callee, Meaning) and not has_starred:
            parameter = _parameter(callee, key)
        if parameter is None or isinstance(callee, Meaning):
            self.handle(name).escapes = True
        else:
            variable = self.scope.variable(name.id)
            self.effects.passed.append(_Passed(variable, self.scope, call, callee, parameter))

    def _callee(self, node: ast.expr) -> Callee:
        if isinstance(node, ast.Attribute) and node.attr == "store":
            return Meaning.HARMLESS
        if isinstance(node, ast.Name) and (nested := self.scope.function(node.id)) is not None:
            return nested
        return self._resolve(node)

    # Names ----------------------------------------------------------------------------------------

    def _is_local(self, node: ast.Name) -> bool:
        return self.scope.variable(node.id)[0] is not None or node.id in self.shadowed

    def _is_copy(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self._resolve(node.func) is Meaning.COPY

    def _resolve(self, node: ast.expr) -> Meaning | SourceFunction:
        base = node
        while isinstance(base, ast.Attribute):
            base = base.value
        if not isinstance(base, ast.Name) or self._is_local(base):
            return Meaning.UNKNOWN
        meaning = self.effects.function.resolve(node)
        if isinstance(meaning, SourceFunction):
            Effects.of(meaning, self.effects.known)
        return meaning


KEEPING = (
    ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Starred, ast.Yield, ast.YieldFrom, ast.Await,
)  # fmt: skip


def _parameter(callee: SourceFunction | Scope, key: int | str | None) -> str | None:
    """Which one gets the argument at a position, or with a name."""
    arguments = (callee.tree if isinstance(callee, SourceFunction) else callee.node).args
    if isinstance(key, int):
        positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        return positional[key] if key < len(positional) else None
    named = [argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)]
    return key if key in named else None


def _alternatives(node: ast.IfExp | ast.BoolOp) -> list[ast.expr]:
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions one of which `node` is, as an object."""
    if isinstance(node, (ast.IfExp, ast.BoolOp)):
        for part in _alternatives(node):
            yield from _leaves(part)
    else:
        yield node.target if isinstance(node, ast.NamedExpr) else node


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]] | None:
    """Which target gets which value; None if that cannot be read off."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        return [(target, value)] if not isinstance(target, ast.Starred) else None
    if not isinstance(value, (ast.Tuple, ast.List)) or len(target.elts) != len(value.elts):
        return None
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for part, item in zip(target.elts, value.elts, strict=True):
        inner = None if isinstance(item, ast.Starred) else _pairs(part, item)
        if inner is None:
            return None
        pairs += inner
    return pairs
