"""Check generated kernels against the device headers of ttnn, with the machine's own compiler.

A kernel is put where the vendor's build would put it, into the same wrapper sources with the same
defines, and read in syntax-only mode. Vendor folders are system folders, so that every warning
the vendor's build turns into an error counts in the kernel and none counts in the headers. What the
vendor's compiler package adds is replaced by `standins/`. Pointers have 64 bits here and 32 on the
chip: casts between the two are let through.

`check_kernel` takes a text, `check_operation` a CompiledOperation, `check_folder` a compiled
operation on disk. All give a list of messages, empty when the kernel is good.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from ttl.artifact import PAGE_BYTES, CompiledOperation, Kernel, Operand

from .kernel_text import linker_faults
from .metal_headers import cache_folder, find_headers
from .translation_unit import (
    PROCESSORS,
    TARGETS,
    TargetName,
    Thread,
    Unit,
    preprocessor_options,
    write_generated,
)

__all__ = ["TARGETS", "TargetName", "Thread", "check_folder", "check_kernel", "check_operation"]

_HERE = Path(__file__).parent
_PROCESSES = 2
_CHECKER_MODULES = ("check", "kernel_text", "translation_unit")

_FLAGS = (
    "-std=c++17", "-ffast-math", "-fno-exceptions", "-fno-rtti", "-Wall", "-Werror",
    "-Wno-error=deprecated-declarations", "-Wno-error=parentheses", "-Wno-unused-variable",
    "-Wno-unused-function", "-Wno-unused-but-set-variable", "-Wno-attributes",
    "-Wno-int-to-pointer-cast",
)  # fmt: skip
_GCC_FLAGS = (
    "-fpermissive", "-Wno-error=multistatement-macros", "-fdiagnostics-color=never",
    "-fno-diagnostics-show-caret",
)  # fmt: skip
# clang has -fms-extensions for the casts between 64 and 32 bits, and another word for constinit.
_CLANG_FLAGS = (
    "-Qunused-arguments", "-fms-extensions", "-Wno-microsoft", "-Wno-pointer-to-int-cast",
    "-Wno-unknown-attributes", "-Wsign-compare", "-fno-color-diagnostics",
    "-fno-caret-diagnostics",
    "-D__constinit=__attribute__((require_constant_initialization))",
)  # fmt: skip

_ELEMENT_BYTES = {
    "bfloat16": 2, "float16": 2, "float32": 4, "int32": 4, "uint32": 4, "uint16": 2, "uint8": 1,
}  # fmt: skip
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
    return _unique([*linker_faults(source), *_check_units(units)])


def check_operation(
    compiled: CompiledOperation, targets: Iterable[str] | None = None
) -> list[str]:
    """What is wrong with an operation's kernels, on its own chip unless `targets` are given."""
    chosen = tuple(targets) if targets is not None else (compiled.target,)
    units: list[Unit] = []
    owners: list[str] = []
    messages: list[str] = []
    for kernel in compiled.kernels:
        messages += [f"{kernel.name}: {fault}" for fault in linker_faults(kernel.cpp_source)]
        for target in chosen:
            mine = _kernel_units(compiled, kernel, target)
            units += mine
            owners += [f"{kernel.name} ({target})"] * len(mine)
    for owner, found in zip(owners, _verdicts(units), strict=True):
        messages += [f"{owner}: {message}" for message in found]
    return _unique(messages)


def check_folder(path: Path | str, targets: Iterable[str] | None = None) -> list[str]:
    """What is wrong with the kernels of an operation that was written to a folder."""
    from ttl.artifact import read_folder  # at the call: the check of texts works without it

    return check_operation(read_folder(Path(path)), targets)


def _kernel_units(compiled: CompiledOperation, kernel: Kernel, target: str) -> list[Unit]:
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


def _check_units(units: Sequence[Unit]) -> list[str]:
    return [message for found in _verdicts(units) for message in found]


def _verdicts(units: Sequence[Unit]) -> list[list[str]]:
    """The verdict on each unit, in order; independent compiler runs go side by side."""
    with ThreadPoolExecutor(_PROCESSES) as pool:
        return list(pool.map(_cached_verdict, units))


def _cached_verdict(unit: Unit) -> list[str]:
    key = hashlib.sha256(f"{_checker_key()}\n{unit!r}".encode()).hexdigest()
    path = cache_folder() / "verdicts" / key[:2] / f"{key}.json"
    try:
        messages: list[str] = json.loads(path.read_text())
        return messages
    except (FileNotFoundError, ValueError):
        messages = _verdict(unit)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as handle:
        json.dump(messages, handle)
    os.replace(handle.name, path)
    return messages


def _verdict(unit: Unit) -> list[str]:
    """Run the preprocessor, filter its output, run the checker."""
    with tempfile.TemporaryDirectory(prefix="pyttl-header-check-") as name:
        folder = Path(name)
        write_generated(unit, folder)
        options = preprocessor_options(unit, folder)
        expanded = _run([*_compiler(), *options, "-E", str(folder / "unit.cpp")])
        if expanded.returncode:
            return _messages(expanded.stderr, folder)
        checked = _run(
            [*_compiler(), "-fsyntax-only", "-x", "c++-cpp-output", "-"],
            _filtered(expanded.stdout),
        )
        if checked.returncode == 0:
            return []
        return _messages(checked.stderr, folder)


def _run(command: Sequence[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, input=text, capture_output=True, text=True, errors="replace", check=False,
        env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip


# Vendor text that this compiler would trip over, though it is right for the vendor's own.
_UNROLL_BY_NAME = re.compile(r"^[ \t]*#pragma GCC unroll (?:[A-Za-z_]\w*)[^\n]*$", re.MULTILINE)
# Registers of the chip in the clobber list of an assembly statement; clang looks at them.
_CLOBBER = re.compile(r'"[ast]\d+"')
# The compiler takes a file included from a system header for one itself and is silent about it.
_KERNEL_MARKER = re.compile(r'^(# \d+ "kernel\.cpp")((?: [1-4])*)$', re.MULTILINE)


def _filtered(expanded: str) -> str:
    text = _UNROLL_BY_NAME.sub("", expanded)
    text = re.sub(r"\bstatic_assert\s*\(\s*false\b", "static_assert(true", text)
    text = _CLOBBER.sub('"memory"', text)
    return _KERNEL_MARKER.sub(
        lambda found: found.group(1) + re.sub(r" [34]", "", found.group(2)), text
    )


def _messages(stderr: str, folder: Path) -> list[str]:
    """The errors of a run. One that failed without naming a line says nothing about the kernel."""
    text = stderr.replace(f"{folder}/", "").replace(f"{find_headers()}/", "")
    errors = [line for line in text.splitlines() if re.search(r":\d+: (?:fatal )?error: ", line)]
    if not errors:
        raise RuntimeError(f"{_compiler()[0]} failed:\n{text}")
    return _unique(errors)


def _unique(messages: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(messages))


@cache
def _compiler() -> tuple[str, ...]:
    """$CXX, else g++, c++ or clang++, with its flags."""
    for name in (os.environ.get("CXX"), "g++", "c++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            clang = "clang" in _run([found, "--version"]).stdout
            return (found, *_FLAGS, *(_CLANG_FLAGS if clang else _GCC_FLAGS))
    raise RuntimeError("kernels are checked with a C++ compiler, and there is none; install g++")


@cache
def _checker_key() -> str:
    """Changes when the checker, its stand-ins, the headers or the compiler change."""
    digest = hashlib.sha256(str(find_headers()).encode())
    digest.update(_run([_compiler()[0], "--version"]).stdout.encode())
    files = [path for path in sorted(_HERE.rglob("*")) if path.suffix == ".h"]
    for path in [*files, *(_HERE / f"{name}.py" for name in _CHECKER_MODULES)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()
