"""No kernel can go on: who waits for what, as the report of a deadlock needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, cast

from ttl.diagnostics import KernelFault
from ttl.diagnostics.deadlock import Waiting, deadlock_diagnostic
from ttl.diagnostics.frames import frame_span, user_frame
from ttl.language.operation import KernelFunction
from ttl.semantics.types import Shape

from .buffer import NodeBuffer
from .kernel import KernelRun
from .roles import kernels_at


def deadlock_fault(
    stuck: Sequence[KernelRun],
    nodes: Mapping[Shape, Sequence[NodeBuffer]],
    kernels: Sequence[KernelFunction],
) -> KernelFault:
    """`stuck` are the kernels that sleep, in the order of the nodes."""
    of_buffers = list(zip(*nodes.values(), strict=True))  # for each buffer: on all nodes
    diagnostic = deadlock_diagnostic(
        [_waiting(kernel) for kernel in stuck],
        producers=kernels_at([[b.producer for b in buffer] for buffer in of_buffers], kernels),
        consumers=kernels_at([[b.consumer for b in buffer] for buffer in of_buffers], kernels),
        node_count=len(nodes),
    )
    return KernelFault(diagnostic)


def _waiting(kernel: KernelRun) -> Waiting:
    end = kernel.waiting_for
    assert end is not None
    declared = end.buffer.declared
    return Waiting(
        kernel=kernel.name,
        node=kernel.coordinate,
        span=frame_span(user_frame(kernel.greenlet.gr_frame)),
        action=cast(Literal["wait", "reserve"], end.action),
        buffer=declared.name,
        buffer_span=declared.span,
        filled=end.buffer.filled,
        capacity=declared.block_count,
    )
