"""Find the variables used after each statement of a function, on any path: one backward pass.

A state has the variables mentioned later, and the node of `buffer.pop` where the buffer itself
releases a block.
"""

from __future__ import annotations

from collections.abc import Iterator

from ttl.diagnostics.buffer_ends import CALLS

from .. import tree
from ..bindings import Variable
from ..flow import Backward
from ..tree import Expression, Statement
from ..walking import children, terms, walk

RELEASES, ACQUIRES = tuple(CALLS), tuple(CALLS.values())

Mention = Variable | tree.Attribute
Live = frozenset[Mention]
NONE: Live = frozenset()


class Liveness(Backward[Live]):
    """The liveness in one function; variables of functions around it are live at its end."""

    def __init__(self, function: tree.Function):
        super().__init__(NONE)
        self._mentions: dict[tree.Node, Live] = {}
        self._replaced: dict[Statement, tuple[frozenset[Variable], frozenset[Variable]]] = {}
        self._functions = _functions_in(function)
        self._captured_ones = _find_captured(function)
        self._always = self._kept_functions(function)
        self._last = function.body[-1:]
        super().function(function, NONE)

    def live_after(self, node: Statement) -> Live:
        is_end = isinstance(node, tree.Return) or node in self._last
        return self.after.get(node, NONE) | (NONE if is_end else self._always)

    def live_before(self, node: Statement) -> Live:
        return self.before.get(node, NONE) | self._always

    def replaced(self, node: Statement) -> tuple[frozenset[Variable], frozenset[Variable]]:
        """Return the assigned variables, split by whether the statement reads them first."""
        if node not in self._replaced:
            new = stored(node)
            self._replaced[node] = new - self.uses(node), new & _variables(node, tree.Name)
        return self._replaced[node]

    # What statements do ---------------------------------------------------------------------------

    def join(self, one: Live, other: Live) -> Live:
        return one | other

    def step(self, node: tree.Node, state: Live) -> Live:
        return (state - stored(node)) | self.uses(node)

    evaluate = step

    def assign(self, target: Expression, state: Live) -> Live:
        return (state - stored(target)) | self.mentions(target)

    # Mentions -------------------------------------------------------------------------------------

    def uses(self, node: tree.Node) -> Live:
        """Return the mentions that need a value from before the node."""
        return self.mentions(node) - (find_given_first(node) - self._captured_ones)

    def mentions(self, node: tree.Node) -> Live:
        if node not in self._mentions:
            self._mentions[node] = frozenset(self._in(node, frozenset()))
        return self._mentions[node]

    def _in(self, node: tree.Node, seen: frozenset[Variable]) -> Iterator[Mention]:
        if isinstance(node, tree.Name):
            yield from self._name(node, seen)
        elif isinstance(node, tree.Update) and isinstance(node.target, tree.Target):
            yield from self._name(node.target, seen)
        elif isinstance(node, tree.Attribute) and node.name in RELEASES:
            yield node
        for child in _list_evaluated(node):
            yield from self._in(child, seen)

    def _name(self, node: tree.Name | tree.Target, seen: frozenset[Variable]) -> Iterator[Mention]:
        """Yield a variable; a mentioned function uses the variables around it."""
        variable = node.binding
        if not isinstance(variable, Variable):
            return
        yield variable
        for function in self._functions.get(variable, ()) if variable not in seen else ():
            yield from self._captured(function, seen | {variable})

    def _captured(self, function: tree.Function, seen: frozenset[Variable]) -> Iterator[Mention]:
        for found in (each for node in function.body for each in self._in(node, seen)):
            if not isinstance(found, Variable) or not found.scope.is_in(function.scope):
                yield found

    def _kept_functions(self, function: tree.Function) -> Live:
        """Return mentions in functions that may be called later under another name."""
        nodes = [*walk(*function.body)]
        calls = [node for node in nodes if isinstance(node, tree.Call)]
        explained = {part for node in calls for part in (node.function, *node.given)}
        explained |= {value for values in self._functions.values() for value in values}
        kept = [node for node in nodes if node not in explained and self._is_function(node)]
        return NONE.union(*(self._in(node, frozenset()) for node in kept))

    def _is_function(self, node: tree.Node) -> bool:
        is_named = isinstance(node, tree.Name) and node.binding in self._functions
        return is_named or isinstance(node, tree.Function)


def _functions_in(function: tree.Function) -> dict[Variable, list[tree.Function]]:
    """List the functions with names: branches may define several of the same name."""
    found: dict[Variable, list[tree.Function]] = {}
    for node in walk(*function.body):
        if isinstance(node, tree.Assign) and isinstance(node.value, tree.Function):
            for target in node.targets:
                if isinstance(target, tree.Target) and isinstance(target.binding, Variable):
                    found.setdefault(target.binding, []).append(node.value)
    return found


def _find_captured(function: tree.Function) -> frozenset[Variable]:
    inner = (node for node in walk(*function.body) if isinstance(node, tree.Function))
    names = (n.binding for each in inner for n in walk(*each.body) if isinstance(n, tree.Name))
    return frozenset(each for each in names if isinstance(each, Variable))


def _list_evaluated(node: tree.Node) -> list[tree.Node]:
    """List evaluated parts. A `def` evaluates no body; a lambda's body may run right there."""
    if isinstance(node, tree.Assign) and isinstance(node.value, tree.Function):
        function = node.value
        return [*function.decorators, *function.parameters, *node.targets]
    return terms(node)


# What is certain ----------------------------------------------------------------------------------


def stored(node: tree.Node) -> frozenset[Variable]:
    """Return the variables that are certainly assigned or deleted."""
    return _variables(node, tree.Target)


def find_given_first(node: tree.Node) -> frozenset[Variable]:
    """Return the variables that a `:=` certainly assigns before their first use."""
    given = {each.target for each in _certain(node) if isinstance(each, tree.Bind)}
    first: dict[Variable, tree.Node] = {}
    for each in walk(node) if given else ():
        if isinstance(each, (tree.Name, tree.Target)) and isinstance(each.binding, Variable):
            first.setdefault(each.binding, each)
    return frozenset(variable for variable, each in first.items() if each in given)


def _variables(node: tree.Node, kind: type[tree.Name | tree.Target]) -> frozenset[Variable]:
    names = (each.binding for each in _certain(node) if isinstance(each, kind))
    return frozenset(each for each in names if isinstance(each, Variable))


def _certain(node: tree.Node) -> list[tree.Node]:
    """List the parts that are evaluated on every path."""
    found = [node]
    for each in found:  # it grows in the loop
        if isinstance(each, (tree.Choice, tree.Logic)):
            found += children(each)[:1]
        elif isinstance(each, tree.Update):
            found.append(each.value)
        elif not isinstance(each, (tree.Function, tree.Comprehension)):
            found += children(each)
    return found
