"""The state of convert-ttl-to-compute in a kernel: values to pack, and where values are kept."""

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
    """A value to pack: into a block of the user (`store`), or to keep.

    A kept value goes to `buffer`, in which a loop or branch carries it, or to a buffer of its own
    that it can be read from.
    """

    value: SSAValue
    store: ttl.StoreOp | None = None
    buffer: SSAValue | None = None
    for_matrix: bool = False
    has_buffer: bool = False  # from ttl-insert-intermediate-dfbs

    @property
    def is_read_later(self) -> bool:
        return self.store is None and self.buffer is None


@dataclass(slots=True)
class Home:
    """A compiler buffer that holds a value until its last use."""

    value: SSAValue
    buffer: SSAValue


@dataclass(slots=True)
class WalkedScope:
    """One block of the kernel during the walk.

    `rings` are the buffers that pass the values its terminator carries; those in `carried` are
    there already.
    """

    end: Operation | None = None
    rings: dict[SSAValue, SSAValue] = field(default_factory=dict)
    carried: set[SSAValue] = field(default_factory=set)
    seen: set[Operation] = field(default_factory=set)
    stores: list[ttl.StoreOp] = field(default_factory=list)
    homes: list[Home] = field(default_factory=list)


@dataclass(slots=True)
class OpenSection:
    """A section that continues: the values needed from it, and the registers it may use."""

    builder: SectionBuilder
    results: list[SSAValue]
    size: int


class Placement:
    """A kernel whose block values are placed: where each is, and which operations have run."""

    def __init__(self, module: ModuleOp, kernel: func.FuncOp, target: Target):
        self.kernel = kernel
        self.target = target
        self.buffers = CompilerBuffers(module, kernel)
        self.fp32 = bool(kernel.attributes[FP32])
        self.is_wide = self.buffers.unpacks_to_dst
        self.is_tf32 = TF32 in kernel.attributes and not self.is_wide
        self.homes: dict[tuple[SSAValue, bool], SSAValue] = {}  # by value and way of reading
        self.zero_tiles: dict[DType, SSAValue] = {}
        self.copied = copied_buffers(kernel)
        self.done: set[Operation] = set()  # operations that have read their operands
        self.open: OpenSection | None = None
        self.scopes: list[WalkedScope] = []

    @property
    def scope(self) -> WalkedScope:
        return self.scopes[-1]

    def is_seen(self, op: Operation) -> bool:
        return any(op in scope.seen for scope in self.scopes)

    # Registers ------------------------------------------------------------------------------------

    def most_registers(self) -> int:
        return most_registers(self.kernel, self.target)

    def usual_registers(self) -> int:
        """Return the registers available unless a loop needs more."""
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
        """Is it in the buffer in which this terminator passes it on?"""
        return any(user is scope.end and value in scope.carried for scope in self.scopes)

    def place_of(self, value: SSAValue, matrix: bool) -> SSAValue | None:
        """Return the block that holds the value for the matrix unit, or for other readers."""
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
        """Return a tile of zeros, made when the kernel starts."""
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
        """Return the roots that keep a value, one for each way of reading it (rule WIDE).

        A value that is only carried on goes to the buffer that carries it.
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
        """Read the value from the buffer from here on."""
        self.homes[value, for_matrix] = buffers.wait(buffer, make)
        self.scope.homes.append(Home(value, buffer))

    def release(self, home: Home, make: Maker) -> None:
        buffers.pop(home.buffer, make)
        for way in (False, True):
            block = self.homes.get((home.value, way))
            if block is not None and ttl.buffer_of(block) is home.buffer:
                del self.homes[home.value, way]


def most_registers(kernel: func.FuncOp, target: Target) -> int:
    """Return the registers a section can have, unless the user wants fewer."""
    explicit = kernel.attributes.get(FULL_SYNC)
    full_sync = explicit is None or bool(explicit)
    return target.dst_capacity(fp32=bool(kernel.attributes[FP32]), full_sync=full_sync)


def drop_overwritten(stores: list[ttl.StoreOp]) -> list[ttl.StoreOp]:
    """Drop stores that another one overwrites."""
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
    """Return a block to store into while trying whether a section fits."""
    return ttl.ReserveOp.create(operands=[], result_types=[value.type]).block
