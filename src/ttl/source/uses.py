"""What statements do with names and how they jump, read off their syntax once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import Any

from ttl.diagnostics.buffer_ends import CALLS
from ttl.semantics.syntax import child_nodes

from .captured import CHANGING

Jump = type[ast.Return] | type[ast.Break] | type[ast.Continue]
Names = frozenset[str]

NONE: Names = frozenset()
RELEASING = (*CALLS, "store")


@dataclass(frozen=True, slots=True)
class Uses:
    """The names that a piece of syntax uses, by how it does."""

    read_first: Names = NONE  # may be read before they are given a value
    written_first: Names = NONE  # are certainly given a value first
    mentioned: Names = NONE
    stored: Names = NONE  # may be given a value
    summed: Names = NONE  # the targets of `x += ...`
    rebound: Names = NONE  # stored by anything else
    changed: Names = NONE  # whose items are changed in place
    released: Names = NONE  # pushed, popped or stored into, as blocks are
    jumps: frozenset[Jump] = frozenset()  # out of the body that the syntax stands in

    def then(self, following: Uses) -> Uses:
        """The uses of one piece of syntax after the other."""
        if self is NOTHING or following is NOTHING:
            return following if self is NOTHING else self
        return Uses(
            self.read_first | (following.read_first - self.written_first),
            self.written_first | (following.written_first - self.read_first),
            self.mentioned | following.mentioned,
            self.stored | following.stored,
            self.summed | following.summed,
            self.rebound | following.rebound,
            self.changed | following.changed,
            self.released | following.released,
            self.jumps | following.jumps,
        )

    def either(self, other: Uses) -> Uses:
        """The uses of two branches."""
        joined = self.then(other)
        return replace(
            joined,
            read_first=self.read_first | other.read_first,
            written_first=self.written_first & other.written_first,
        )

    def perhaps(self) -> Uses:
        """The uses of what may not be done at all."""
        return replace(self, written_first=NONE)


NOTHING = Uses()


def uses_of_all(nodes: Iterable[ast.AST]) -> Uses:
    return _uses_of_all(tuple(nodes))


@lru_cache(maxsize=10_000)  # loops in loops ask for the same statements again
def _uses_of_all(nodes: tuple[ast.AST, ...]) -> Uses:
    return reduce(Uses.then, map(uses_of, nodes), NOTHING)


@lru_cache(maxsize=10_000)
def uses_of(node: ast.AST) -> Uses:
    if (special := _SPECIAL.get(type(node))) is not None:
        return special(node)
    inside = uses_of_all(child_nodes(node))
    if isinstance(node, ast.stmt) and not isinstance(node, ast.Expr):
        inside = replace(inside, read_first=inside.mentioned, written_first=NONE)
    return inside


def _name(node: ast.Name) -> Uses:
    names = frozenset({node.id})
    if isinstance(node.ctx, ast.Store):
        return Uses(NONE, names, names, stored=names, rebound=names)
    return Uses(names, NONE, names)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Uses:
    """What a function stores is its own."""
    inside = uses_of_all(child_nodes(node))
    names = inside.mentioned
    return replace(inside, read_first=names, written_first=NONE, stored=frozenset({node.name}),
                   jumps=frozenset())  # fmt: skip


def _match_as(node: ast.MatchAs) -> Uses:
    inside = uses_of_all(child_nodes(node))
    return inside if node.name is None else replace(inside, stored=frozenset({node.name}))


def _if(node: ast.If) -> Uses:
    return uses_of(node.test).then(uses_of_all(node.body).either(uses_of_all(node.orelse)))


def _augmented(node: ast.AugAssign) -> Uses:
    inside = uses_of_all(child_nodes(node))
    found = replace(inside, read_first=inside.mentioned, written_first=NONE)
    if not isinstance(node.target, ast.Name):
        return found
    names = frozenset({node.target.id})
    return replace(found, summed=names, rebound=uses_of(node.value).rebound)


def _with(node: ast.With) -> Uses:
    items = [part for i in node.items for part in (i.context_expr, i.optional_vars) if part]
    return uses_of_all([*items, *node.body])


def _loop(node: ast.For | ast.While) -> Uses:
    head = [node.iter, node.target] if isinstance(node, ast.For) else [node.test]
    inside = uses_of_all([*head, *node.body, *node.orelse]).perhaps()
    # In its `else` a jump would be one of the loop around; kernels have no such `else`.
    return replace(inside, jumps=inside.jumps & {ast.Return})


def _jump(node: ast.Return | ast.Break | ast.Continue) -> Uses:
    inside = uses_of_all(child_nodes(node))
    jumps: frozenset[Jump] = frozenset({type(node)})
    return replace(inside, read_first=inside.mentioned, written_first=NONE, jumps=jumps)


def _item(node: ast.Subscript) -> Uses:
    inside = uses_of_all(child_nodes(node))
    if isinstance(node.ctx, ast.Load) or not isinstance(node.value, ast.Name):
        return inside
    return replace(inside, changed=inside.changed | {node.value.id})


def _attribute(node: ast.Attribute) -> Uses:
    inside = uses_of(node.value)
    if not isinstance(node.value, ast.Name):
        return inside
    owner = frozenset({node.value.id})
    return replace(
        inside,
        changed=inside.changed | owner if node.attr in CHANGING[list] else inside.changed,
        released=inside.released | owner if node.attr in RELEASING else inside.released,
    )


_SPECIAL: dict[type[ast.AST], Callable[[Any], Uses]] = {
    ast.Name: _name,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _function,
    ast.Lambda: lambda node: replace(uses_of_all(ast.iter_child_nodes(node)), stored=NONE),
    ast.alias: lambda node: Uses(stored=frozenset({node.asname or node.name.partition(".")[0]})),
    ast.MatchAs: _match_as,
    ast.If: _if,
    ast.Assign: lambda node: uses_of_all([node.value, *node.targets]),
    ast.AugAssign: _augmented,
    ast.With: _with,
    ast.For: _loop,
    ast.While: _loop,
    ast.Return: _jump,
    ast.Break: _jump,
    ast.Continue: _jump,
    ast.Subscript: _item,
    ast.Attribute: _attribute,
}
