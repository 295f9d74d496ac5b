"""Run the body of a unified operation in text order, on every node, without data.

Records which tiles of tensors the statements copy, which blocks they fill and use, and where nodes
signal each other. Only bodies that may read back their own writes are rehearsed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum, auto
from itertools import count
from typing import Any, NamedTuple

from ttl.language.arguments import is_tensor
from ttl.language.block import Block, BlockExpression
from ttl.language.buffer import DataflowBuffer
from ttl.language.declared import OperationScope
from ttl.language.engine import ENGINE, SCOPE, Engine
from ttl.language.grid import nodes_of
from ttl.language.pipes import DstPipeIdentity, Pipe, PipeIdentity, PipeNet, SrcPipeIdentity
from ttl.language.semaphores import Semaphore
from ttl.language.transfer import Transfer
from ttl.semantics.ops import BlockOp
from ttl.semantics.tensors import TensorSlice, slice_tensor
from ttl.semantics.types import BlockType, Shape

from .opaque import OPAQUE, NotFollowed
from .things import memory_of
from .units import Unit

MOST_STEPS = 400_000  # of all nodes together: longer bodies are not followed


class Does(Enum):
    """The kind of a step."""

    LOAD = auto()  # starts to read part of a tensor
    SAVE = auto()  # waits for a copy: `what` is the step that started it
    END = auto()  # waits for a copy: the place of the step that started it
    FILL = auto()  # puts data into a block
    USE = auto()  # takes data from a block
    SIGNAL = auto()  # tells another node, or a kernel of this one, that it arrived
    AWAIT = auto()


class TensorPart(NamedTuple):
    """A box of tiles or elements of a tensor."""

    memory: Hashable
    sizes: Shape  # of the tensor
    starts: Shape
    shape: Shape


class Signal(NamedTuple):
    """A change of a semaphore on some nodes."""

    semaphore: Semaphore
    nodes: tuple[Shape, ...]
    value: int
    is_set: bool


class Awaited(NamedTuple):
    semaphore: Semaphore
    value: int


class Step(NamedTuple):
    unit: Unit | None  # None: on the compute thread
    does: Does
    what: Any = None  # a Part, a Signal, Awaited, a step, or a block


Steps = Mapping[Shape, Sequence[Step]]  # by node
ACCESSES = (Does.LOAD, Does.SAVE)


@dataclass(frozen=True, slots=True)
class TensorStandIn:
    """A tensor that kernels slice without data: slices of the real ttnn would compute."""

    tensor: Any

    def __getattr__(self, name: str) -> object:
        return getattr(self.tensor, name)

    def __getitem__(self, items: object) -> TensorSlice:
        return slice_tensor(self, items)


def stand_in(value: object) -> Any:
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(stand_in, value))
    if type(value) is dict:
        return {name: stand_in(each) for name, each in value.items()}
    return TensorStandIn(value) if is_tensor(value) else value


def rehearse(
    declare: Callable[..., object],
    arguments: Sequence[object],
    named: Mapping[str, object],
    grid: Shape,
    units: Sequence[Unit],
    has_elements: bool,
) -> Steps:
    """Return the steps of each node. `declare` declares one kernel, which numbers the units.
    If data may decide what it does, the steps are unordered accesses to tensors."""
    declared = OperationScope(grid, (0,) * len(grid))
    with _value_of(SCOPE, declared):
        declare(*map(stand_in, arguments), **stand_in(dict(named)))
    found: dict[Shape, list[Step]] = {}
    left = MOST_STEPS
    for node in nodes_of(grid):
        engine = RehearsalEngine(grid, node, units, left, has_elements)
        with _value_of(ENGINE, engine):
            try:
                for kernel in declared.kernels:
                    kernel.function()
            except NotImplementedError as error:  # a Rehearsal cannot tell whether a block is there
                raise NotFollowed from error
        found[node], left = engine.steps, engine.left
    return found


@contextmanager
def _value_of(variable: ContextVar[Any], value: object) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


class _Block(Block):
    """Block `number` of a buffer, for its producer and its consumer."""

    __slots__ = ("buffer", "number", "steps")

    def __init__(self, buffer: DataflowBuffer, number: int, steps: RehearsalEngine):
        super().__init__(BlockType(buffer.shape, buffer.dtype, buffer.layout))
        self.buffer, self.number, self.steps = buffer, number, steps

    @property
    def place(self) -> Hashable:
        return self.buffer.index, self.number

    def store(self, value: BlockExpression, *, acc: bool = False) -> None:
        self.steps.accumulate(self, value)

    def push(self) -> None:
        """Do nothing: a block is known to be full when it is used."""

    def pop(self) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""


class _Transfer(Transfer):
    __slots__ = ("engine", "is_done", "start")

    def __init__(self, engine: RehearsalEngine, start: int):
        self.engine, self.start, self.is_done = engine, start, False

    def wait(self) -> None:
        self.engine.ended(self.start)

    def finish(self) -> None:
        self.wait()

    def join(self, group: object) -> None:
        """Do nothing."""


class RehearsalEngine(Engine):
    """The engine that records the steps of one node."""

    __slots__ = (
        "_blocks",
        "_has_elements",
        "_here",
        "_unit",
        "_units",
        "grid",
        "is_compute",
        "left",
        "steps",
    )

    def __init__(
        self, grid: Shape, node: Shape, units: Sequence[Unit], left: int, has_elements: bool
    ):
        self.is_compute = True  # so tensors ask it for their parts
        self.grid = grid
        self.steps: list[Step] = []
        self.left = left
        self._here = node
        self._has_elements = has_elements
        self._units = units
        self._unit: Unit | None = None
        self._blocks: dict[tuple[DataflowBuffer, str], count[int]] = defaultdict(count)

    def reached(self, unit: int) -> None:
        self._unit = self._units[unit]
        self._spend()

    def _spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise NotFollowed("it takes too long")

    def _add(self, does: Does, what: object = None, is_compute: bool = False) -> None:
        self._spend()
        if does in ACCESSES or not self._has_elements:
            self.steps.append(Step(None if is_compute else self._unit, does, what))

    def node(self) -> Shape:
        return self._here

    # Buffers

    def reserve(self, buffer: DataflowBuffer) -> Block:
        return _Block(buffer, next(self._blocks[buffer, "reserve"]), self)

    def wait(self, buffer: DataflowBuffer) -> Block:
        return _Block(buffer, next(self._blocks[buffer, "wait"]), self)

    # In text order nothing waits, and each statement's thread is known.

    def release_oldest(self, buffer: DataflowBuffer, *, is_push: bool) -> None:
        """Do nothing."""

    def begin_publish(self, buffer: DataflowBuffer) -> None:
        """Do nothing."""

    def publish_block(self, block: Block) -> None:
        """Do nothing."""

    def signpost(self, signpost: object, is_end: bool) -> None:
        """Do nothing."""

    def record_signpost(self, made: object) -> None:
        """Do nothing."""

    def require_data_movement(self, call: str) -> None:
        """Do nothing."""

    # Data movement

    def slice(self, tensor: object, index: object) -> TensorSlice:
        return slice_tensor(tensor, index)

    def copy(self, source: object, destination: object) -> Transfer:
        start = len(self.steps)
        self._touch(source, Does.USE, Does.LOAD, Does.AWAIT)
        if isinstance(destination, TensorSlice):
            start = len(self.steps)
        self._touch(destination, Does.FILL, Does.SAVE, Does.SIGNAL)
        return _Transfer(self, start)

    def _touch(self, end: object, of_block: Does, of_tensor: Does, of_pipe: Does) -> None:
        if isinstance(end, _Block):
            self._add(of_block, end.place)
        elif isinstance(end, TensorSlice):
            self._add(of_tensor, _part(end))
        elif isinstance(end, (PipeIdentity, Pipe)):
            self._add(of_pipe)

    def ended(self, start: int) -> None:
        self._add(Does.END, start)

    def sources(self, net: PipeNet) -> Sequence[SrcPipeIdentity]:
        routes = net.routes(self.grid)
        return [SrcPipeIdentity(each) for each in routes if each.source == self._here]

    def receivers(self, net: PipeNet) -> Sequence[DstPipeIdentity]:
        routes = net.routes(self.grid)
        return [DstPipeIdentity(each) for each in routes if self._here in each.receivers]

    def semaphore_wait(self, semaphore: Semaphore, value: Any, *, at_least: bool) -> None:
        self._add(Does.AWAIT, Awaited(semaphore, value))

    def semaphore_set(
        self, semaphore: Semaphore, nodes: tuple[Shape, ...], value: Any, call: str
    ) -> None:
        self._add(Does.SIGNAL, Signal(semaphore, nodes, value, is_set=True))

    def semaphore_inc(self, semaphore: Semaphore, node: Shape, value: Any) -> None:
        self._add(Does.SIGNAL, Signal(semaphore, (node,), value, is_set=False))

    def read_element(self, block: Block, coordinates: Shape) -> Any:
        if not self._has_elements:
            raise NotFollowed("it depends on data")
        return OPAQUE

    def write_element(self, block: Block, coordinates: Shape, value: float) -> None:
        assert isinstance(block, _Block)
        self._add(Does.FILL, block.place)

    # Computing

    def apply(
        self, op: BlockOp, operands: tuple[object, ...], parameters: Mapping[str, object]
    ) -> BlockExpression:
        for each in operands:
            if isinstance(each, _Block):
                self._add(Does.USE, each.place, is_compute=True)
        return BlockExpression(BlockType(None, None))

    def binary(self, op: BlockOp, left: object, right: object) -> BlockExpression:
        return self.apply(op, (left, right), {})

    def accumulate(self, block: Block, value: object) -> None:
        if isinstance(value, _Block):
            self._add(Does.USE, value.place, is_compute=True)
        if isinstance(block, _Block):
            self._add(Does.FILL, block.place, is_compute=True)


def _part(part: TensorSlice) -> TensorPart:
    tensor = part.tensor.tensor if isinstance(part.tensor, TensorStandIn) else part.tensor
    return TensorPart(memory_of(tensor), tuple(tensor.shape), part.starts, part.shape)
