"""A kernel before it is IR: operations in bodies, and the run-time values between them.

The frontend evaluates a kernel into this form. Dropping a body that does not work out needs no
undo:
the dialect's operations are made once, after all decisions (emission.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING

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

Value = object  # the value of an expression: an object known while compiling, or a RunTime

INDEX = IndexType()
TYPES: dict[type, Attribute] = {bool: i1, int: INDEX, float: f64}
KINDS = {type: kind for kind, type in TYPES.items()}


class StandIn:
    """A value evaluated instead of an object of Python or of the language."""

    __slots__ = ()
    is_of_run = False  # does Python treat it as an object of its own?

    @property
    def python_class(self) -> type:
        """Return the class of the object in the simulator."""
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
        """Return the class of the operation that makes it; None for an argument of a body."""
        return self.owner.becomes if isinstance(self.owner, Op) else None


@dataclass(slots=True, eq=False)
class Counter:
    """The counts of a loop, and the questions that its body asks about them."""

    start: int
    step: int
    cuts: set[int]  # counts at which a comparison changes
    periods: set[int]  # iterations until a remainder repeats


class Scalar(RunTime):
    """A bool, an int or a float."""

    __slots__ = ("bounds", "counter", "is_natural", "kind")

    def __init__(self, type: Attribute, owner: Op | Body):
        super().__init__(type, owner)
        self.kind = int if isinstance(type, IndexType) else bool if type == i1 else float
        self.is_natural = False  # an integer that is never negative
        self.bounds: tuple[int, int] | None = None  # of a counter or remainder: least, greatest
        self.counter: Counter | None = None  # if it counts iterations

    @property
    def python_class(self) -> type:
        return self.kind


class BlockValue(RunTime):
    """A block expression, or an argument for one."""

    described = "a block expression"
    python_class: type = BlockExpression
    is_popped = False  # the contents of a block popped earlier than in the program


class HeldBlock(BlockValue):
    """A block that the kernel has acquired."""

    described = "a block"
    python_class = Block
    age = 0  # in the order of acquisition
    number: int | None = None  # tells its release apart
    is_scoped = False  # a `with` releases it at its end
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
    """A slice of a tensor; its start is a run-time value."""

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
    """Choose the class of a value by its type and by the operation that makes it."""
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
class Origin:
    """The origin of an operation in the program."""

    frame: Frame
    node: tree.Node


class Op:
    """An operation to be made."""

    __slots__ = (
        "attributes",
        "becomes",
        "bodies",
        "home",
        "is_optional",
        "operands",
        "place",
        "properties",
        "results",
    )

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
        self.place: Origin | None = None
        self.home: Body | None = None
        self.is_optional = False  # emitted only if something needs its result


@dataclass(slots=True, eq=False)
class Body:
    """A list of operations: a kernel, a branch, or the body of a loop."""

    ops: list[Op] = field(default_factory=list)
    args: list[RunTime] = field(default_factory=list)
    around: Body | None = None  # parent that absorbs it if adopted

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
        """Take over the operations of a body that is no longer needed."""
        for op in other.ops:
            self.add(op)

    def walk(self) -> Iterator[Op]:
        for op in self.ops:
            yield op
            for body in op.bodies:
                yield from body.walk()

    @property
    def region(self) -> Body:
        """Return the branch, loop or kernel that will contain its operations."""
        return self if self.around is None else self.around.region

    @property
    def end(self) -> Op:
        return self.ops[-1]


def kind_of(value: Value) -> type | None:
    """Return bool, int or float; None for other values than scalars."""
    if isinstance(value, Scalar):
        return value.kind
    if isinstance(value, (IntEnum, IntFlag)):  # count as numbers beside a run-time value
        return int
    return type(value) if type(value) in TYPES else None


Number = Scalar | int | float


def items_of(value: object) -> list[object] | None:
    """Return the items of a tuple, a list or a slice; None for other values."""
    if isinstance(value, slice):
        return [value.start, value.stop, value.step]
    return [*value] if isinstance(value, (tuple, list)) else None


def leaves(value: Value) -> Iterator[Value]:
    """Yield the value, or the leaves of its items."""
    items = items_of(value)
    if items is None:
        yield value
    for item in items or ():
        yield from leaves(item)


def is_run_time(value: object) -> bool:
    """Is it a run-time value, or does it contain one at any depth?"""
    items = [*value.items()] if isinstance(value, dict) else items_of(value)
    if items is None and isinstance(value, GROUPS):
        items = [*value]
    if items is None:
        return isinstance(value, StandIn) and value.is_of_run
    return any(map(is_run_time, items))


VIEWS = (type({1: 2}.keys()), type({1: 2}.values()), type({1: 2}.items()))
GROUPS: tuple[type[Iterable[object]], ...] = (set, frozenset, *VIEWS)


def value_name(name: str) -> str:
    """Make an ASCII name for an IR value; names of our own variables have other signs too."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)
