"""What kernels have printed on a device: the output of DPRINT, with node and kernel.

The print server of tt-metal writes `device:x-y:processor: text`, with logical coordinates, and
joins the pieces of a line. Lines of one processor come in its order; processors take turns as they
ran.
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
    """As the simulator and the executor write them; on a mesh with the device in front."""
    for line in lines:
        yield _with_kernel(compiled, line, is_mesh) or line


def _with_kernel(compiled: CompiledOperation, line: str, is_mesh: bool) -> str | None:
    """None if it is of no kernel of this operation."""
    found = _LINE.fullmatch(line)
    if found is None or found[4] not in _BY_NAME:
        return None
    core = int(found[2]), int(found[3])
    kernel = kernel_on(compiled, _BY_NAME[found[4]])
    if kernel is None or not is_core_of(compiled, core):
        return None
    device = f"device {found[1]} " if is_mesh else ""
    return f"{device}{core} {kernel.name}: {found[5]}"
