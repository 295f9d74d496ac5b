"""ttl-lower-to-loops: turn a section into the DST protocol around a loop over tiles for each op.

There is one loop for each operation, not one over all: calls of one kind are adjacent, so each
needs its init once. A section that works on sub-blocks is inside a loop over them; the rest at the
end of the block is a section of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    f32,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ttl.dialects import ttl
from ttl.dialects.building import walk
from ttl.dialects.ttcore import block_type
from ttl.semantics.dtypes import round_to
from ttl.semantics.kernel_config import dest_dtype
from ttl.semantics.ops import MATMUL
from ttl.semantics.types import Shape, at_least_matrix

from ..module_pass import (
    TILE_MATMUL,
    Maker,
    erase,
    integers,
    kernel_of,
    kernels,
    numbers_in,
    steps_of,
)
from .arranged_tiles import is_arranged, is_broadcasting, is_masked, numbers_of
from .compiler_buffers import FP32, buffer_dtypes, shape_of
from .dst_allocation import is_register_value, section_shape
from .ttl_assign_dst import DST_SLOT
from .ttl_subblock_compute_for_dst import SUBBLOCK


def apply(op: ModuleOp) -> None:
    for kernel in kernels(op, "compute"):
        _round_fills(kernel)
        for section in [o for o in walk(kernel) if isinstance(o, ttl.ComputeOp)]:
            _lower_section(section)


def _round_fills(kernel: func.FuncOp) -> None:
    """Round constants: the chip truncates a constant that it writes to 16-bit registers."""
    dtype = dest_dtype(bool(kernel.attributes[FP32]), buffer_dtypes(kernel))
    for op in walk(kernel):
        if not isinstance(op, ttl.TileFillOp) or element_type_of(op) is not None:
            continue
        if op.value is not None:
            value = round_to(np.array(op.value.value.data, np.float32), dtype)
            op.properties["value"] = FloatAttr(float(value), f32)


# Sub-blocks ---------------------------------------------------------------------------------------

Terms = tuple[tuple[SSAValue, int], ...]  # loop variables and their strides


@dataclass(frozen=True, slots=True)
class SubBlock:
    """The sub-block a section works on.

    `origin` is its first tile, as loop variables and their strides in the block; `rows` and
    `columns` are its size, and `row_tiles` is the distance of its rows in the block.
    """

    origin: Terms
    constant: int
    rows: int
    columns: int
    row_tiles: int
    batch: Terms = ()  # for each leading dimension other than 1: the matrices before the part
    row: Terms = ()
    row_constant: int = 0
    column: Terms = ()
    column_constant: int = 0

    @property
    def tiles(self) -> int:
        return self.rows * self.columns


def _lower_section(section: ttl.ComputeOp) -> None:
    make = Maker.before(section)
    subblock = numbers_in(section.attributes[SUBBLOCK])
    shape = section_shape(section)
    if len(subblock) == 1:
        _linear_parts(section, make, prod(shape), subblock[0])
    else:
        _rectangles(section, make, shape, subblock)
    erase(section)


def _ranges(
    make: Maker, size: int, part: int, name: str, body: Callable[[Maker, Terms, int, int], None]
) -> None:
    """Call `body(make, start terms, start constant, length)` for the parts of 0..size."""
    whole, rest = divmod(size, part)
    if whole == 1:
        body(make, (), 0, part)
    elif whole:
        make.loop(whole, name, lambda inner, i: body(inner, ((i, part),), 0, part))
    if rest:
        body(make, (), whole * part, rest)


def _linear_parts(section: ttl.ComputeOp, make: Maker, tiles: int, part: int) -> None:
    def at(inner: Maker, terms: Terms, constant: int, length: int) -> None:
        _Section(section, inner, SubBlock(terms, constant, 1, length, length)).lower()

    _ranges(make, tiles, part, "subblock", at)


def _rectangles(section: ttl.ComputeOp, make: Maker, shape: Shape, part: Sequence[int]) -> None:
    """Lower sub-blocks of matrices: over the leading dimensions, then rows, then columns."""
    row_count, column_count = at_least_matrix(shape)[-2:]
    sizes = [size for size in shape[:-2] if size != 1] or [1]
    steps = [(size, prod(sizes[dim + 1 :])) for dim, size in enumerate(sizes)]

    def matrix(outer: Maker, batch: Terms) -> None:
        def rows(inner: Maker, row: Terms, first_row: int, height: int) -> None:
            def columns(most: Maker, column: Terms, first_column: int, width: int) -> None:
                origin = (
                    *_scale(batch, row_count * column_count),
                    *_scale(row, column_count),
                    *column,
                )
                constant = first_row * column_count + first_column
                place = SubBlock(
                    origin,
                    constant,
                    height,
                    width,
                    column_count,
                    batch,
                    row,
                    first_row,
                    column,
                    first_column,
                )
                _Section(section, most, place).lower()

            _ranges(inner, column_count, part[1], "subblock_column", columns)

        _ranges(outer, row_count, part[0], "subblock_row", rows)

    _nest_loops(make, steps, "matrix", matrix)


# One section --------------------------------------------------------------------------------------


class _Section:
    """Makes the calls of a section for one sub-block, without changing the section."""

    def __init__(self, section: ttl.ComputeOp, make: Maker, part: SubBlock):
        self.section = section
        self.make = make
        self.part = part
        self.carried: dict[SSAValue, int] = {}  # slots of values without a defining operation
        self.values: dict[SSAValue, SSAValue] = {}  # scalars and blocks made in the section
        self.used: set[int] = set()  # slots that are no longer zero
        self.in_loop = False

    def lower(self) -> None:
        self.make.origin = self.section
        if self.part.origin:
            first = self.make.affine(self.part.origin, self.part.constant, "first_tile")
            self.part = replace(self.part, origin=((first, 1),), constant=0)
        self.protocol("acquire")
        body = self.section.body.block
        self.block(body, self.make)
        self.make.origin = self.section
        for step in ("commit", "wait"):
            self.protocol(step)
        for op in body.ops:
            if isinstance(op, ttl.TileStoreOp):
                self.pack(op)
        self.make.origin = self.section
        if any(is_masked(op) for op in body.ops):
            self.protocol("unmask")
        self.protocol("release")

    def protocol(self, step: str) -> None:
        self.make.add(ttl.SectionOp.create(properties={"step": StringAttr(step)}))

    def block(self, block: Block, make: Maker) -> None:
        """Rebuild all operations of `block` except stores through `make`."""
        for op in list(block.ops):
            make.origin = op
            if isinstance(op, scf.ForOp):
                self.loop(op, make)
            elif isinstance(op, ttl.TileMathOp) and op.ENTRY is MATMUL:
                self.matmul(op, make)
            elif isinstance(op, ttl.TileMathOp) and (is_arranged(op) or is_broadcasting(op)):
                self.lower_arranged(op, make)
            elif op.results and is_register_value(op.results[0]):
                self.tiles(op, make)
            elif not isinstance(op, (ttl.TileStoreOp, scf.YieldOp)):
                made = make.add(op.clone(self.values))  # clone() notes the results
                if isinstance(op, ttl.AcquireOp):  # later sections may use the block too
                    op.block.replace_all_uses_with(made.results[0])

    def slot(self, value: SSAValue) -> int:
        if value in self.carried:
            return self.carried[value]
        assert isinstance(value.owner, Operation)
        results: list[SSAValue] = [r for r in value.owner.results if is_register_value(r)]
        return numbers_in(value.owner.attributes[DST_SLOT])[results.index(value)]

    def first(self, value: SSAValue) -> int:
        return self.slot(value) * self.part.tiles

    def value(self, value: SSAValue) -> SSAValue:
        return self.values.get(value, value)

    def loop(self, loop: scf.ForOp, make: Maker) -> None:
        body = loop.body.block
        new_body = Block(arg_types=[body.args[0].type])
        new_body.args[0].name_hint = body.args[0].name_hint
        self.values[body.args[0]] = new_body.args[0]
        for start, argument in zip(loop.iter_args, body.args[1:], strict=True):
            self.carried[argument] = self.slot(start)
        inner = Maker.at_end(new_body, loop)
        outer, self.in_loop = self.in_loop, True
        self.block(body, inner)
        self.in_loop = outer
        inner.origin = loop
        inner.add(scf.YieldOp())
        lower, upper, step = (self.value(bound) for bound in (loop.lb, loop.ub, loop.step))
        make.add(scf.ForOp(lower, upper, step, [], Region(new_body)))

    def tiles(self, op: Operation, make: Maker) -> None:
        result = op.results[0]
        slot = self.slot(result)
        if self.is_zero_already(op, slot):
            return
        self.used.add(slot)
        is_fill = isinstance(op, ttl.TileFillOp)
        number = self.value(op.number) if isinstance(op, ttl.TileFillOp) and op.number else None
        inputs = () if is_fill else op.operands
        buffers = [self.value(v) for v in inputs if not is_register_value(v)]
        firsts = [self.first(v) for v in inputs if is_register_value(v)]
        left_in_dst = len(buffers) == 1 and len(firsts) == 1 and is_register_value(op.operands[0])
        firsts.append(self.first(result))

        def tile(inner: Maker, t: Terms, place: SSAValue | None) -> None:
            registers = [inner.affine(t, first, "dst") for first in firsts]
            places = [place] * len(buffers)
            made = call(inner, action_of(op), buffers, places, registers, op, number=number)
            if left_in_dst:
                made.properties["left_in_dst"] = UnitAttr()

        self.each_tile(make, tile, needs_place=bool(buffers))

    def is_zero_already(self, op: Operation, slot: int) -> bool:
        """Is the fill unnecessary? The matrix unit reads unwritten registers as zero."""
        if not isinstance(op, ttl.TileFillOp) or self.in_loop or slot in self.used:
            return False
        value = op.value.value.data if op.value is not None else 1
        return value == 0 and not np.signbit(value) and _is_start_of_product(op.results[0])

    def each_tile(
        self, make: Maker, body: Callable[[Maker, Terms, SSAValue | None], None], needs_place: bool
    ) -> None:
        """Call `body` for every tile of the sub-block, with its number and place in the block."""
        part = self.part

        def place(inner: Maker, *terms: tuple[SSAValue, int]) -> SSAValue | None:
            if not needs_place:
                return None
            return inner.affine((*part.origin, *terms), part.constant, "tile_of_block")

        if part.rows == 1 or part.columns == part.row_tiles:
            make.loop(
                part.tiles, "tile", lambda inner, t: body(inner, ((t, 1),), place(inner, (t, 1)))
            )
            return

        def row(outer: Maker, i: SSAValue) -> None:
            def column(inner: Maker, j: SSAValue) -> None:
                number = ((i, part.columns), (j, 1))
                body(inner, number, place(inner, (i, part.row_tiles), (j, 1)))

            outer.loop(part.columns, "tile_column", column)

        make.loop(part.rows, "tile_row", row)

    def matmul(self, op: ttl.TileMathOp, make: Maker) -> None:
        """Make a call for each step along k: an outer product of a column and a row of tiles."""
        part = self.part
        left, right = (self.value(operand) for operand in op.inputs[:2])
        shape = block_type(right.type).shape or ()
        steps, columns = shape[-2:]
        rows = (block_type(left.type).shape or ())[-2]
        self.used.add(self.slot(op.result))
        first = self.first(op.result)

        def step(inner: Maker, k: SSAValue) -> None:
            batch_left = [(v, s * rows * steps) for v, s in part.batch]
            row = [(v, s * steps) for v, s in part.row]
            left_tile = inner.affine(
                [*batch_left, *row, (k, 1)], part.row_constant * steps, "left_tile"
            )
            batch_right = [(v, s * steps * columns) for v, s in part.batch if len(shape) > 2]
            right_tile = inner.affine(
                [*batch_right, (k, columns), *part.column], part.column_constant, "right_tile"
            )
            tiles, register = [left_tile, right_tile], inner.index(first)
            if not by_tile:
                sizes = (part.columns, part.rows)
                call(inner, "matmul", [left, right], tiles, [register], op, sizes)
                return
            for i, j in product(range(part.rows), range(part.columns)):
                tiles = [
                    _advance_tile(inner, left_tile, i * steps),
                    _advance_tile(inner, right_tile, j),
                ]
                register = inner.index(first + i * part.columns + j)
                call(inner, "matmul", [left, right], tiles, [register], op)

        by_tile = TILE_MATMUL in kernel_of(op).attributes
        make.loop(steps, "k_tile", step)

    def lower_arranged(self, op: ttl.TileMathOp, make: Maker) -> None:
        """Make the calls for each result tile; a reduction has one for each tile it combines.
        Scalers of reductions and operands beside a broadcast are read in other places."""
        part = self.part
        blocks = [self.value(operand) for operand in op.inputs]
        *leading, row_stride, column_stride = self.strides(op)
        matrices = (variable for variable, _ in part.batch)
        terms = [*zip(matrices, leading, strict=False), *_scale(part.row, row_stride)]
        terms += _scale(part.column, column_stride)
        constant = numbers_of(op, "offset")[0]
        constant += part.row_constant * row_stride + part.column_constant * column_stride
        counts = numbers_of(op, "steps")
        steps = list(zip(counts[::2], counts[1::2], strict=True))
        self.used.add(self.slot(op.result))
        first = self.first(op.result)

        def tile(inner: Maker, i: SSAValue, j: SSAValue) -> None:
            register = inner.affine(((i, part.columns), (j, 1)), first, "dst")
            here = [*terms, (i, row_stride), (j, column_stride)]

            def read(most: Maker, more: Terms) -> None:
                where = [(v, stride) for v, stride in (*here, *more) if stride]
                tiles = [most.affine(where, constant, "tile_of_operand")]
                if is_broadcasting(op) and prod(shape_of(blocks[0])) == 1:
                    tiles.insert(0, most.index(0))
                elif is_broadcasting(op):
                    own = ((i, part.row_tiles), (j, 1))
                    place = most.affine((*part.origin, *own), part.constant, "tile_of_block")
                    tiles.insert(0, place)
                elif blocks[1:]:
                    tiles.append(most.index(0))
                call(most, action_of(op), blocks, tiles, [register], op)

            _nest_loops(inner, steps, "step", read)

        make.loop(
            part.rows,
            "tile_row",
            lambda outer, i: outer.loop(
                part.columns, "tile_column", lambda inner, j: tile(inner, i, j)
            ),
        )

    def strides(self, op: ttl.TileMathOp) -> list[int]:
        """Return the strides; not of leading dimensions of size 1, which values may lack."""
        shape, strides = shape_of(op.result), numbers_of(op, "strides")
        pairs = list(zip(shape, strides, strict=True))
        kept = [stride for size, stride in pairs[:-2] if size != 1]
        return [*kept, *(0, *strides)[-2:]]

    def pack(self, store: ttl.TileStoreOp) -> None:
        self.make.origin = store
        first = self.first(store.value)
        view = self.value(store.view)

        def tile(inner: Maker, t: Terms, place: SSAValue | None) -> None:
            register = inner.affine(t, first, "dst")
            call(inner, "store", [view], [place], [register], store)

        self.each_tile(self.make, tile, needs_place=True)


def _is_start_of_product(value: SSAValue) -> bool:
    """Do only products use the value as a start, even in loops, which run at least once?"""
    for use in value.uses:
        user = use.operation
        if isinstance(user, scf.ForOp):
            argument = user.body.block.args[1 + use.index - 3]
            if not steps_of(user) or not _is_start_of_product(argument):
                return False
        elif not isinstance(user, ttl.TileMathOp) or user.ENTRY is not MATMUL:
            return False
    return True


def _scale(terms: Terms, factor: int) -> Terms:
    return tuple((variable, stride * factor) for variable, stride in terms)


def _nest_loops(
    make: Maker,
    steps: Sequence[tuple[int, int]],
    name: str,
    body: Callable[[Maker, Terms], None],
    outer: Terms = (),
) -> None:
    """Call `body` in a loop for each count and stride, with the variables and their strides."""
    if not steps:
        body(make, outer)
        return
    (count, stride), *inside = steps
    make.loop(
        count, name, lambda inner, k: _nest_loops(inner, inside, name, body, (*outer, (k, stride)))
    )


def action_of(op: Operation) -> str:
    return op.name.removeprefix("ttl.tile_")


def element_type_of(op: Operation) -> StringAttr | None:
    """Return integers' element type: the operands', or that of the filled or copied value."""
    given = op.properties.get("element_type")
    if isinstance(given, StringAttr) or isinstance(op, ttl.TileMathOp):
        return given if isinstance(given, StringAttr) else None
    if not op.results or not isinstance(type := op.results[0].type, ttl.DstType):
        return None
    dtype = block_type(type.block).dtype
    return None if dtype is None or dtype.is_float else StringAttr(dtype.spelling)


def _advance_tile(make: Maker, tile: SSAValue, tiles: int) -> SSAValue:
    if not tiles:
        return tile
    return make.value(arith.AddiOp(tile, make.index(tiles)), tile.name_hint)


def call(
    make: Maker,
    action: str,
    buffers: list[SSAValue],
    tiles: Sequence[SSAValue | None],
    registers: list[SSAValue],
    origin: Operation,
    sizes: tuple[int, ...] = (),
    number: SSAValue | None = None,
) -> Operation:
    properties: dict[str, Attribute] = {"action": StringAttr(action)}
    for name, kind in CARRIED:
        found = origin.properties.get(name)
        if isinstance(found, kind):
            properties[name] = found
    if (element_type := element_type_of(origin)) is not None:
        properties["element_type"] = element_type
    if sizes:
        properties["sizes"] = integers(sizes)
    places = [tile for tile in tiles if tile is not None]
    groups = [buffers, places, registers, [number] if number is not None else []]
    properties["operandSegmentSizes"] = _group_sizes(tuple(map(len, groups)))
    operands = [value for group in groups for value in group]
    return make.add(ttl.TileCallOp.create(operands=operands, properties=properties))


# Properties a call copies from its operation.
CARRIED: tuple[tuple[str, type[Attribute]], ...] = (
    ("value", FloatAttr),
    ("parameters", DictionaryAttr),
    *((name, UnitAttr) for name in ttl.PACKING),
)


@lru_cache(maxsize=64)
def _group_sizes(sizes: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i32, sizes)
