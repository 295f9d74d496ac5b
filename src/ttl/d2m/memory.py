"""The L1 that a call needs: what d2m-allocate will find, said before anything runs."""

from __future__ import annotations

from math import prod

from ttl.config import Config
from ttl.diagnostics import RuleBroken, codes
from ttl.semantics.dtypes import dtype_of
from ttl.target import TARGETS, load

from .mistakes import WrongValue
from .program import STREAM_BLOCKS, Call, parameter_span

Need = tuple[int, str, int]  # the position of the operand, what it is, bytes


def check_memory(call: Call, config: Config) -> None:
    """Every core holds its part of the tensors in L1, and the buffers of streams beside it."""
    if config.target not in TARGETS:
        return  # the driver says it
    target, needs = load(config.target), _needs(call)
    total, budget = sum(size for _, _, size in needs), target.dataflow_buffer_budget_bytes
    if config.max_l1_bytes is not None:
        budget = min(config.max_l1_bytes, budget if config.wants_artifact else config.max_l1_bytes)
    if total <= budget:
        return
    rows = [(call.operands[n].name, what, str(size)) for n, what, size in needs]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    table = [
        f"{name:<{widths[0]}}  {what:<{widths[1]}}  {size:>{widths[2]}} bytes"
        for name, what, size in rows
    ]
    broken = RuleBroken(
        codes.L1_BUDGET,
        f"a core needs {total} bytes of L1; one of {target.name} has {budget} for tensors and "
        "buffers",
        helps=('use a larger grid, or memory_space="DRAM"',),
        notes=tuple(table),
    )
    largest = max(needs, key=lambda need: need[2])[0]
    first = call.program.threads[0]
    span = parameter_span(first, call.program.names("cb", first)[largest])
    raise WrongValue(broken.at(span, "the largest"))


def _needs(call: Call) -> list[Need]:
    found: list[Need] = []
    for position, operand in enumerate(call.operands):
        if operand.layout.memory_space != "l1":
            continue
        tiles = operand.layout.shard_shape(operand.grid)
        size = prod(tiles) * dtype_of(operand.tensor).tile_bytes
        shape = "x".join(map(str, tiles))
        found.append((position, f"{shape} tiles", size))
        if call.is_streamed(position):
            what = f"{STREAM_BLOCKS} buffers of {shape} tiles"
            found.append((position, what, size * STREAM_BLOCKS))
    return found
