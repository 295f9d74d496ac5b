"""How often the kernels of a run call the chip, unit by unit: what their calls counted up to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ttl.artifact import CompiledOperation

from .program import ReportStruct

SECTIONS, UNPACK, MATH, PACK, INIT, NOC, BARRIERS = COLUMNS = (
    "DST sections",
    "unpack",
    "math",
    "pack",
    "init",
    "NoC",
    "barriers",
)

# The first that fits says what a call is. The matrix unit works on what it unpacks.
_RULES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"get_\w+|noc_\w+_set_(trid|state)|\w*_flushed\w*", ()),
    (r"tile_regs_acquire|acquire_dst", (SECTIONS,)),
    (r"\w*_barrier\w*", (BARRIERS,)),
    (r"noc_(async|inline|semaphore_inc|semaphore_set_remote|semaphore_set_multicast)\w*", (NOC,)),
    (r"\w*reconfig\w*|pack_relu_config|compute_kernel_hw_startup|(\w*_)?(un)?init(_\w+)?", (INIT,)),
    (r"pack_(tile|block|untilize)\w*", (PACK,)),
    (r"copy_(tile|block_matmul_partials)|unary_bcast", (UNPACK, MATH)),
    (r"(add|sub|mul)_(reuse_dest_)?tiles\w*", (UNPACK, MATH)),
    (r"(reduce|transpose|transpose_wh|matmul)_(tiles?|block)", (UNPACK, MATH)),
    (r"binary_dest_reuse_tiles", (UNPACK, MATH)),
    (r"\w+_tile(_\w+)?|copy_dest_values|transpose\w*_dest|sfpu_reduce", (MATH,)),
)


def columns_of(call: str) -> tuple[str, ...]:
    """The columns in which a call counts; none for what is not counted."""
    for pattern, columns in _RULES:
        if re.fullmatch(pattern, call):
            return columns
    return ()


@dataclass(slots=True)
class CallCounts:
    """Calls by name, and written pages of tensors, over all runs of an operation."""

    calls: Counter[str] = field(default_factory=Counter)
    result_pages: int = 0
    # Of the kernels that compute, each once: operations of one name may have several.
    configurations: dict[str, None] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, int]:
        totals = dict.fromkeys(COLUMNS, 0)
        for call, count in self.calls.items():
            for column in columns_of(call):
                totals[column] += count
        return totals

    def add_run(self, compiled: CompiledOperation, pages: Iterable[int]) -> None:
        """Add the pages of tensors that a run has written."""
        self.result_pages += sum(pages)
        self.configurations[configuration_of(compiled)] = None

    def take(self, report: ReportStruct) -> None:
        """Add the calls that the kernels of a run have made."""
        for site in report.call_sites[: report.call_site_count]:
            name = site.name.decode(errors="replace")
            if columns_of(name):
                self.calls[name] += site.count


def configuration_of(compiled: CompiledOperation) -> str:
    """How the registers are used, and what a product takes."""
    configs = [kernel.config for kernel in compiled.kernels if kernel.config is not None]
    if not configs:
        return ""
    width = 32 if configs[0].fp32_dest_acc_en else 16
    sync = "full sync: math and packing do not overlap"
    parts = [f"{width}-bit DST", sync if configs[0].dst_full_sync_en else "half sync"]
    parts.append(f"math fidelity {configs[0].math_fidelity}")
    in_tensors = [buffer.name for buffer in compiled.buffers if buffer.tensor is not None]
    if in_tensors:
        parts.append(f"not copied, because they lie in tensors: {', '.join(in_tensors)}")
    return ", ".join(parts)


def counts_table(counts: dict[str, CallCounts]) -> str:
    """Calls of each operation, and how many there are for a page of its results."""
    rows: list[tuple[str, ...]] = [("operation", *COLUMNS)]
    for name, counted in counts.items():
        totals = counted.columns
        rows.append((name, *(str(totals[column]) for column in COLUMNS)))
        if pages := counted.result_pages:
            rows.append(("  per result page", *(per_page(totals[c], pages) for c in COLUMNS)))
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    notes = [f"{name}: {text}" for name, each in counts.items() for text in each.configurations]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if n else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ) + "".join(f"\n{note}" for note in notes if not note.endswith(": "))


def per_page(count: int, pages: int) -> str:
    return f"{count / pages:.4g}"
