"""Reads and finishes traces named on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ttl.diagnostics import codes, reading, usage_error, writing

if TYPE_CHECKING:
    from ttl.driver.running import Runs

T = TypeVar("T")


def read_with(read: Callable[[Path], T], file: str, how_to_write: str) -> T:
    """Read a file with `read`; raise UsageError if it cannot read the file."""
    try:
        with reading(file):
            return read(Path(file))
    except ValueError as error:
        help_text = f"write a trace with {how_to_write}"
        raise usage_error(codes.WRONG_FILE, f"{file}: {error}", help_text) from None


def finish_trace(trace: str, program: str, timed: Runs | None) -> None:
    """After the run: times estimated from recorded calls, or what Perfetto shows of ticks."""
    from ttl.trace.stamped import finish_perfetto

    if timed is not None:
        _give_times(Path(trace), timed)
    else:
        finish_perfetto(Path(trace), program)


def _give_times(file: Path, runs: Runs) -> None:
    from ttl.studio.estimate import Timeline, timeline
    from ttl.studio.estimate.stamps import add_times, more_events
    from ttl.target.costs import load_costs
    from ttl.trace.reader import read_trace
    from ttl.trace.stamped import write_stamped

    made: dict[object, Timeline] = {}
    for compiled, each in runs.recorded.items():
        made[compiled] = timeline(compiled, each.recording, load_costs(compiled.target))
    calls = iter([made.get(each) for each in runs.recorded_calls])
    used: list[Timeline] = []

    def next_of(name: str) -> Timeline | None:
        found = next(calls, None)
        if found is not None:
            used.append(found)
        return found

    records = add_times(read_trace(file), next_of)
    files = {each.kernel: Path(each.file).name for one in used for each in one.kernels}
    write_stamped(file, records, more_events(used), files)


def empty_trace(trace: str) -> str:
    """Empty the trace file and return its full path: every operation adds its events."""
    with writing(trace):
        Path(trace).write_text("")
    return str(Path(trace).resolve())
