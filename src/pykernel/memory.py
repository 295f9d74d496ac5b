"""Check the cores and the L1 that a call needs before anything runs."""

from __future__ import annotations

from math import prod
from pathlib import Path

from ttl.config import Config
from ttl.diagnostics import WrongValue, codes, reading, usage_error
from ttl.target import CHOICES, Target, load
from ttl.target.system_desc import NotASystemDesc, read_system_desc, target_from_text, text_of

from .program import STREAM_BLOCKS, Call, parameter_span

Need = tuple[int, str, int]  # the operand's position, its description, bytes


def check_memory(call: Call, config: Config) -> None:
    """Check that each core's tensor parts and stream buffers fit in its L1."""
    if config.target not in CHOICES:
        return  # the driver reports it
    target = target_from_text(call.system_desc) if call.system_desc else load(config.target)
    needs = _needs(call)
    _check_cores(call, target)
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
    broken = codes.L1_BUDGET.broken(
        f"a core needs {total} bytes of L1; one of {target.name} has {budget} for tensors and "
        "buffers",
        'use a larger grid, or memory_space="DRAM"',
        notes=tuple(table),
    )
    largest = max(needs, key=lambda need: need[2])[0]
    first = call.program.threads[0]
    span = parameter_span(first, first.buffers[largest])
    raise WrongValue(broken.at(span, "the largest"))


def described_system(config: Config) -> str:
    """Return the system descriptor in the file of SYSTEM_DESC_PATH as text; "" without one."""
    path = config.system_desc_path
    if not path:
        return ""
    try:
        with reading(path):
            chip = read_system_desc(Path(path).read_bytes())
    except NotASystemDesc as error:
        message = f"SYSTEM_DESC_PATH={path}: not a system descriptor: {error}"
        raise usage_error(codes.FILE_NOT_USABLE, message) from None
    if chip["arch"] != config.chip:
        message = f"SYSTEM_DESC_PATH={path} describes a {chip['arch']}, not a {config.chip}"
        help_text = f"pass --target {chip['arch']}, or set TTL_TARGET={chip['arch']}"
        raise usage_error(codes.WRONG_FILE, message, help_text)
    return text_of(chip)


def _check_cores(call: Call, target: Target) -> None:
    """Check the grid. Without a description the simulator has any number of cores."""
    (rows, columns), (most_columns, most_rows) = call.grid, target.grid
    if call.system_desc and (rows > most_rows or columns > most_columns):
        message = f"a grid of {rows}x{columns} cores; the device has {most_rows}x{most_columns}"
        help_text = "use a smaller grid, or unset SYSTEM_DESC_PATH"
        raise codes.NODE_OUTSIDE_GRID.broken(message, help_text)


def _needs(call: Call) -> list[Need]:
    found: list[Need] = []
    for position, operand in enumerate(call.operands):
        if operand.layout.memory_space != "l1":
            continue
        size = prod(operand.block_shape) * operand.dtype.tile_bytes
        shape = "x".join(map(str, operand.block_shape))
        found.append((position, f"{shape} tiles", size))
        if call.is_streamed(position):
            what = f"{STREAM_BLOCKS} buffers of {shape} tiles"
            found.append((position, what, size * STREAM_BLOCKS))
    return found
