"""Output of kernels on a device: DPRINT's lines, with node and kernel.

tt-metal's print server writes `device:x-y:processor: text`, with logical coordinates, and joins the
pieces of a line. One processor's lines are in its order; processors alternate as they ran.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ttl.artifact import CompiledOperation

from .processors import PROCESSORS, is_core_of, kernel_on

PRINT_CALL = "DPRINT"
# Versions of tt-metal write the core as 1-2, (1,2) or (x=1,y=2).
_LINE = re.compile(r"(\d+):\(?(?:x=)?(\d+)(?:-|, ?)(?:y=)?(\d+)\)?:([A-Z]+\d?): ?(.*)")
_BY_NAME = {processor.print_name: processor for processor in PROCESSORS}


def prints(compiled: CompiledOperation) -> bool:
    return any(PRINT_CALL in kernel.cpp_source for kernel in compiled.kernels)


def printed_lines(
    compiled: CompiledOperation, lines: Iterable[str], is_mesh: bool = False
) -> Iterator[str]:
    """Format lines like the simulator and the executor; on a mesh, with the device in front."""
    for line in lines:
        yield _with_kernel(compiled, line, is_mesh) or line


def _with_kernel(compiled: CompiledOperation, line: str, is_mesh: bool) -> str | None:
    """Return the line with its kernel; None if it is from no kernel of this operation."""
    found = _LINE.fullmatch(line)
    if found is None or found[4] not in _BY_NAME:
        return None
    core = int(found[2]), int(found[3])
    kernel = kernel_on(compiled, _BY_NAME[found[4]])
    if kernel is None or not is_core_of(compiled, core):
        return None
    device = f"device {found[1]} " if is_mesh else ""
    return f"{device}{core} {kernel.name}: {found[5]}"
