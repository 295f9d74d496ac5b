"""A kernel before it is IR: operations in bodies, and the run-time values between them.

The frontend evaluates a kernel into this form. Here a body that turns out not to do is dropped, and
nothing need be taken back; operations of the dialect are made once, when all is decided
(emission.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import Float64Type, IndexType, IntegerType, f64, i1
from xdsl.ir import Attribute, Operation

from ttl.dialects import ttl
from ttl.language import (
    Block,
    BlockExpression,
    DstPipeIdentity,
    GroupTransfer,
    SrcPipeIdentity,
    Transfer,
)
from ttl.semantics.tensors import TensorSlice
from ttl.source import tree

if TYPE_CHECKING:
    from .state import Frame

Value = object  # what an expression is: an object known while compiling, or a RunTime

INDEX = IndexType()
TYPES: dict[type, Attribute] = {bool: i1, int: INDEX, float: f64}
KINDS = {type: kind for kind, type in TYPES.items()}


class StandIn:
    """Evaluated in the place of an object of Python's or of the language's."""

    __slots__ = ()
    is_of_run = False  # would Python compare, hash or show it as an object of its own?

    @property
    def python_class(self) -> type:
        """That of the object in the simulator."""
        return object


class RunTime(StandIn):
    """A value that is known only when the kernel runs."""

    __slots__ = ("hint", "owner", "type")
    described = "a run-time value"
    is_of_run = True

    def __init__(self, type: Attribute, owner: Op | Body):
        self.type = type
        self.owner = owner
        self.hint: str | None = None

    @property
    def made_by(self) -> type[Operation] | None:
        """The class of the operation whose result it is; None for an argument of a body."""
        return self.owner.becomes if isinstance(self.owner, Op) else None


@dataclass(slots=True, eq=False)
class Counter:
    """What a loop counts, and what its body asks of that."""

    start: int
    step: int
    cuts: set[int]  # counts at which a comparison changes
    periods: set[int]  # after so many iterations a remainder is the same again


class Scalar(RunTime):
    """A bool, an int or a float."""

    __slots__ = ("bounds", "counter", "is_natural", "kind")

    def __init__(self, type: Attribute, owner: Op | Body):
        super().__init__(type, owner)
        self.kind = int if isinstance(type, IndexType) else bool if type == i1 else float
        self.is_natural = False  # an integer that is never negative
        self.bounds: tuple[int, int] | None = None  # of a counter or a rest: least, greatest
        self.counter: Counter | None = None  # if it counts the iterations of a loop

    @property
    def python_class(self) -> type:
        return self.kind


class BlockValue(RunTime):
    """A block expression, or an argument that stands for one."""

    described = "a block expression"
    python_class: type = BlockExpression
    is_popped = False  # what a block held that was popped before the program says so


class HeldBlock(BlockValue):
    """A block that the kernel has acquired."""

    described = "a block"
    python_class = Block
    age = 0  # in the order of acquisition
    number: int | None = None  # tells its release which block it is of
    is_scoped = False  # the end of a `with` releases it
    is_stored = False

    @property
    def acquire(self) -> Op:
        assert isinstance(self.owner, Op)
        return self.owner

    @property
    def buffer(self) -> RunTime:
        return self.acquire.operands[0]

    @property
    def is_waited(self) -> bool:
        return issubclass(self.acquire.becomes, ttl.WaitOp)


class SliceValue(BlockValue):
    """A slice of a tensor; where it starts is run time's."""

    described = "a tensor slice"
    python_class = TensorSlice
    part: TensorSlice  # as written


class TransferValue(RunTime):
    described = "a transfer"
    python_class = Transfer
    is_grouped = False

    @property
    def kind(self) -> str:
        assert isinstance(self.type, ttl.TransferType)
        return self.type.kind.data


class GroupValue(RunTime):
    __slots__ = ()
    described = "a group of transfers"
    python_class = GroupTransfer


class PipeValue(RunTime):
    __slots__ = ()
    described = "a pipe"

    @property
    def pipe_type(self) -> ttl.PipeType:
        assert isinstance(self.type, ttl.PipeType)
        return self.type

    @property
    def python_class(self) -> type:
        return SrcPipeIdentity if self.pipe_type.role.data == "src" else DstPipeIdentity


def _value(type: Attribute, owner: Op | Body) -> RunTime:
    """The class of a value by its type, and by the operation that makes it."""
    if isinstance(type, (IndexType, Float64Type)) or type == i1:
        return Scalar(type, owner)
    if isinstance(type, ttl.TransferType):
        return TransferValue(type, owner)
    if isinstance(type, ttl.PipeType):
        return PipeValue(type, owner)
    if isinstance(type, ttl.GroupType):
        return GroupValue(type, owner)
    if isinstance(type, IntegerType) or not ttl.is_block_value(type):
        return RunTime(type, owner)
    if isinstance(owner, Op) and issubclass(owner.becomes, ttl.AcquireOp):
        return HeldBlock(type, owner)
    if isinstance(owner, Op) and owner.becomes is ttl.TensorSliceOp:
        return SliceValue(type, owner)
    return BlockValue(type, owner)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the program an operation comes from."""

    frame: Frame
    node: tree.Node


class Op:
    """One operation, as it will be made."""

    __slots__ = (
        "attributes", "becomes", "bodies", "home", "is_optional", "operands", "place",
        "properties", "results",
    )  # fmt: skip

    def __init__(
        self,
        becomes: type[Operation],
        operands: Iterable[RunTime] = (),
        types: Iterable[Attribute] = (),
        properties: Mapping[str, Attribute] | None = None,
        bodies: Iterable[Body] = (),
    ):
        self.becomes = becomes
        self.operands = tuple(operands)
        self.properties = {} if properties is None else dict(properties)
        self.attributes: dict[str, Attribute] = {}
        self.bodies = tuple(bodies)
        self.results = tuple([_value(type, self) for type in types])
        self.place: Place | None = None
        self.home: Body | None = None
        self.is_optional = False  # emitted only if something needs its result


@dataclass(slots=True, eq=False)
class Body:
    """Operations one after the other: a kernel, a branch, the body of a loop."""

    ops: list[Op] = field(default_factory=list)
    args: list[RunTime] = field(default_factory=list)
    around: Body | None = None  # that takes it if it does

    @classmethod
    def with_args(cls, types: Iterable[Attribute]) -> Body:
        body = cls()
        for type in types:
            body.add_arg(type)
        return body

    def add_arg(self, type: Attribute) -> RunTime:
        argument = _value(type, self)
        self.args.append(argument)
        return argument

    def add(self, op: Op) -> None:
        op.home = self
        self.ops.append(op)

    def take(self, other: Body) -> None:
        """Everything of a body that nothing else needs any more."""
        for op in other.ops:
            self.add(op)

    def walk(self) -> Iterator[Op]:
        for op in self.ops:
            yield op
            for body in op.bodies:
                yield from body.walk()

    @property
    def region(self) -> Body:
        """The branch, loop or kernel that its operations will stand in."""
        return self if self.around is None else self.around.region

    @property
    def end(self) -> Op:
        return self.ops[-1]


def kind_of(value: Value) -> type | None:
    """bool, int or float; None for what is not a scalar."""
    if isinstance(value, Scalar):
        return value.kind
    if isinstance(value, (IntEnum, IntFlag)):  # beside a run-time value they are their numbers
        return int
    return type(value) if type(value) in TYPES else None


Number = Scalar | int | float


def items_of(value: Any) -> list[Any] | None:
    """The items of a tuple, a list or a slice; None for other values."""
    if isinstance(value, slice):
        return [value.start, value.stop, value.step]
    return [*value] if isinstance(value, (tuple, list)) else None


def leaves(value: Value) -> Iterator[Value]:
    """The value, or what is in its items and theirs."""
    items = items_of(value)
    if items is None:
        yield value
    for item in items or ():
        yield from leaves(item)


def is_run_time(value: Any) -> bool:
    """Is it, or has it in it, however deep, a value that is known only when the kernel runs?"""
    items = [*value.items()] if isinstance(value, dict) else items_of(value)
    if items is None and isinstance(value, GROUPS):
        items = [*value]
    if items is None:
        return isinstance(value, StandIn) and value.is_of_run
    return any(map(is_run_time, items))


VIEWS = (type({1: 2}.keys()), type({1: 2}.values()), type({1: 2}.items()))
GROUPS: Any = (set, frozenset, *VIEWS)


def value_name(name: str) -> str:
    """A Python name as IR values may have it: in ASCII. Variables of ours have other signs, too."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)
