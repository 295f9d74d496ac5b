"""Walk trees, and rebuild them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import is_
from typing import Any, TypeVar

from .tree import Binary, Body, Function, LanguageCall, Node, Sequence, Starred, Suspend

AnyNode = TypeVar("AnyNode", bound=Node)
Nodes = tuple[Any, ...]  # a body, or the nodes in a field


def children(node: Node) -> list[Node]:
    """List the child nodes in evaluation order."""
    found: list[Node] = []
    for name in node.parts:
        part = getattr(node, name)
        if isinstance(part, Node):
            found.append(part)
        elif part is not None:
            found += [each for each in part if each is not None]
    return found


def terms(node: Node) -> list[Node]:
    """List children, but all terms of a sum, which is deep on its left."""
    if not isinstance(node, Binary):
        return children(node)
    found: list[Node] = []
    while isinstance(node, Binary):
        found.append(node.right)
        node = node.left
    return [node, *reversed(found)]


def walk(*nodes: Node) -> Iterator[Node]:
    """Yield the nodes and everything in them, outer nodes first."""
    waiting = [*reversed(nodes)]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children(node))


def own_nodes(function: Function) -> Iterator[Node]:
    """Yield the nodes of a function's body, without the bodies of functions in it."""
    waiting: list[Node] = [*reversed(function.body)]
    while waiting:
        node = waiting.pop()
        yield node
        inside = (*node.decorators, *node.parameters) if isinstance(node, Function) else None
        waiting += reversed(children(node) if inside is None else inside)


def is_generator(function: Function) -> bool:
    return any(isinstance(each, Suspend) and each.kind != "await" for each in own_nodes(function))


def changed(node: AnyNode, **fields: Any) -> AnyNode:
    """Copy a node with some fields replaced."""
    return replace(node, **fields)


class Changer:
    """Rebuilds a tree: `change()` returns the replacement of each node, inner nodes first.

    Unchanged parts keep their nodes.
    """

    def change(self, node: Node) -> Node | Body:
        """Return the replacement; a statement may become several."""
        return node

    def node(self, node: Any) -> Any:
        return self.change(self.inside(node))

    def inside(self, node: AnyNode) -> AnyNode:
        news: dict[str, Any] = {}
        for name in node.parts:
            part = getattr(node, name)
            new = self.part(part)
            if new is not part:
                news[name] = new
        new = replace(node, **news) if news else node
        if news and isinstance(node, LanguageCall) and isinstance(new, LanguageCall):
            given = dict(zip(node.given, new.given, strict=True))
            named = {name: given[each] for name, each in node.named.items()}
            return replace(new, named=named)  # type: ignore[return-value]
        return new

    def part(self, part: Any) -> Any:
        if part is None or isinstance(part, Node):
            return part if part is None else self.node(part)
        return self.sequence(part)

    def sequence(self, nodes: Nodes) -> Nodes:
        news: list[object] = []
        for each in nodes:
            new = None if each is None else self.node(each)
            news += new if isinstance(new, tuple) and not isinstance(new, Node) else [new]
        is_same = len(news) == len(nodes) and all(map(is_, news, nodes))
        return nodes if is_same else tuple(news)


class _Anew(Changer):
    def change(self, node: Node) -> Node:
        return replace(node)


def copy_of(node: AnyNode) -> AnyNode:
    """Copy a tree with new nodes."""
    made: AnyNode = _Anew().node(node)
    return made


def stored(node: Node) -> Iterator[Node]:
    """Yield the variables, attributes and items that a node binds or deletes."""
    waiting = [getattr(node, "target", None), *getattr(node, "targets", ())]
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, (Sequence, Starred)):
            waiting[:0] = children(each)
        elif each is not None:
            yield each
