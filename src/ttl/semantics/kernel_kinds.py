"""The two kinds of kernels, and the error for a call in the wrong kind."""

from __future__ import annotations

from enum import Enum

from ttl.diagnostics import RuleBroken, codes


class KernelKind(Enum):
    COMPUTE = "compute"
    DATAMOVEMENT = "datamovement"

    @property
    def other(self) -> KernelKind:
        return KernelKind.DATAMOVEMENT if self is KernelKind.COMPUTE else KernelKind.COMPUTE


def wrong_kind(call: str, kind: KernelKind) -> RuleBroken:
    """Describe a call in a kernel of this kind that belongs in the other kind."""
    return codes.WRONG_KERNEL_KIND.broken(
        f"{call} is not allowed in a {kind.value} kernel",
        f"move it to a @ttl.{kind.other.value}() kernel",
    )
