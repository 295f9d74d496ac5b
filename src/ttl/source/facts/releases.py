"""Supply releases and waits that a program leaves out, and describe them.

Kernels and their helpers are read once (reading.py), and get `Finish` statements where a call is
missing (supplies.py has the rules). The simulator runs the changed functions, the compiler
evaluates them.

rule RUN  both backends know on arrival whether a path has finished a handle: `Finish` does the rest
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from ttl.diagnostics import Diagnostic, Label, Span, UsageError, codes
from ttl.diagnostics.buffer_ends import CALLS
from ttl.language.buffer import DataflowBuffer
from ttl.loading.recent import Recent

from .. import tree
from ..bindings import Scope, Variable
from ..functions import fingerprint, place_of
from ..walking import Changer, copy_with, walk
from .handles import Hidden
from .reading import Reading
from .supplies import Spot, Supply


@dataclass(frozen=True, slots=True, eq=False)
class CodePoints:
    """The supplied calls of one user's function and of functions nested in it."""

    code: CodeType
    supplies: tuple[Supply, ...]
    function: tree.Function  # with the supplied calls

    def span(self, node: tree.Node) -> Span:
        return Span.of_node(self.code.co_filename, node)


# Queries ------------------------------------------------------------------------------------------


def kernel_points(functions: Iterable[Callable[[], None]]) -> list[CodePoints]:
    """List the points of these kernels and their helpers, without those that need nothing."""
    found = {place_of(points.code): points for f in functions for points in function_points(f)}
    return list(found.values())


def function_points(function: object) -> tuple[CodePoints, ...]:
    """Return the points of one kernel and its helpers, without those that need nothing."""
    if not isinstance(function, FunctionType):
        return ()
    numbers: dict[int, int] = {}

    def token(value: object) -> Hashable:
        """Tell buffers apart, so that equal fingerprints mean names of the same buffers."""
        is_buffer = isinstance(value, DataflowBuffer)
        return (type(value), numbers.setdefault(id(value), len(numbers)) if is_buffer else 0)

    return _POINTS.get(fingerprint(function, token), lambda: _read_points(function))


_POINTS: Recent[tuple[CodePoints, ...]] = Recent(1024)


def _read_points(function: FunctionType) -> tuple[CodePoints, ...]:
    reading = Reading()
    reading.read(function)
    return tuple(
        CodePoints(
            place[0], (*several.values(),), _Inserter([*several.values()], reading).node(found)
        )
        for place, several in reading.supplies().items()
        if several and (found := reading.trees[place]) is not None
    )


# Changed functions --------------------------------------------------------------------------------


class _Inserter(Changer):
    """Inserts supplied calls at the places of their acquires and copies."""

    def __init__(self, supplies: list[Supply], reading: Reading):
        self.at_once: set[tree.Node] = set()
        self.held: dict[tree.Node, Hidden] = {}
        self.places: dict[Spot, list[tree.Finish]] = defaultdict(list)
        self.saves: dict[tree.Node, list[tree.Statement]] = defaultdict(list)
        self.scope = Scope("")  # of the function being changed
        released = {supply.site for supply in supplies if not supply.is_wait}
        for supply in sorted(supplies, key=lambda supply: not supply.is_wait):  # rule ORDER
            node, site = supply.spot.statement, supply.site
            is_whole = isinstance(node, (tree.Evaluate, tree.Return)) and node.value is site
            if supply.is_at_once and is_whole and site not in released:
                self.at_once.add(site)
                continue
            self.held |= {site: n for site, n in reading.hidden.items() if n in supply.names}
            self._add(supply)
        for number, each in enumerate(self.held.values()):
            each.name = f".held_{number}"
        for (node, variable), former in reading.formers.items():
            if any(former in supply.names for supply in supplies):
                target, value = tree.Target(node.place, former), tree.Name(node.place, variable)
                self.saves[node].append(tree.Assign(node.place, (target,), value))

    def _add(self, supply: Supply) -> None:
        names, kept = (
            tuple(sorted(part, key=lambda each: each.name)) for part in (supply.names, supply.kept)
        )
        here = self.places[supply.spot]
        if all(
            (each.names, each.kept, each.is_wait) != (names, kept, supply.is_wait) for each in here
        ):
            here.append(tree.Finish(supply.site.place, names, kept, supply.is_wait))

    def node(self, node: Any) -> Any:
        outer, self.scope = self.scope, getattr(node, "scope", self.scope)
        new = self.inside(node)
        self.scope = outer
        if node in self.at_once:
            return tree.Call(new.place, tree.Attribute(new.place, new, "wait"), (), ())
        if node in self.held:
            return tree.Bind(new.place, tree.Target(new.place, self.held[node]), new)
        if isinstance(new, tree.Comprehension) and new is not node:
            return _evaluate_over(new, self.scope)
        if not isinstance(node, tree.Statement):
            return new
        if isinstance(node, tree.Branch):
            then, otherwise = (self.places.get(Spot(each, node), ()) for each in ("then", "else"))
            if then or otherwise:
                sides = (*new.then, *then), (*new.otherwise, *otherwise)
                new = tree.Branch(new.place, new.test, *sides)
        before = [*self.places.get(Spot("before", node), ()), *self.saves.get(node, ())]
        leaving = self.places.get(Spot("leaving", node), [])
        after = self.places.get(Spot("after", node), [])
        if leaving and isinstance(new, tree.Return) and new.value is not None:
            evaluated, new = _evaluate_first(new, self.scope)
            before.append(evaluated)
        around = (*before, *leaving, new, *after)
        return around if len(around) > 1 else new


def _evaluate_first(node: tree.Return, scope: Scope) -> tuple[tree.Statement, tree.Return]:
    """Evaluate the returned value before the supplied calls run."""
    assert node.value is not None
    variable, place = Variable(".returned", scope), node.value.place
    assign = tree.Assign(place, (tree.Target(place, variable),), node.value)
    return assign, tree.Return(node.place, tree.Name(place, variable))


def _evaluate_over(node: tree.Comprehension, scope: Scope) -> tree.Expression:
    """Evaluate the sequence of a comprehension first: names cannot be bound in it."""
    first, *others = node.generators
    if not any(isinstance(each, tree.Bind) for each in walk(first.over)):
        return node
    over, place = Variable(".over", scope), first.over.place
    bind = tree.Bind(place, tree.Target(place, over), first.over)
    first = copy_with(first, over=tree.Name(place, over))
    made = copy_with(node, generators=(first, *others))
    items = tree.Sequence(place, "tuple", (bind, made))
    return tree.Item(node.place, items, tree.Constant(place, -1))


# Messages -----------------------------------------------------------------------------------------


def make_supplied_note(operation: str, found: Iterable[CodePoints]) -> Diagnostic | None:
    """Make the note with all supplied calls of an operation."""
    labels = sorted((label for label, _ in _labels(found)), key=lambda label: label.span)
    if not labels:
        return None
    calls = "1 call that was" if len(labels) == 1 else f"{len(labels)} calls that were"
    return Diagnostic(
        codes.SUPPLIED,
        f"`{operation}` leaves out {calls} supplied",
        labels[0],
        tuple(labels[1:]),
        helps=("write them where the marks say, or run with --strict to make each an error",),
    )


def refuse_repairs(found: Iterable[CodePoints]) -> None:
    """Raise UsageError with every repair, for --strict."""
    diagnostics = []
    for label, supply in sorted(_labels(found), key=lambda each: each[0].span):
        where = " on every path" if supply.spot.where == "else" else ""
        name, kind = _variable(supply), "transfer" if supply.is_wait else "block"
        handle = f"the {kind} `{name}`" if name else f"this {kind}"
        broken = codes.LEFT_OUT.broken(
            f"{handle} is not {_finished(supply)}{where}", _advice(supply)
        )
        diagnostics.append(broken.at(label.span, f"without --strict: {label.text}"))
    if diagnostics:
        raise UsageError(*diagnostics)


def _labels(found: Iterable[CodePoints]) -> Iterator[tuple[Label, Supply]]:
    """Yield a label for each acquire and copy, with all places that finish it."""
    for points in found:
        by_site: dict[tuple[tree.Call, bool], list[Supply]] = {}
        for supply in points.supplies:
            by_site.setdefault((supply.site, supply.is_wait), []).append(supply)
        for (site, _), several in by_site.items():
            places = dict.fromkeys(_place(supply) for supply in several)
            text = f"{_finished(several[0])} {' or '.join(places)}"
            yield Label(points.span(site), text), several[0]


def _place(supply: Supply) -> str:
    if supply.is_at_once:
        return "at once"
    where, statement = supply.spot.where, supply.spot.statement
    if where in ("then", "else"):
        branch = "the" if where == "then" else "an `else` of the"
        return f"in {branch} `if` in line {statement.lineno}"
    if where == "after":
        return f"after line {statement.end_lineno}"
    return f"before line {statement.lineno}"


def _finished(supply: Supply) -> str:
    if supply.is_wait:
        return "waited for"
    return {"reserve": "pushed", "wait": "popped"}.get(supply.site.method, "released")


def _variable(supply: Supply) -> str:
    named = (each.name for each in supply.names if not each.name.startswith(".held"))
    return min((name.removeprefix(".") for name in named), default="")


def _advice(supply: Supply) -> str:
    name = _variable(supply)
    if supply.is_wait:
        return f"call {name}.wait()" if name else "write ttl.copy(...).wait()"
    release = {acquire: release for release, acquire in CALLS.items()}.get(supply.site.method)
    if name:
        return f"call {name}.{release or 'release'}(), or acquire the block in a `with`"
    return f"give the block a name and call {release or 'release'}(), or acquire it in a `with`"
