"""Find the kernels that push to and pop from a dataflow buffer, even before they do.

rule SEEN     a kernel that has reserved (waited) in this run has that end, on every node
rule NAMED    otherwise, a kernel whose code calls `name.reserve()` or `name.publish()`
              (`name.wait()`) on a captured buffer
rule UNKNOWN  otherwise, if a kernel may pass the buffer on (to a helper, in a list), the end is
              unknown
rule NOBODY   otherwise no kernel has that end
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ttl.language.operation import KernelFunction
from ttl.source.name_uses import calls, may_pass_on

from .buffer import BufferEnd


def find_kernels_at(
    ends: Sequence[Sequence[BufferEnd]], kernels: Sequence[KernelFunction]
) -> Mapping[str, str | None]:
    """Return the kernel at one kind of end by buffer name; `ends` has all nodes' by buffer."""
    found: dict[str, str | None] = {}
    for of_buffer in ends:
        declared, action = of_buffer[0].buffer.declared, of_buffer[0].action
        seen = [end.kernel.name for end in of_buffer if end.kernel is not None]
        acquires = (action, "publish") if action == "reserve" else (action,)
        named = [
            kernel.name
            for kernel in kernels
            if any(calls(kernel, declared, each) for each in acquires)
        ]
        if seen or named:
            found[declared.name] = (seen + named)[0]
        elif not any(may_pass_on(kernel, declared) for kernel in kernels):
            found[declared.name] = None
    return found
