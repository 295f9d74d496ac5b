"""Prepares a compiled operation for a page."""

from __future__ import annotations

import re

from ttl.artifact import CompiledOperation, Kernel

from .memory import l1_map
from .sources import PageValues, Sources
from .stages import Stage

_BUFFER = re.compile(r"(\w+) = get_compile_time_arg_val\((\d+)\)")
_CALL = re.compile(r"\b(cb_push_back|cb_pop_front)\((\w+)")
_TRANSFER = re.compile(r"\bnoc_async_(read|write)\w*\([^;]*?\b(\w+)_accessor\b")


def operation_values(compiled: CompiledOperation, sources: Sources) -> PageValues:
    return {
        "name": compiled.name,
        "target": compiled.target,
        "device_api": compiled.device_api,
        "grid": compiled.core_range,
        "kernels": [_kernel(kernel, compiled, sources) for kernel in compiled.kernels],
        "buffers": [
            {
                "name": each.name,
                "index": each.index,
                "format": each.data_format,
                "block_tiles": each.block_tiles,
                "block_count": each.block_count,
                "bytes": each.total_bytes,
                "page_bytes": each.page_bytes,
                "compiler": each.compiler_allocated,
                "tensor": each.tensor,
                "span": None if each.span is None else sources.span(each.span),
            }
            for each in compiled.buffers
        ],
        "operands": [
            {
                "name": each.name,
                "shape": each.shape,
                "dtype": each.dtype,
                "layout": each.layout,
                "memory": each.memory.buffer_type,
                "memory_layout": each.memory.memory_layout,
            }
            for each in compiled.operands
        ],
        "semaphores": len(compiled.semaphores),
        "pipes": [
            {"net": p.net, "name": p.name, "source": p.source, "first": p.first, "last": p.last}
            for p in compiled.pipes
        ],
        "l1": l1_map(compiled),
    }


def _kernel(kernel: Kernel, compiled: CompiledOperation, sources: Sources) -> PageValues:
    config = kernel.config
    return {
        "name": kernel.name,
        "thread": kernel.thread.value,
        "fidelity": None if config is None else config.math_fidelity,
        "fp32": config is not None and config.fp32_dest_acc_en,
        "cpp": kernel.cpp_source,
        "spans": [[line, sources.span(span)] for line, span in kernel.source_map],
        **_ends(kernel, compiled),
    }


def _ends(kernel: Kernel, compiled: CompiledOperation) -> PageValues:
    """Find the buffers that a kernel pushes to and pops, and tensors that it reads and writes."""
    names = {name: int(place) for name, place in _BUFFER.findall(kernel.cpp_source)}
    found: dict[str, set[str]] = {"pushes": set(), "pops": set(), "reads": set(), "writes": set()}
    for call, name in _CALL.findall(kernel.cpp_source):
        place = names.get(name, -1)
        if 0 <= place < len(compiled.buffers):
            side = "pushes" if call == "cb_push_back" else "pops"
            found[side].add(compiled.buffers[place].name)
    for way, name in _TRANSFER.findall(kernel.cpp_source):
        found[f"{way}s"].add(name)
    return {side: sorted(named) for side, named in found.items()}


def stages_values(stages: list[Stage], sources: Sources) -> list[PageValues]:
    """Return the stages' texts; a stage equal to the one before it has none."""
    values: list[PageValues] = []
    before = ""
    for stage in stages:
        if stage.text == before:
            values.append({"name": stage.name})
            continue
        before = stage.text
        spans = [[line, sources.span(span)] for line, span in stage.spans]
        values.append({"name": stage.name, "text": stage.text, "spans": spans})
    return values
