"""Which kernel pushes to a buffer and which pops it, read from the kernels' text.

A run that is stuck shows only who pushed so far; the text also shows who would have. A buffer is
left out of the answer when a kernel names buffers in a way this does not follow.
"""

from __future__ import annotations

import re

from ttl.artifact import CompiledOperation, Kernel

_CONSTANT = re.compile(r"\b(\w+)\s*=\s*get_compile_time_arg_val\(\s*(\d+)\s*\)")
_ARGUMENT = r"\(\s*(?P<buffer>[^,()]+?)\s*,"


def producers(compiled: CompiledOperation) -> dict[str, str | None]:
    """Buffer name to the kernel that pushes to it; None where no kernel does."""
    return _ends(compiled, "cb_push_back")


def consumers(compiled: CompiledOperation) -> dict[str, str | None]:
    """Buffer name to the kernel that pops it; None where no kernel does."""
    return _ends(compiled, "cb_pop_front")


def _ends(compiled: CompiledOperation, call: str) -> dict[str, str | None]:
    kernel_of: dict[int, str] = {}
    for kernel in compiled.kernels:
        indices = _indices(compiled, kernel, call)
        if indices is None:
            return {}
        kernel_of |= dict.fromkeys(indices, kernel.name)
    return {buffer.name: kernel_of.get(buffer.index) for buffer in compiled.buffers}


def _indices(compiled: CompiledOperation, kernel: Kernel, call: str) -> set[int] | None:
    """The buffers that `call` is given in this kernel; None if one of them cannot be told."""
    arguments = [buffer.index for buffer in compiled.buffers]
    constants = {
        name: arguments[int(position)]
        for name, position in _CONSTANT.findall(kernel.cpp_source)
        if int(position) < len(arguments)
    }
    indices: set[int] = set()
    for match in re.finditer(rf"\b{call}{_ARGUMENT}", kernel.cpp_source):
        text = match["buffer"]
        index = int(text) if text.isdigit() else constants.get(text)
        if index is None:
            return None
        indices.add(index)
    return indices
