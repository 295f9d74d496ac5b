"""Dataflow over the tree of a function: forward from its start, backward from its end.

An analysis defines how states join and how a statement changes one.

rule WAYS    a body is left at its end, by `return`, `break`, `continue` or an exception
rule AGAIN   a loop is passed until an iteration adds nothing
rule RAISED  an exception may come before any statement of a `try`, and after the last
rule FINALLY `finally` is on every way out
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from . import tree
from .tree import Body, Expression, Statement

State = TypeVar("State")
RAISE, RETURN, BREAK, CONTINUE = "raise", "return", "break", "continue"


def is_endless(node: tree.Loop | tree.While) -> bool:
    """Is there no way out of the loop but a `break` or a `return`?"""
    test = node.test if isinstance(node, tree.While) else None
    return isinstance(test, tree.Constant) and bool(test.value)


# Forward ------------------------------------------------------------------------------------------


class Forward(Generic[State]):
    """A forward analysis; the state of unreachable code is None."""

    def __init__(self) -> None:
        self._ways: dict[str, State] = {}  # states that leave the current body
        self._tries = 0  # how many are around this place

    # What an analysis says ------------------------------------------------------------------------

    def join(self, one: State, other: State) -> State:
        raise NotImplementedError

    def step(self, node: Statement, state: State) -> State:
        """Return the state after a statement without a body, or after the value of a `return`."""
        return state

    def before(self, node: Statement, state: State) -> State:
        return state

    def after(self, node: Statement, state: State) -> State:
        return state

    def decide(self, test: Expression, state: State) -> tuple[State | None, State | None]:
        """Return the state if the test is true, and the state if it is false."""
        return state, state

    def start(self, loop: tree.Loop, state: State) -> State:
        """Return the state after evaluating the loop's sequence."""
        return state

    def next(self, loop: tree.Loop, state: State) -> State:
        """Return the state after the loop's target got an item."""
        return state

    def enter(self, node: tree.With, state: State) -> State:
        return state

    def catch(self, handler: tree.Handler, state: State) -> State:
        return state

    def leave(self, node: tree.Try, state: State) -> State:
        """Return the state after leaving by anything but the end."""
        return state

    def meet(
        self, node: tree.Branch, then: State | None, otherwise: State | None
    ) -> tuple[State | None, State | None]:
        """Adjust the states at the ends of both branches."""
        return then, otherwise

    def forget(self, loop: tree.Loop | tree.While) -> None:
        """Drop findings about a loop before it is passed again with a wider state."""

    def widen(self, state: State, rounds: int) -> State:
        """Widen the state after this many rounds through a loop, so that the analysis ends."""
        return state

    # The ways through a function ------------------------------------------------------------------

    def joined(self, *several: State | None) -> State | None:
        found: State | None = None
        for each in several:
            if each is not None:
                found = each if found is None else self.join(found, each)
        return found

    def function(self, node: tree.Function, state: State) -> State | None:
        """Return the state at the end or at a `return`."""
        outer, self._ways = self._ways, {}
        end = self.joined(self.body(node.body, state), self._ways.get(RETURN))
        self._ways = outer
        return end

    def body(self, nodes: Body, state: State | None) -> State | None:
        for node in nodes:
            if state is None:
                break
            if self._tries:  # rule RAISED
                self._go(RAISE, state)
            state = self.before(node, state)
            state = FORWARD.get(type(node), Forward._simple)(self, node, state)
            if state is not None:
                state = self.after(node, state)
        return state

    def _go(self, way: str, state: State | None) -> None:
        if state is not None:
            known = self._ways.get(way)
            self._ways[way] = state if known is None else self.join(known, state)

    def _simple(self, node: Statement, state: State) -> State | None:
        state = self.step(node, state)
        way = node.kind if isinstance(node, tree.Jump) else WAYS.get(type(node))
        if way is None:
            return state
        if way != RAISE or self._tries:
            self._go(way, state)
        return None

    def _branch(self, node: tree.Branch, state: State) -> State | None:
        then, otherwise = self.decide(node.test, state)
        ends = self.body(node.then, then), self.body(node.otherwise, otherwise)
        return self.joined(*self.meet(node, *ends))

    def _loop(self, node: tree.Loop | tree.While, state: State) -> State | None:
        outer, head, rounds = self._ways, None, 0
        arriving: State | None = self.start(node, state) if isinstance(node, tree.Loop) else state
        ended: State | None = None
        while True:  # rule AGAIN
            found = self.joined(head, arriving)
            assert found is not None
            found = self.widen(found, rounds)
            if found == head:
                break
            head, rounds, self._ways = found, rounds + 1, {}
            self.forget(node)
            if isinstance(node, tree.Loop):
                inside: State | None = self.next(node, head)
                ended = head
            else:
                inside, left = self.decide(node.test, head)
                ended = None if is_endless(node) else left
            arriving = self.joined(self.body(node.body, inside), self._ways.get(CONTINUE))
        inner, self._ways = self._ways, outer
        self._go(RETURN, inner.get(RETURN))
        self._go(RAISE, inner.get(RAISE))
        return self.joined(ended, inner.get(BREAK))

    def _with(self, node: tree.With, state: State) -> State | None:
        return self.body(node.body, self.enter(node, state))

    def _try(self, node: tree.Try, state: State) -> State | None:
        outer, self._ways = self._ways, {}
        self._tries += 1
        end = self.body(node.body, state)
        self._tries -= 1
        raised = self.joined(self._ways.pop(RAISE, None), end)
        ends = self.body(node.otherwise, end)
        for handler in node.handlers if raised is not None else ():
            assert raised is not None
            ends = self.joined(ends, self.body(handler.body, self.catch(handler, raised)))
        if self._tries:  # the handlers may not catch it
            self._go(RAISE, raised)
        inner, self._ways = self._ways, outer
        for way, each in inner.items():  # rule FINALLY
            left = self.body(node.finally_, each)
            self._go(way, None if left is None else self.leave(node, left))
        return self.body(node.finally_, ends)


WAYS: dict[type[tree.Node], str] = {tree.Return: RETURN, tree.Raise: RAISE}
FORWARD: dict[type[tree.Node], Callable[..., Any]] = {
    tree.Branch: Forward._branch,
    tree.Loop: Forward._loop,
    tree.While: Forward._loop,
    tree.With: Forward._with,
    tree.Try: Forward._try,
}

# Backward -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Targets(Generic[State]):
    """The state at each target of a jump."""

    returned: State
    broken: State
    continued: State
    raised: State


class Backward(Generic[State]):
    """The states `after` and `before` each statement of a function; `nothing` where a run ends."""

    def __init__(self, nothing: State) -> None:
        self.nothing = nothing
        self._tries = 0  # around this place
        self.after: dict[Statement, State] = {}
        self.before: dict[Statement, State] = {}

    # What an analysis says ------------------------------------------------------------------------

    def join(self, one: State, other: State) -> State:
        raise NotImplementedError

    def step(self, node: Statement, state: State) -> State:
        """Return the state before a statement without a body."""
        return state

    def evaluate(self, node: Expression, state: State) -> State:
        """Return the state before a test, a loop's sequence or the context manager of a `with`."""
        return state

    def assign(self, target: Expression, state: State) -> State:
        """Return the state before the target of a loop, a `with` or a handler is assigned."""
        return state

    # The ways through a function ------------------------------------------------------------------

    def function(self, node: tree.Function, end: State) -> State:
        nothing = self.nothing
        return self.body(node.body, end, Targets(end, nothing, nothing, nothing))

    def body(self, nodes: Body, state: State, to: Targets[State]) -> State:
        for node in reversed(nodes):
            reached = self._reached(node, state, to)
            self._note(self.after, node, reached)
            state = self.join(self._statement(node, reached, to), to.raised)
            self._note(self.before, node, state)
        return state

    def _note(self, where: dict[Statement, State], node: Statement, state: State) -> None:
        where[node] = self.join(where[node], state) if node in where else state

    def _reached(self, node: Statement, state: State, to: Targets[State]) -> State:
        """Return the state at the place that runs after a statement."""
        if isinstance(node, tree.Return):
            return to.returned
        if isinstance(node, tree.Jump):
            return to.broken if node.kind == BREAK else to.continued
        return to.raised if isinstance(node, tree.Raise) else state

    def _statement(self, node: Statement, state: State, to: Targets[State]) -> State:
        if isinstance(node, tree.Branch):
            sides = self.body(node.then, state, to), self.body(node.otherwise, state, to)
            return self.evaluate(node.test, self.join(*sides))
        if isinstance(node, (tree.Loop, tree.While)):
            return self._loop(node, state, to)
        if isinstance(node, tree.With):
            found = self.body(node.body, state, to)
            for item in reversed(node.items):
                found = found if item.target is None else self.assign(item.target, found)
                found = self.evaluate(item.value, found)
            return found
        return self._try(node, state, to) if isinstance(node, tree.Try) else self.step(node, state)

    def _loop(self, node: tree.Loop | tree.While, state: State, to: Targets[State]) -> State:
        head: State = self.nothing
        left = self.nothing if is_endless(node) else state
        while True:  # rule AGAIN
            found = self.body(node.body, head, replace(to, broken=state, continued=head))
            if isinstance(node, tree.Loop):
                found = self.join(left, self.assign(node.target, found))
            else:
                found = self.evaluate(node.test, self.join(left, found))
            found = self.join(head, found)
            if found == head:
                return self.evaluate(node.over, head) if isinstance(node, tree.Loop) else head
            head = found

    def _try(self, node: tree.Try, state: State, to: Targets[State]) -> State:
        def through(way: State) -> State:  # rule FINALLY
            return self.body(node.finally_, way, to)

        raised = through(to.raised) if self._tries else self.nothing
        passed = Targets(through(to.returned), through(to.broken), through(to.continued), raised)
        end, handled = through(state), raised
        for handler in node.handlers:
            found = self.body(handler.body, end, passed)
            found = found if handler.target is None else self.assign(handler.target, found)
            handled = self.join(handled, found)
        after = self.body(node.otherwise, end, passed)
        self._tries += 1
        inside = replace(passed, raised=handled)
        before = self.body(node.body, self.join(after, handled), inside)
        self._tries -= 1
        return before
