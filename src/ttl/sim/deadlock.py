"""Collect who waits for what when no kernel can continue, for the report of a deadlock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from sys import _getframe
from typing import Literal, cast

from ttl.diagnostics import KernelFault
from ttl.diagnostics.deadlock import Waiting, WaitingForNodes, deadlock_diagnostic
from ttl.diagnostics.frames import frame_span, user_frame
from ttl.diagnostics.span import Span
from ttl.diagnostics.waiting import AnyWaiting, Kernel, waiting_at_pipe, waiting_at_semaphore
from ttl.language.operation import KernelFunction, Program
from ttl.semantics.function_source import global_names
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.types import Shape

from .buffer import BufferEnd, NodeBuffer
from .kernel import KernelRun
from .pipes import PipeSend, PipeTransfer
from .place import span_of
from .roles import find_kernels_at
from .semaphores import SemaphoreWait


def deadlock_fault(
    stuck: Sequence[KernelRun],
    nodes: Mapping[Shape, Sequence[NodeBuffer]],
    program: Program,
) -> KernelFault:
    """Describe the deadlock; `stuck` are sleeping or polling kernels, in the order of the nodes."""
    of_buffers = list(zip(*nodes.values(), strict=True))  # for each buffer: on all nodes
    kernels = program.kernels
    waiting = [
        _waiting(kernel, program, nodes) for kernel in stuck if kernel.waiting_for is not None
    ]
    diagnostic = deadlock_diagnostic(
        waiting,
        producers=find_kernels_at([[b.producer for b in buffer] for buffer in of_buffers], kernels),
        consumers=find_kernels_at([[b.consumer for b in buffer] for buffer in of_buffers], kernels),
        node_count=len(nodes),
    )
    return KernelFault(diagnostic)


def _waiting(kernel: KernelRun, program: Program, nodes: Iterable[Shape]) -> AnyWaiting:
    what = kernel.waiting_for
    assert what is not None
    # greenlet has no frame for the running kernel, which is the one that polled once too often
    asleep = None if kernel.greenlet is None else kernel.greenlet.gr_frame
    span = frame_span(user_frame(asleep or _getframe()))
    if isinstance(what, PipeTransfer):
        return _at_pipe(kernel, what, span, program.kernels)
    if isinstance(what, SemaphoreWait):
        return _at_semaphore(kernel, what, span, program.kernels, nodes)
    return _at_buffer(kernel, what, span)


def _at_buffer(kernel: KernelRun, end: BufferEnd, span: Span | None) -> Waiting:
    declared = end.buffer.declared
    return Waiting(
        kernel=kernel.name,
        node=kernel.coordinate,
        span=span,
        action=cast(Literal["wait", "reserve"], end.action),
        buffer=declared.name,
        buffer_span=declared.span,
        filled=end.buffer.filled,
        capacity=declared.block_count,
        polls=kernel.is_polling,
        in_tensor=declared.backing is not None,
    )


def _at_pipe(
    kernel: KernelRun,
    transfer: PipeTransfer,
    span: Span | None,
    kernels: Sequence[KernelFunction],
) -> WaitingForNodes:
    meeting = transfer.meeting
    source = None if meeting.send is not None else meeting.pipe.route.source
    missing = meeting.missing_receivers if source is None else ()
    names = _kernels_that_name(kernels, ("if_dst" if source is None else "if_src",))
    nodes = missing if source is None else [source]
    return waiting_at_pipe(
        (kernel.name, kernel.coordinate),
        span,
        sends=isinstance(transfer, PipeSend),
        pipe=meeting.pipe.route.pipe.name,
        pipe_span=meeting.pipe.route.pipe.span,
        net=meeting.pipe.net.name,
        for_send_of=source,
        for_posts_of=missing,
        partners=tuple([_on_node(names, node) for node in nodes]),
        started=span_of(transfer.place),
    )


def _at_semaphore(
    kernel: KernelRun,
    wait: SemaphoreWait,
    span: Span | None,
    kernels: Sequence[KernelFunction],
    nodes: Iterable[Shape],
) -> WaitingForNodes:
    declared = wait.semaphore.declared
    names = _kernels_that_name(kernels, ("set", "inc"))
    return waiting_at_semaphore(
        (kernel.name, kernel.coordinate),
        span,
        semaphore=declared.name,
        semaphore_span=declared.span,
        wanted=wait.wanted,
        at_least=wait.at_least,
        value=wait.semaphore.value,
        changed_by=[k for node in nodes for k in _on_node(names, node)],
    )


def _on_node(names: Iterable[str], node: Shape) -> tuple[Kernel, ...]:
    return tuple([(name, node) for name in names])


def _kernels_that_name(kernels: Sequence[KernelFunction], calls: tuple[str, ...]) -> list[str]:
    """List the data movement kernels whose code has one of the calls; all, if none has."""
    moving = [kernel for kernel in kernels if kernel.kind is KernelKind.DATAMOVEMENT]
    named = [k for k in moving if not global_names(k.function.__code__).isdisjoint(calls)]
    return [kernel.name for kernel in named or moving]
