"""Threads rewritten body by body: of the thread itself, of its loops and of their branches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ttl.source import tree
from ttl.source.making import read_again
from ttl.source.walking import Changer


class InBodies(Changer):
    """`rewritten()` gives what takes the place of a body, which is `depth` bodies deep."""

    depth = 0

    def body(self, statements: tree.Body) -> tree.Body:
        self.depth += 1
        found = self.sequence(statements)
        found = self.rewritten(found) if found else found
        self.depth -= 1
        return found

    def rewritten(self, body: tree.Body) -> tree.Body:
        return body

    def inside(self, node: Any) -> Any:
        if isinstance(node, tree.Loop):
            return replace(node, over=self.node(node.over), body=self.body(node.body))
        if isinstance(node, tree.Branch):
            test, then = self.node(node.test), self.body(node.then)
            return replace(node, test=test, then=then, otherwise=self.body(node.otherwise))
        return super().inside(node)


def in_new_value(node: tree.Update) -> tree.Assign:
    """`a += b` gives `a` a new value; the language's blocks would be added to in place."""
    value = tree.Binary(node.place, node.sign, read_again(node.target), node.value)
    return tree.Assign(node.place, (node.target,), value)


class InNewValues(InBodies):
    def change(self, node: tree.Node) -> Any:
        return in_new_value(node) if isinstance(node, tree.Update) else node
