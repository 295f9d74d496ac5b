"""Where the evaluation of a kernel stands: the values that a path has reached, and frames.

A path is evaluated on a copy of the state it starts from, into a body of its own. Whoever asked for
it goes on with how it ends, or with what was before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import Signature
from typing import Any, NamedTuple

from ttl.diagnostics import Diagnostic, Span
from ttl.diagnostics.span import Expansion, expansions_of
from ttl.dialects.conditions import Facts
from ttl.source import bindings, tree
from ttl.source.functions import own_code

from .environment import Environment
from .hir import Body, HeldBlock, Place, RunTime, Scalar, Value

End = tuple[RunTime, bool]  # of a dataflow buffer: its handle, and is it the consumer's?
Container = list[Any] | dict[Any, Any] | set[Any]


class Variable(NamedTuple):
    """A variable of the program, or one that its evaluation needs, in one call of a function."""

    frame: int  # its number
    of: bindings.Variable

    @property
    def name(self) -> str:
        return self.of.name

    @property
    def order(self) -> tuple[int, str]:
        return self.frame, self.of.name

    @property
    def is_hidden(self) -> bool:
        """Does no name of the program stand for it?"""
        return self.of.name.startswith("<")


# What the evaluation of each function needs: names that no program could use.
OWN = bindings.Scope("<evaluation>")
RETURNED = bindings.Variable("<returned>", OWN)
LEFT = bindings.Variable("<left>", OWN)  # has a loop of this function returned?
RESULT = bindings.Variable("<result>", OWN)  # of an expression


@dataclass(slots=True, eq=False)
class Frame:
    """A function being evaluated: the kernel, or a function it calls."""

    number: int
    file: str
    scope: bindings.Scope
    outer: Frame | None  # of the function around a nested one
    environment: Environment | None  # names around a function that is not nested
    caller: Frame | None = None
    call_site: Span | None = None
    # Variables that the bodies of loops over generators, which are functions, assign to.
    of_bodies: frozenset[bindings.Variable] = frozenset()
    unrolls: bool = False  # loops with a known number of steps, as far as there is room

    def variable(self, of: bindings.Variable) -> Variable:
        """One of this function, or one that its evaluation needs."""
        return Variable(self.number, of)

    @property
    def shared(self) -> Iterator[Variable]:
        """The variables that functions inside assign to."""
        return map(self.variable, self.scope.shared | self.of_bodies)

    def span(self, node: tree.Node) -> Span:
        return Span.of_node(self.file, node).within(self.expanded_at())

    def expanded_at(self) -> tuple[Expansion, ...]:
        """Of the innermost operation on the way here that is expanded in another."""
        around = [frame.environment for frame in self.callers if frame.environment is not None]
        found = (expansions_of(own_code(each.functions[0])) for each in around)
        return next(filter(None, found), ())

    @property
    def callers(self) -> Iterator[Frame]:
        """This one first, the kernel last."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.caller

    def call_sites(self) -> tuple[Span, ...]:
        """Where the function is called, innermost first."""
        return tuple([frame.call_site for frame in self.callers if frame.call_site is not None])


@dataclass(frozen=True, slots=True, eq=False)
class LocalFunction:
    """A function that is defined in the kernel, or in a function it calls."""

    described = "a function"
    tree: tree.Function
    frame: Frame
    signature: Signature

    def uses(self, frame: Frame) -> bool:
        """Tell whether it is defined in this call of a function, or in a function inside it."""
        around: Frame | None = self.frame
        while around is not None and around is not frame:
            around = around.outer
        return around is not None


def functions_in(value: Value) -> Iterator[LocalFunction]:
    """Find local functions in a value and in the containers and partials it consists of."""
    if isinstance(value, LocalFunction):
        yield value
    parts: Iterable[Value] = ()
    if isinstance(value, (tuple, list, set)):
        parts = value
    elif isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, partial):
        parts = (value.func, *value.args, *value.keywords.values())
    for part in parts:
        yield from functions_in(part)


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop being evaluated that stays a loop; what leaves it early is in `hidden`."""

    frame: Frame
    nodes: tuple[tree.Node, ...]  # its condition and its body
    going_on: Variable
    hidden: frozenset[Variable]
    carries_blocks: bool  # and transfers too
    facts: Facts  # what its path knows
    variables: frozenset[Variable]  # that have values before it
    held: frozenset[End]  # the ends of buffers of which blocks are held before it
    may_release: bool  # blocks acquired before it: a mistake, which is reported as one


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
    started: Mapping[object, bool] = field(default_factory=dict)  # generators: up to their end?

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


Do = Callable[[], Any]


def plain(value: Container) -> list[Any]:
    return [list(item) for item in value.items()] if isinstance(value, dict) else list(value)


def refill(container: Any, items: Any) -> None:
    """Gives a list, dict or set other items."""
    if isinstance(container, list):
        container[:] = items
    else:
        container.clear()
        container.update(items)
