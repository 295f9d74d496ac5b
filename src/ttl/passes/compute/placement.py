"""What is to be packed and where values are kept while convert-ttl-to-compute walks a kernel."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f32
from xdsl.ir import Block, Operation, Region, SSAValue

from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics.dtypes import DType, float32
from ttl.target import Target

from ..module_pass import Maker, first_after_bindings, terminator
from . import compiler_buffers as buffers
from .arranged_tiles import is_view, reads_by_matrix_unit
from .compiler_buffers import FP32, TF32, CompilerBuffers
from .section_builder import SectionBuilder, dst_type
from .ttl_insert_intermediate_dfbs import copied_buffers
from .ttl_set_compute_kernel_config import FULL_SYNC


@dataclass(slots=True, eq=False)
class Root:
    """A value that is to be packed: into a block of the user (`store`), or to be kept.

    What is kept goes to `buffer`, in which a loop or branch carries it, or to one of its own, from
    which it can be read.
    """

    value: SSAValue
    store: ttl.StoreOp | None = None
    buffer: SSAValue | None = None
    for_matrix: bool = False
    has_buffer: bool = False  # of ttl-insert-intermediate-dfbs

    @property
    def is_read_later(self) -> bool:
        return self.store is None and self.buffer is None


@dataclass(slots=True)
class Home:
    """A compiler buffer that holds a value, until nothing needs it any more."""

    value: SSAValue
    buffer: SSAValue


@dataclass(slots=True)
class Scope:
    """One block of the kernel while it is walked.

    `rings` are the buffers in which the values that its terminator carries are passed; those in
    `carried` are there.
    """

    end: Operation | None = None
    rings: dict[SSAValue, SSAValue] = field(default_factory=dict)
    carried: set[SSAValue] = field(default_factory=set)
    seen: set[Operation] = field(default_factory=set)
    stores: list[ttl.StoreOp] = field(default_factory=list)
    homes: list[Home] = field(default_factory=list)


@dataclass(slots=True)
class OpenSection:
    """A section that goes on: the values that are needed of it, the registers it may have."""

    builder: SectionBuilder
    results: list[SSAValue]
    size: int


class Placement:
    """A kernel whose block values are placed: what is where, and what has been carried out."""

    def __init__(self, module: ModuleOp, kernel: func.FuncOp, target: Target):
        self.kernel = kernel
        self.target = target
        self.buffers = CompilerBuffers(module, kernel)
        self.fp32 = bool(kernel.attributes[FP32])
        self.is_wide = self.buffers.unpacks_to_dst
        self.is_tf32 = TF32 in kernel.attributes and not self.is_wide
        self.homes: dict[tuple[SSAValue, bool], SSAValue] = {}  # value and way of reading: block
        self.zero_tiles: dict[DType, SSAValue] = {}
        self.copied = copied_buffers(kernel)
        self.done: set[Operation] = set()  # what needs its operands no more
        self.open: OpenSection | None = None
        self.scopes: list[Scope] = []

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    def is_seen(self, op: Operation) -> bool:
        return any(op in scope.seen for scope in self.scopes)

    # Registers ------------------------------------------------------------------------------------

    def most_registers(self) -> int:
        return most_registers(self.kernel, self.target)

    def usual_registers(self) -> int:
        """Those that there are unless a loop needs more."""
        full_sync = bool(self.kernel.attributes.get(FULL_SYNC, False))
        return self.target.dst_capacity(fp32=self.fp32, full_sync=full_sync)

    # Where a value is -----------------------------------------------------------------------------

    def is_open(self, value: SSAValue) -> bool:
        return self.open is not None and value in self.open.builder.values

    def is_kept(self, value: SSAValue) -> bool:
        return (value, False) in self.homes or (value, True) in self.homes

    def is_computed(self, value: SSAValue) -> bool:
        return self.is_kept(value) or self.is_open(value)

    def is_carried_on(self, value: SSAValue, user: Operation) -> bool:
        """Is it in the buffer in which this terminator passes it?"""
        return any(user is scope.end and value in scope.carried for scope in self.scopes)

    def place_of(self, value: SSAValue, matrix: bool) -> SSAValue | None:
        """The block that holds the value, for the matrix unit or for the other ways of reading."""
        way = matrix and self.is_wide
        if (value, way) in self.homes:
            return self.homes[value, way]
        if is_view(value.owner):
            return self.place_of(value.owner.inputs[0], matrix)  # type: ignore[union-attr]
        if not isinstance(value.owner, ttl.WaitOp):
            return None
        is_wide = block_type(value.type).dtype == float32
        if way and is_wide and ttl.buffer_of(value) in self.copied:
            return None  # rule WIDE
        return value

    def zeros(self, dtype: DType, origin: Operation) -> SSAValue:
        """A tile of zeros, made when the kernel starts."""
        if dtype not in self.zero_tiles:
            make = Maker.before(first_after_bindings(self.kernel), origin)
            buffer = self.buffers.make((1, 1), "zeros", dtype=dtype)
            view = buffers.reserve(buffer, make)
            section = make.add(ttl.ComputeOp.create(regions=[Region(Block())]))
            inner = Maker.at_end(section.regions[0].block, origin)
            zeros = inner.new(ttl.TileFillOp, (), dst_type(view), value=FloatAttr(0.0, f32))
            inner.add(ttl.TileStoreOp.create(operands=[zeros, view]))
            buffers.push(buffer, make)
            self.zero_tiles[dtype] = buffers.wait(buffer, make)
            buffers.pop(buffer, Maker.before(terminator(self.kernel.body.block)))
        return self.zero_tiles[dtype]

    # Keeping values -------------------------------------------------------------------------------

    def keep(self, value: SSAValue, users: list[Operation]) -> list[Root]:
        """The roots that keep a value, one for each way in which it is read: rule WIDE.

        One that is only carried on goes where it is carried on from.
        """
        if users and all(user is self.scope.end for user in users):
            if value in self.scope.carried:
                return []
            if (ring := self.scope.rings.get(value)) is not None:
                self.scope.carried.add(value)
                return [Root(value, buffer=ring)]
        factors = [reads_by_matrix_unit(user) for user in users]
        ways = [False] * (not all(factors)) + [True] * any(factors) if self.is_wide else [False]
        return [Root(value, for_matrix=way) for way in ways if (value, way) not in self.homes]

    def settle(
        self, value: SSAValue, buffer: SSAValue, make: Maker, for_matrix: bool = False
    ) -> None:
        """From here on the value is read from the buffer."""
        self.homes[value, for_matrix] = buffers.wait(buffer, make)
        self.scope.homes.append(Home(value, buffer))

    def release(self, home: Home, make: Maker) -> None:
        buffers.pop(home.buffer, make)
        for way in (False, True):
            block = self.homes.get((home.value, way))
            if block is not None and ttl.buffer_of(block) is home.buffer:
                del self.homes[home.value, way]


def most_registers(kernel: func.FuncOp, target: Target) -> int:
    """Those that a section can have, unless the user wants fewer."""
    explicit = kernel.attributes.get(FULL_SYNC)
    full_sync = explicit is None or bool(explicit)
    return target.dst_capacity(fp32=bool(kernel.attributes[FP32]), full_sync=full_sync)


def effective(stores: list[ttl.StoreOp]) -> list[ttl.StoreOp]:
    """A store that another one overwrites does nothing."""
    found: list[ttl.StoreOp] = []
    for store in stores:
        if store.accumulate is None:
            found = [earlier for earlier in found if earlier.view is not store.view]
        found.append(store)
    return found


def store_before(op: Operation, value: SSAValue, view: SSAValue) -> ttl.StoreOp:
    store = ttl.StoreOp.create(operands=[value, view])
    Maker.before(op).add(store)
    return store


def stand_in(value: SSAValue) -> SSAValue:
    """A block to store into while it is tried whether a section fits."""
    return ttl.ReserveOp.create(operands=[], result_types=[value.type]).block
