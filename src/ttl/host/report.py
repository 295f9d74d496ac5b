"""Reports of the runtime in the user's terms."""

from __future__ import annotations

import re

from ttl.artifact import CompiledOperation, Kernel, ThreadKind
from ttl.diagnostics import (
    CompileError,
    Diagnostic,
    InternalError,
    KernelFault,
    Label,
    Span,
    UsageError,
    codes,
    usage_error,
)
from ttl.diagnostics.deadlock import Waiting, WaitingForNodes, deadlock_diagnostic
from ttl.diagnostics.divisions import divided_by_zero
from ttl.diagnostics.multicasts import receiver_not_ready
from ttl.diagnostics.waiting import AnyWaiting

from .buffer_ends import consumers, producers
from .program import (
    AWAIT_AT_LEAST,
    AWAIT_SPACE,
    DEADLOCK,
    DONE,
    FAULT,
    NO_DIVISOR,
    NO_MEMORY,
    NOBODY,
    NOT_RESERVED,
    SPINNING,
    UNKNOWN_FORMAT,
    ReportStruct,
    WaitingStruct,
    nodes_of,
)
from .translation_unit import kernel_file

_COMPILER_ERROR = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: ", re.M)
_COMPILER_PLACE = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):", re.M)


def raise_if_failed(compiled: CompiledOperation, report: ReportStruct) -> None:
    """KernelFault for what the kernels did; UsageError for what the runtime does not know."""
    if report.status == DONE:
        return
    faults = {
        FAULT: _fault,
        DEADLOCK: _deadlock,
        SPINNING: _spinning,
        NOT_RESERVED: _not_reserved,
        NO_DIVISOR: _no_divisor,
    }
    if report.status in faults:
        raise KernelFault(faults[report.status](compiled, report))
    if report.status == NO_MEMORY:
        count = len(nodes_of(compiled))
        message = f"this machine has too little memory for the L1 of {count} nodes"
        raise usage_error(codes.GRID_TOO_LARGE, message, "run the operation on a smaller grid")
    if report.status == UNKNOWN_FORMAT:
        data_format = report.message.decode()
        message = f"the host executor does not run {data_format} buffers yet"
        raise UsageError(Diagnostic(codes.NOT_COMPILED_YET, message))


def compiler_failure(compiled: CompiledOperation, output: str) -> InternalError | CompileError:
    """The compiler's first complaint, with the Python line that the C++ came from."""
    match = _COMPILER_ERROR.search(output)
    kernels = {kernel_file(kernel): kernel for kernel in compiled.kernels}
    kernel = kernels.get(match["file"]) if match else None
    for place in _COMPILER_PLACE.finditer(output):  # of a macro's text: where it is used
        named = kernels.get(place["file"])
        if named is not None and named.own is not None:
            return _rejected(named, int(place["line"]), output)
    rejected = f"the kernels of `{compiled.name}`" if kernel is not None else "the host runtime"
    label, notes = None, tuple(output.strip().splitlines()[:12])
    if match is not None and kernel is not None:
        label = _label(kernel, int(match["line"]), "compiled from here")
        notes = (_cpp_note(kernel, int(match["line"])), *notes)
    return InternalError(
        Diagnostic(
            codes.COMPILER_FAILED,
            f"the C++ compiler rejected {rejected}",
            primary=label,
            notes=notes,
            facts={"compiler_output": output},
        )
    )


def _rejected(kernel: Kernel, line: int, output: str) -> CompileError:
    """A kernel that somebody wrote."""
    lines = output.strip().splitlines()
    return CompileError(
        Diagnostic(
            codes.KERNEL_REJECTED,
            f"the C++ compiler rejected kernel `{kernel.name}`",
            primary=_label(kernel, line, "here"),
            notes=(_cpp_note(kernel, line), *lines[:12]),
            helps=("compare the call with the device API of ttnn 0.81",),
            facts={"compiler_output": output},
        )
    )


def _fault(compiled: CompiledOperation, report: ReportStruct) -> Diagnostic:
    kernel = compiled.kernels[report.kernel]
    node = nodes_of(compiled)[report.node]
    text = report.message.decode(errors="replace")
    return Diagnostic(
        codes.EXECUTOR_FAULT,
        f"kernel `{kernel.name}` on node {node}: {text}",
        primary=_label(kernel, report.line, "while running this"),
        notes=(_cpp_note(kernel, report.line),) if report.line else (),
        facts={"kernel": kernel.name, "node": node, "cpp_line": report.line, "fault": text},
    )


def _not_reserved(compiled: CompiledOperation, report: ReportStruct) -> Diagnostic:
    nodes, kernel = nodes_of(compiled), compiled.kernels[report.kernel]
    buffer, receiver = (int(word) for word in report.message.split())
    name = compiled.buffers[buffer].name
    broken = receiver_not_ready(name, nodes[report.node], nodes[receiver])
    return broken.at(_span(kernel, report.line))


def _no_divisor(compiled: CompiledOperation, report: ReportStruct) -> Diagnostic:
    kernel, node = compiled.kernels[report.kernel], nodes_of(compiled)[report.node]
    broken = divided_by_zero(report.message.decode())
    return broken.at(
        _span(kernel, report.line), notes=(f"in kernel `{kernel.name}` on node {node}",)
    )


def _spinning(compiled: CompiledOperation, report: ReportStruct) -> Diagnostic:
    kernel = compiled.kernels[report.kernel]
    node = nodes_of(compiled)[report.node]
    steps = int(report.message)
    how_long = f"for {steps} steps without" if steps else "on without a call, and without"
    return Diagnostic(
        codes.SPINNING,
        f"kernel `{kernel.name}` on node {node} ran {how_long} letting others run",
        primary=_label(kernel, report.line, "its last call of the device; it goes on after it"),
        notes=(_cpp_note(kernel, report.line),) if report.line else (),
        helps=("wait with wait() or reserve(); a loop cannot see others change",),
        facts={"kernel": kernel.name, "node": node, "cpp_line": report.line, "steps": steps},
    )


def _label(kernel: Kernel, cpp_line: int, text: str) -> Label | None:
    span = _span(kernel, cpp_line)
    return Label(span, text) if span is not None else None


def _span(kernel: Kernel, cpp_line: int) -> Span | None:
    return kernel.span_of(cpp_line) if cpp_line else None


def _cpp_note(kernel: Kernel, cpp_line: int) -> str:
    lines = kernel.cpp_source.splitlines()
    text = lines[cpp_line - 1].strip() if 0 < cpp_line <= len(lines) else ""
    whose = "generated C++" if kernel.own is None else "kernel"
    return f"in the {whose}, {kernel_file(kernel)}:{cpp_line}: {text}"


def _deadlock(compiled: CompiledOperation, report: ReportStruct) -> Diagnostic:
    waiting = [_waiting(compiled, entry) for entry in report.waiting[: report.waiting_count]]
    return deadlock_diagnostic(
        waiting,
        producers=producers(compiled),
        consumers=consumers(compiled),
        node_count=len(nodes_of(compiled)),
    )


def _waiting(compiled: CompiledOperation, entry: WaitingStruct) -> AnyWaiting:
    if entry.awaits > AWAIT_SPACE:
        return _waiting_for_word(compiled, entry)
    kernel = compiled.kernels[entry.kernel]
    buffer = compiled.buffers[entry.subject]
    return Waiting(
        kernel=kernel.name,
        node=nodes_of(compiled)[entry.node],
        span=_span(kernel, entry.line),
        action="reserve" if entry.awaits == AWAIT_SPACE else "wait",
        buffer=buffer.name,
        buffer_span=buffer.span,
        filled=entry.value // buffer.block_tiles,
        capacity=buffer.block_count,
        in_tensor=buffer.tensor is not None,
    )


def _waiting_for_word(compiled: CompiledOperation, entry: WaitingStruct) -> WaitingForNodes:
    kernel = compiled.kernels[entry.kernel]
    nodes = nodes_of(compiled)
    name = "a word in L1" if entry.subject == NOBODY else f"semaphore {entry.subject}"
    wanted = f"at least {entry.wanted}" if entry.awaits == AWAIT_AT_LEAST else str(entry.wanted)
    movers = [item.name for item in compiled.kernels if item.thread is not ThreadKind.COMPUTE]
    here = (kernel.name, nodes[entry.node])
    others = [(mover, node) for node in nodes for mover in movers if (mover, node) != here]
    return WaitingForNodes(
        kernel=kernel.name,
        node=nodes[entry.node],
        span=_span(kernel, entry.line),
        action="semaphore",
        subject=name,
        need=f"{name} to be {wanted} (it is {entry.value})",
        partners=(tuple(others),),
    )
