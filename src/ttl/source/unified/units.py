"""The pieces of a unified body that get a thread each: statements, items of a `with`, tests."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from types import FunctionType
from typing import TYPE_CHECKING, Any

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
from .things import End

if TYPE_CHECKING:
    from .things import Thing


class Thread(Enum):
    """The kernels that a body becomes, in the order in which they are declared."""

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
    """What decides the thread of a statement."""

    COMPUTE = "the compute thread"
    MOVE = "a data movement thread"


@dataclass(eq=False, slots=True)
class Frame:
    """The body of an operation, once for each place where it is expanded."""

    operation: Operation
    function: FunctionType
    tree: Function
    file: str
    caller: Unit | None = None  # the statement that calls it
    meets_numpy: bool = False  # it, or one that is expanded in it
    final: dict[Variable, Thing] = field(default_factory=dict)  # its variables, at its end
    units: list[Unit] = field(default_factory=list)
    expansions: list[Frame] = field(default_factory=list)
    arguments: list[Unit] = field(default_factory=list)  # of the call: what is not the same always

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def parameters(self) -> dict[str, Variable]:
        return {each.variable.name: each.variable for each in self.tree.parameters}

    def all(self) -> Iterator[Frame]:
        """The frame, and those that are expanded in it."""
        yield self
        for inner in self.expansions:
            yield from inner.all()

    def chain(self) -> Iterator[Frame]:
        """The frame, the one whose body calls it, and so on."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.caller.frame if frame.caller is not None else None

    @property
    def root(self) -> Frame:
        """The one that is called from Python."""
        return [*self.chain()][-1]

    def span(self, node: Node) -> Span:
        return Span.of_node(self.file, node)

    def expanded_at(self) -> tuple[Expansion, ...]:
        """Where it is expanded, and where that is."""
        calls = [(frame.name, frame.caller.span) for frame in self.chain() if frame.caller]
        return tuple(Expansion(name, span.file, span.line) for name, span in calls)

    def call_labels(self) -> tuple[Label, ...]:
        calls = [(frame.name, frame.caller.span) for frame in self.chain() if frame.caller]
        return tuple(Label(span, f"`{name}` is expanded here") for name, span in calls)

    def arguments_of(self, call: Call) -> dict[str, Expression]:
        """The arguments of a call by the names of the parameters."""
        given = dict(zip(self.parameters, call.arguments, strict=False))
        return given | {each.name: each.value for each in call.keywords if each.name is not None}


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is made or called: a function may be called twice by one unit."""

    unit: Unit
    node: Node
    calls: tuple[Node, ...]  # of functions that are read where they are called


@dataclass(frozen=True, slots=True)
class Site:
    """A place at which a block is acquired."""

    place: Place
    end: End
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
    def frame(self) -> Frame:
        return self.unit.frame

    @property
    def span(self) -> Span:
        return self.frame.span(self.node)


@dataclass(eq=False, slots=True)
class Unit:
    """One piece. What is read off it is added while loops are read again."""

    frame: Frame
    node: Node  # with the place in the text
    control: Unit | None = None  # the loop, the condition or the call that it stands in
    is_loop: bool = False
    rounds: int = 1  # of a loop, as far as they are known
    counts: Call | None = None  # what a loop goes over where its variable is not used
    effects: dict[Effect, Node] = field(default_factory=dict)
    reads: dict[Variable, set[Unit]] = field(default_factory=dict)  # of its frame: who gave them
    depends: set[Unit] = field(default_factory=set)
    binds: set[Variable] = field(default_factory=set)
    sites: set[Site] = field(default_factory=set)  # of the blocks that it uses
    acquires: set[Site] = field(default_factory=set)
    ends: set[tuple[Hashable, End]] = field(default_factory=set)  # of buffers, also by push, pop
    sends: set[Hashable] = field(default_factory=set)  # through these nets
    receives: set[Hashable] = field(default_factory=set)
    net_names: dict[Hashable, str] = field(default_factory=dict)
    makes: bool = False  # a buffer, net or semaphore
    in_kernels: bool = False  # asks for the node, or slices a tensor
    loads: set[Hashable] = field(default_factory=set)  # copies from the memory of these tensors
    saves: set[Hashable] = field(default_factory=set)  # and to theirs; None: of any tensor
    signals: bool = False  # with a semaphore
    awaits: bool = False
    moves_blocks: bool = False  # by a copy or by single elements
    publishes: bool = False
    is_jump: bool = False
    is_print: bool = False
    is_breakpoint: bool = False
    is_signpost: bool = False
    is_function: bool = False
    unknown: Call | None = None  # a call of something that is not known
    expansion: Frame | None = None  # that it calls
    argument: str | None = None  # of a call: the parameter that it gives
    must_be_known: bool = False  # before kernels run: a buffer, a net, a tensor

    @property
    def span(self) -> Span:
        return self.frame.span(self.node)

    @property
    def is_shared(self) -> bool:
        return not (self.effects or self.acquires or self.ends)

    @property
    def effect(self) -> Effect | None:
        """Of a unit that only moves data, or only computes."""
        return next(iter(self.effects), None)

    @property
    def blocks(self) -> set[Site]:
        """Where those are acquired that it uses, or acquires itself."""
        return self.sites | self.acquires

    @property
    def weight(self) -> int:
        """The bytes that it moves."""
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
        """The one that a `break` or `continue` leaves; None for what leaves the whole body."""
        around = self.controls() if isinstance(self.node, tree.Jump) else ()
        return next((control for control in around if control.is_loop), None)


def owner_text(call: Node) -> str:
    """What the method is called of."""
    is_method = isinstance(call, Call) and isinstance(call.function, tree.Attribute)
    return as_text(call.function.owner) if is_method else "a buffer"  # type: ignore[attr-defined]


def grid_of(frame: Frame) -> Shape:
    """The grid of the call; where there is none, as far as the decorator tells."""
    running = SCOPE.get(None)
    asked: Any = running.grid if running is not None else frame.root.operation.grid
    return asked if isinstance(asked, tuple) else (1, 1)


def in_text(pieces: Iterable[Unit]) -> list[Unit]:
    """In the order of the text."""
    return sorted(pieces, key=lambda each: each.span)
