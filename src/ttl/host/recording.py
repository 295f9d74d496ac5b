"""Records what the kernels of a run call, and with what, for estimates of their time.

The calls of compute units are recorded and not made, so the results are not to be used; waits,
loops and branches are those of a run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ttl.artifact import CompiledOperation
from ttl.diagnostics import codes, usage_error
from ttl.target import load as load_target
from ttl.trace.calls import CallSite, Recording

from .counts import columns_of
from .execution import execute
from .memory import PagedTensor, TensorMemory, shard_words_of, tensor_memories
from .program import (
    CALLS,
    NOBODY,
    CallSiteStruct,
    ReportStruct,
    RunOptions,
    make_program,
    nodes_of,
    plan_tensor,
    program_parts,
)
from .report import raise_if_failed

MOST_CALLS = 1 << 25  # runtime/program.h, as SITE_BITS
SITE_BITS = 20
ROW_BYTES = 16


def record(
    compiled: CompiledOperation, tensors: Sequence[PagedTensor], *, cache_dir: Path
) -> Recording:
    """The calls of a run; what the tensors hold then is not to be used.

    Raises what a launch raises; UsageError for kernels that were written by hand.
    """
    from .launcher import STEP_BUDGET, addresses_of, load

    target = load_target(compiled.target)
    plans = [
        plan_tensor(address, tensor.page_bytes, tensor.memory, target, shard_words_of(tensor))
        for address, tensor in zip(addresses_of(compiled), tensors, strict=True)
    ]
    runtime, entries = load(compiled, plans, cache_dir, records_calls=True)
    memories: list[TensorMemory] = tensor_memories(tensors)
    options = RunOptions(trace=False, step_budget=STEP_BUDGET, is_in_turn=True, records=CALLS)
    program = make_program(program_parts(compiled, target, plans, entries), memories, options)
    program.struct.follows_writes = 0
    report = ReportStruct()
    interruption = execute(runtime, program, report)
    try:
        if interruption is not None:
            raise interruption
        raise_if_failed(compiled, report)
        if report.call_count >= MOST_CALLS:
            message = f"the kernels of `{compiled.name}` make more than {MOST_CALLS} calls"
            raise usage_error(codes.WRONG_FILE, message, "estimate a smaller problem")
        sites, calls = _recorded(compiled, report)
    finally:
        runtime.ttl_free_report(ctypes.byref(report))
    written = tuple(bool(each.written) for each in program.tensors)
    return Recording(sites, tuple(nodes_of(compiled)), calls, written)


def _recorded(
    compiled: CompiledOperation, report: ReportStruct
) -> tuple[tuple[CallSite, ...], np.ndarray]:
    """The sites in the order of the text, and the calls that estimates know."""
    found = [_site(compiled, each) for each in report.call_sites[: report.call_site_count]]
    order = sorted(
        (n for n, (_, site) in enumerate(found) if _is_known(site)), key=lambda n: found[n][0]
    )
    numbers = np.full(len(found) + 1, -1, np.int64)
    numbers[order] = np.arange(len(order))
    data = ctypes.string_at(report.calls, ROW_BYTES * report.call_count)
    rows = np.frombuffer(data, np.uint32).reshape(-1, 4)
    own = numbers[rows[:, 0] & ((1 << SITE_BITS) - 1)]
    calls = rows[own >= 0]
    nodes = (calls[:, 0] >> SITE_BITS).astype(np.int64)
    calls[:, 0] = nodes * len(order) + own[own >= 0]
    return tuple(found[n][1] for n in order), calls


def _site(compiled: CompiledOperation, each: CallSiteStruct) -> tuple[tuple[int, int], CallSite]:
    name, span = each.name.decode(), compiled.kernels[each.kernel].span_of(each.line)
    buffers = tuple(index for index in each.buffers if index != NOBODY)
    line = 0 if span is None else span.line
    place = each.kernel, each.line
    return place, CallSite(each.kernel, name, buffers, line, columns_of(name))


def _is_known(site: CallSite) -> bool:
    return bool(site.units) or site.name.startswith(("cb_", "noc_", "tile_regs_"))
