"""What is to be packed and where values are kept while convert-ttl-to-compute walks a kernel."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttl
from ttl.dialects.building import walk

from ..module_pass import Maker
from .arranged_tiles import reads_by_matrix_unit


@dataclass(slots=True, eq=False)
class Root:
    """A value that is to be packed: into a block of the user (`store`), or to be kept.

    What is kept goes to `buffer`, of which a loop or branch hands it on, or to one of its own,
    from which it can be read.
    """

    value: SSAValue
    store: ttl.StoreOp | None = None
    buffer: SSAValue | None = None
    for_matrix: bool = False


@dataclass(slots=True)
class Home:
    """A compiler buffer that holds a value, until nothing needs it any more."""

    value: SSAValue
    buffer: SSAValue


@dataclass(slots=True)
class Scope:
    """One block of the kernel while it is walked.

    `rings` are the buffers of values that its terminator hands on, until they are there.
    """

    end: Operation | None = None
    rings: dict[SSAValue, SSAValue] = field(default_factory=dict)
    handed_on: set[SSAValue] = field(default_factory=set)
    seen: set[Operation] = field(default_factory=set)
    stores: list[ttl.StoreOp] = field(default_factory=list)
    homes: list[Home] = field(default_factory=list)


Memo = dict[SSAValue, bool]
Computed = dict[ttl.BlockMathOp, None]


def copied_buffers(kernel: func.FuncOp) -> set[SSAValue]:
    """The buffers of which blocks are read by anything but matrix products."""
    found: set[SSAValue] = set()
    for op in walk(kernel):
        if isinstance(op, ttl.AcquireOp):
            for use in op.block.uses:
                user = use.operation
                is_factor = reads_by_matrix_unit(user)
                if not is_factor and (not isinstance(user, ttl.StoreOp) or use.index == 0):
                    found.add(op.buffer)
    return found


def transitive_users(value: SSAValue) -> set[Operation]:
    found: set[Operation] = set()
    todo = [value]
    while todo:
        for use in todo.pop().uses:
            if use.operation not in found:
                found.add(use.operation)
                if isinstance(use.operation, ttl.BlockMathOp):
                    todo.append(use.operation.result)
    return found


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
