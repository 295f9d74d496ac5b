"""Units: the statements, `with` items and tests of a unified body that get threads."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from types import FunctionType
from typing import TYPE_CHECKING

from ttl.diagnostics import Label, Span
from ttl.diagnostics.span import Expansion
from ttl.language.operation import Operation
from ttl.semantics.current_engine import SCOPE
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.types import Shape

from .. import tree
from ..bindings import Variable
from ..python import as_text
from ..tree import Call, Expression, Function, Node
from .things import Side

if TYPE_CHECKING:
    from .things import Thing


class Thread(Enum):
    """The kernels that a body becomes, in declaration order."""

    COMPUTE = "compute"
    READ = "read"
    WRITE = "write"

    @property
    def kind(self) -> KernelKind:
        is_compute = self is Thread.COMPUTE
        return KernelKind.COMPUTE if is_compute else KernelKind.DATAMOVEMENT

    @property
    def title(self) -> str:
        return TITLES[self]


TITLES = {
    Thread.COMPUTE: "compute",
    Thread.READ: "data movement 0",
    Thread.WRITE: "data movement 1",
}
MOVEMENT = (Thread.READ, Thread.WRITE)


class Effect(Enum):
    """The effect that decides the thread of a statement."""

    COMPUTE = "the compute thread"
    MOVE = "a data movement thread"


@dataclass(eq=False, slots=True)
class Inline:
    """The body of an operation, once per place that expands it."""

    operation: Operation
    function: FunctionType
    tree: Function
    file: str
    caller: Unit | None = None  # the statement that calls it
    meets_numpy: bool = False  # itself or an expanded one
    final: dict[Variable, Thing] = field(default_factory=dict)  # its variables' values at its end
    units: list[Unit] = field(default_factory=list)
    expansions: list[Inline] = field(default_factory=list)
    arguments: list[Unit] = field(default_factory=list)  # of the call: they vary between calls

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def parameters(self) -> dict[str, Variable]:
        return {each.variable.name: each.variable for each in self.tree.parameters}

    def all(self) -> Iterator[Inline]:
        """Yield the frame and the frames expanded in it."""
        yield self
        for inner in self.expansions:
            yield from inner.all()

    def chain(self) -> Iterator[Inline]:
        """Yield the frame, its caller's frame, and so on."""
        frame: Inline | None = self
        while frame is not None:
            yield frame
            frame = frame.caller.frame if frame.caller is not None else None

    @property
    def root(self) -> Inline:
        """Return the frame that Python calls."""
        return [*self.chain()][-1]

    def span(self, node: Node) -> Span:
        return Span.of_node(self.file, node)

    def expanded_at(self) -> tuple[Expansion, ...]:
        """List the places where it is expanded, innermost first."""
        calls = [(frame.name, frame.caller.span) for frame in self.chain() if frame.caller]
        return tuple(Expansion(name, span.file, span.line) for name, span in calls)

    def call_labels(self) -> tuple[Label, ...]:
        calls = [(frame.name, frame.caller.span) for frame in self.chain() if frame.caller]
        return tuple(Label(span, f"`{name}` is expanded here") for name, span in calls)

    def arguments_of(self, call: Call) -> dict[str, Expression]:
        """Return the arguments of a call by parameter name."""
        given = dict(zip(self.parameters, call.arguments, strict=False))
        return given | {each.name: each.value for each in call.keywords if each.name is not None}


@dataclass(frozen=True, slots=True)
class CallPlace:
    """The place where something is made or called: one unit may call a function twice."""

    unit: Unit
    node: Node
    calls: tuple[Node, ...]  # of functions read in place


@dataclass(frozen=True, slots=True)
class Site:
    """A place that acquires a block."""

    place: CallPlace
    end: Side
    buffer: Hashable = field(compare=False)
    block_bytes: int = field(compare=False)

    @property
    def unit(self) -> Unit:
        return self.place.unit

    @property
    def buffer_name(self) -> str:
        return owner_text(self.place.node)

    @property
    def node(self) -> Node:
        return self.unit.node if self.place.calls else self.place.node

    @property
    def frame(self) -> Inline:
        return self.unit.frame

    @property
    def span(self) -> Span:
        return self.frame.span(self.node)


@dataclass(eq=False, slots=True)
class Unit:
    """A piece of a body. Reading loops again adds to its fields."""

    frame: Inline
    node: Node  # with its place in the text
    control: Unit | None = None  # the loop, the condition or the call around it
    is_loop: bool = False
    rounds: int = 1  # of a loop, as far as known
    counts: Call | None = None  # the sequence of a loop that ignores its variable
    effects: dict[Effect, Node] = field(default_factory=dict)
    reads: dict[Variable, set[Unit]] = field(default_factory=dict)  # variables and their units
    depends: set[Unit] = field(default_factory=set)
    binds: set[Variable] = field(default_factory=set)
    sites: set[Site] = field(default_factory=set)  # of the used blocks
    acquires: set[Site] = field(default_factory=set)
    ends: set[tuple[Hashable, Side]] = field(default_factory=set)  # of its buffers
    sends: set[Hashable] = field(default_factory=set)  # through these nets
    receives: set[Hashable] = field(default_factory=set)
    net_names: dict[Hashable, str] = field(default_factory=dict)
    makes: bool = False  # a buffer, net or semaphore
    in_kernels: bool = False  # asks for the node, or slices a tensor
    loads: set[Hashable] = field(default_factory=set)  # copies from the memory of these tensors
    saves: set[Hashable] = field(default_factory=set)  # and to theirs; None: to any tensor
    signals: bool = False  # with a semaphore
    awaits: bool = False
    moves_blocks: bool = False  # by a copy or by single elements
    publishes: bool = False
    is_jump: bool = False
    is_print: bool = False
    is_breakpoint: bool = False
    is_signpost: bool = False
    is_function: bool = False
    unknown: Call | None = None  # a call of an unknown function
    expansion: Inline | None = None  # the operation it calls
    argument: str | None = None  # the parameter of a call that it passes
    must_be_known: bool = False  # before kernels run: buffers, nets, tensors

    @property
    def span(self) -> Span:
        return self.frame.span(self.node)

    @property
    def is_shared(self) -> bool:
        return not (self.effects or self.acquires or self.ends)

    @property
    def effect(self) -> Effect | None:
        """Return the only effect of a unit that has one."""
        return next(iter(self.effects), None)

    @property
    def blocks(self) -> set[Site]:
        """Return the sites of the blocks that it uses or acquires."""
        return self.sites | self.acquires

    @property
    def weight(self) -> int:
        """Return the bytes that it moves."""
        if not self.moves_blocks:
            return 0
        rounds = prod(each.rounds for each in self.controls())
        return rounds * max((site.block_bytes for site in self.blocks), default=0)

    def controls(self) -> Iterator[Unit]:
        """The loops, conditions and calls around it, innermost first."""
        unit = self.control
        while unit is not None:
            yield unit
            unit = unit.control

    def loop(self) -> Unit | None:
        """Return the loop that a `break` or `continue` leaves; None if it leaves the whole body."""
        around = self.controls() if isinstance(self.node, tree.Jump) else ()
        return next((control for control in around if control.is_loop), None)


def owner_text(call: Node) -> str:
    """Return the text of a method's owner."""
    is_method = isinstance(call, Call) and isinstance(call.function, tree.Attribute)
    return as_text(call.function.owner) if is_method else "a buffer"  # type: ignore[attr-defined]


def grid_of(frame: Inline) -> Shape:
    """Return the grid of the call; without a call, the decorator's if it is known."""
    running = SCOPE.get(None)
    asked: object = running.grid if running is not None else frame.root.operation.grid
    return asked if isinstance(asked, tuple) else (1, 1)


def in_text(pieces: Iterable[Unit]) -> list[Unit]:
    """Sort by place in the text."""
    return sorted(pieces, key=lambda each: each.span)
