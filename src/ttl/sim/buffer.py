"""A dataflow buffer on one node."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ttl.language.buffer import BufferState, DataflowBuffer
from ttl.semantics.block_protocol import POP, PUSH
from ttl.semantics.dtypes import Array, DType, Way, float32
from ttl.semantics.types import BlockType, Shape, block_elements
from ttl.trace import EventKind

from .place import Place
from .slots import Slots, keep_slots, take_slots

if TYPE_CHECKING:
    from .block import SimBlock
    from .kernel import KernelRun
    from .shards import Shard


class BufferEnd:
    """The producer's or the consumer's end of a dataflow buffer.

    `credits` is how many blocks this end may still acquire: free space for the producer, pushed
    blocks for the consumer. A release at one end is a credit for the other.
    """

    __slots__ = (
        "acquired",
        "blocks",
        "buffer",
        "count",
        "credits",
        "is_producer",
        "kernel",
        "other",
        "owed",
        "place",
        "released",
        "sleeper",
    )

    __deletable__ = ["other"]  # noqa: RUF012  # for mypyc

    other: BufferEnd
    action: ClassVar[str]  # the call that acquires
    release_call: ClassVar[str]
    release_event: ClassVar[int]  # PUSH or POP
    release_kind: ClassVar[EventKind]

    def __init__(self, buffer: NodeBuffer, credits: int):
        self.buffer = buffer
        self.count: int = buffer.declared.block_count
        self.credits = credits
        self.is_producer = isinstance(self, ProducerEnd)
        self.acquired = 0
        self.released = 0
        self.kernel: KernelRun | None = None  # the kernel that uses this end, once there is one
        self.place: Place | None = None  # of its first use
        self.sleeper: KernelRun | None = None  # the kernel that waits for a credit
        self.owed: tuple[SimBlock, ...] = ()  # popped with a younger one, own pop still due
        self.blocks: list[SimBlock | None] = [None] * self.count

    @property
    def oldest_held(self) -> SimBlock | None:
        if self.released == self.acquired:
            return None
        if self.owed:
            return self.owed[0]
        return self.blocks[self.released % self.count]


class ProducerEnd(BufferEnd):
    __slots__ = ()

    action = "reserve"
    release_call = "push"
    release_event = PUSH
    release_kind = EventKind.BUFFER_PUSH


class ConsumerEnd(BufferEnd):
    __slots__ = ()

    action = "wait"
    release_call = "pop"
    release_event = POP
    release_kind = EventKind.BUFFER_POP


class BufferPlan:
    """Facts about a dataflow buffer that are equal on all nodes.

    `held` is the type that blocks have: the declared one, unless the run keeps all floats in f32.
    All nodes share `spare`, memory for blocks in the type that expressions compute in, and `free`,
    the slots of finished nodes.
    """

    __slots__ = (
        "block_bytes",
        "block_type",
        "declared",
        "extent",
        "free",
        "held",
        "is_carrier",
        "is_float",
        "poison",
        "rounds",
        "spare",
        "way",
    )

    def __init__(
        self,
        declared: DataflowBuffer,
        block_type: BlockType,
        keep_float32: bool = False,
        packs_away: bool = False,
    ):
        self.declared = declared
        self.block_type = block_type
        self.block_bytes: int = declared.block_bytes
        self.extent: Shape = block_elements(declared.shape, declared.layout)
        self.spare: list[Array] = []
        self.free: list[Slots] = []
        self.held: DType = float32 if keep_float32 and declared.dtype.is_float else declared.dtype
        self.is_float: bool = self.held.is_float
        self.is_carrier: bool = self.held.carrier is self.held.storage
        self.poison: int = poison_word(self.held)
        # Does assigning f32 values round correctly? Not for block floats.
        self.rounds: bool = self.is_float and not self.held.is_block_float and not packs_away
        self.way: Way = "away" if packs_away else "even"  # how ties round when bfloat16 is packed


class NodeBuffer:
    """The slots of a dataflow buffer on one node.

    `words` are views of the slots as unsigned integers, which numpy fills faster than floats.
    """

    __slots__ = (
        "block_bytes",
        "block_shape",
        "block_type",
        "consumer",
        "declared",
        "extent",
        "free",
        "held",
        "is_carrier",
        "is_float",
        "is_published",
        "like",
        "name",
        "named",
        "poison",
        "producer",
        "rounds",
        "shard",
        "slots",
        "spare",
        "tensor_name",
        "way",
        "words",
    )

    __deletable__ = ["producer", "consumer"]  # noqa: RUF012  # for mypyc

    def __init__(self, plan: BufferPlan, shard: Shard | None = None):
        self.declared = plan.declared
        self.name: str = plan.declared.name
        self.block_type = plan.block_type
        self.block_bytes = plan.block_bytes
        self.block_shape: Shape = plan.block_type.shape or ()
        self.extent = plan.extent
        self.spare = plan.spare
        self.free = plan.free
        self.held = plan.held
        self.is_carrier = plan.is_carrier
        self.is_float = plan.is_float
        self.rounds = plan.rounds
        self.way = plan.way
        # None: before the first write a shard holds the tensor's data, which others may read.
        self.poison: int | None = plan.poison if shard is None else None
        self.shard = shard
        self.is_published = False
        # The latest tensor known to have the layout and element type of the blocks.
        self.like: object = None
        self.named: object = None  # the latest tensor that a trace has named
        self.tensor_name = ""
        self.slots: list[Array] = []  # none until the first use of the buffer
        self.words: list[Array] = []
        self.producer: BufferEnd = ProducerEnd(self, plan.declared.block_count)
        self.consumer: BufferEnd = ConsumerEnd(self, 0)
        self.producer.other = self.consumer
        self.consumer.other = self.producer

    @property
    def block_name(self) -> str:
        return f"the block of `{self.name}`"

    def allocate(self) -> None:
        if self.slots:
            return
        if self.shard is not None:
            self.slots = self.shard.slots
            self.words = [slot.view(f"u{slot.itemsize}") for slot in self.slots]
        elif self.free:
            self.slots, self.words = self.free.pop()
        else:
            self.slots, self.words = take_slots(self.producer.count, self.extent, self.held.storage)

    def free_slots(self) -> None:
        """Give the memory, now in the cache, to the next node; both kernels must have ended."""
        if self.slots and self.shard is None:
            self.free.append((self.slots, self.words))
            self.slots, self.words = [], []

    def end_run(self) -> None:
        self.free_slots()
        while self.free:
            keep_slots(*self.free.pop())
        published = self.declared.block_count if self.is_published else 0
        if self.shard is not None and self.producer.released > published:
            self.shard.write_back()

    def break_cycles(self) -> None:
        """Break cycles; a block that the program has kept still finds its buffer and kernel."""
        for end in (self.producer, self.consumer):
            end.blocks.clear()
            end.kernel = None
            del end.other
        del self.producer, self.consumer

    def end(self, is_producer: bool) -> BufferEnd:
        return self.producer if is_producer else self.consumer

    def state(self) -> BufferState:
        taken = self.producer.acquired - self.consumer.released
        return BufferState(
            head=self.consumer.released % self.declared.block_count,
            visible=self.filled,
            reserved=taken - self.filled,
            free=self.declared.block_count - taken,
        )

    @property
    def filled(self) -> int:
        """Blocks pushed and not yet popped."""
        return self.producer.released - self.consumer.released


@cache
def poison_word(dtype: DType) -> int:
    """The poison of an element type as an unsigned integer."""
    stored = np.array(dtype.poison).astype(dtype.storage)
    return int(stored.view(f"u{dtype.storage.itemsize}"))
