"""print() as calls of DPRINT: what of an array is shown, and on which processor.

A text goes out in pieces; all but the last end without a newline, so the print server joins them.
Of a block or a tensor's page the elements at the edges are shown, two neighbours at a time.
"""

from __future__ import annotations

import re
from math import prod

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import SSAValue

from ttl.dialects import ttkernel, ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics.printing import array_pattern, page_heading
from ttl.semantics.types import TILE_SIZE, Shape

from .kernel_calls import KernelConverter, block_tiles, call
from .module_pass import Maker, not_yet, thread_of

MOST_SLICES = 2  # of a piece: each takes 80 bytes of a print buffer of some hundred
_PAIR = re.compile(r"<(\d+)> <(\d+)>")


def print_calls(self: KernelConverter, op: ttl.PrintOp, make: Maker) -> None:
    position = op.position.value.data
    scalars = list(op.values)
    before, after = scalars[:position], scalars[position:]
    shows = op.shows.data if op.shows is not None else ""
    processor = _processor(self, op, shows)
    if not shows:
        dprint(make, processor, op.before.data + "\n", before)
        return
    if op.before.data:
        dprint(make, processor, op.before.data, before)
    skipped = SHOWN[shows](self, op, op.values[position], processor, make)
    dprint(make, processor, op.after.data + "\n", after[skipped:])


def _processor(self: KernelConverter, op: ttl.PrintOp, shows: str) -> str:
    """Compute kernels run on three processors, of which each sees one end of the buffers."""
    if thread_of(self.kernel) != "compute":
        return ""
    if shows == "block":
        owner = op.values[op.position.value.data].owner
        return "PACK" if isinstance(owner, ttl.ReserveOp) else "UNPACK"
    if shows == "buffer":
        uses = [use.operation for use in op.values[op.position.value.data].uses]
        return "PACK" if any(isinstance(use, ttl.ReserveOp) for use in uses) else "UNPACK"
    return "MATH"


def dprint(
    make: Maker, processor: str, text: str, values: list[SSAValue], *literals: str
) -> None:
    properties = {"format": StringAttr(text), "processor": StringAttr(processor)}
    op = ttkernel.DprintOp.create(operands=values, properties=properties)
    if literals:
        op.properties["literals"] = ArrayAttr([StringAttr(literal) for literal in literals])
    make.add(op)


def block(
    self: KernelConverter, op: ttl.PrintOp, value: SSAValue, processor: str, make: Maker
) -> int:
    assert op.heading is not None
    first = self.held.distance(op, value) * block_tiles(value)
    if first and self.held.goes_over_edge(op, value):
        raise not_yet(
            "print() of a block among several that are held of a buffer they do not divide",
            op,
            "hold as many blocks each time, and give the buffer a multiple of it",
        )
    dprint(make, processor, _escaped(op.heading.data), [])
    end = "TSLICE_WR_PTR" if isinstance(value.owner, ttl.ReserveOp) else "TSLICE_RD_PTR"
    shape = block_type(value.type).shape or ()
    _array(make, processor, self.buffer_of(value), shape, first, end)
    return 1


def _array(
    make: Maker, processor: str, buffer: SSAValue, shape: Shape, first: int, end: str
) -> None:
    """Elements at the edges of tiles in a buffer."""
    *leading, rows, columns = shape
    elements = (*leading, rows * TILE_SIZE, columns * TILE_SIZE)
    side = "" if processor else f"TSLICE_INPUT_CB, {end}, "
    lines: list[str] = []
    slices: list[list[str]] = []

    def part(found: re.Match[str]) -> str:
        tile, row, column = _place(int(found[1]), elements)
        tile_range = f"SliceRange{{{row}, {row + 1}, 1, {column}, {column + 2}, 1}}"
        slices[-1].append(f"TSLICE(%, {first + tile}, {tile_range}, {side}false, true)")
        return "{}"

    for line in array_pattern(elements).split("\n"):
        slices.append([])
        lines.append(_PAIR.sub(part, _escaped(line)))
    text = ""
    given: list[str] = []
    for line, own in zip(lines, slices, strict=True):
        if len(given) + len(own) > MOST_SLICES:
            piece = text.rstrip("\n")  # a newline at its end would end the print
            dprint(make, processor, piece, [buffer], *given)
            text, given = text[len(piece) :], []
        text += "\n" + line
        given = [*given, *own]
    dprint(make, processor, text, [buffer], *given)


def _place(number: int, elements: Shape) -> tuple[int, int, int]:
    """The tile of an element, and its row and column there."""
    rows, columns = elements[-2:]
    matrix, within = divmod(number, rows * columns)
    row, column = divmod(within, columns)
    tiles = columns // TILE_SIZE
    tile = (matrix * (rows // TILE_SIZE) + row // TILE_SIZE) * tiles + column // TILE_SIZE
    return tile, row % TILE_SIZE, column % TILE_SIZE


def tensor(
    self: KernelConverter, op: ttl.PrintOp, value: SSAValue, processor: str, make: Maker
) -> int:
    """Each page is read into L1 first."""
    assert op.heading is not None
    page = self.circular_buffers[op.values[op.position.value.data + 1]]
    pages = min(op.num_pages.value.data, prod(block_type(value.type).shape or ()))
    for number in range(pages):
        address = call(make, "get_write_ptr", page, returns=True).results[0]
        address.name_hint = "page_address"
        call(make, "noc_async_read_page", make.index(number), self.accessors[value], address)
        call(make, "noc_async_read_barrier")
        heading = op.heading.data if number == 0 else "\n"
        dprint(make, processor, _escaped(heading + page_heading(number)), [])
        _array(make, processor, page, (1, 1), 0, "TSLICE_WR_PTR")
    return 2


def buffer(
    self: KernelConverter, op: ttl.PrintOp, value: SSAValue, processor: str, make: Maker
) -> int:
    """A processor knows the pointer of its own end; the others are what it saw at the start."""
    assert op.heading is not None and isinstance(value.type, ttl.DataflowBufferType)
    fields = "get_local_cb_interface(%)"
    start = f"({fields}.fifo_limit - {fields}.fifo_size)"
    pointers = [
        f"({fields}.{name} - {start}) / {fields}.fifo_page_size"
        for name in ("fifo_rd_ptr", "fifo_wr_ptr")
    ]
    filled = f"({fields}.tiles_received - {fields}.tiles_acked) / {value.type.block_tiles}"
    dprint(
        make, processor, op.heading.data, [self.circular_buffers[value]],
        *pointers, f"{fields}.fifo_wr_tile_ptr", filled,
    )  # fmt: skip
    return 1


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


SHOWN = {"block": block, "tensor": tensor, "buffer": buffer}
