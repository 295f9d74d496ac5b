"""Check that one node writes every tile of an output, and no other touches it meanwhile.

rule UNORDERED  without pipes and semaphores nodes are in no order: a tile that one writes and
                another reads is a race
rule ORDERED    with them, it is a race if two schedules show that there is no order (orders.py)
rule TWICE      a tile that two nodes write, in no known order, is a race if the bytes differ, which
                only a run shows; so is one that the other node reads after writing it itself
rule UNKNOWN    it is correct if one schedule shows an order; if neither is shown, a note
rule COVERED    a tensor that an operation writes and does not read is an output; all of it must be
                written
rule PRODUCT    if the starts in different dimensions depend on different loops, the touched tiles
                are a product of the touched positions in each dimension
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from math import prod
from typing import Any

from xdsl.ir import Operation, SSAValue

from ttl.diagnostics import Diagnostic, Label, RuleBroken, Span
from ttl.diagnostics.accesses import (
    BYTES_UNKNOWN,
    PERHAPS_ORDERED,
    Access,
    not_covered,
    order_not_proven,
    race,
    written_twice,
)
from ttl.dialects import ttl
from ttl.dialects.locations import span_of
from ttl.dialects.ttcore import block_type
from ttl.semantics.layout import TILE_LAYOUT
from ttl.semantics.types import Shape

from .events import Node
from .orders import Owner, Schedules, wait_for_all
from .skeleton import KernelSkeleton
from .statements import FAILURES, Budget, BudgetSpent
from .symbolic import UNKNOWN, LoopExpression, Number, assignments, value_of, variables_of
from .touches import copy_at, tensor_of
from .walk import WalkedModule

# Most enumerated values of slices, for all kernels on all nodes.
MOST_VALUES = 200_000

Row = tuple[int, ...]  # index in all dimensions but the last
Rows = dict[Row, int]  # columns of each row, as bits


@dataclass(slots=True)
class Touch:
    """The tiles that a copy touches on a node."""

    access: Access
    span: Span | None
    order: int  # position among its kernel's copies
    copy: Operation
    rows: Rows = field(default_factory=dict)


@dataclass(slots=True)
class Output:
    """A tensor that kernels write."""

    name: str
    shape: tuple[int, ...]
    writes: list[Touch] = field(default_factory=list)
    reads: list[Touch] = field(default_factory=list)
    is_read: bool = False
    are_writes_known: bool = True


def outputs_of(walked: WalkedModule, most_values: int = MOST_VALUES) -> list[Output]:
    """Return the tensors that kernels write, as far as known."""
    if not walked.is_complete:
        return []
    budget = Budget(most_values)
    found: dict[int, Output] = {}
    for order, (node, kernel, op, starts) in enumerate(_slices(walked)):
        if (copy := copy_at(op, "destination")) is not None:
            position, name = tensor_of(kernel.function, op)
            output = found.setdefault(position, Output(name, _shape(op.tensor)))
            touch = Touch(Access(kernel.name, node, True), span_of(copy.location), order, copy)
            output.writes.append(touch)
            output.are_writes_known &= _fill_in(touch, op, copy, starts, budget)
    _add_unreached(found, walked)
    _add_reads(found, walked, budget)
    return [output for _, output in sorted(found.items())]


def _add_unreached(outputs: dict[int, Output], walked: WalkedModule) -> None:
    """Add tensors written by code that no node reaches."""
    for kernel in walked.kernels:
        for op in kernel.function.walk():
            if not isinstance(op, ttl.TensorSliceOp):
                continue
            copy = copy_at(op, "destination")
            if copy is None:
                continue
            position, name = tensor_of(kernel.function, op)
            access = Access(kernel.name, walked.nodes[0], True)
            touch = Touch(access, span_of(copy.location), 0, copy)
            is_tiled = block_type(op.tensor.type).layout is TILE_LAYOUT
            made = Output(name, _shape(op.tensor), [touch], are_writes_known=is_tiled)
            outputs.setdefault(position, made)


def _add_reads(outputs: dict[int, Output], walked: WalkedModule, budget: Budget) -> None:
    for order, (node, kernel, op, starts) in enumerate(_slices(walked)):
        copy, output = copy_at(op, "source"), outputs.get(tensor_of(kernel.function, op)[0])
        if copy is not None and output is not None:
            output.is_read = True
            touch = Touch(Access(kernel.name, node, False), span_of(copy.location), order, copy)
            if _fill_in(touch, op, copy, starts, budget):
                output.reads.append(touch)


AllStarts = list[tuple[Number, ...]]  # of each walk of the slice


def _slices(walked: WalkedModule) -> Iterator[tuple[Node, KernelSkeleton, Any, AllStarts]]:
    for node, of_kernels in zip(walked.nodes, walked.slices, strict=True):
        for kernel, slices in zip(walked.kernels, of_kernels, strict=True):
            by_op: dict[Operation, AllStarts] = {}
            for op, starts in slices:
                by_op.setdefault(op, []).append(starts)
            for op, all_starts in by_op.items():
                yield node, kernel, op, all_starts


def _shape(value: SSAValue) -> Shape:
    shape = block_type(value.type).shape
    assert shape is not None
    return shape


def _fill_in(touch: Touch, op: Any, copy: ttl.CopyOp, starts: AllStarts, budget: Budget) -> bool:
    """Fill in the touch's rows; return False if they are unknown."""
    if block_type(op.tensor.type).layout is not TILE_LAYOUT or copy.parent is not op.parent:
        return False  # a copy under its own condition may never run
    try:
        for each in starts:
            if UNKNOWN in each:
                return False
            for row, columns in _tiles(each, _shape(op.result), budget):
                touch.rows[row] = touch.rows.get(row, 0) | columns
    except (BudgetSpent, *FAILURES):
        return False
    return True


def _tiles(
    starts: Sequence[Number], extents: Sequence[int], budget: Budget
) -> Iterator[tuple[Row, int]]:
    """Return the rows that a slice covers in all iterations, with their columns as bits."""
    variables = [variables_of(start) for start in starts]
    all_variables = frozenset().union(*variables)
    if sum(len(each) for each in variables) > len(all_variables):
        for assigned in assignments(all_variables):
            yield from _tiles([value_of(start, assigned) for start in starts], extents, budget)
        return
    sets = [_indices(start, extent, budget) for start, extent in zip(starts, extents, strict=True)]
    columns = sum(1 << column for column in sets[-1])
    budget.spend(prod(len(each) for each in sets[:-1]))
    for row in product(*sets[:-1]):  # rule PRODUCT
        yield row, columns


def _indices(start: Number, extent: int, budget: Budget) -> set[int]:
    if not isinstance(start, LoopExpression):
        return set(range(start, start + extent))
    budget.spend(start.count)
    return {first + i for first in start.all_values() for i in range(extent)}


# Mistakes -----------------------------------------------------------------------------------------


def check_races(
    outputs: Sequence[Output], walked: WalkedModule, schedules: Schedules
) -> list[Diagnostic]:
    """Find the first tile of each tensor that one node writes and another reads (rule UNORDERED;
    rule ORDERED if something may order the nodes).
    """
    if not _may_be_ordered(walked):
        clashes = [(_find_clash(output, _not_read_back(output)), output) for output in outputs]
        return [_report(race, output, *clash) for clash, output in clashes if clash is not None]
    is_race = partial(_are_unordered, walked, schedules)
    found = []
    for output in outputs:
        if (clash := _find_clash(output, _not_read_back(output), is_race)) is not None:
            owners = [_owner(walked, each) for each in clash[:2]]
            report = partial(_race_with_help, wait_for_all(walked, *owners))
            found.append(_report(report, output, *clash))
    return found


def _race_with_help(text: str | None, *given: Any, **options: Any) -> RuleBroken:
    broken = race(*given, **options)
    return broken if text is None else broken.with_first_help(text)


def _is_clash(touch: Touch, writer: Touch) -> bool:
    return True


def _are_unordered(walked: WalkedModule, schedules: Schedules, read: Touch, write: Touch) -> bool:
    one, other = (_owner(walked, each) for each in (read, write))
    return schedules.are_unordered((one, read.copy), (other, write.copy))


def _owner(walked: WalkedModule, touch: Touch) -> Owner:
    access = touch.access
    return walked.names.node_numbers[access.node], walked.kernel_number(access.kernel)


def _not_read_back(output: Output) -> list[Touch]:
    """Return the reads without tiles that the node itself may have written before."""
    writes: dict[Node, list[Touch]] = {}
    for write in output.writes if output.reads else ():
        writes.setdefault(write.access.node, []).append(write)
    found = []
    for read in output.reads:
        rows = dict(read.rows)
        for write in writes.get(read.access.node, ()):
            if _may_precede(write, read):
                rows = {row: bits & ~write.rows.get(row, 0) for row, bits in rows.items()}
        found.append(replace(read, rows=rows))
    return found


def _may_precede(one: Touch, other: Touch) -> bool:
    """Could `one` come before `other`? The order between a node's kernels is unknown."""
    return one.access.kernel != other.access.kernel or one.order < other.order


def check_written_twice(
    outputs: Sequence[Output], walked: WalkedModule, schedules: Schedules
) -> list[Diagnostic]:
    """Find the first tile of each tensor that two nodes write (rule TWICE)."""
    may_be_ordered = _may_be_ordered(walked)
    report = partial(written_twice, why=PERHAPS_ORDERED if may_be_ordered else BYTES_UNKNOWN)
    counts = partial(_is_order_unknown, walked, schedules) if may_be_ordered else _is_clash
    clashes = [(_find_clash(output, output.writes, counts), output) for output in outputs]
    return [_report(report, output, *clash) for clash, output in clashes if clash is not None]


def check_orders(
    outputs: Sequence[Output], walked: WalkedModule, schedules: Schedules
) -> list[Diagnostic]:
    """Find the first tile of each tensor with an unknown order of write and read (rule UNKNOWN)."""
    if not _may_be_ordered(walked):
        return []
    counts = partial(_is_order_unknown, walked, schedules)
    clashes = [(_find_clash(output, output.reads, counts), output) for output in outputs]
    return [
        _report(order_not_proven, output, *clash) for clash, output in clashes if clash is not None
    ]


def _is_order_unknown(walked: WalkedModule, schedules: Schedules, one: Touch, other: Touch) -> bool:
    owners = (_owner(walked, each) for each in (one, other))
    return not schedules.are_ordered(*zip(owners, (one.copy, other.copy), strict=True))


def _may_be_ordered(walked: WalkedModule) -> bool:
    return bool(walked.names.pipes or walked.semaphores)


Clash = tuple[Touch, Touch, tuple[int, ...]]


def _find_clash(
    output: Output,
    touches: Sequence[Touch],
    counts: Callable[[Touch, Touch], bool] = _is_clash,
) -> Clash | None:
    """Find a touch, a write on another node that counts, and the tile."""
    writers: dict[Row, list[tuple[int, Touch]]] = {}
    for touch in output.writes:
        for row, columns in touch.rows.items():
            writers.setdefault(row, []).append((columns, touch))
    for touch in touches:
        for row, columns in sorted(touch.rows.items()):
            for written, writer in writers.get(row, ()):
                is_others = writer.access.node != touch.access.node
                is_second = not touch.access.is_write or writer.order < touch.order
                if is_others and is_second and written & columns and counts(touch, writer):
                    return touch, writer, (*row, _lowest(written & columns))
    return None


def _report(
    fault: Callable[..., RuleBroken],
    output: Output,
    touch: Touch,
    writer: Touch,
    tile: tuple[int, ...],
) -> Diagnostic:
    place = () if writer.span is None else (Label(writer.span, writer.access.label),)
    broken = fault(touch.access, writer.access, tile, output.name, secondary=place)
    return broken.at(touch.span, touch.access.label)


def check_covered(outputs: Sequence[Output], walked: WalkedModule) -> list[Diagnostic]:
    """Warn once for each output that has tiles nobody writes (rule COVERED)."""
    found = [
        _uncovered_warning(output, len(walked.nodes))
        for output in outputs
        if output.are_writes_known and not output.is_read
    ]
    return [each for each in found if each is not None]


def _uncovered_warning(output: Output, node_count: int) -> Diagnostic | None:
    full = (1 << output.shape[-1]) - 1
    rows: Rows = {}
    for touch in output.writes:
        for row, columns in touch.rows.items():
            rows[row] = rows.get(row, 0) | columns
    gaps = {
        row: gap
        for row in product(*(range(size) for size in output.shape[:-1]))
        if (gap := full & ~rows.get(row, 0))
    }
    if not gaps:
        return None
    row, gap = next(iter(gaps.items()))
    left = sum(gap.bit_count() for gap in gaps.values()), prod(output.shape)
    nodes = len({touch.access.node for touch in output.writes if touch.rows}), node_count
    first = output.writes[0]
    return not_covered(output.name, output.shape, left, (*row, _lowest(gap)), nodes).at(
        first.span, f"`{first.access.kernel}` writes `{output.name}` here"
    )


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
