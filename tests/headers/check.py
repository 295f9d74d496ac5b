"""Check generated kernels against the device headers of ttnn.

`check_kernel` takes a text, `check_operation` a CompiledOperation, `check_folder` a compiled
operation on disk. All give a list of messages, empty when the kernel is good.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ttl.artifact import PAGE_BYTES, CompiledOperation, Kernel, Operand

from .kernel_text import linker_faults
from .translation_unit import PROCESSORS, TARGETS, TargetName, Thread, Unit
from .verdict import cached_verdict, known_verdict

__all__ = ["TARGETS", "TargetName", "Thread", "check_folder", "check_kernel", "check_operation"]

_PROCESSES = 2

_ELEMENT_BYTES = {
    "bfloat16": 2,
    "float16": 2,
    "float32": 4,
    "int32": 4,
    "uint32": 4,
    "uint16": 2,
    "uint8": 1,
}
_TILE_BYTES = {"bfloat8_b": 1088, "bfloat4_b": 576}
_ACCESSOR_IN_DRAM = 2  # first word of an interleaved tensor's accessor arguments


def check_kernel(
    source: str,
    thread: Thread,
    compile_time_args: Sequence[int] = (),
    formats: Mapping[int, str] | None = None,
    *,
    fp32_dest_acc_en: bool = False,
    dst_full_sync_en: bool = False,
    math_fidelity: str = "HiFi4",
    math_approx_mode: bool = False,
    target: TargetName = "wormhole_b0",
) -> list[str]:
    """What is wrong with one kernel on one chip; a compute kernel is read for its three processors.

    `formats` gives the data format (a key of PAGE_BYTES) of each buffer index in use.
    """
    units = [
        Unit(
            source=source,
            processor=processor,
            target=target,
            compile_time_args=tuple(compile_time_args),
            formats=tuple(sorted((formats or {}).items())),
            fp32_dest_acc_en=fp32_dest_acc_en,
            dst_full_sync_en=dst_full_sync_en,
            math_fidelity=math_fidelity,
            math_approx_mode=math_approx_mode,
        )
        for processor in PROCESSORS[thread]
    ]
    found = [message for messages in _verdicts(units) for message in messages]
    return _unique([*linker_faults(source), *found])


def check_operation(compiled: CompiledOperation, targets: Iterable[str] | None = None) -> list[str]:
    """What is wrong with an operation's kernels, on its own chip unless `targets` are given."""
    owned = _units(compiled, targets)
    verdicts = zip(owned, _verdicts([unit for _, unit in owned]), strict=True)
    return [*_linker_faults(compiled), *_named(verdicts)]


def known_faults(
    compiled: CompiledOperation, targets: Iterable[str] | None = None
) -> tuple[list[str], list[tuple[str, Unit]]]:
    """What is known to be wrong, and what was never checked (with the names for its messages)."""
    known = [(owned, known_verdict(owned[1])) for owned in _units(compiled, targets)]
    unknown = [owned for owned, messages in known if messages is None]
    return [*_linker_faults(compiled), *_named((one, found or []) for one, found in known)], unknown


def _units(compiled: CompiledOperation, targets: Iterable[str] | None) -> list[tuple[str, Unit]]:
    chosen = tuple(targets) if targets is not None else (compiled.target,)
    return [
        (f"{kernel.name} ({target})", unit)
        for kernel in compiled.kernels
        for target in chosen
        for unit in kernel_units(compiled, kernel, target)
    ]


def _linker_faults(compiled: CompiledOperation) -> list[str]:
    return [
        f"{kernel.name}: {fault}"
        for kernel in compiled.kernels
        for fault in linker_faults(kernel.cpp_source)
    ]


def _named(verdicts: Iterable[tuple[tuple[str, Unit], list[str]]]) -> list[str]:
    return _unique(f"{owner}: {message}" for (owner, _), found in verdicts for message in found)


def check_folder(path: Path | str, targets: Iterable[str] | None = None) -> list[str]:
    """What is wrong with the kernels of an operation that was written to a folder."""
    from ttl.artifact import read_folder  # at the call: the check of texts works without it

    return check_operation(read_folder(Path(path)), targets)


def kernel_units(compiled: CompiledOperation, kernel: Kernel, target: str) -> list[Unit]:
    config = kernel.config
    return [
        Unit(
            source=kernel.cpp_source,
            processor=processor,
            target=target,
            compile_time_args=compile_time_args(compiled, kernel),
            named_args=kernel.own.named if kernel.own else (),
            defines=kernel.own.defines if kernel.own else (),
            formats=tuple(sorted((item.index, item.data_format) for item in compiled.buffers)),
            fp32_dest_acc_en=bool(config and config.fp32_dest_acc_en),
            dst_full_sync_en=bool(config and config.dst_full_sync_en),
            math_fidelity=config.math_fidelity if config else "HiFi4",
            math_approx_mode=bool(config and config.math_approx_mode),
        )
        for processor in PROCESSORS[kernel.thread.value]
    ]


def compile_time_args(compiled: CompiledOperation, kernel: Kernel) -> tuple[int, ...]:
    """The arguments a launcher would give, by the convention of ttl.artifact."""
    if kernel.own is not None:
        return kernel.own.compile_time
    arguments = sorted(buffer.index for buffer in compiled.buffers)
    if kernel.thread.value != "compute":
        for operand in compiled.operands:
            arguments += [_ACCESSOR_IN_DRAM, _operand_page_bytes(operand)]
    return tuple(arguments)


def _operand_page_bytes(operand: Operand) -> int:
    if operand.dtype in PAGE_BYTES:
        return PAGE_BYTES[operand.dtype]
    dtype = operand.dtype.rpartition(".")[2].lower()
    if dtype in _TILE_BYTES:
        return _TILE_BYTES[dtype]
    row_major = "row" in operand.layout.lower()
    return _ELEMENT_BYTES[dtype] * (operand.shape[-1] if row_major else 32 * 32)


def _verdicts(units: Sequence[Unit]) -> list[list[str]]:
    """The verdict on each unit, in order; independent compiler runs go side by side."""
    with ThreadPoolExecutor(_PROCESSES) as pool:
        return list(pool.map(cached_verdict, units))


def _unique(messages: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(messages))
