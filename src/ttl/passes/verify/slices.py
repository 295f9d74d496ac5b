"""Do the slices of tensors lie in them, and is every tile of an output written, by one node?

rule PRODUCT  where the starts in different dimensions depend on different loops, the tiles that are
              written are a product of what is written in each dimension
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from xdsl.ir import Operation, SSAValue

from ttl.diagnostics import Diagnostic, Label, RuleBroken, Span, codes
from ttl.dialects import ttl
from ttl.dialects.locations import call_sites_of, span_of
from ttl.dialects.ttcore import block_type
from ttl.semantics.layout import TILE_LAYOUT
from ttl.semantics.tensors import out_of_range

from .events import Node
from .skeleton import Kernel
from .statements import FAILURES, BudgetSpent
from .symbolic import (
    UNKNOWN,
    Expression,
    Number,
    assignments,
    extremes_of,
    value_of,
    variables_of,
)
from .walk import WalkedModule

# How many values of one slice are enumerated where its extremes are not enough.
MOST_VALUES = 200_000


def check_slices(walked: WalkedModule) -> list[Diagnostic]:
    """Slices that leave their tensor on some node; one diagnostic for each slice."""
    found: dict[Operation, Diagnostic] = {}
    for node, of_kernels in zip(walked.nodes, walked.slices, strict=False):
        for slices in of_kernels:
            for op, starts in slices:
                if op not in found and (problem := _out_of_range(op, starts)):
                    calls = [Label(span, "called here") for span in call_sites_of(op.location)]
                    problem.secondary += tuple(calls)
                    notes = (f"on node {node}",)
                    found[op] = problem.at(span_of(op.location), notes=notes)
    for node, op, broken in walked.faults:
        if op not in found:
            found[op] = broken.at(span_of(op.location), notes=(f"on node {node}",))
    return list(found.values())


def _out_of_range(op: Any, starts: Sequence[Number]) -> RuleBroken | None:
    whole, part = block_type(op.tensor.type), block_type(op.result.type)
    assert whole.shape is not None and part.shape is not None
    for dimension, start in enumerate(starts):
        size, extent = whole.shape[dimension], part.shape[dimension]
        if start is UNKNOWN or _is_long(start):
            continue
        try:
            low, high = extremes_of(start)
        except FAILURES:  # the program fails in one of the iterations, for another reason
            continue
        if low < 0 or high + extent > size:
            wrong = low if low < 0 else high
            text = f"{wrong}" if extent == 1 else f"{wrong}:{wrong + extent}"
            return out_of_range(text, dimension, size, whole.layout)
    return None


def _is_long(number: Number) -> bool:
    return (
        isinstance(number, Expression) and number.factors is None and number.count > MOST_VALUES
    )


# Coverage -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Output:
    """A tensor that is written: for each node and row of tiles the columns, as bits of an int."""

    name: str
    kernel: str
    shape: tuple[int, ...]
    span: Span | None  # of the first slice that is written
    by_node: dict[Node, dict[tuple[int, ...], int]] = field(default_factory=dict)
    spans: dict[Node, Span | None] = field(default_factory=dict)
    is_known: bool = True


def check_outputs(walked: WalkedModule) -> list[Diagnostic]:
    """Warnings about tiles of outputs that no node writes, or two nodes write."""
    if not walked.is_complete:
        return []
    outputs: dict[int, _Output] = {}
    read: set[int] = set()
    for node, of_kernels in zip(walked.nodes, walked.slices, strict=True):
        for kernel, slices in zip(walked.kernels, of_kernels, strict=True):
            for op, starts in slices:
                if _is_end(op, "destination"):
                    _add(outputs, kernel, node, op, starts)
                if _is_end(op, "source"):
                    read.add(_tensor_of(kernel, op)[0])
    found: list[Diagnostic] = []
    for position, output in sorted(outputs.items()):
        if output.is_known:
            found += _written_twice(output)
        if output.is_known and position not in read:
            found += _not_covered(output, len(walked.nodes))
    return found


def _is_end(op: Operation, end: str) -> bool:
    """Is the slice this end of a copy?"""
    result = op.results[0]
    copies = (use.operation for use in result.uses if isinstance(use.operation, ttl.CopyOp))
    return any(getattr(copy, end) is result for copy in copies)


def _add(
    outputs: dict[int, _Output], kernel: Kernel, node: Node, op: Any, starts: Sequence[Number]
) -> None:
    whole, part = block_type(op.tensor.type), block_type(op.result.type)
    assert whole.shape is not None and part.shape is not None
    position, name = _tensor_of(kernel, op)
    output = outputs.get(position)
    if output is None:
        output = _Output(name, kernel.name, whole.shape, span_of(op.location))
        outputs[position] = output
    if whole.layout is not TILE_LAYOUT or UNKNOWN in starts:
        output.is_known = False
    if not output.is_known:
        return
    own = output.by_node.setdefault(node, {})
    output.spans.setdefault(node, span_of(op.location))
    try:
        for leading, columns in _tiles(starts, part.shape):
            own[leading] = own.get(leading, 0) | columns
    except (BudgetSpent, *FAILURES):
        output.is_known = False


def _tensor_of(kernel: Kernel, op: Any) -> tuple[int, str]:
    """The number and the name of the operation's argument that a slice is of."""
    attributes: Any = kernel.function.attributes
    tensor: SSAValue = op.tensor
    position: int = op.tensor.index
    indices, names = attributes.get("ttl.crta_indices"), attributes.get("ttl.tensor_names")
    if indices is not None and position < len(indices):
        position = indices.data[position].value.data
    if names is not None and position < len(names):
        return position, names.data[position].data
    return position, tensor.name_hint or f"argument {position}"


def _tiles(
    starts: Sequence[Number], extents: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """The rows that a slice covers in all iterations, each with its columns as bits."""
    variables = [variables_of(start) for start in starts]
    all_variables = frozenset().union(*variables)
    if sum(len(each) for each in variables) > len(all_variables):
        yield from _joint_tiles(starts, extents, all_variables)
        return
    sets = [_indices(start, extent) for start, extent in zip(starts, extents, strict=True)]
    columns = sum(1 << column for column in sets[-1])
    for leading in product(*sets[:-1]):  # rule PRODUCT
        yield leading, columns


def _joint_tiles(
    starts: Sequence[Number], extents: Sequence[int], variables: frozenset[Any]
) -> Iterator[tuple[tuple[int, ...], int]]:
    for count, assigned in enumerate(assignments(variables)):
        if count == MOST_VALUES:
            raise BudgetSpent
        yield from _tiles([value_of(start, assigned) for start in starts], extents)


def _indices(start: Number, extent: int) -> set[int]:
    if not isinstance(start, Expression):
        return set(range(start, start + extent))
    if start.count > MOST_VALUES:
        raise BudgetSpent
    return {first + i for first in start.all_values() for i in range(extent)}


def _written_twice(output: _Output) -> Iterator[Diagnostic]:
    """The first tile that two nodes write."""
    written: dict[tuple[int, ...], list[tuple[int, Node]]] = {}
    for node, rows in output.by_node.items():
        for leading, columns in rows.items():
            for others, other in written.get(leading, ()):
                if others & columns:
                    tile = (*leading, _lowest(others & columns))
                    yield _twice(output, tile, other, node)
                    return
            written.setdefault(leading, []).append((columns, node))


def _twice(output: _Output, tile: tuple[int, ...], one: Node, other: Node) -> Diagnostic:
    first, second = output.spans[one], output.spans[other]
    is_apart = second is not None and first != second
    return RuleBroken(
        codes.OUTPUT_WRITTEN_TWICE,
        f"tile {tile} of `{output.name}` is written on node {one} and written on node {other}",
        helps=(
            "let each node write tiles of its own, or order the nodes by a pipe or a semaphore",
        ),
        secondary=(Label(second, f"node {other} writes it here"),) if is_apart and second else (),
        tile=tile,
        nodes=[one, other],
    ).at(first, f"node {one} writes it here" if is_apart else "both write it here")


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _not_covered(output: _Output, node_count: int) -> Iterator[Diagnostic]:
    full = (1 << output.shape[-1]) - 1
    rows: dict[tuple[int, ...], int] = {}
    for own in output.by_node.values():
        for leading, columns in own.items():
            rows[leading] = rows.get(leading, 0) | columns
    gaps = {
        leading: gap
        for leading in product(*(range(size) for size in output.shape[:-1]))
        if (gap := full & ~rows.get(leading, 0))
    }
    if not gaps:
        return
    first, gap = next(iter(gaps.items()))
    left, total = sum(gap.bit_count() for gap in gaps.values()), prod(output.shape)
    yield RuleBroken(
        codes.OUTPUT_NOT_COVERED,
        f"{left} of {total} tiles of `{output.name}` were never written",
        notes=(
            f"the first is {(*first, _lowest(gap))}; `{output.name}` is {output.shape} in tiles",
            f"{len(output.by_node)} of {node_count} nodes wrote to it",
        ),
        helps=(_not_covered_help(node_count),),
        left=left,
    ).at(output.span, f"`{output.kernel}` writes `{output.name}` here")


def _not_covered_help(nodes: int) -> str:
    if nodes > 1:
        return "if tiles do not divide by nodes, round up and skip what lies behind the end"
    return "let the loops reach all tiles, or pass a tensor that has no more of them"
