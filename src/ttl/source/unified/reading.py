"""Read the body of a unified operation, statement by statement, into units.

rule UNIT    every simple statement, item of a `with`, and head of a loop or condition is a unit
rule FLOW    names have all values that reach them: branches are joined, loops repeat until no
change
rule INLINE  a user's function is read where it is called: its effects count as its caller's
rule EXPAND  an operation called as a statement is a frame of units of its own
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from ttl.language.operation import operation

from .. import tree
from ..bindings import Around, Binding, Variable
from ..flow import Forward
from ..functions import MISSING, find_value
from ..python import as_text
from ..walking import is_generator
from . import expressions
from .calls import Given, parameters_given
from .problems import DEFINED_INSIDE, NEW_VALUE, NOT_HERE, RETURNS_VALUE
from .things import (
    OF_TILES,
    SCALAR,
    Activation,
    Kind,
    Side,
    Thing,
    container_of,
    item_of,
    join_things,
    thing_of,
)
from .units import CallPlace, Effect, Inline, Site, Unit

MOST_ROUNDS = 8  # of one loop: kinds only grow
DEEPEST_CALLS = 32


class BodyState(dict[tuple[Activation, Variable], Thing]):
    """The values of the variables."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BodyState) or not dict.__eq__(self, other):
            return False
        return all(thing.value is other[key].value for key, thing in self.items())

    __hash__ = None


class BodyReader(Forward[BodyState]):
    """The position of the reading: frame, names, unit, and the unit around it."""

    def __init__(self, frame: Inline):
        super().__init__()
        self.frame = frame
        self.here = self.home = Activation(
            None, frame.tree.scope, frame.function
        )  # home: the frame's
        self.state = BodyState()
        self.unit: Unit = None  # type: ignore[assignment]  # the first statement sets it
        self.control: Unit | None = frame.caller  # the loop, the condition or the call around it
        self.calls: dict[tree.Function, tree.Node] = {}  # being read in place
        self.returned: list[Thing] = []  # by the function being read
        self.order: list[Unit] = []  # all units, including expansions
        self._units: dict[tuple[Inline, tree.Node, str], Unit] = {}
        self._heads: dict[
            tuple[Inline, tree.Loop], BodyState
        ] = {}  # in the last round of each loop
        self._controls: dict[tuple[Inline, tree.Node], Unit] = {}  # the unit around each statement

    def read_frame(self, frame: Inline, given: Mapping[Variable, Thing]) -> None:  # rule EXPAND
        """Read a frame, which keeps the final values of its variables."""
        outer = self.frame, self.here, self.home, self.unit
        place = None if frame.caller is None else self.place(frame.tree)
        self.here = self.home = Activation(place, frame.tree.scope, frame.function)
        self.frame = frame
        self.state |= {(self.home, variable): thing for variable, thing in given.items()}
        self.run(frame.tree)
        own = [key for key in self.state if key[0] == self.home]
        frame.final = {key[1]: self.state.pop(key) for key in own}
        self.frame, self.here, self.home, self.unit = outer

    # Units ----------------------------------------------------------------------------------------

    def begin(self, node: tree.Node, argument: str = "") -> Unit:  # rule UNIT
        if self.calls:
            return self.unit
        key = self.frame, node, argument
        if key not in self._units:
            self._units[key] = Unit(self.frame, node, self.control)
            self.frame.units.append(self._units[key])
            self.order.append(self._units[key])
        self.unit = self._units[key]
        return self.unit

    def does(self, effect: Effect, node: tree.Node) -> None:
        place = self.unit.node if self.calls else node
        self.unit.effects.setdefault(effect, place)

    def place(self, node: tree.Node) -> CallPlace:
        return CallPlace(self.unit, node, tuple(self.calls.values()))

    def site(self, node: tree.Call, end: Side, buffer: Thing) -> Site:
        site = Site(self.place(node), end, buffer.key, buffer.block_bytes)
        self.unit.acquires.add(site)
        return site

    def evaluate(self, node: tree.Expression) -> Thing:
        return expressions.evaluate(self, node)

    # Names ----------------------------------------------------------------------------------------

    def read(self, name: Binding) -> Thing:
        if isinstance(name, Around):
            value = find_value(name.name, self.here.function)
            return SCALAR if value is MISSING else thing_of(value)
        home = self._home_of(name)
        thing = self.state.get((home, name), SCALAR)
        self.unit.depends |= thing.origins
        self.unit.sites |= thing.sites
        if self._is_of_frame(name):
            self.unit.reads.setdefault(name, set()).update(thing.origins)
        return thing

    def _home_of(self, variable: Variable) -> Activation:
        return self.here.home(variable) or self.here

    def _is_of_frame(self, variable: Variable) -> bool:
        """Is it the frame's own variable? A comprehension has its own ones."""
        return variable.scope is self.home.scope

    def bind(self, target: tree.Expression, thing: Thing) -> None:
        if isinstance(target, tree.Target):
            self._store(target.binding, thing)
        elif isinstance(target, tree.Sequence):
            for each, item in expressions.unpack(target.items, thing):
                self.bind(each, item)
        elif isinstance(target, tree.Starred):
            self.bind(target.value, thing)
        elif isinstance(target, (tree.Item, tree.Attribute)):
            self.evaluate(target.owner)
            is_item = isinstance(target, tree.Item)
            key = self.evaluate(target.index).value if is_item else MISSING  # type: ignore[union-attr]
            self.change(target.owner, container_of(thing), key)

    def _store(self, name: Binding, thing: Thing) -> None:
        if isinstance(name, Around):
            return
        home = self._home_of(name)
        if self._is_of_frame(name):
            if name in self.frame.parameters.values():
                raise NEW_VALUE.error((self.frame, self.unit.node), parameter=name.name)
            self.unit.binds.add(name)
            thing = replace(thing, origins=frozenset({self.unit}))
            if home != self.here and (home, name) in self.state:
                thing = join_things(
                    [self.state[home, name], thing]
                )  # the function may not be called
        self.state[home, name] = thing

    def change(self, owner: tree.Expression, news: Thing, key: object = MISSING) -> None:
        """Change items of a variable's container, of a dict at one key."""
        if not isinstance(owner, tree.Name) or isinstance(owner.binding, Around):
            return
        home = self._home_of(owner.binding)
        before = changed = self.state.get((home, owner.binding), SCALAR)
        if before.is_table and key is not MISSING:
            changed = before.with_item(key, news.any_item())
        elif before.kind is Kind.CONTAINER:
            held = replace(before, items=None, is_table=False, item=before.any_item())
            changed = news if before.is_empty else join_things([held, news])
        origins = before.origins | {self.unit}
        self.state[home, owner.binding] = replace(changed, origins=origins)
        if self._is_of_frame(owner.binding):
            self.unit.binds.add(owner.binding)

    # Functions ------------------------------------------------------------------------------------

    def go_in(
        self, function: tree.Function, around: Any, call: tree.Node, given: Given, bound: int = 0
    ) -> Thing:  # rule INLINE
        """Read a call; `around` is the defining activation, or Python's function object."""
        if function.is_async:
            raise NOT_HERE.error((self.frame, function), what="a coroutine")
        if function in self.calls or len(self.calls) > DEEPEST_CALLS:
            return SCALAR
        outer = self.here, self.returned
        is_nested = isinstance(around, Activation)
        names, inner = (around.function, around) if is_nested else (around, None)
        self.here = Activation(self.place(call), function.scope, names, inner)
        self.returned = []
        for variable, thing in parameters_given(function, given, bound).items():
            self.state[self.here, variable] = thing
        self.calls[function] = call
        self.run(function)
        found = join_things(self.returned)
        del self.calls[function]
        self.here, self.returned = outer
        return container_of(found) if is_generator(function) else found

    # Statements -----------------------------------------------------------------------------------

    def run(self, function: tree.Function) -> None:  # rule FLOW
        """Run a function; an unreachable end needs no state."""
        end = self.function(function, self.state)
        self.state = self.state if end is None else end

    def join(self, one: BodyState, other: BodyState) -> BodyState:
        found = BodyState(one)
        for key, thing in other.items():
            found[key] = join_things((found[key], thing)) if key in found else thing
        return found

    def before(self, node: tree.Statement, state: BodyState) -> BodyState:
        self.state = BodyState(state)
        is_global = isinstance(node, tree.Declare) and node.keyword == "global"
        if not isinstance(node, _KNOWN) or is_global:
            keyword = as_text(node).split()[0].rstrip(":")
            raise NOT_HERE.error((self.frame, node), what=f"`{keyword}`")
        if not self.calls:
            self.control = self._controls.get((self.frame, node), self.frame.caller)
            if isinstance(node, tree.Branch):
                self._stand_in(self.begin(node.test), (*node.then, *node.otherwise))
            elif isinstance(node, (tree.Loop, tree.While)):
                unit = self.begin(node.over if isinstance(node, tree.Loop) else node.test)
                unit.is_loop = True
                self._stand_in(unit, node.body)
        return self.state

    def _stand_in(self, unit: Unit | None, body: tree.Body) -> None:
        if unit is not None and not self.calls:
            self._controls |= {(self.frame, each): unit for each in body}

    def step(self, node: tree.Statement, state: BodyState) -> BodyState:
        _SIMPLE[type(node)](self, node)
        return self.state

    def decide(
        self, test: tree.Expression, state: BodyState
    ) -> tuple[BodyState | None, BodyState | None]:
        self.state = BodyState(state)
        self.begin(test)
        known = self.evaluate(test).value
        if self.calls and type(known) is bool:  # rule INLINE: what this call does
            return (self.state, None) if known else (None, self.state)
        return self.state, self.state

    def start(self, loop: tree.Loop, state: BodyState) -> BodyState:
        if not self.calls:
            self.unit.counts = self.unit.counts or _count_only(self, loop.over)
            over = self.evaluate(self.unit.counts or loop.over)
            self.unit.rounds = expressions.length_of(over) or 1
            if (head := self._heads.get((self.frame, loop))) is not None:
                return self.join(state, head)  # states only grow: inner loops end sooner
        return state

    def next(self, loop: tree.Loop, state: BodyState) -> BodyState:
        self.state = BodyState(state)
        if not self.calls:
            self._heads[self.frame, loop] = state
        self.begin(loop.over)
        self.bind(loop.target, item_of(self.evaluate(loop.over)))
        return self.state

    def widen(self, state: BodyState, rounds: int) -> BodyState:
        """Drop items after many rounds, because lists in lists may grow without end."""
        if rounds < MOST_ROUNDS:
            return state
        return BodyState({key: thing.without_items() for key, thing in state.items()})

    def enter(self, node: tree.With, state: BodyState) -> BodyState:
        for item in node.items:
            unit = self.begin(item.value)
            thing = self.evaluate(item.value)
            if item.target is not None:
                self.bind(item.target, thing)
            if unit.is_signpost and not self.calls:
                self.control = unit
        self._stand_in(self.control, node.body)
        return self.state


def _evaluate(reader: BodyReader, node: tree.Evaluate) -> None:
    reader.begin(node)
    reader.evaluate(node.value)


def _assign(reader: BodyReader, node: tree.Assign) -> None:
    unit = reader.begin(node)
    if isinstance(node.value, tree.Function):
        _check_decorators(reader, node.value)
    thing = reader.evaluate(node.value)
    if thing.kind is Kind.FUNCTION and not reader.calls:
        unit.is_function = True
    for target in node.targets:
        reader.bind(target, thing)


def _check_decorators(reader: BodyReader, function: tree.Function) -> None:
    for each in function.decorators:
        called = each.function if isinstance(each, tree.Call) else each
        if reader.evaluate(called).value is operation:
            names = {"inner": function.name, "operation": reader.frame.name}
            raise DEFINED_INSIDE.error((reader.frame, function), **names)
        reader.evaluate(each)


def _update(reader: BodyReader, node: tree.Update) -> None:
    """Read `+=`, which computes on blocks and values; the block stays the same."""
    reader.begin(node)
    value = reader.evaluate(node.value)
    if isinstance(node.target, tree.Target):
        before = reader.read(node.target.binding)
        if before.kind in OF_TILES or value.kind in OF_TILES:
            reader.does(Effect.COMPUTE, node)
            value = before if before.kind is Kind.BLOCK else Thing(Kind.VALUE)
        elif before.kind is Kind.CONTAINER:
            value = join_things([before, value])
        else:
            value = Thing(max(before.kind, value.kind))
    reader.bind(node.target, value)


def _count_only(reader: BodyReader, over: tree.Expression) -> tree.Call | None:
    """Return `range(count)` for `range(first, first + count)`, for kernels that ignore the item.
    They then need not compute `first`, which may depend on the node."""
    if not isinstance(over, tree.Call) or len(over.arguments) < 2 or over.keywords:
        return None
    start, stop, *step = over.arguments
    is_range = reader.evaluate(over.function).value is range
    if not is_range or not isinstance(stop, tree.Binary) or stop.sign != "+":
        return None
    if as_text(stop.left) != as_text(start):
        return None
    zero = [tree.Constant(start.place, 0)] if step else []
    return replace(over, arguments=(*zero, stop.right, *step))


def _return(reader: BodyReader, node: tree.Return) -> None:
    if not reader.calls and node.value is not None:
        raise RETURNS_VALUE.error((reader.frame, node), operation=reader.frame.name)
    _jump(reader, node)
    if node.value is not None:
        reader.returned.append(reader.evaluate(node.value))


def _jump(reader: BodyReader, node: tree.Return | tree.Jump | tree.Raise | tree.Assert) -> None:
    unit = reader.begin(node)
    unit.is_jump = unit.is_jump or not reader.calls
    expressions.evaluate_parts(reader, node)


def _import(reader: BodyReader, node: tree.Import) -> None:
    reader.begin(node)
    for each in node.names:
        if each.name is not None:
            value: Any = getattr(import_module(node.module), each.name)
        else:
            value = import_module(node.module if each.has_alias else node.module.partition(".")[0])
        reader.bind(each.target, thing_of(value))


_SIMPLE: dict[type[tree.Statement], Callable[..., None]] = {
    tree.Evaluate: _evaluate,
    tree.Assign: _assign,
    tree.Update: _update,
    tree.Return: _return,
    tree.Jump: _jump,
    tree.Raise: _jump,
    tree.Assert: _jump,
    tree.Import: _import,
    tree.Declare: lambda reader, node: None,
}
_KNOWN = (*_SIMPLE, tree.Branch, tree.Loop, tree.While, tree.With)
