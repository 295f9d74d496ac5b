"""Pass a compiled operation to ttnn.

This module never imports ttnn: it uses the module that the tensors come from.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ttl.artifact import CompiledOperation
from ttl.diagnostics import Diagnostic, TTLError, codes, usage_error
from ttl.trace import Recorder

from .descriptors import DeviceTensor, device_count, is_mesh
from .programs import DeviceProgram, Programs

if TYPE_CHECKING:
    from .watch import Watch


def launch(
    compiled: CompiledOperation,
    tensors: Sequence[Any],
    *,
    programs: Programs | None = None,
    watch: Watch | None = None,
    recorder: Recorder | None = None,
    report: Callable[[Diagnostic], None] | None = None,
) -> None:
    """Run the kernels on the device of these real ttnn tensors, one for each operand.

    `programs` keeps descriptors. The call returns when the kernels are queued, like ttnn's
    operations; with a `watch`, when they have ended, their prints are shown and their zones are in
    `recorder`. `report` gets warnings. Raises UsageError with ttnn's reason if it refuses the
    program, KernelFault if the kernels do not end within the watch's limit.
    """
    _check_mesh(compiled, tensors)
    try:
        found = (Programs() if programs is None else programs).of(
            module_of(tensors[0]), compiled, tensors
        )
        if watch is None:
            _run(found, tensors)
        else:
            watch.run_limited(lambda: _run_to_the_end(found, tensors))
            watch.show_prints(compiled, tensors[0].device())
        if recorder is not None:
            _record(found, tensors[0].device(), watch, recorder, report)
    except RuntimeError as error:
        raise _failure(compiled, tensors[0].device(), watch, error) from error


def launch_program(program: DeviceProgram, tensors: Sequence[DeviceTensor]) -> None:
    """Run a program from an earlier launch, for tensors of the same kinds."""
    _check_mesh(program.compiled, tensors)
    try:
        _run(program, tensors)
    except RuntimeError as error:
        raise _failure(program.compiled, tensors[0].device(), None, error) from error


def _run(program: DeviceProgram, tensors: Sequence[DeviceTensor]) -> None:
    padded = [tensors[position] for position in program.padded]
    _clear_padding(program.ttnn, padded)
    program.run(tensors)
    _clear_padding(program.ttnn, padded)


def _run_to_the_end(program: DeviceProgram, tensors: Sequence[DeviceTensor]) -> None:
    _run(program, tensors)
    program.ttnn.synchronize_device(tensors[0].device())


def _record(
    program: DeviceProgram,
    device: object,
    watch: Watch | None,
    recorder: Recorder,
    report: Callable[[Diagnostic], None] | None,
) -> None:
    from .profile import next_device

    compiled = program.compiled
    profiles = watch is not None and watch.profiles
    if watch is not None and watch.record(program.ttnn, compiled, device, recorder):
        return
    for _ in range(1, device_count(device)):
        next_device(compiled, recorder)
    if report is None:
        return
    why = "its log does not have the nodes of the run" if profiles else "it is off"
    report(
        Diagnostic(
            codes.NO_DEVICE_EVENTS,
            f"the trace has no events of the kernels of `{compiled.name}`: they are read from the "
            f"device profiler, and {why}",
            helps=("use a tt-metal built with the profiler (Tracy): the wheel of PyPI has none",),
        )
    )


def _failure(
    compiled: CompiledOperation, device: object, watch: Watch | None, error: RuntimeError
) -> TTLError:
    from .hang import is_timeout, report_hang  # most runs never need it

    if is_timeout(error):
        if watch is not None:
            watch.show_prints(compiled, device)
        return report_hang(compiled, watch, getattr(device, "get_device_ids", list)())
    return usage_error(
        codes.DEVICE_REFUSED,
        f"ttnn does not run `{compiled.name}`: {_first_words(str(error))}",
        "set TTL_DEBUG=1 to see the whole message of ttnn",
    )


def module_of(tensor: object) -> ModuleType:
    return sys.modules[type(tensor).__module__.partition(".")[0]]


def parts_on_devices(tensor: Any) -> list[DeviceTensor]:
    """Return a tensor for each device."""
    if not is_mesh(tensor.device()):
        return [tensor]
    return list(module_of(tensor).get_device_tensors(tensor))


def _check_mesh(compiled: CompiledOperation, tensors: Sequence[DeviceTensor]) -> None:
    """Check that every device of a mesh that runs the program has a part of every tensor."""
    if not is_mesh(tensors[0].device()):
        return
    expected = list(tensors[0].device_coords())
    for operand, tensor in zip(compiled.operands, tensors, strict=True):
        if list(tensor.device_coords()) != expected:
            raise usage_error(
                codes.UNUSABLE_TENSOR,
                f"argument `{operand.name}` of {compiled.name} lies on other devices of the mesh "
                f"than `{compiled.operands[0].name}`",
                "spread all tensors of the call over the same devices; "
                "mesh_mapper=ttnn.ReplicateTensorToMesh(mesh) gives each device a copy",
            )


def _clear_padding(ttnn: ModuleType, tensors: Sequence[DeviceTensor]) -> None:
    """Zero the tensors' padding, which must be so before kernels read and after they write."""
    for tensor in {id(tensor): tensor for tensor in tensors}.values():
        cleared = ttnn.fill_implicit_tile_padding(tensor, 0.0)
        if cleared.buffer_address() != tensor.buffer_address():  # a new tensor, for block floats
            ttnn.copy(cleared, tensor)


def _first_words(text: str) -> str:
    """Return tt-metal's reason, without its source location and backtrace."""
    reason, _, _ = text.partition("backtrace:")
    _, found, info = reason.partition("info:")
    lines = (info if found else reason).strip().splitlines()
    return lines[0].strip() if lines else "no reason given"
