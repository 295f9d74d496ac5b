"""The engine of dataflow, compared with all paths through small functions.

Each simple statement has a number. Forward, the state of a place is the numbers that may have come
last; backward, those that may come next. Paths are enumerated by running the tree, with every
decision taken both ways.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ttl.source import tree
from ttl.source.flow import Backward, Forward, is_endless
from ttl.source.read import read_function

Numbers = frozenset[int]
START, END = -1, -2
MOST_ITERATIONS = 2  # more add no pair of statements


def function_of(text: str) -> tree.Function:
    (definition,) = ast.parse(text).body
    assert isinstance(definition, ast.FunctionDef)
    return read_function(definition)


def number_of(node: tree.Statement) -> int | None:
    value = node.value if isinstance(node, (tree.Evaluate, tree.Return)) else None
    return value.value if isinstance(value, tree.Constant) else None


class Last(Forward[Numbers]):
    def __init__(self) -> None:
        super().__init__()
        self.pairs: set[tuple[int, int]] = set()

    def join(self, one: Numbers, other: Numbers) -> Numbers:
        return one | other

    def step(self, node: tree.Statement, state: Numbers) -> Numbers:
        number = number_of(node)
        if number is None:
            return state
        self.pairs |= {(last, number) for last in state}
        return frozenset({number})


class Next(Backward[Numbers]):
    def __init__(self) -> None:
        super().__init__(frozenset())

    def join(self, one: Numbers, other: Numbers) -> Numbers:
        return one | other

    def step(self, node: tree.Statement, state: Numbers) -> Numbers:
        number = number_of(node)
        return state if number is None else frozenset({number})


def forward_pairs(function: tree.Function) -> set[tuple[int, int]]:
    flow = Last()
    end = flow.function(function, frozenset({START}))
    return flow.pairs | {(last, END) for last in end or ()}


def backward_pairs(function: tree.Function) -> set[tuple[int, int]]:
    flow = Next()
    first = flow.function(function, frozenset({END}))
    found = {(START, number) for number in first}
    for node, state in flow.after.items():
        if (number := number_of(node)) is not None:
            found |= {(number, following) for following in state}
    return found


# All paths ----------------------------------------------------------------------------------------


class Leave(Exception):
    def __init__(self, way: str):
        self.way = way


class Decisions:
    """One path: what is decided, and how many ways there were."""

    def __init__(self, given: list[int]):
        self.given, self.ways = given, list[int]()

    def choose(self, ways: int) -> int:
        number = len(self.ways)
        self.ways.append(ways)
        return self.given[number] if number < len(self.given) else 0


class Run:
    def __init__(self, decisions: Decisions):
        self.choose, self.passed, self.tries = decisions.choose, [START], 0

    def function(self, node: tree.Function) -> list[int]:
        try:
            self.body(node.body)
        except Leave as left:
            if left.way == "raise":
                return self.passed
        return [*self.passed, END]

    def body(self, nodes: tree.Body) -> None:
        for node in nodes:
            self.may_raise()
            self.statement(node)

    def may_raise(self) -> None:
        if self.tries and self.choose(2):
            raise Leave("raise")

    def statement(self, node: tree.Statement) -> None:
        if (number := number_of(node)) is not None:
            self.passed.append(number)
        if isinstance(node, tree.Branch):
            self.body((node.then, node.otherwise)[self.choose(2)])
        elif isinstance(node, (tree.Loop, tree.While)):
            self.loop(node)
        elif isinstance(node, tree.With):
            self.body(node.body)
        elif isinstance(node, tree.Try):
            self.try_(node)
        elif isinstance(node, (tree.Return, tree.Jump, tree.Raise)):
            raise Leave(getattr(node, "kind", type(node).__name__.lower()))

    def loop(self, node: tree.Loop | tree.While) -> None:
        for _ in range(MOST_ITERATIONS + 1):
            if not is_endless(node) and self.choose(2):
                return
            try:
                self.body(node.body)
            except Leave as left:
                if left.way == "break":
                    return
                if left.way != "continue":
                    raise
        raise Cut

    def try_(self, node: tree.Try) -> None:
        left: Leave | None = None
        try:
            self.guarded(node)
        except Leave as found:
            left = found
        if left is not None and left.way == "raise" and not self.tries:
            raise left  # it ends the run
        self.body(node.finally_)
        if left is not None:
            raise left

    def guarded(self, node: tree.Try) -> None:
        try:
            self.tries += 1
            try:
                self.body(node.body)
                self.may_raise()
            finally:
                self.tries -= 1
        except Leave as left:
            if left.way != "raise":
                raise
            handler = self.choose(len(node.handlers) + bool(self.tries or not node.handlers))
            if handler >= len(node.handlers):
                raise
            self.body(node.handlers[handler].body)
            return
        self.body(node.otherwise)


class Cut(Exception):
    """A path that is not followed further."""


def all_pairs(function: tree.Function) -> set[tuple[int, int]] | None:
    """None if there are too many."""
    found: set[tuple[int, int]] = set()
    waiting: list[list[int]] = [[]]
    for _ in range(1500):
        if not waiting:
            return found
        decisions = Decisions(waiting.pop())
        run = Run(decisions)
        try:
            passed = run.function(function)
        except Cut:
            passed = run.passed
        found |= {*pairwise(passed)}
        for number in range(len(decisions.given), len(decisions.ways)):
            before = [*decisions.given, *[0] * (number - len(decisions.given))]
            waiting += [[*before, other] for other in range(1, decisions.ways[number])]
    return None


# Functions ----------------------------------------------------------------------------------------


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


SIMPLE = ("#", "#", "#", "return #", "break", "continue", "raise E", "pass")
COMPOUND = (
    "{}\n{}",
    "while c():\n{}",
    "for i in x():\n{}",
    "with c():\n{}",
    "if c():\n{}",
    "if c():\n{}\nelse:\n{}",
    "while True:\n{}",
    "try:\n{}\nfinally:\n{}",
    "try:\n{}\nexcept E:\n{}",
    "try:\n{}\nexcept E:\n{}\nelse:\n{}",
    "{}\n{}\n{}",
)


@st.composite
def bodies(draw: st.DrawFn, depth: int = 4) -> str:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(SIMPLE))
    form = draw(st.sampled_from(COMPOUND))
    parts = [draw(bodies(depth - 1)) for _ in range(form.count("{}"))]
    is_row = form.startswith("{}")
    return form.format(*(part if is_row else indented(part) for part in parts))


def numbered(body: str) -> str:
    lines = body.splitlines()
    text = "\n".join(line.replace("#", str(number)) for number, line in enumerate(lines))
    return f"def f():\n{indented(text)}"


def readable(text: str) -> tree.Function | None:
    try:
        compile(text, "f", "exec")
    except SyntaxError:  # break outside of a loop
        return None
    return function_of(text)


@pytest.mark.parametrize("pairs", [forward_pairs, backward_pairs])
@given(body=bodies())
@settings(max_examples=200, deadline=None)
def test_the_pairs_are_those_of_all_paths(
    pairs: Callable[[tree.Function], set[tuple[int, int]]], body: str
) -> None:
    function = readable(numbered(body))
    expected = None if function is None else all_pairs(function)
    if function is not None and expected is not None:
        found = reachable(pairs(function))
        # Backward a `finally` is left by all ways that there may be.
        is_exact = pairs is forward_pairs or "finally" not in body
        assert found == expected if is_exact else found >= expected, numbered(body)


def reachable(pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Backward also says what would follow statements that no path comes to."""
    seen, waiting = {START}, [START]
    while waiting:
        here = waiting.pop()
        following = {after for before, after in pairs if before == here} - seen
        seen |= following
        waiting += following
    return {pair for pair in pairs if pair[0] in seen}


def test_what_is_known_of_a_loop_is_forgotten_where_it_must_end() -> None:
    """States that never repeat come to an end because the analysis widens them."""

    class Counting(Forward[int]):
        rounds = 0

        def join(self, one: int, other: int) -> int:
            return max(one, other)

        def step(self, node: tree.Statement, state: int) -> int:
            return state + 1

        def widen(self, state: int, rounds: int) -> int:
            return 99 if rounds > 4 else state

        def forget(self, loop: tree.Loop | tree.While) -> None:
            self.rounds += 1

    flow = Counting()
    assert flow.function(function_of("def f():\n    while c:\n        1"), 0) == 99
    assert flow.rounds == 6
