"""print() as calls of DPRINT: the shown elements of an array, and the processor that prints.

A text goes out in pieces; all but the last end without a newline, so the print server joins them.
Of a block or a tensor's page, prints show the elements at the edges, some neighbors at a time.
"""

from __future__ import annotations

import re
from math import prod

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import SSAValue

from ttl.dialects import ttkernel, ttl
from ttl.dialects.ttcore import block_type
from ttl.dialects.ttkernel import processor_of
from ttl.semantics.layout import TILE_LAYOUT
from ttl.semantics.printing import UNSET, array_pattern, page_heading
from ttl.semantics.types import TILE_SIZE, Shape, block_elements

from ..module_pass import Maker, not_yet, users_of
from .kernel_calls import KernelConverter, block_tiles, call, value_call

MOST_SLICES = 2  # per piece: each takes 80 bytes of a print buffer of a few hundred
SLICE_BYTES = 64  # bytes of elements in a slice
_RUN = re.compile(r"<\d+>(?: <\d+>)*")


def print_calls(converter: KernelConverter, op: ttl.PrintOp, make: Maker) -> None:
    position = op.position.value.data
    scalars = list(op.values)
    before, after = scalars[:position], scalars[position:]
    shows = op.shows.data if op.shows is not None else ""
    processor = _processor(converter, op, shows)
    end = "\n" if op.end is None else op.end.data
    if not shows:
        dprint(make, processor, op.before.data + end, before)
        return
    if op.before.data:
        dprint(make, processor, op.before.data, before)
    skipped = SHOWN[shows](converter, op, op.values[position], processor, make)
    dprint(make, processor, op.after.data + end, after[skipped:])


def _processor(converter: KernelConverter, op: ttl.PrintOp, shows: str) -> str:
    """Return the processor that prints; a compute kernel's three each see one buffer end.

    Texts and scalars come from the one that the program names; an object from one that sees it.
    """
    if processor_of(converter.kernel) != "compute":
        return ""
    if shows == "block":
        owner = op.values[op.position.value.data].owner
        return "PACK" if isinstance(owner, ttl.ReserveOp) else "UNPACK"
    if shows == "buffer":
        shown = op.values[op.position.value.data]
        return "PACK" if users_of(shown, ttl.ReserveOp) else "UNPACK"
    return "MATH" if op.thread is None else op.thread.data.upper()


def dprint(make: Maker, processor: str, text: str, values: list[SSAValue], *literals: str) -> None:
    properties = {"format": StringAttr(text), "processor": StringAttr(processor)}
    op = ttkernel.DprintOp.create(operands=values, properties=properties)
    if literals:
        op.properties["literals"] = ArrayAttr([StringAttr(literal) for literal in literals])
    make.add(op)


def block(
    converter: KernelConverter, op: ttl.PrintOp, value: SSAValue, processor: str, make: Maker
) -> int:
    assert op.heading is not None
    if op.unset is not None:
        dprint(make, processor, f"{_escape_braces(op.heading.data)}\n{UNSET}", [])
        return 1
    first = converter.held.distance(op, value) * block_tiles(value)  # in pages
    if first and converter.held.goes_over_edge(op, value):
        raise not_yet(
            "print() of a block among several that are held of a buffer they do not divide",
            op,
            "hold as many blocks each time, and give the buffer a multiple of it",
        )
    dprint(make, processor, _escape_braces(op.heading.data), [])
    end = "TSLICE_WR_PTR" if isinstance(value.owner, ttl.ReserveOp) else "TSLICE_RD_PTR"
    pages = _Pages(converter.buffer_of(value), ttl.buffer_of(value), first, end)
    _array(make, processor, pages)
    return 1


class _Pages:
    """The elements of a block, or of a tensor's page, and their positions for TSLICE.

    Rows are contiguous, and TSLICE counts their elements as if they were tiles of 32 rows of 32
    that are not tilized.
    """

    def __init__(self, buffer: SSAValue, bound: SSAValue, first: int, end: str):
        assert isinstance(bound.type, ttl.DataflowBufferType)
        self.buffer, self.first, self.end = buffer, first, end
        self.dtype, sizes = bound.type.tile.dtype, bound.type.sizes
        self.is_tiled = bound.type.tile.layout is TILE_LAYOUT
        self.elements = block_elements(sizes, bound.type.tile.layout)
        self.row_bytes = ttl.page_bytes_of(bound)

    @property
    def most(self) -> int:
        """Return how many neighbors a slice shows."""
        return 2 if self.is_tiled else SLICE_BYTES // self.dtype.storage.itemsize

    def slice(self, number: int, count: int, processor: str) -> str:
        tile, row, column = self._place(number)
        tile_range = f"SliceRange{{{row}, {row + 1}, 1, {column}, {column + count}, 1}}"
        side = "" if processor else f"TSLICE_INPUT_CB, {self.end}, "
        tilized = "true" if self.is_tiled else "false"
        return f"TSLICE(%, {tile}, {tile_range}, {side}false, {tilized})"

    def _place(self, number: int) -> tuple[int, int, int]:
        if self.is_tiled:
            tile, row, column = _place(number, self.elements)
            return self.first + tile, row, column
        row, column = divmod(number, self.elements[-1])
        row_elements = self.row_bytes // self.dtype.storage.itemsize
        tile, within = divmod((self.first + row) * row_elements + column, TILE_SIZE * TILE_SIZE)
        return tile, *divmod(within, TILE_SIZE)


def _array(make: Maker, processor: str, pages: _Pages) -> None:
    """Print elements at the edges of an array in a buffer, a few slices in each piece."""
    text = ""
    given: list[str] = []

    def flush(piece: str) -> None:
        dprint(make, processor, piece, [pages.buffer], *given)
        given.clear()

    position = 0
    pattern = "\n" + array_pattern(pages.elements)
    for found in _RUN.finditer(pattern):
        between, position = _escape_braces(pattern[position : found.start()]), found.end()
        numbers = [int(number) for number in found[0][1:-1].split("> <")]
        for start in range(0, len(numbers), pages.most):
            shown = numbers[start : start + pages.most]
            if len(given) == MOST_SLICES:
                piece, newline, rest = between.partition("\n")  # at the end it would end the print
                flush(text + (piece if newline else ""))
                text, between = "", newline + rest if newline else between
            text += between + "{}"
            between = " "
            given.append(pages.slice(shown[0], len(shown), processor))
    flush(text + _escape_braces(pattern[position:]))


def _place(number: int, elements: Shape) -> tuple[int, int, int]:
    """Return the tile of an element, and its row and column there."""
    rows, columns = elements[-2:]
    matrix, within = divmod(number, rows * columns)
    row, column = divmod(within, columns)
    tiles = columns // TILE_SIZE
    tile = (matrix * (rows // TILE_SIZE) + row // TILE_SIZE) * tiles + column // TILE_SIZE
    return tile, row % TILE_SIZE, column % TILE_SIZE


def tensor(
    converter: KernelConverter, op: ttl.PrintOp, value: SSAValue, processor: str, make: Maker
) -> int:
    """Print a tensor's pages; each is read into L1 first."""
    assert op.heading is not None
    bound = op.values[op.position.value.data + 1]
    page = converter.circular_buffers[bound]
    type = block_type(value.type)
    shape = type.shape or ()
    pages = prod(shape if type.layout is TILE_LAYOUT else shape[:-1])
    pages = min(op.num_pages.value.data, pages)
    for number in range(pages):
        address = value_call(make, "get_write_ptr", page, hint="page_address")
        call(make, "noc_async_read_page", make.index(number), converter.accessors[value], address)
        call(make, "noc_async_read_barrier")
        heading = op.heading.data if number == 0 else "\n"
        dprint(make, processor, _escape_braces(heading + page_heading(number)), [])
        _array(make, processor, _Pages(page, bound, 0, "TSLICE_WR_PTR"))
    return 2


def buffer(
    converter: KernelConverter, op: ttl.PrintOp, value: SSAValue, processor: str, make: Maker
) -> int:
    """Print a buffer. A processor knows its own end's pointer; the other is from the start."""
    assert op.heading is not None and isinstance(value.type, ttl.DataflowBufferType)
    fields = "get_local_cb_interface(%)"
    start = f"({fields}.fifo_limit - {fields}.fifo_size)"
    pointers = [
        f"({fields}.{name} - {start}) / {fields}.fifo_page_size"
        for name in ("fifo_rd_ptr", "fifo_wr_ptr")
    ]
    filled = f"({fields}.tiles_received - {fields}.tiles_acked) / {value.type.block_tiles}"
    dprint(
        make,
        processor,
        op.heading.data,
        [converter.circular_buffers[value]],
        *pointers,
        f"{fields}.fifo_wr_tile_ptr",
        filled,
    )
    return 1


def _escape_braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


SHOWN = {"block": block, "tensor": tensor, "buffer": buffer}
