"""Which variables are used after a statement, on some path.

`name` is live if it is mentioned later, `name!` if it may be waited for, released or given to
somebody later; `buffer.pop` if the buffer itself releases a block later. A function that is
mentioned uses the variables of the function around it. `name?test` is live where the test is true,
`name?!test` where it is not: two `if` with the same test, of names that do not change in between,
take the same branch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from ttl.semantics.function_source import Definition, FunctionTree, nodes_of
from ttl.semantics.syntax import child_nodes, walk

from .handles import RELEASES
from .scopes import COMPREHENSIONS, own_names

Names = frozenset[str]
NONE: Names = frozenset()
ASKING = ("is_completed", "is_done", "block", "shape", "dtype", "layout")


@dataclass(frozen=True, slots=True)
class Targets:
    """What is live where jumps lead to."""

    returned: Names = NONE
    broken: Names = NONE
    continued: Names = NONE
    raised: Names = NONE


Functions = dict[str, tuple[FunctionTree, ...]]


def named(nodes: Iterable[Definition]) -> Functions:
    """By their names; branches may define functions of the same name."""
    found: Functions = {}
    for node in nodes:
        found[node.name] = (*found.get(node.name, ()), node)
    return found


class Liveness:
    """Of one function; `shared` are the variables around it, which are live at its end."""

    def __init__(self, tree: FunctionTree, functions: Functions, shared: Names):
        self.functions = functions
        self.after: dict[ast.stmt, Names] = {}
        self.before: dict[ast.stmt, Names] = {}
        self.at_jump: dict[ast.stmt, Names] = {}
        self._uses: dict[ast.AST, Names] = {}
        self.always = ends = shared | {f"{name}!" for name in shared}
        if not isinstance(tree, ast.Lambda):
            self.always |= self._kept_functions(tree)
            self._body(tree.body, ends, Targets(returned=ends))
            self.after[tree.body[-1]] = ends

    # Names ----------------------------------------------------------------------------------------

    def uses(self, node: ast.AST | None) -> Names:
        if node is None:
            return NONE
        if node not in self._uses:
            self._uses[node] = frozenset(self._mentions(node, frozenset()))
        return self._uses[node]

    def _mentions(self, node: ast.AST, known: frozenset[str]) -> Iterator[str]:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from self._name(node.value.id, node.attr not in ASKING, known)
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, (ast.Store, ast.Del)):
                yield from self._name(node.id, True, known)
            return
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield from self._name(node.target.id, True, known)
        if isinstance(node, ast.Attribute) and node.attr in RELEASES:
            yield f"{ast.unparse(node.value)}.{node.attr}"
        for child in child_nodes(node):
            if not isinstance(node, ast.Attribute) or not isinstance(child, ast.Name):
                yield from self._mentions(child, known)

    def _name(self, name: str, is_given: bool, known: frozenset[str]) -> Iterator[str]:
        yield name
        if is_given:
            yield f"{name}!"
        for function in self.functions.get(name, ()) if name not in known else ():
            own = own_names(function)
            for used in self._mentions(function, known | {name}):
                if used.rstrip("!") not in own:
                    yield used

    def _kept_functions(self, tree: Definition) -> Names:
        """What functions use that somebody may call later, under another name."""
        nodes = nodes_of(tree)
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        called = {id(part) for node in calls for part in (node.func, *node.args)}
        kept = [
            self.uses(node)
            for node in nodes
            if self._is_function(node) and id(node) not in called
        ]
        return NONE.union(*kept)

    def _is_function(self, node: ast.AST) -> bool:
        is_named = isinstance(node, ast.Name) and node.id in self.functions
        return is_named or isinstance(node, ast.Lambda)

    # Statements -----------------------------------------------------------------------------------

    def _body(self, body: Iterable[ast.stmt], live: Names, targets: Targets) -> Names:
        live |= targets.raised
        for statement in reversed(list(body)):
            self.after[statement] = live | self.always
            live = self._statement(statement, live, targets) | targets.raised
            self.before[statement] = live | self.always
        return live

    def _statement(self, node: ast.stmt, live: Names, targets: Targets) -> Names:
        if isinstance(node, ast.If):
            then = self._body(node.body, live, targets)
            otherwise = self._body(node.orelse, live, targets)
            return self.uses(node.test) | _either(node.test, then, otherwise)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            return self._loop(node, live, targets)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return self._with(node, live, targets)
        if isinstance(node, (ast.Try, ast.TryStar)):
            return self._try(node, live, targets)
        if isinstance(node, ast.Match):
            cases = [self._body(case.body, live, targets) | self.uses(case.guard)
                     for case in node.cases]  # fmt: skip
            return self.uses(node.subject) | live.union(*cases)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return live.union(*map(self.uses, (*node.args.defaults, *node.decorator_list)))
        if isinstance(node, ast.Return):
            live = self.at_jump[node] = targets.returned
        elif isinstance(node, (ast.Break, ast.Continue)):
            live = targets.broken if isinstance(node, ast.Break) else targets.continued
            self.at_jump[node] = live | self.always
        elif isinstance(node, ast.Raise):
            live = targets.raised
        return _without(live, stored(node)) | self.uses(node)

    def _loop(
        self, node: ast.For | ast.AsyncFor | ast.While, live: Names, targets: Targets
    ) -> Names:
        header = node.test if isinstance(node, ast.While) else node.iter
        gone = NONE if isinstance(node, ast.While) else stored(node.target)
        after = NONE if is_endless(node) else self._body(node.orelse, live, targets)
        head = self.uses(header) | after
        while True:  # until an iteration before adds nothing
            inner = replace(targets, broken=live, continued=head)
            body = self._body(node.body, head, inner)
            found = head | _without(body, gone)
            if found == head:
                return head
            head = found

    def _with(self, node: ast.With | ast.AsyncWith, live: Names, targets: Targets) -> Names:
        items = NONE.union(*(self.uses(item.context_expr) for item in node.items))
        gone = stored(*(item.optional_vars for item in node.items if item.optional_vars))
        return items | _without(self._body(node.body, live, targets), gone)

    def _try(self, node: ast.Try | ast.TryStar, live: Names, targets: Targets) -> Names:
        ends = [self._body(node.finalbody, getattr(targets, p), targets) for p in targets.__slots__]
        end = self._body(node.finalbody, live, targets)
        inner = Targets(*ends)
        handled = inner.raised.union(*(self._body(h.body, end, inner) for h in node.handlers))
        after = self._body(node.orelse, end, inner)
        found = self._body(node.body, after, replace(inner, raised=handled))
        for statement in node.finalbody:  # whichever way it is entered
            self.after[statement] |= NONE.union(*(getattr(targets, p) for p in targets.__slots__))
        return found


def is_endless(node: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Is there no way out of the loop but a `break` or a `return`?"""
    test = node.test if isinstance(node, ast.While) else None
    return isinstance(test, ast.Constant) and bool(test.value)


def _without(live: Names, gone: Names) -> Names:
    """Before these variables are given values."""
    found = set()
    for name in live if gone else ():
        variable, _, test = name.partition("?")
        if variable.rstrip("!") not in gone:
            is_known = not any(f"id='{other}'" in test for other in gone)
            found.add(name if is_known else variable)
    return frozenset(found) if gone else live


def _either(test: ast.expr, then: Names, otherwise: Names) -> Names:
    key, truth = test_key(test)
    if key is None:
        return then | otherwise
    sides = (alive(then, {(key, truth)}), alive(otherwise, {(key, not truth)}))
    found = sides[0] & sides[1]
    for side, is_true in zip(sides, (truth, not truth), strict=True):
        sign = "?" if is_true else "?!"
        found |= {name if "?" in name else f"{name}{sign}{key}" for name in side - found}
    return found


def alive(live: Names, tests: Iterable[tuple[str, bool]]) -> Names:
    """What is live on a path that knows the outcomes of these tests."""
    decided = {f"{'' if is_true else '!'}{key}" for key, is_true in tests}
    contrary = {f"{'!' if is_true else ''}{key}" for key, is_true in tests}
    found = set()
    for name in live:
        variable, _, test = name.partition("?")
        if not test or test not in contrary:
            found.add(variable if test in decided else name)
    return frozenset(found)


STABLE_CALLS = ("is_src", "is_dst", "is_active")


def test_key(test: ast.expr) -> tuple[str | None, bool]:
    """What two tests with the same outcome have in common, and what `true` means for it."""
    truth = True
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, truth = test.operand, not truth
    return (None if any(_may_change(node) for node in walk(test)) else ast.dump(test)), truth


def _may_change(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Attribute) and node.func.attr in STABLE_CALLS)
    return isinstance(node, (ast.NamedExpr, ast.Await, ast.Subscript))


@lru_cache(maxsize=10_000)
def stored(*nodes: ast.AST) -> Names:
    """The variables that are certainly given a value, or deleted."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(node.id)
        elif isinstance(node, ast.AugAssign):
            found |= stored(node.value)
        elif isinstance(node, ast.IfExp):
            found |= stored(node.test)
        elif isinstance(node, ast.BoolOp):
            found |= stored(node.values[0])
        elif not isinstance(node, (ast.Lambda, *COMPREHENSIONS)):
            found |= stored(*child_nodes(node))
    return frozenset(found)
