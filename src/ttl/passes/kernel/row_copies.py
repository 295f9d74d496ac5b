"""Copies of row-major slices: one transfer for each row, or piece of a row, of the tensor.

A page of the tensor is one of its rows, or a shard's part of a row. In a block every row begins
aligned; if a copy needs it, there is room after each (row_page_bytes in semantics/types).

rule DIRECT    source and destination of a transfer must differ by a multiple of the alignment: a
               row whose slice begins at such a byte goes straight to its place, at any length.
rule SHIFT     for other rows, a read also fetches the bytes since the last aligned one, and then
               moves the row to the front; a write first moves the row back, and afterwards to the
               front.
rule ELEMENTS  rows of one element that become one row of the block, and rows that may span several
               pages, go through the room after the block's row, element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd, prod

from xdsl.dialects import arith, func
from xdsl.ir import BlockArgument, SSAValue

from ttl.dialects import ttkernel, ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics.dtypes import DType
from ttl.semantics.layout import ROW_MAJOR_LAYOUT
from ttl.semantics.types import Shape, row_alignment_bytes
from ttl.target import of_all_chips

from ..arithmetic import add, divide, minus, times
from ..module_pass import Maker, constant_of, numbers_in
from .kernel_calls import call, first_page, noc_address_call

PAGES = "ttl.page_elements"  # on an operation: its tensors whose rows shards cut


@dataclass(frozen=True, slots=True)
class Rows:
    """The two ends of a copy between a slice of a row-major tensor and a block."""

    is_read: bool
    starts: Sequence[SSAValue]
    tensor: Shape
    part: Shape
    block: Shape
    dtype: DType
    page: int  # elements per page

    @property
    def piece_bytes(self) -> int:
        return self.part[-1] * self.dtype.element_bytes

    @property
    def row_pages(self) -> int:
        return -(-self.tensor[-1] // self.page)

    @property
    def alignment(self) -> int:
        return row_alignment_bytes() if self.is_read else of_all_chips("l1_alignment_bytes")

    @property
    def are_whole(self) -> bool:
        """Is every row of the slice in one page, and does it become one row of the block?"""
        return self.part[-1] == self.block[-1] and self._lie_in_one_page

    @property
    def _lie_in_one_page(self) -> bool:
        if self.row_pages == 1:
            return True
        start, size = constant_of(self.starts[-1]), self.part[-1]
        if start is not None:
            return start // self.page == (start + size - 1) // self.page
        return self.page % size == 0 and divisor_of(self.starts[-1]) % size == 0

    @property
    def is_aligned(self) -> bool:
        start = constant_of(self.starts[-1])
        in_page = gcd(divisor_of(self.starts[-1]), self.page if self.row_pages > 1 else 0)
        elements = in_page if start is None else start % self.page
        return elements * self.dtype.element_bytes % self.alignment == 0

    @property
    def needs_room(self) -> bool:
        """Does the copy need room after rows? Otherwise it is direct (rule DIRECT)."""
        return not (self.are_whole and self.is_aligned)


def rows_of(op: ttl.CopyOp, kernel: func.FuncOp) -> Rows | None:
    """Describe the copy if it is one of a slice of a row-major tensor."""
    for part, block in ((op.source, op.destination), (op.destination, op.source)):
        slice_op = part.owner
        if not isinstance(slice_op, ttl.TensorSliceOp):
            continue
        part_type, whole = block_type(part.type), block_type(slice_op.tensor.type)
        if part_type.layout is not ROW_MAJOR_LAYOUT:
            return None
        block_shape = block_type(block.type).shape
        assert part_type.dtype is not None and part_type.shape and whole.shape and block_shape
        return Rows(
            part is op.source,
            slice_op.starts,
            whole.shape,
            part_type.shape,
            block_shape,
            part_type.dtype,
            _page_elements(kernel, slice_op.tensor) or whole.shape[-1],
        )
    return None


def _page_elements(kernel: func.FuncOp, tensor: SSAValue) -> int:
    """Return the page size of a row-major tensor whose rows shards cut, otherwise 0."""
    if PAGES not in kernel.attributes:
        return 0
    assert isinstance(tensor, BlockArgument)
    pages, positions = (numbers_in(kernel.attributes[n]) for n in (PAGES, "ttl.crta_indices"))
    return pages[positions[tensor.index]]


@dataclass(frozen=True, slots=True)
class RowCopy:
    """The rows and their addresses; a block's rows are `stride` bytes apart in L1."""

    rows: Rows
    accessor: SSAValue
    address: SSAValue
    stride: int


def copy_rows(copy: RowCopy, make: Maker) -> None:
    if not copy.rows.are_whole:
        _copy_elements(copy, make)
        return
    at = _place(copy, make, copy.rows.starts[-1])
    if not copy.rows.needs_room:
        _transfer_rows(copy, make, at)
    elif copy.rows.is_read:
        _transfer_rows(copy, make, at)
        call(make, "noc_async_read_barrier")
        _move_rows(copy, make, at.shift, to_front=True)
    else:
        call(make, "noc_async_write_barrier")  # another transfer may be reading the block
        _move_rows(copy, make, at.shift, to_front=False)
        _transfer_rows(copy, make, at)
        call(make, "noc_async_write_barrier")
        _move_rows(copy, make, at.shift, to_front=True)


@dataclass(frozen=True, slots=True)
class _Place:
    """The start of a slice: the page of its first row, the byte there, and its misalignment."""

    page: SSAValue
    offset: SSAValue
    shift: SSAValue

    def aligned_offset(self, make: Maker) -> SSAValue:
        return minus(make, self.offset, self.shift, "offset")


def _place(copy: RowCopy, make: Maker, start: SSAValue) -> _Place:
    """Return the place of the elements from `start` on in the slice's first row."""
    outer = [*copy.rows.starts[:-1]]
    row = first_page(make, outer, copy.rows.tensor[:-1]) if outer else make.index(0)
    column, rows = start, copy.rows
    page = times(make, row, make.index(rows.row_pages), "page")
    if rows.row_pages > 1:
        before, column = divide(make, start, rows.page)
        page = add(make, page, before, "page")
    offset = times(make, column, make.index(rows.dtype.element_bytes), "offset")
    if not rows.needs_room:
        return _Place(page, offset, make.index(0))
    return _Place(page, offset, divide(make, offset, rows.alignment)[1])


def divisor_of(value: SSAValue) -> int:
    """Return a divisor of a run-time integer; 0 if the integer is 0."""
    number, op = constant_of(value), value.owner
    if number is not None:
        return abs(number)
    if isinstance(op, arith.MuliOp):
        return divisor_of(op.lhs) * divisor_of(op.rhs)
    if isinstance(op, (arith.AddiOp, arith.SubiOp)):
        return gcd(divisor_of(op.lhs), divisor_of(op.rhs))
    return 1


# Loops --------------------------------------------------------------------------------------------

Body = Callable[[Maker, list[SSAValue]], None]


def _for_each_row(copy: RowCopy, make: Maker, body: Body) -> None:
    """Call `body` with the indices of every row of the slice."""

    def dimension(inner: Maker, d: int, indices: list[SSAValue]) -> None:
        if d == len(copy.rows.part) - 1:
            body(inner, indices)
            return
        name = "row" if d == len(copy.rows.part) - 2 else "outer"
        inner.loop(copy.rows.part[d], name, lambda m, i: dimension(m, d + 1, [*indices, i]))

    dimension(make, 0, [])


def _page(copy: RowCopy, make: Maker, first: SSAValue, indices: list[SSAValue]) -> SSAValue:
    outer = copy.rows.tensor[:-1]
    strides = [prod(outer[d + 1 :]) * copy.rows.row_pages for d in range(len(outer))]
    page = make.affine(list(zip(indices, strides, strict=True)))
    return add(make, first, page, "page")


def _row(copy: RowCopy, make: Maker, indices: list[SSAValue]) -> SSAValue:
    """Return the address of the block's row for a row of the slice."""
    outer = copy.rows.part[:-1]
    strides = [prod(outer[d + 1 :]) * copy.stride for d in range(len(outer))]
    offset = make.affine(list(zip(indices, strides, strict=True)))
    return add(make, copy.address, offset, "address")


# rules DIRECT and SHIFT ---------------------------------------------------------------------------


def _transfer_rows(copy: RowCopy, make: Maker, at: _Place) -> None:
    offset, length = at.offset, make.index(copy.rows.piece_bytes)
    if copy.rows.is_read:
        offset, length = at.aligned_offset(make), add(make, length, at.shift, "bytes")

    def row(inner: Maker, indices: list[SSAValue]) -> None:
        address = _row(copy, inner, indices)
        page = _page(copy, inner, at.page, indices)
        if copy.rows.is_read:
            _read(copy, inner, page, offset, address, length)
        else:
            _write(copy, inner, page, offset, add(inner, address, at.shift, "address"), length)

    _for_each_row(copy, make, row)


def _move_rows(copy: RowCopy, make: Maker, shift: SSAValue, to_front: bool) -> None:
    def row(inner: Maker, indices: list[SSAValue]) -> None:
        front = _row(copy, inner, indices)
        after = add(inner, front, shift, "address")
        ends = (front, after) if to_front else (after, front)
        call(inner, ttkernel.MOVE_BYTES, *ends, inner.index(copy.rows.piece_bytes))

    _for_each_row(copy, make, row)


# rule ELEMENTS ------------------------------------------------------------------------------------


def _copy_elements(copy: RowCopy, make: Maker) -> None:
    if not copy.rows.is_read:
        call(make, "noc_async_write_barrier")  # another write may be using the room

    def row(inner: Maker, indices: list[SSAValue]) -> None:
        inner.loop(copy.rows.part[-1], "column", lambda m, i: _copy_element(copy, m, [*indices, i]))

    _for_each_row(copy, make, row)


def _copy_element(copy: RowCopy, make: Maker, indices: list[SSAValue]) -> None:
    at = _place(copy, make, add(make, copy.rows.starts[-1], indices[-1], "column"))
    page = _page(copy, make, at.page, indices[:-1])
    place, room = _element(copy, make, indices)
    own = add(make, room, at.shift, "address")
    one = make.index(copy.rows.dtype.element_bytes)
    if copy.rows.is_read:
        _read(copy, make, page, at.aligned_offset(make), room, add(make, one, at.shift, "bytes"))
        call(make, "noc_async_read_barrier")
        call(make, ttkernel.MOVE_BYTES, place, own, one)
    else:
        call(make, ttkernel.MOVE_BYTES, own, place, one)
        _write(copy, make, page, at.offset, own, one)
        call(make, "noc_async_write_barrier")


def _element(copy: RowCopy, make: Maker, indices: list[SSAValue]) -> tuple[SSAValue, SSAValue]:
    """Return an element's address in the block, and that of the room after its row."""
    along = len(copy.rows.part) - 1  # the slice's dimension along the block's rows
    while copy.rows.part[along] != copy.rows.block[-1]:
        assert copy.rows.part[along] == 1, "only sizes of one may be left out"
        along -= 1
    rows = [prod(copy.rows.part[d + 1 : along]) * copy.stride for d in range(along)]
    terms = list(zip(indices[:along], rows, strict=True))
    row = add(make, copy.address, make.affine(terms), "address")
    column = make.affine([(indices[along], copy.rows.dtype.element_bytes)])
    room = make.index(copy.stride - row_alignment_bytes())
    return add(make, row, column, "address"), add(make, row, room, "room")


# Transfers ----------------------------------------------------------------------------------------


def _noc_address(copy: RowCopy, make: Maker, page: SSAValue, offset: SSAValue) -> SSAValue:
    place = copy.accessor, page, offset
    return noc_address_call(make, ttkernel.PAGE_ADDRESS, *place, hint="noc_address")


def _read(
    copy: RowCopy, make: Maker, page: SSAValue, offset: SSAValue, to: SSAValue, length: SSAValue
) -> None:
    call(make, "noc_async_read", _noc_address(copy, make, page, offset), to, length)


def _write(
    copy: RowCopy, make: Maker, page: SSAValue, offset: SSAValue, of: SSAValue, length: SSAValue
) -> None:
    call(make, "noc_async_write", of, _noc_address(copy, make, page, offset), length)
