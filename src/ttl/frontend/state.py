"""The state of an evaluation: the values that a path has reached, and frames.

A path is evaluated on a copy of its starting state, into a body of its own. The caller continues
from its end, or from the state before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import Signature
from typing import Any, NamedTuple, TypeVar

from ttl.diagnostics import Diagnostic, Span
from ttl.diagnostics.span import Expansion, expansions_of
from ttl.dialects.conditions import Facts
from ttl.source import bindings, tree
from ttl.source.functions import own_code

from .environment import Environment
from .hir import Body, HeldBlock, Origin, RunTime, Scalar, Value

End = tuple[RunTime, bool]  # of a dataflow buffer: its handle, and whether the consumer's
Container = list[Any] | dict[Any, Any] | set[Any]
ContainerT = TypeVar("ContainerT", bound=Container)


class Local(NamedTuple):
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
        """Has it no name in the program?"""
        return self.of.name.startswith("<")


# Variables for evaluating a function, with names that no program can use.
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
    # Variables assigned by loop bodies over generators, which are functions.
    of_bodies: frozenset[bindings.Variable] = frozenset()
    unrolls: bool = False  # loops with a known number of steps, within the budget

    def variable(self, of: bindings.Variable) -> Local:
        """Return a variable in this call of the function."""
        return Local(self.number, of)

    @property
    def shared(self) -> Iterator[Local]:
        """Yield the variables that inner functions assign."""
        return map(self.variable, self.scope.shared | self.of_bodies)

    def span(self, node: tree.Node) -> Span:
        return Span.of_node(self.file, node).within(self.expanded_at())

    def expanded_at(self) -> tuple[Expansion, ...]:
        """Return the expansions of the innermost expanded operation among the callers."""
        around = [frame.environment for frame in self.callers if frame.environment is not None]
        found = (expansions_of(own_code(each.functions[0])) for each in around)
        return next(filter(None, found), ())

    @property
    def callers(self) -> Iterator[Frame]:
        """Yield this frame first and the kernel's last."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.caller

    def call_sites(self) -> tuple[Span, ...]:
        """List the calls of the function, innermost first."""
        return tuple([frame.call_site for frame in self.callers if frame.call_site is not None])


@dataclass(frozen=True, slots=True, eq=False)
class LocalFunction:
    """A function defined in the kernel, or in a function it calls."""

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
class OpenLoop:
    """A loop being evaluated that stays a loop; its early exits are in `hidden`."""

    frame: Frame
    nodes: tuple[tree.Node, ...]  # its condition and its body
    going_on: Local
    hidden: frozenset[Local]
    carries_blocks: bool  # and transfers too
    facts: Facts  # known on its path
    variables: frozenset[Local]  # with values before it
    held: frozenset[End]  # the ends of buffers with blocks held before it
    may_release: bool  # blocks acquired before it, which is then reported as a mistake


@dataclass(frozen=True, slots=True)
class Made:
    """A list, dict or set that the kernel made: it exists while the kernel is evaluated.

    Its items may be run-time values; their number and places are known. A kernel may change its own
    containers once on each path: a loop that changes a list made before it is unrolled.
    """

    container: Container
    loop: OpenLoop | None  # the loop that it was made in
    items: list[object]  # while another path is evaluated
    carrier: OpenLoop | None = None  # the outermost loop that carries it to this place


@dataclass(slots=True)
class Reached:
    """The state that a path has reached."""

    values: dict[Local, Value] = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)  # the decided conditions on this path
    released: frozenset[RunTime] = frozenset()  # blocks, transfers waited for, pipes left
    shapeless: dict[Value, Origin | None] = field(default_factory=dict)  # fills and broadcasts
    mistakes: tuple[Diagnostic, ...] = ()
    unrolled: int = 0  # of loops that C++ could have if they carried less
    containers: dict[int, Made] = field(default_factory=dict)
    # For handles finished on one branch only: the condition, and whether that is its `then`.
    doubtful: Mapping[RunTime, tuple[Scalar, bool] | None] = field(default_factory=dict)
    grouped: tuple[tuple[RunTime, RunTime], ...] = ()  # groups, and transfers added to them
    split: int = 0  # conditions whose branches duplicated later steps
    has_lost_containers: bool = False  # in a branch where they differ
    started: Mapping[object, bool] = field(default_factory=dict)  # generators: exhausted?

    def fork(self) -> Reached:
        self.keep()
        return replace(
            self,
            values=dict(self.values),
            shapeless=dict(self.shapeless),
            containers=dict(self.containers),
        )

    def keep(self) -> None:
        """Save the items of its containers before another path changes them."""
        for key, made in self.containers.items():
            self.containers[key] = replace(made, items=plain(made.container))

    def resume(self) -> None:
        for made in self.containers.values():
            refill(made.container, made.items)

    def note_mistake(self, found: Diagnostic) -> None:
        known = [(each.message, each.primary) for each in self.mistakes]
        if (found.message, found.primary) not in known:  # each call evaluates a function again
            self.mistakes += (found,)

    def held(self) -> list[HeldBlock]:
        """List blocks in variables that the program still has to release, oldest first."""
        blocks = {v for v in self.values.values() if isinstance(v, HeldBlock) and not v.is_scoped}
        return sorted(blocks - self.released, key=lambda block: block.age)


@dataclass(slots=True)
class Path:
    """A separate evaluation: its final state, and its operations."""

    state: Reached
    body: Body


Do = Callable[[], object]


def plain(value: Container) -> list[object]:
    return [list(item) for item in value.items()] if isinstance(value, dict) else list(value)


def refill(container: Container, items: Any) -> None:
    """Replace the items of a list, dict or set."""
    if isinstance(container, list):
        container[:] = items
    else:
        container.clear()
        container.update(items)
