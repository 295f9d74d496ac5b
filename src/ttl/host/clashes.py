"""Units of tensors that two nodes wrote, in the words of the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ttl.artifact import CompiledOperation, Kernel
from ttl.diagnostics import Diagnostic, Label, Span, accesses
from ttl.ttnn.storage import RowMajorStorage, Storage

from .memory import PagedTensor
from .program import ClashStruct, ReportStruct, nodes_of


def clashes(
    compiled: CompiledOperation, report: ReportStruct, tensors: Sequence[PagedTensor]
) -> list[Diagnostic]:
    """Races where the bytes differ; warnings if they differ nowhere."""
    found = list(report.clashes[: report.clash_count]) if report.clash_count else []
    races = [each for each in found if each.is_different]
    return [_clash(compiled, each, tensors[each.tensor]) for each in races or found]


def _clash(compiled: CompiledOperation, clash: ClashStruct, tensor: PagedTensor) -> Diagnostic:
    assert isinstance(tensor, Storage)
    nodes, kernels = nodes_of(compiled), compiled.kernels
    several = [bool(clash.has_others & bit) for bit in (1, 2)]
    one = accesses.Access(kernels[clash.kernel].name, nodes[clash.node], True, several[0])
    other = accesses.Access(
        kernels[clash.other_kernel].name, nodes[clash.other_node], True, several[1]
    )
    span = _span(kernels[clash.other_kernel], clash.other_line)
    same = partial(accesses.written_twice, why=accesses.SAME_BYTES)
    broken = (accesses.race if clash.is_different else same)(
        one,
        other,
        _coordinate(tensor, clash.unit),
        compiled.operands[clash.tensor].name,
        "element" if isinstance(tensor, RowMajorStorage) else "tile",
        () if span is None else (Label(span, other.label),),
    )
    return broken.at(_span(kernels[clash.kernel], clash.line), one.label)


def _span(kernel: Kernel, cpp_line: int) -> Span | None:
    return kernel.span_of(cpp_line) if cpp_line else None


def _coordinate(tensor: Storage, unit: int) -> tuple[int, ...]:
    shape = tensor.units
    if isinstance(tensor, RowMajorStorage):  # pages of a row may be longer than it
        row, column = divmod(unit, tensor.row_pages * tensor.page_elements)
        unit = row * shape[-1] + column
    return tuple(int(index) for index in np.unravel_index(unit, shape))
