"""The variables and jumps of statements, read from the tree once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple

from ttl.source import tree
from ttl.source.bindings import Variable
from ttl.source.captured import CHANGING
from ttl.source.facts.liveness import RELEASES
from ttl.source.walking import children

Variables = frozenset[Variable]
Jumps = frozenset[str]  # return, break, continue

NONE: Variables = frozenset()
RELEASING = (*RELEASES, "store")


class Uses(NamedTuple):
    """The variables of a piece of a program, by kind of use."""

    read_first: Variables = NONE  # may be read before an assignment
    written_first: Variables = NONE  # certainly assigned first
    mentioned: Variables = NONE
    stored: Variables = NONE  # may be assigned
    rebound: Variables = NONE  # stored by anything but `x += ...`
    changed: Variables = NONE  # items changed in place
    released: Variables = NONE  # pushed, popped or stored into, as blocks are
    jumps: Jumps = frozenset()  # out of the surrounding body

    def then(self, following: Uses) -> Uses:
        """Combine the uses of consecutive pieces."""
        if self is NOTHING or following is NOTHING:
            return following if self is NOTHING else self
        return Uses(*map(or_, self, following))._replace(
            read_first=self.read_first | (following.read_first - self.written_first),
            written_first=self.written_first | (following.written_first - self.read_first),
        )

    def either(self, other: Uses) -> Uses:
        """Combine the uses of two branches."""
        joined = self.then(other)
        return joined._replace(
            read_first=self.read_first | other.read_first,
            written_first=self.written_first & other.written_first,
        )

    def perhaps(self) -> Uses:
        """Return the uses of a piece that may not run."""
        return self._replace(written_first=NONE)

    def at_once(self) -> Uses:
        """Return the uses of a piece that reads before it writes."""
        return self._replace(read_first=self.mentioned, written_first=NONE)


NOTHING = Uses()


def uses_of_all(nodes: Iterable[tree.Node]) -> Uses:
    return _uses_of_all(tuple(nodes))


@lru_cache(maxsize=10_000)  # nested loops ask for the same statements again
def _uses_of_all(nodes: tuple[tree.Node, ...]) -> Uses:
    return reduce(Uses.then, map(uses_of, nodes), NOTHING)


@lru_cache(maxsize=10_000)
def uses_of(node: tree.Node) -> Uses:
    special = _SPECIAL.get(type(node))
    if special is not None:
        return special(node)
    found = _inside(node)
    return found.at_once() if isinstance(node, tree.Statement) else found


def _inside(node: tree.Node) -> Uses:
    found = uses_of_all(children(node))
    changed = frozenset(_owners(getattr(node, "target", None), *getattr(node, "targets", ())))
    return found._replace(changed=found.changed | changed) if changed else found


def _owners(*targets: tree.Expression | None) -> Iterator[Variable]:
    """Yield `x` for the target `x[...]`."""
    for each in targets:
        if isinstance(each, tree.Sequence):
            yield from _owners(*each.items)
        elif isinstance(each, tree.Starred):
            yield from _owners(each.value)
        elif isinstance(each, tree.Item):
            yield from named(each.owner)


def named(node: tree.Node) -> Variables:
    """Return the variable that an expression names, if any."""
    is_variable = isinstance(node, tree.Name) and isinstance(node.binding, Variable)
    return frozenset({node.binding}) if is_variable else NONE  # type: ignore[attr-defined]


def _name(node: tree.Name) -> Uses:
    variables = named(node)
    return Uses(variables, NONE, variables) if variables else NOTHING


def _target(node: tree.Target) -> Uses:
    if not isinstance(node.binding, Variable):
        return NOTHING
    variables = frozenset({node.binding})
    return Uses(NONE, variables, variables, stored=variables, rebound=variables)


def _attribute(node: tree.Attribute) -> Uses:
    found, owner = uses_of(node.owner), named(node.owner)
    return found._replace(
        changed=found.changed | owner if node.name in CHANGING[list] else found.changed,
        released=found.released | owner if node.name in RELEASING else found.released,
    )


def _function(node: tree.Function) -> Uses:
    """Return the uses of a function, which may run later or never."""
    return _inside(node).at_once()._replace(stored=NONE, jumps=frozenset())


def _update(node: tree.Update) -> Uses:
    found = _inside(node).at_once()
    if not isinstance(node.target, tree.Target):
        return found
    return found._replace(rebound=uses_of(node.value).rebound)


def _branch(node: tree.Branch) -> Uses:
    sides = uses_of_all(node.then).either(uses_of_all(node.otherwise))
    return uses_of(node.test).then(sides)


def _loop(node: tree.Loop | tree.While) -> Uses:
    found = _inside(node).perhaps()
    return found._replace(jumps=found.jumps & {"return"})


def _finish(node: tree.Finish) -> Uses:
    variables = frozenset({*node.names, *node.kept})
    return Uses(variables, NONE, variables, released=NONE if node.is_wait else variables)


_SPECIAL: dict[type[tree.Node], Callable[..., Uses]] = {
    tree.Name: _name,
    tree.Target: _target,
    tree.Attribute: _attribute,
    tree.Function: _function,
    tree.Imported: lambda node: Uses(stored=_target(node.target).stored),
    tree.Assign: _inside,
    tree.Evaluate: _inside,
    tree.With: _inside,
    tree.Update: _update,
    tree.Delete: lambda node: _inside(node).at_once()._replace(stored=NONE, rebound=NONE),
    tree.Branch: _branch,
    tree.Loop: _loop,
    tree.While: _loop,
    tree.Return: lambda node: _inside(node).at_once()._replace(jumps=frozenset({"return"})),
    tree.Jump: lambda node: Uses(jumps=frozenset({node.kind})),
    tree.Finish: _finish,
}
