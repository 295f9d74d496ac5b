"""Where the evaluation of a kernel stands: the values that a path has reached, and frames.

A path is evaluated on a copy of the state it starts from, into a body of its own. Whoever asked for
it goes on with how it ends, or with what was before.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ttl.diagnostics import Diagnostic, Span
from ttl.diagnostics.span import Expansion, expansions_of
from ttl.dialects.conditions import Facts

from .environment import Environment
from .hir import Body, HeldBlock, Place, RunTime, Scalar, Value

Variable = tuple[int, str]  # the number of a frame, and a name in it
End = tuple[RunTime, bool]  # of a dataflow buffer: its handle, and is it the consumer's?
Container = list[Any] | dict[Any, Any] | set[Any]


@dataclass(slots=True, eq=False)
class Frame:
    """A function being evaluated: the kernel, or a function it calls."""

    number: int
    file: str
    own: frozenset[str]  # the names that are variables of this function
    outer: Frame | None  # of the function around a nested one
    environment: Environment | None  # names around a function that is not nested
    shared: frozenset[str] = frozenset()  # variables that nested functions assign to
    tree: ast.AST | None = None
    caller: Frame | None = None
    call_site: Span | None = None

    def span(self, node: ast.AST) -> Span:
        return Span.of_node(self.file, node).within(self.expanded_at())

    def expanded_at(self) -> tuple[Expansion, ...]:
        """Of the innermost operation on the way here that is expanded in another."""
        frame: Frame | None = self
        while frame is not None:
            if frame.environment is not None:
                code = frame.environment.functions[0].__code__
                if found := expansions_of(code):
                    return found
            frame = frame.caller
        return ()

    def call_sites(self) -> tuple[Span, ...]:
        """Where the function is called, innermost first."""
        if self.caller is None or self.call_site is None:
            return ()
        return (self.call_site, *self.caller.call_sites())


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop being evaluated that stays a loop; what leaves it early is in `hidden`."""

    frame: Frame
    nodes: tuple[ast.AST, ...]  # its condition and its body
    going_on: Variable
    hidden: frozenset[Variable]
    carries_blocks: bool  # and transfers too
    facts: Facts  # what its path knows
    variables: frozenset[Variable]  # that have values before it
    held: frozenset[End]  # the ends of buffers of which blocks are held before it
    may_release: bool  # blocks acquired before it: a mistake, which is reported as one
    returned: list[Value] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Made:
    """A list, dict or set that the kernel made: it exists while the kernel is evaluated.

    Its items may be run-time values; how many there are and where is known. A kernel may change
    what it made itself, where the change happens once on each path: a loop that changes a list made
    before it is unrolled.
    """

    container: Container
    loop: Loop | None  # inside which it was made
    items: list[Any]  # while another path is evaluated
    carrier: Loop | None = None  # the outermost loop that carries it to this place


@dataclass(slots=True)
class State:
    """What a path has reached."""

    values: dict[Variable, Value] = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)  # what conditions are decided on this path
    released: frozenset[RunTime] = frozenset()  # blocks, transfers waited for, pipes left
    shapeless: dict[Value, Place | None] = field(default_factory=dict)  # fills and broadcasts
    mistakes: tuple[Diagnostic, ...] = ()
    unrolled: int = 0  # iterations of loops that could be loops in C++ but for what they carry
    containers: dict[int, Made] = field(default_factory=dict)
    # Of what is finished on one branch only: the condition, and whether that is its `then`.
    doubtful: Mapping[RunTime, tuple[Scalar, bool] | None] = field(default_factory=dict)
    grouped: tuple[tuple[RunTime, RunTime], ...] = ()  # groups, and transfers added to them
    split: int = 0  # conditions whose branches took along what follows
    has_lost_containers: bool = False  # by a branch in which they differ

    def fork(self) -> State:
        self.keep()
        return replace(
            self,
            values=dict(self.values),
            shapeless=dict(self.shapeless),
            containers=dict(self.containers),
        )

    def keep(self) -> None:
        """The items of its containers, before another path changes them."""
        for key, made in self.containers.items():
            self.containers[key] = replace(made, items=plain(made.container))

    def resume(self) -> None:
        for made in self.containers.values():
            refill(made.container, made.items)

    def note_mistake(self, found: Diagnostic) -> None:
        known = [(each.message, each.primary) for each in self.mistakes]
        if (found.message, found.primary) not in known:  # functions are evaluated at each call
            self.mistakes += (found,)

    def held(self) -> list[HeldBlock]:
        """The blocks that variables have and the program is still to release, oldest first."""
        blocks = {v for v in self.values.values() if isinstance(v, HeldBlock) and not v.is_scoped}
        return sorted(blocks - self.released, key=lambda block: block.age)

@dataclass(slots=True)
class Path:
    """What was evaluated apart: how it ends, and its operations."""

    state: State
    body: Body


Do = Callable[[], None]


def plain(value: Container) -> list[Any]:
    return [list(item) for item in value.items()] if isinstance(value, dict) else list(value)


def refill(container: Any, items: Any) -> None:
    """Gives a list, dict or set other items."""
    if isinstance(container, list):
        container[:] = items
    else:
        container.clear()
        container.update(items)
