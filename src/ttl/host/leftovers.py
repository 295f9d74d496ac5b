"""Blocks that were pushed and never popped, in the words of the simulator."""

from __future__ import annotations

from ttl.artifact import Buffer, CompiledOperation
from ttl.diagnostics import Diagnostic, Label, codes

from .program import NOBODY, LeftoverStruct, ReportStruct, nodes_of


def leftover_diagnostics(compiled: CompiledOperation, report: ReportStruct) -> list[Diagnostic]:
    """One diagnostic for each buffer that holds data on any node."""
    holding: dict[int, list[LeftoverStruct]] = {}
    for entry in report.leftovers[: report.leftover_count]:
        holding.setdefault(entry.buffer, []).append(entry)
    return [_leftover(compiled, holding[position]) for position in sorted(holding)]


def _leftover(compiled: CompiledOperation, holding: list[LeftoverStruct]) -> Diagnostic:
    first = holding[0]
    buffer = compiled.buffers[first.buffer]
    nodes = nodes_of(compiled)
    label = f"`{buffer.name}` declared here"
    pushed = _count(compiled, first.producer, "push", _blocks(buffer, first.pushed_pages))
    popped = _count(compiled, first.consumer, "pop", _blocks(buffer, first.popped_pages))
    return Diagnostic(
        codes.BUFFER_LEFTOVER,
        f"{_amount(buffer, first.pages)} left in `{buffer.name}` at the end of the operation",
        primary=Label(buffer.span, label) if buffer.span is not None else None,
        notes=(
            f"on node {nodes[first.node]} {pushed}, {popped}",
            f"seen on {len(holding)} of {len(nodes)} nodes",
        ),
        helps=("let the consumer wait for as many blocks as the producer pushes",),
        facts={
            "pushed": _blocks(buffer, first.pushed_pages),
            "popped": _blocks(buffer, first.popped_pages),
        },
    )


def _blocks(buffer: Buffer, pages: int) -> int:
    return pages // buffer.block_tiles


def _amount(buffer: Buffer, pages: int) -> str:
    """In blocks; kernels that were not compiled from blocks may leave a part of one."""
    blocks, rest = divmod(pages, buffer.block_tiles)
    noun, number = ("page", pages) if rest else ("block", blocks)
    return f"1 {noun} is" if number == 1 else f"{number} {noun}s are"


def _count(compiled: CompiledOperation, kernel: int, call: str, times: int) -> str:
    if kernel == NOBODY:
        return f"no kernel calls {call}()"
    return f"`{compiled.kernels[kernel].name}` calls {call}() {times} times"
