"""What expressions do with handles: make, name, finish, keep them, give them to functions.

The rules are those of implicit_sync.py; values.py says what a value is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ttl.loading.forks import computed_once
from ttl.semantics.function_source import Definition, FunctionTree, nodes_of
from ttl.semantics.syntax import child_nodes, walk

from .callees import Callee, callees, lambda_definition
from .handles import (
    ACQUIRES,
    RELEASES,
    Handle,
    HandleKind,
    Made,
    Meaning,
    SourceFunction,
    State,
    States,
    Summary,
    changed,
    joined,
    temporary,
    under_way,
)
from .liveness import Functions, Liveness, Names, named, stored
from .scopes import COMPREHENSIONS, own_names, own_nodes, parameter_at, parameters
from .uses import uses_of
from .values import NOTHING, SOMETHING_ELSE, Value, item_of, taken_by, union_of

KEEPING = frozenset({"append", "appendleft", "add", "extend", "insert", "put"})
CALLING = frozenset({"if_src", "if_dst"})
DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Starred)
ESCAPING = (ast.Yield, ast.YieldFrom, ast.Await)


class HandleFlow:
    """One function, or one nested in it: the states that the evaluation has reached."""

    def __init__(self, root: SourceFunction, tree: FunctionTree, outer: HandleFlow | None):
        self.root, self.tree, self.outer = root, tree, outer
        self.own = own_names(tree)
        self.nested = [node for node in own_nodes(tree) if isinstance(node, Definition)]
        self.lambdas: dict[ast.Lambda, FunctionTree] = {}  # that may be called here, as definitions
        self.functions: Functions = outer.functions if outer else {}
        self.functions = self.functions | named(self.nested)
        self.defined: dict[str, FunctionTree] = {}  # by the definitions that were passed last
        self.around: Names = (outer.own | outer.around) if outer else frozenset()
        self.shadowed: dict[str, Value] = {}  # the targets of comprehensions
        self.lists: tuple[int, ...] = ()  # the bodies around this place, as ids
        self.paths: dict[ast.expr, tuple[int, ...]] = {}  # the bodies around a site
        self.summary = Summary()
        self.items: set[ast.expr] = set()  # the sites of what is finished in containers
        given = [*parameters(tree.args), *sorted(self.around - self.own)]
        handles = [Handle(HandleKind.GIVEN, None, frozenset({n}), n, True) for n in given]
        self.states: States = {State(tuple(handles)): None}

    def defined_by(self, node: ast.Lambda) -> FunctionTree:
        return self.lambdas.setdefault(node, lambda_definition(node))

    @computed_once
    def liveness(self) -> Liveness:  # many functions finish what they make in the same statement
        return Liveness(self.tree, self.functions, self.around - self.own)

    def summary_of(self, callee: SourceFunction | FunctionTree) -> Summary:
        raise NotImplementedError

    def wait_at_once(self, sites: set[ast.AST]) -> None:
        raise NotImplementedError

    # Handles --------------------------------------------------------------------------------------

    def make(self, made: Made, site: ast.expr) -> Value:
        token, buffer = temporary(site), made.buffer
        self.paths[site] = self.lists
        holders = {token, buffer} if buffer in self._released_by_buffer else {token}
        handle = Handle(made.kind, site, frozenset(holders), buffer)
        handle = replace(handle, reads=made.reads, writes=made.writes)
        copied = made.reads | made.writes

        def started(other: Handle) -> Handle:
            is_copied = other.kind is HandleKind.BLOCK and other.held_by(copied)
            return other.given_to(under_way(site)) if is_copied else other

        def with_it(state: State) -> State:
            return State((*state.changed(started).handles, handle), state.tests)

        self.states = changed(self.states, with_it)
        return (frozenset({token}),)

    @computed_once
    def _released_by_buffer(self) -> Names:
        """`dfb.pop()` releases the oldest block: what is read off the text."""
        return frozenset(
            ast.unparse(node)
            for node in nodes_of(self.tree)
            if isinstance(node, ast.Attribute) and node.attr in RELEASES
        )

    def finish(self, value: Value, but: HandleKind | None = None) -> None:
        """Of an item of a container nobody knows which it is: the program finishes all of them."""
        tokens = frozenset().union(*value)

        def finished(state: State) -> State:
            gone = [h for h in state.handles if h.held_by(tokens) and h.kind is not but]
            self.items |= {h.site for h in gone if h.site and h.is_item(tokens)}
            return state.finished(gone)

        self.states = changed(self.states, finished)

    def escape(self, value: Value) -> None:
        """Somebody keeps it: it is finished elsewhere."""
        tokens = frozenset().union(*value)
        kept = [h for state in self.states for h in state.handles if h.held_by(tokens)]
        self.summary.escaped |= {h.buffer for h in kept if h.kind is HandleKind.GIVEN}
        gone = {h for h in kept if h.kind is not HandleKind.GIVEN}
        self.each(lambda handle: None if handle in gone else handle)

    def each(self, change: Callable[[Handle], Handle | None]) -> None:
        """On every path; None takes a handle away."""
        self.states = changed(self.states, lambda state: state.changed(change))

    def hold(self, name: str, value: Value) -> None:
        """One more name has it, beside what the name has already."""
        tokens = frozenset().union(*value)
        self.each(lambda h: h.given_to(name, tokens) if h.held_by(tokens) else h)

    def bind(self, name: str, value: Value) -> None:
        """The name has it, and nothing else."""

        def with_name(handle: Handle, tokens: Names) -> Handle:
            is_one = handle.held_by(tokens)
            handle = handle.unbound(name) if name not in tokens else handle
            return handle.given_to(name, tokens) if is_one else handle

        def bound(state: State) -> State:
            tokens = taken_by(state, value)
            return state.changed(lambda handle: with_name(handle, tokens))

        self.states = changed(self.states, bound)

    def target(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self.target(part, item_of(value))
        elif isinstance(target, ast.Starred):
            self.target(target.value, value)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            self.value(target.slice)
            self.keep(target.value, value)
        else:
            self.children(target)
            self.escape(value)

    def keep(self, container: ast.expr, value: Value) -> None:
        name = container.id if isinstance(container, ast.Name) else ""
        handles = [h for state in self.states for h in state.handles]
        given = {h.buffer for h in handles if h.site is None and name in h.holders}
        if not self.is_local(name) or given.intersection(parameters(self.tree.args)):
            self.escape(value)  # somebody else has the container, too
        else:
            for each in given or {name}:
                self.hold(each, value)

    # Expressions ----------------------------------------------------------------------------------

    def value(self, node: ast.AST | None, is_unused: bool = False) -> Value:
        if isinstance(node, ast.Name):
            self.meaning(node)  # a helper that is only named may be called by whoever gets it
            return self.shadowed.get(node.id, (frozenset({node.id}),))
        if isinstance(node, ast.NamedExpr):
            self.bind(node.target.id, self.value(node.value))
            return (frozenset({node.target.id}),)
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            return self._choice(node)
        if isinstance(node, ast.Call):
            return self._call(node, is_unused)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Subscript):
            self.value(node.slice)
            return item_of(self.value(node.value))
        if isinstance(node, ast.Lambda):
            return self._lambda(node)
        if isinstance(node, COMPREHENSIONS):
            return self._comprehension(node)
        if isinstance(node, DISPLAYS):
            return union_of(self.value(child) for child in child_nodes(node))
        if node is not None:
            self.children(node, is_escape=isinstance(node, ESCAPING))
        return NOTHING

    def children(self, node: ast.AST, is_escape: bool = False) -> None:
        for child in child_nodes(node):
            value = self.value(child)
            if is_escape:
                self.escape(value)

    def _choice(self, node: ast.IfExp | ast.BoolOp) -> Value:
        if isinstance(node, ast.IfExp):
            self.value(node.test)
            return self._one_of(self.value, (node.body, node.orelse))
        values = [self.value(node.values[0])]
        for part in node.values[1:]:
            skipped = self.states
            values.append(self.value(part))
            self.states = joined(skipped, self.states)
        return tuple(tokens for value in values for tokens in value)

    def _one_of(self, value: Callable[[Any], Value], parts: Iterable[Any]) -> Value:
        """Each path evaluates one of them."""
        start, values, ends = self.states, [], []
        for part in parts:
            self.states = start
            values.append(value(part))
            ends.append(self.states)
        self.states = joined(*ends)
        return tuple(tokens for each in values for tokens in each)

    def _attribute(self, node: ast.Attribute) -> Value:
        value = self.value(node.value)
        self.meaning(node)
        if node.attr in RELEASES or node.attr in ("release", "wait"):
            self.escape(value)  # a method that is taken and called by somebody
        return NOTHING

    def _lambda(self, node: ast.Lambda, is_callback: bool = False) -> Value:
        """Whoever gets it may call it. It has no place for what it leaves out itself, but nobody
        has the result of a callback: its transfers are waited for at once."""
        outer, self.shadowed = self.shadowed, dict(self.shadowed)
        self.shadowed |= dict.fromkeys(parameters(node.args), NOTHING)
        value, sites = self.value(node.body), {*walk(node.body)}
        if is_callback:
            self.wait_at_once(sites)
        self.escape(value)
        self.each(lambda h: None if h.site in sites and not h.names else h)
        self.shadowed = outer
        return NOTHING

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> Value:
        outer, self.shadowed = self.shadowed, dict(self.shadowed)
        for generator in node.generators:
            value = self.value(generator.iter)
            self.shadowed |= dict.fromkeys(uses_of(generator.target).stored, item_of(value))
            for condition in generator.ifs:
                self.value(condition)
        items = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        found = union_of([self.value(item) for item in items])
        self.shadowed = outer
        return found

    # Calls ----------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, is_unused: bool) -> Value:
        method = getattr(node.func, "attr", "")
        if isinstance(node.func, ast.Attribute):
            if method in ACQUIRES and not node.args:
                return self._acquire_or_wait(node, node.func.value, is_unused)
            if method in RELEASES or method == "release":
                return self._release(node.func)
            if method == "wait_all":
                self.finish(self.value(node.func.value), but=HandleKind.BLOCK)
                return NOTHING
            if method in KEEPING and self._is_variable(node.func.value):
                for argument in node.args:
                    self.keep(node.func.value, self.value(argument))
                return NOTHING
        callee = Meaning.HARMLESS if method == "store" else self._callee(node.func)
        if callee is Meaning.COPY:
            return self._copy(node)
        if callee is Meaning.UNKNOWN and (several := callees(self, node.func)):
            self.value(node.func)
            return self._one_of(lambda callee: self._call_as(node, callee), several)
        if not isinstance(callee, (SourceFunction, ast.AST)) or method == "store":
            self.value(node.func.value if isinstance(node.func, ast.Attribute) else node.func)
        bound = self.root.bound(node.func) if isinstance(callee, SourceFunction) else 0
        return self._call_as(node, Callee(callee, self, bound))

    def _acquire_or_wait(self, node: ast.Call, receiver: ast.expr, is_unused: bool) -> Value:
        value = self.value(receiver)
        tokens = frozenset().union(*value)
        assert isinstance(node.func, ast.Attribute)
        is_transfer = any(
            h.kind is HandleKind.TRANSFER and h.held_by(tokens)
            for state in self.states for h in state.handles
        )  # fmt: skip
        meaning = self.meaning(receiver)
        if node.func.attr == "wait" and (is_transfer or (is_unused and meaning is Meaning.UNKNOWN)):
            self.finish(value, but=HandleKind.BLOCK)
            return NOTHING
        if meaning not in (Meaning.BUFFER, Meaning.UNKNOWN) or self._was_transfer(receiver):
            return NOTHING
        release = "pop" if node.func.attr == "wait" else "push"
        buffer = f"{ast.unparse(receiver)}.{release}"
        return self.make(Made(HandleKind.BLOCK, buffer=buffer), node)

    def _was_transfer(self, receiver: ast.expr) -> bool:
        """`t` of `t = ttl.copy(...)`, here or in an iteration that is not known yet."""
        return isinstance(receiver, ast.Name) and receiver.id in self._transfer_names

    @computed_once
    def _transfer_names(self) -> set[str]:
        return {
            name
            for node in own_nodes(self.tree)
            if isinstance(node, (ast.Assign, ast.NamedExpr))
            and isinstance(node.value, ast.Call)
            and self.meaning(node.value.func) is Meaning.COPY
            for name in stored(node)
        }

    def _release(self, node: ast.Attribute) -> Value:
        value = self.value(node.value)
        buffer = f"{ast.unparse(node.value)}.{node.attr}"
        if any(h.buffer == buffer and h.site for state in self.states for h in state.handles):
            self.states = changed(self.states, lambda s: s.finished(s.oldest_of(buffer)))
        else:
            self.finish(value, but=HandleKind.TRANSFER)
        return NOTHING

    def _copy(self, node: ast.Call) -> Value:
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        values = [frozenset().union(*self.value(argument)) for argument in arguments]
        if len(arguments) != 2:
            return NOTHING  # the call is refused
        tensors = [self._tensor(argument) for argument in arguments]
        source, destination = (end - {name} for end, name in zip(values, tensors, strict=True))
        made = self.make(Made(HandleKind.TRANSFER, source, destination), node)
        self.each(lambda h: replace(h, tensor=tensors[1]) if h.site is node else h)
        return made

    def _tensor(self, node: ast.expr) -> str:
        """`a` of `a[0, i]`, and not of `blocks[i]`."""
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            return ""
        name = node.value.id
        held = [h.kind for s in self.states for h in s.handles if name in h.holders]
        is_list = HandleKind.BLOCK in held or isinstance(node.slice, ast.Constant)
        return "" if is_list else name

    def _call_other(self, node: ast.Call, callee: Meaning) -> Value:
        """Of something that is not read: it may call the functions that it gets. What a variable
        stands for may return a block that it gets, and does not keep it.
        """
        found: list[Value] = []
        is_kept = callee not in (Meaning.HARMLESS, Meaning.PASSING)
        if callee is Meaning.UNKNOWN and self._is_variable(node.func):
            is_kept, callee = False, Meaning.PASSING
            found.append(SOMETHING_ELSE)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            given = self._callee(argument) if isinstance(argument, ast.Name) else callee
            if isinstance(argument, ast.Lambda):
                value = self._lambda(argument, getattr(node.func, "attr", "") in CALLING)
            else:
                value = self.value(argument)
            if isinstance(given, (SourceFunction, ast.AST)):
                # Its parameters are no variables of this function, whatever their names.
                tree = given.tree if isinstance(given, SourceFunction) else given
                unknown = dict.fromkeys(parameters(tree.args), NOTHING)
                self._apply(node, self.summary_of(given), unknown)
            elif is_kept:
                self.escape(value)
            found.append(value)
        return union_of(found) if callee is Meaning.PASSING else NOTHING

    def _call_as(self, node: ast.Call, callee: Callee) -> Value:
        function = callee.function
        if isinstance(function, Meaning):
            is_copy = function is Meaning.COPY
            return self._copy(node) if is_copy else self._call_other(node, function)
        is_nested = not isinstance(function, SourceFunction)
        tree = function.tree if isinstance(function, SourceFunction) else function
        given = self._given(node, tree, callee.bound)
        return self._apply(node, callee.flow.summary_of(function), given, is_nested)

    def _given(self, node: ast.Call, tree: FunctionTree, bound: int = 0) -> dict[str, Value]:
        """What the parameters get; nobody knows who gets the rest."""
        given: dict[str, Value] = {}
        has_starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        arguments: list[tuple[int | str | None, ast.expr]] = [*enumerate(node.args)]
        arguments += [(keyword.arg, keyword.value) for keyword in node.keywords]
        for key, argument in arguments:
            value = self.value(argument)
            parameter = None if has_starred else parameter_at(tree, key, bound)
            if parameter is None:
                self.escape(value)
            else:
                given[parameter] = value
        return given

    def _apply(
        self, node: ast.Call, summary: Summary, given: dict[str, Value], is_nested: bool = True
    ) -> Value:
        def value(name: str) -> Value:
            return given.get(name, (frozenset({name}),) if is_nested else NOTHING)

        def here(made: Made) -> Made:
            reads, writes = ({t for n in names for tokens in value(n) for t in tokens}
                             for names in (made.reads, made.writes))  # fmt: skip
            buffer = self._buffer_here(made.buffer, given)
            return Made(made.kind, frozenset(reads), frozenset(writes), buffer)

        for name in sorted(summary.escaped):
            self.escape(value(name))
        for each in given.values() if not summary.is_complete else ():
            self.escape(each)
        for name in sorted(summary.finished):
            self.finish(value(name))
        for name in sorted(summary.finished_sometimes):
            skipped = self.states
            self.finish(value(name))
            self.states = joined(skipped, self.states)
        for name, several in sorted(summary.binds.items()):
            for made in sorted(several, key=str):
                skipped = self.states
                self.hold(name, self.make(here(made), node))
                self.states = joined(skipped, self.states)
        unsure = {"?"} if summary.returns_other else set()
        passed = [tokens | unsure for n in sorted(summary.returned) for tokens in value(n)]
        return self._returned(node, {here(made) for made in summary.makes}, passed)

    def _buffer_here(self, buffer: str, given: dict[str, Value]) -> str:
        """How this function writes the buffer, if that is one name; else nothing."""
        name, _, release = buffer.partition(".")
        tokens = frozenset().union(*given.get(name, ()))
        if tokens:
            return f"{min(tokens)}.{release}" if len(tokens) == 1 else ""
        is_buffer = name.isidentifier() and self.meaning(ast.Name(name)) is Meaning.BUFFER
        return buffer if is_buffer else ""

    def _returned(self, node: ast.Call, makes: set[Made], passed: list[Names]) -> Value:
        """One of what it was given, or all that it made: a tuple, say."""
        blocks = sorted((made for made in makes if made.kind is HandleKind.BLOCK), key=str)
        values = [self.make(made, node) for made in blocks]
        for made in sorted(makes.difference(blocks), key=str):
            own = frozenset().union(*(tokens for value in values for tokens in value))
            values.append(self.make(replace(made, writes=made.writes | own), node))
        return tuple([*union_of(values), *passed] if values else passed) or NOTHING

    # Names ----------------------------------------------------------------------------------------

    def is_local(self, name: str) -> bool:
        return name in self.own or name in self.around or name in self.shadowed

    def _is_variable(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and self.is_local(node.id)

    def _callee(self, node: ast.expr) -> Meaning | SourceFunction | FunctionTree:
        if isinstance(node, ast.Name) and node.id in self.functions:
            return self._defined(node.id)
        return self.meaning(node)

    def _defined(self, name: str) -> FunctionTree:
        """Branches may define functions of the same name."""
        if name in self.defined or self.outer is None or name in named(self.nested):
            return self.defined.get(name, self.functions[name][-1])
        return self.outer._defined(name)

    def meaning(self, node: ast.expr) -> Meaning | SourceFunction:
        base = node
        while isinstance(base, (ast.Attribute, ast.Subscript)):
            base = base.value
        if not isinstance(base, ast.Name) or self.is_local(base.id):
            return Meaning.UNKNOWN
        found = self.root.resolve(node)
        if isinstance(found, SourceFunction):
            self.summary_of(found)
        return found
