"""Where releases and waits are supplied that a program leaves out: computed here, from the syntax.

The simulator recompiles kernels with the calls inserted, the compiler marks its operations; both
ask `sync_points`. The language's rule (facts "Implicit release and wait"), taken apart:

rule SITE      an acquire (`x.reserve()`, `x.wait()`) or a `ttl.copy()` that is bound to a name, by
               assignment (also of tuples, also `a if c else b`) or `:=`. What a `with` acquires, a
               lambda, a comprehension or the test of a `while` binds is no site: none of these has
               a body at whose end it could be finished once for each time it is bound.
rule VARIABLE  names are variables of their scope: a nested function that uses (or declares
               nonlocal) a name of its kernel means the same variable; names that are assigned to
               each other (`b = a`) are one variable from then on.
rule FINISH    push, pop, release or `with name:` finish a block, wait finishes a transfer. A call
               of a helper finishes a block if the helper finishes the parameter it is bound to.
rule ESCAPE    a handle that is returned, yielded, put into a container or an attribute, or given
               to somebody unknown is finished elsewhere, and so is a transfer that is given to
               anybody. It is not repaired; if it is not finished the run says so.
rule BODY      a site whose variable neither escapes nor is finished anywhere is finished at the
               end of the innermost loop body or function body that contains it, if it was reached:
               first the transfers, then the blocks, each oldest first. Within one run of a body
               every site is reached at most once, so the order of the text is the order of time.
rule AT_ONCE   a statement that is only a `ttl.copy(...)` is waited for at once.
rule PATHS     a site whose variable is finished, but not on every path from the site to the end of
               the function or to the next binding of the variable, is an error. Two `if` with the
               same test, of names that do not change in between, take the same branch. Paths are
               followed only where variable, site and finish belong to one function and there is no
               second name; elsewhere the run decides.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from .sync_paths import Event, EventKind, find_leaks

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Body = ast.FunctionDef | ast.AsyncFunctionDef | ast.For | ast.AsyncFor | ast.While
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

RELEASES = frozenset({"push", "pop", "release"})
ACQUIRES = frozenset({"reserve", "wait"})


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

    tree: FunctionNode
    resolve: Callable[[ast.expr], Meaning | SourceFunction]


class RepairKind(Enum):
    RELEASE = "release"
    WAIT = "wait"
    WAIT_AT_ONCE = "wait at once"


@dataclass(frozen=True, slots=True)
class Repair:
    """One supplied call: for the acquire or copy `site`, at the end of `body`."""

    kind: RepairKind
    name: str
    site: ast.Call
    body: Body


@dataclass(frozen=True, slots=True)
class Leak:
    """A handle that is finished on some paths only: where it is bound, where it is finished."""

    name: str
    is_transfer: bool
    site: ast.expr
    finish: ast.expr
    rebound: ast.expr | None = None  # where the name gets another handle later


@dataclass(frozen=True, slots=True)
class FunctionPoints:
    """The repairs of one function and of those nested in it, oldest first, and its errors."""

    repairs: tuple[Repair, ...]
    leaks: tuple[Leak, ...]


def sync_points(kernel: SourceFunction) -> dict[FunctionNode, FunctionPoints]:
    """The points of a kernel and of every helper it reaches, by their definitions."""
    analyses: dict[FunctionNode, _Analysis] = {}
    _analyse(kernel, analyses)
    return {tree: analysis.points() for tree, analysis in analyses.items()}


def _analyse(function: SourceFunction, known: dict[FunctionNode, _Analysis]) -> _Analysis:
    if function.tree not in known:
        analysis = known[function.tree] = _Analysis(function, known)  # first: helpers may recurse
        analysis.collect()
    return known[function.tree]


Variable = tuple["_Scope | None", str]  # None: of a scope outside of the kernel or helper


class _Scope:
    """A function or lambda: which of the names in it are its own."""

    def __init__(self, node: FunctionNode | ast.Lambda, parent: _Scope | None):
        self.node = node
        self.parent = parent
        self.parameters = [*_parameters(node.args)]
        self.own = set(self.parameters)
        self.elsewhere: set[str] = set()
        self.functions: dict[str, _Scope] = {}
        for child in _own_nodes(node):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                self.own.add(child.id)
            elif isinstance(child, (ast.Nonlocal, ast.Global)):
                self.elsewhere.update(child.names)
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.own.add(child.name)

    def variable(self, name: str) -> Variable:  # rule VARIABLE
        scope: _Scope | None = self
        while scope is not None and (name not in scope.own or name in scope.elsewhere):
            scope = scope.parent
        return scope, name

    def function(self, name: str) -> _Scope | None:
        owner, _ = self.variable(name)
        return owner.functions.get(name) if owner is not None else None


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        yield argument.arg
    for rest in (arguments.vararg, arguments.kwarg):
        if rest is not None:
            yield rest.arg


def _own_nodes(function: FunctionNode | ast.Lambda) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions in it; comprehensions keep names."""
    waiting: list[ast.AST] = (
        list(function.body) if isinstance(function.body, list) else [function.body]
    )
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, COMPREHENSIONS):
            waiting += [n for n in ast.walk(node) if isinstance(n, ast.NamedExpr)]
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)


@dataclass(slots=True, eq=False)
class _Site:
    call: ast.Call
    is_transfer: bool
    variable: Variable
    scope: _Scope
    body: Body | None  # None: bound where no body could finish it


@dataclass(slots=True, eq=False)
class _Finish:
    node: ast.expr
    scope: _Scope
    is_wait: bool


@dataclass(slots=True)
class _Passed:
    """A block given to a helper, or to a function nested in the kernel."""

    variable: Variable
    scope: _Scope
    call: ast.Call
    helper: SourceFunction | None
    parameter: Variable | str


@dataclass(slots=True)
class _Handle:
    """What is known of a variable, or of several that are one."""

    variables: list[Variable] = field(default_factory=list)
    sites: list[_Site] = field(default_factory=list)
    finishes: list[_Finish] = field(default_factory=list)
    escapes: bool = False
    is_passed: bool = False  # to anybody at all

    def finished_by(self, is_transfer: bool) -> list[_Finish]:
        return [finish for finish in self.finishes if finish.is_wait is is_transfer]


class _Analysis:
    """One kernel or helper."""

    def __init__(self, function: SourceFunction, known: dict[FunctionNode, _Analysis]):
        self.function = function
        self.known = known
        self.handles: dict[Variable, _Handle] = {}
        self.at_once: list[tuple[ast.Call, Body]] = []
        self.passed: list[_Passed] = []
        self.bound_names: set[int] = set()  # ids of the Name nodes that sites bind
        self.root = _Scope(function.tree, None)
        self.is_collected = False

    # Collecting -----------------------------------------------------------------------------------

    def collect(self) -> None:
        _Walker(self, self.root, self.function.tree).function_body(self.function.tree)
        for given in self.passed:
            self._pass_on(given)
        self.is_collected = True

    def handle(self, variable: Variable) -> _Handle:
        if variable not in self.handles:
            self.handles[variable] = _Handle([variable])
        return self.handles[variable]

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
            self.handles[variable] = left

    def _pass_on(self, given: _Passed) -> None:  # rule FINISH
        handle = self.handle(given.variable)
        if given.helper is None:
            assert not isinstance(given.parameter, str)
            parameter = self.handle(given.parameter)
        else:
            helper = _analyse(given.helper, self.known)
            assert isinstance(given.parameter, str)
            parameter = helper.handle((helper.root, given.parameter))
            if not helper.is_collected:  # it calls itself: what it does with it is not known yet
                handle.escapes = True
        handle.escapes |= parameter.escapes
        if parameter.finished_by(is_transfer=False):
            handle.finishes.append(_Finish(given.call, given.scope, is_wait=False))

    # Deciding -------------------------------------------------------------------------------------

    def points(self) -> FunctionPoints:
        handles = list({id(handle): handle for handle in self.handles.values()}.values())
        repairs = [repair for handle in handles for repair in _repairs(handle)]
        repairs += [
            Repair(RepairKind.WAIT_AT_ONCE, "", call, body) for call, body in self.at_once
        ]
        repairs.sort(key=lambda repair: _position(repair.site))
        leaks = [leak for handle in handles for leak in self._leaks(handle)]
        leaks.sort(key=lambda leak: _position(leak.site))
        return FunctionPoints(tuple(repairs), tuple(leaks))

    def _leaks(self, handle: _Handle) -> Iterator[Leak]:  # rule PATHS
        kinds = {site.is_transfer for site in handle.sites}
        finishes = [finish for finish in handle.finishes if finish.is_wait in kinds]
        scopes = {site.scope for site in handle.sites} | {finish.scope for finish in finishes}
        if not finishes or len(handle.variables) > 1 or len(scopes) != 1 or handle.escapes:
            return
        (scope,) = scopes
        if handle.variables[0][0] is not scope or isinstance(scope.node, ast.Lambda):
            return
        if any(s.body is None or (s.is_transfer and handle.is_passed) for s in handle.sites):
            return
        events = self._events(handle, finishes)
        name = handle.variables[0][1]
        sites = {id(site.call): site for site in handle.sites}
        for call in find_leaks(scope.node.body, events):
            site = sites[id(call)]
            later = [s.call for s in handle.sites if _position(s.call) > _position(site.call)]
            rebound = min(later, key=_position, default=None)
            yield Leak(name, site.is_transfer, site.call, finishes[0].node, rebound)

    def _events(self, handle: _Handle, finishes: Iterable[_Finish]) -> Callable[[ast.AST], Event]:
        acquired = {id(site.call) for site in handle.sites}
        finished = {id(finish.node) for finish in finishes}
        name = handle.variables[0][1]

        def event(node: ast.AST) -> Event:
            if id(node) in acquired:
                return Event(EventKind.BIND, node)
            if id(node) in finished:
                return Event(EventKind.FINISH, node)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                is_other = node.id == name and id(node) not in self.bound_names
                return Event(EventKind.OVERWRITE if is_other else EventKind.ASSIGN, node)
            return Event(EventKind.NOTHING, node)

        return event


def _repairs(handle: _Handle) -> Iterator[Repair]:
    for site in handle.sites:
        escapes = handle.escapes or (site.is_transfer and handle.is_passed)  # rule ESCAPE
        if site.body is None or escapes or handle.finished_by(site.is_transfer):
            continue
        kind = RepairKind.WAIT if site.is_transfer else RepairKind.RELEASE
        yield Repair(kind, site.variable[1], site.call, site.body)  # rule BODY


def _position(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


class _Walker:
    """Reads one function and those nested in it into an analysis."""

    def __init__(self, analysis: _Analysis, scope: _Scope, body: Body | None):
        self.analysis = analysis
        self.scope = scope
        self.body = body
        self.shadowed: frozenset[str] = frozenset()  # by the targets of comprehensions

    # Statements -----------------------------------------------------------------------------------

    def function_body(self, node: FunctionNode) -> None:
        # Names of nested functions are known before their definition: they are called later.
        for child in _own_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.scope.functions[child.name] = _Scope(child, self.scope)
        self.statements(node.body)

    def statements(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._nested(node)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self.escape(node.iter)
            self._loop(node)
        elif isinstance(node, ast.While):
            self._without_body().expression(node.test)  # rule SITE
            self._loop(node)
        elif isinstance(node, ast.Assign):
            self._assign(node.targets, node.value)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._assign([node.target], node.value)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            self._with(node)
        elif isinstance(node, ast.Return):
            if node.value is not None:
                self.escape(node.value)
        elif isinstance(node, ast.Expr) and self._is_copy(node.value) and self.body is not None:
            self.expression(node.value)
            assert isinstance(node.value, ast.Call)
            self.analysis.at_once.append((node.value, self.body))  # rule AT_ONCE
        elif not isinstance(node, ast.ClassDef):
            self._children(node)

    def _nested(self, node: FunctionNode) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.escape(default)
        scope = self.scope.functions[node.name]
        if scope.node is not node:  # defined twice: each has its own names
            scope = _Scope(node, self.scope)
        _Walker(self.analysis, scope, node).function_body(node)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        outer, self.body = self.body, node
        self.statements(node.body)
        self.body = outer
        self.statements(node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.expression(item.context_expr)
            for name in self._names(item.context_expr):
                self._finish(name, item.context_expr, is_wait=False)
                if isinstance(item.optional_vars, ast.Name):
                    alias = self.scope.variable(item.optional_vars.id)
                    self.analysis.join(self.scope.variable(name.id), alias)
        self.statements(node.body)

    def _children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self.statement(child)
            elif isinstance(child, ast.expr):
                self.expression(child)
            else:  # an except handler, a case of a match, a keyword
                self._children(child)

    # Bindings -------------------------------------------------------------------------------------

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:
        pairs = _pairs(targets[0], value) if len(targets) == 1 else None
        if pairs is not None:
            for part, item in pairs:
                self._bind(part, item)
        elif all(isinstance(target, ast.Name) for target in targets):
            for position, target in enumerate(targets):
                self._bind(target, value, is_first=position == 0)
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

    def _bind(self, target: ast.expr, value: ast.expr, is_first: bool = True) -> None:
        if is_first:
            self.expression(value)
        if not isinstance(target, ast.Name):
            self.escape(value, is_visited=True)
            return
        variable = self.scope.variable(target.id)
        leaves = list(_leaves(value))
        calls = [leaf for leaf in leaves if isinstance(leaf, ast.Call) and self._is_site(leaf)]
        names = list(self._names(value))
        for name in names:
            self.analysis.join(self.scope.variable(name.id), variable)
        handle = self.analysis.handle(variable)
        if calls:
            self.analysis.bound_names.add(id(target))
            # One name for a handle that is new and for one that is old: which, only the run knows.
            handle.escapes |= bool(names) or (len(leaves) > 1 and len(calls) < len(leaves))
        for call in calls:
            if is_first:
                site = _Site(call, self._is_copy(call), variable, self.scope, self.body)
                handle.sites.append(site)
            else:  # a = b = x.wait()
                owner = next(h for h in self.analysis.handles.values() if _binds(h, call))
                self.analysis.join(owner.variables[0], variable)

    def _is_site(self, node: ast.Call) -> bool:  # rule SITE
        if self._is_copy(node):
            return True
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in ACQUIRES:
            return False
        receiver = node.func.value
        if isinstance(receiver, ast.Name) and self._is_local(receiver):
            handle = self.analysis.handle(self.scope.variable(receiver.id))
            return not handle.sites  # else `receiver` is a transfer
        if self._is_copy(receiver):
            return False  # ttl.copy(...).wait()
        meaning = self._resolve(receiver)
        return meaning in (Meaning.BUFFER, Meaning.UNKNOWN)

    # Expressions ----------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> None:
        if isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.NamedExpr):
            self._bind(node.target, node.value)
        elif isinstance(node, ast.Name):
            self._resolve(node)  # a helper that is only named may be called by whoever gets it
        elif isinstance(node, ast.Attribute):
            self._attribute(node)
        elif isinstance(node, ast.Lambda):
            inner = _Walker(self.analysis, _Scope(node, self.scope), None)
            inner.escape(node.body)
        elif isinstance(node, COMPREHENSIONS):
            self._comprehension(node)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Starred)):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.escape(child)
        elif isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            if node.value is not None:
                self.escape(node.value)
        else:
            self._children(node)

    def escape(self, node: ast.expr, is_visited: bool = False) -> None:  # rule ESCAPE
        """`node` is kept by somebody: so are the handles it may be."""
        if not is_visited:
            self.expression(node)
        for name in self._names(node):
            self.analysis.handle(self.scope.variable(name.id)).escapes = True

    def _attribute(self, node: ast.Attribute) -> None:
        self.expression(node.value)
        self._resolve(node)
        if node.attr not in RELEASES and node.attr != "wait":
            return
        names = list(self._names(node.value))
        for name in names:
            if len(names) > 1:  # (a if c else b).pop()
                self.escape(name)
            else:
                self._finish(name, node, is_wait=node.attr == "wait")

    def _finish(self, name: ast.Name, node: ast.expr, is_wait: bool) -> None:  # rule FINISH
        handle = self.analysis.handle(self.scope.variable(name.id))
        handle.finishes.append(_Finish(node, self.scope, is_wait))

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> None:
        inner = self._without_body()
        targets = [generator.target for generator in node.generators]
        inner.shadowed |= {
            n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)
        }
        results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for generator in node.generators:
            inner.escape(generator.iter)
            for condition in generator.ifs:
                inner.expression(condition)
        for result in results:
            inner.escape(result)

    def _without_body(self) -> _Walker:
        inner = _Walker(self.analysis, self.scope, None)
        inner.shadowed = self.shadowed
        return inner

    # Calls ----------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> None:
        self.expression(node.func)
        callee = self._callee(node.func)
        for index, argument in enumerate(node.args):
            self._argument(node, callee, argument, index)
        for keyword in node.keywords:
            self._argument(node, callee, keyword.value, keyword.arg)

    def _argument(
        self,
        call: ast.Call,
        callee: Meaning | SourceFunction | _Scope,
        argument: ast.expr,
        key: int | str | None,
    ) -> None:
        self.expression(argument)
        for name in self._names(argument):
            variable = self.scope.variable(name.id)
            self.analysis.handle(variable).is_passed = True
            if callee in (Meaning.COPY, Meaning.HARMLESS):
                continue
            passed = self._passed(call, callee, variable, key)
            if passed is None:
                self.analysis.handle(variable).escapes = True
            else:
                self.analysis.passed.append(passed)

    def _passed(
        self,
        call: ast.Call,
        callee: Meaning | SourceFunction | _Scope,
        variable: Variable,
        key: int | str | None,
    ) -> _Passed | None:
        if isinstance(callee, Meaning) or any(isinstance(a, ast.Starred) for a in call.args):
            return None
        node = callee.tree if isinstance(callee, SourceFunction) else callee.node
        positional = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        if isinstance(key, int):
            parameter = positional[key] if key < len(positional) else None
        else:
            named = (*node.args.args, *node.args.kwonlyargs)
            parameter = key if key in [argument.arg for argument in named] else None
        if parameter is None:
            return None
        if isinstance(callee, SourceFunction):
            return _Passed(variable, self.scope, call, callee, parameter)
        return _Passed(variable, self.scope, call, None, (callee, parameter))

    def _callee(self, node: ast.expr) -> Meaning | SourceFunction | _Scope:
        if isinstance(node, ast.Attribute) and node.attr == "store":
            return Meaning.HARMLESS
        if isinstance(node, ast.Name) and (nested := self.scope.function(node.id)) is not None:
            return nested
        if isinstance(node, ast.Name) and self._is_local(node):
            return Meaning.UNKNOWN
        return self._resolve(node)

    # Names ----------------------------------------------------------------------------------------

    def _names(self, node: ast.expr) -> Iterator[ast.Name]:
        """The variables that `node` may be, the object itself and not a value made of it."""
        for leaf in _leaves(node):
            if isinstance(leaf, ast.Name) and leaf.id not in self.shadowed:
                yield leaf

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
        meaning = self.analysis.function.resolve(node)
        if isinstance(meaning, SourceFunction):
            _analyse(meaning, self.analysis.known)
        return meaning


def _binds(handle: _Handle, call: ast.Call) -> bool:
    return any(site.call is call for site in handle.sites)


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions one of which `node` is, as an object."""
    if isinstance(node, ast.IfExp):
        yield from _leaves(node.body)
        yield from _leaves(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _leaves(value)
    elif isinstance(node, ast.NamedExpr):
        yield node.target
    else:
        yield node


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
