"""Report a launch that does not return, from the device's logs, and reset the device."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ttl.artifact import CompiledOperation
from ttl.diagnostics import Diagnostic, KernelFault, Label, Span, codes

from .processors import calls_in
from .readiness import SIMULATOR
from .watcher import Standing, find_standing, unread_buffers

if TYPE_CHECKING:
    from .watch import Watch

RESET_SECONDS = 120
TIMEOUT_WORDS = "device timeout"  # tt-metal's own limit, TT_METAL_OPERATION_TIMEOUT_SECONDS


def is_timeout(error: RuntimeError) -> bool:
    return TIMEOUT_WORDS in str(error)


def report_hang(
    compiled: CompiledOperation, watch: Watch | None, devices: Sequence[int] = ()
) -> KernelFault:
    """Describe the hang, and reset the device: it can run nothing else before that."""
    lines = [] if watch is None else watch.watcher_lines()
    found = find_standing(compiled, lines)
    limit = "" if watch is None else f" within {watch.limit_seconds:g} s"
    labels = list(dict.fromkeys(label for each in found if (label := _label(each)) is not None))
    is_mesh = len({each.device for each in found}) > 1
    notes = [_note(each, is_mesh) for each in found] + unread_buffers(compiled, lines)
    if not found:
        notes.append("the watcher's log has nothing about its kernels")
    return KernelFault(
        Diagnostic(
            codes.DEVICE_HANG,
            f"`{compiled.name}` did not end{limit} on the device",
            labels[0] if labels else None,
            tuple(labels[1:]),
            (*notes, reset(devices)),
            _helps(bool(found)),
        )
    )


def _helps(is_known: bool) -> tuple[str, ...]:
    simulate = "run it with --backend sim: the simulator names the kernels of a deadlock"
    if is_known:
        return (simulate,)
    return simulate, "run it with `ttl run --backend device` and without --trace: the watcher is on"


def _who(at: Standing, is_mesh: bool) -> str:
    role = f" ({at.processor.role})" if at.processor.role else ""
    first = f"on node {at.nodes[0]}"
    where = first if len(at.nodes) == 1 else f"on {len(at.nodes)} nodes, first {first}"
    return f"`{at.kernel.name}`{role} {where}" + (f" of device {at.device}" if is_mesh else "")


def _note(at: Standing, is_mesh: bool) -> str:
    who = _who(at, is_mesh)
    if at.wait is None:
        return f"{who} runs; the last waypoint it passed is {at.waypoint}"
    lines = sorted({span.line for span in _spans(at)})
    among = f", in one of the lines {', '.join(map(str, lines))}" if len(lines) > 1 else ""
    return f"{who} waits {at.wait.text} ({at.waypoint}){among}"


def _label(at: Standing) -> Label | None:
    """Label the line where it waits, if it can only be one."""
    spans = _spans(at)
    if at.wait is None or len(spans) != 1:
        return None
    return Label(spans[0], f"`{at.kernel.name}` waits {at.wait.text}")


def _spans(at: Standing) -> list[Span]:
    calls = () if at.wait is None else at.wait.calls
    lines = [line for call in calls for line in calls_in(at.kernel, call)]
    found = (at.kernel.span_of(line) for line in lines)
    return sorted({span for span in found if span is not None})


def reset(devices: Sequence[int], environment: Mapping[str, str] = os.environ) -> str:
    """Reset the cards; return in words what was done, or what the user must do."""
    import shutil  # other runs never need it
    import subprocess

    if environment.get(SIMULATOR):
        return "the chip is simulated: it ends with the process"
    targets = ",".join(map(str, devices)) or "all"
    command = f"tt-smi -r {targets}"
    program = shutil.which("tt-smi", path=environment.get("PATH"))
    if program is None:
        return f"tt-smi is not installed: reset the device with `{command}`"
    try:
        done = subprocess.run(
            [program, "-r", targets], capture_output=True, timeout=RESET_SECONDS, check=False
        ).returncode
    except (OSError, subprocess.TimeoutExpired):
        done = -1
    if done:
        return f"`{command}` failed: reset the device before the next run"
    return f"the device was reset (`{command}`); start the program anew"
