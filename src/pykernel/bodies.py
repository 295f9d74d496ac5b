"""Rewrite threads for both backends: the simulator runs and the frontend evaluates the result.

rule VALUE   `a += b` gives `a` a new value; the language would add to blocks in place
rule SCOPE   each body (of the thread, a loop, a branch) is a `with` that releases the blocks which
             pop() and reserve() acquired in it
rule PRODUCT `block.store(value)` adds if its value is a product like `a @ b`
"""

from __future__ import annotations

from collections.abc import Collection

from ttl.source import tree
from ttl.source.bindings import Place
from ttl.source.making import around, called, method_call, read_again
from ttl.source.walking import Changer, Nodes

ACQUIRING = ("pop", "reserve")
SCOPE = ".scope"  # the name of objects.Scope in a rewritten thread


def without_updates(thread: tree.Function) -> tree.Function:
    """Apply rule VALUE, and leave out `await`."""
    found: tree.Function = _WithoutUpdates().node(thread)
    return found


class _WithoutUpdates(Changer):
    def change(self, node: tree.Node) -> tree.Node:
        if isinstance(node, tree.Suspend) and node.kind == "await" and node.value is not None:
            return node.value
        if not isinstance(node, tree.Update):
            return node
        value = tree.Binary(node.place, node.sign, read_again(node.target), node.value)
        return tree.Assign(node.place, (node.target,), value)


def with_scopes(thread: tree.Function, parameters: Collection[str]) -> tree.Function:
    """Apply rules SCOPE and PRODUCT."""
    found: tree.Function = _WithScopes(thread, parameters).node(thread)
    return found


class _WithScopes(Changer):
    def __init__(self, thread: tree.Function, parameters: Collection[str]) -> None:
        self.thread, self.parameters, self.depth = thread, parameters, 0

    def sequence(self, nodes: Nodes) -> Nodes:
        if not nodes or not isinstance(nodes[0], tree.Statement):
            return super().sequence(nodes)
        place = nodes[0].place
        outer = [self._scope(place)] * bool(self.depth)
        self.depth += 1
        target = tree.Target(place, self._scope(place).binding)
        entered = tree.Entered(place, called(around(SCOPE, place), *outer), target)
        found = tree.With(place, (entered,), super().sequence(nodes))
        self.depth -= 1
        return (found,)

    def _scope(self, place: Place) -> tree.Name:
        return tree.Name(place, self.thread.scope.variable(f".scope_{self.depth}"))

    def change(self, node: tree.Node) -> tree.Node:
        if not (isinstance(node, tree.Call) and isinstance(node.function, tree.Attribute)):
            return node
        owner, scope = node.function.owner, self._scope(node.place)
        if node.method == "store" and len(node.given) == len(node.arguments) == 1:
            return method_call(scope, "store", node.place, owner, *node.arguments)
        is_parameter = isinstance(owner, tree.Name) and owner.binding.name in self.parameters
        return called(node.function, scope) if is_parameter and node.method in ACQUIRING else node
