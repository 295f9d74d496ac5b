"""Shows an estimate in words and tables, and as values for JSON."""

from __future__ import annotations

from dataclasses import asdict

from .result import Estimate

MOST_LINES = 12
MOST_WAITS = 3


def estimate_text(found: Estimate) -> str:
    called = "" if found.times_called == 1 else f", called {found.times_called} times"
    times = found.microseconds
    lines = [
        f"{found.operation} on {found.nodes} nodes of {found.chip}{called}",
        f"  time   {_number(times.typical)} ({_number(times.best)} to {_number(times.worst)}) us "
        f"at {found.clock_ghz:g} GHz",
        f"  math   {_number(found.tflops)} TFLOP/s, {_percent(found.tflops, found.peak_tflops)} "
        f"of {_number(found.peak_tflops)}",
        f"  DRAM   {_number(found.gbytes)} GB/s, {_percent(found.gbytes, found.peak_gbytes)} "
        f"of {_number(found.peak_gbytes)}",
        f"  roof   {_number(found.roofline)} us: "
        f"{found.microseconds.typical / (found.roofline or 1):.1f} times as long is estimated",
        f"  bound  {found.bound}",
        "  twice as fast would save: "
        + ", ".join(f"{name} {gain:.0%}" for name, gain in found.gains if gain >= 0.005),
        "",
        *_table(("kernel", "thread", "busy", "waits"), _thread_rows(found)),
        "",
        "  cycles of the node that takes longest, by line",
        *_table(
            ("kernel", "thread", "line", "busy", "waiting", "share", "times", "for"), _rows(found)
        ),
        "",
        *_changes(found),
        "not known:",
        *(f"  {each}" for each in found.unknown),
    ]
    return "\n".join(lines)


def estimate_values(found: Estimate) -> dict[str, object]:
    """Return the estimate as values for JSON."""
    rates = {
        "tflops": found.tflops,
        "gbytes_per_second": found.gbytes,
        "roofline_microseconds": found.roofline,
    }
    changes = [{**asdict(each), "text": each.text} for each in found.changes]
    return {**asdict(found), "changes": changes, **rates}


def _number(value: float) -> str:
    """Format with two significant digits, the model's precision."""
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}"


def _percent(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else "0%"


def _thread_rows(found: Estimate) -> list[tuple[str, ...]]:
    return [
        (
            each.kernel,
            each.thread,
            f"{each.busy:.0%}",
            ", ".join(
                f"{reason} {share:.0%}"
                for reason, share in each.waits[:MOST_WAITS]
                if share >= 0.005
            ),
        )
        for each in found.threads
    ]


def _rows(found: Estimate) -> list[tuple[str, ...]]:
    return [
        (
            each.kernel,
            each.thread,
            str(each.line),
            f"{each.busy:.0f}",
            f"{each.waited:.0f}",
            f"{each.share:.0%}",
            str(each.times),
            each.reason if each.waited else "",
        )
        for each in found.lines[:MOST_LINES]
    ]


def _changes(found: Estimate) -> list[str]:
    if not found.changes:
        return ["changes that were tried (blocks, NoCs, math fidelity) save less than 2%", ""]
    return ["worth a try, by the model:", *(f"  {each.text}" for each in found.changes), ""]


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    texts = [columns, *rows]
    widths = [max(len(row[n]) for row in texts) for n in range(len(columns))]
    padded = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in texts
    )
    return [f"  {line}".rstrip() for line in padded]
