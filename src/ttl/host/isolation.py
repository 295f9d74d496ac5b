"""Kernels in a process of their own: whatever they do there, this one goes on.

The tensors are in memory that both share, and copied. Nothing that comes back is believed: it is
numbers whose sizes are checked, never objects.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import BinaryIO

from ttl.artifact import CompiledOperation
from ttl.diagnostics import Diagnostic, KernelFault, codes
from ttl.target import Target

from .isolated import ARRAYS, GO_ON, LENGTH_BYTES, SharedPlace, Work, views
from .memory import TensorMemory
from .program import ReportStruct, RunOptions, TensorPlan
from .sandbox import FILES

SILENT_SECONDS = 60.0  # between two signs of life, which come with the looks of execution.py
MOST_ANSWER_BYTES = 1 << 30
ALIGNMENT = 64
COMMAND = (sys.executable, "-P", "-m", "ttl.host.isolated")
NOT_READABLE = "what it reported cannot be read"
MORE_MEMORY = ("allow the kernels more memory with TTL_ISOLATE_MEMORY=8G",)
NO_ROOM = ("MemoryError", "failed to map segment", os.strerror(errno.ENOMEM))
LAST_LINES = 3  # of what the process wrote before it ended


@dataclass(frozen=True, slots=True)
class Outcome:
    report: ReportStruct
    written: Sequence[bool]  # of each tensor


def run_isolated(
    compiled: CompiledOperation,
    target: Target,
    plans: Sequence[TensorPlan],
    memories: Sequence[TensorMemory],
    options: RunOptions,
    runtime: Path,
    libraries: Sequence[tuple[Path, tuple[int, ...]]],
    warn: Callable[[Diagnostic], None] | None,
    memory_bytes: int | None = None,
) -> Outcome:
    """Runs the kernels of libraries that are built and not loaded here; `memories` then have what
    they wrote. KernelFault if their process ends without an answer. What they could reach all the
    same is reported before they run: what `warn` raises then comes instead of that.
    """
    places, size = _places(memories)
    with _shared(size) as (descriptor, shared):
        copies = views(places, shared)
        for memory, copy in zip(memories, copies, strict=True):
            copy.array[...] = memory.array.view(copy.array.dtype)
        read, answer = os.pipe()
        work = Work(
            compiled,
            target,
            plans,
            places,
            options,
            runtime,
            libraries,
            descriptor,
            answer,
            memory_bytes,
        )
        outcome = _outcome(work, read, warn)
        for memory, copy, written in zip(memories, copies, outcome.written, strict=True):
            if written:
                memory.array[...] = copy.array.view(memory.array.dtype)
    return outcome


def _places(memories: Sequence[TensorMemory]) -> tuple[list[SharedPlace], int]:
    offsets: dict[int, int] = {}
    end = 0
    for memory in memories:
        if id(memory) not in offsets:
            offsets[id(memory)] = end
            end += -(-memory.array.nbytes // ALIGNMENT) * ALIGNMENT
    places = [
        SharedPlace(
            offsets[id(each)], each.array.shape, each.array.itemsize, each.is_in_rows, each.units
        )
        for each in memories
    ]
    return places, max(end, 1)


@contextmanager
def _shared(size: int) -> Iterator[tuple[int, mmap.mmap]]:
    # Kept in memory where the system has such files. The views of it may outlive this block.
    descriptor = os.memfd_create("ttl-tensors") if hasattr(os, "memfd_create") else None
    with tempfile.TemporaryFile() if descriptor is None else os.fdopen(descriptor, "r+b") as file:
        file.truncate(size)
        yield file.fileno(), mmap.mmap(file.fileno(), size)


def _outcome(work: Work, read: int, warn: Callable[[Diagnostic], None] | None) -> Outcome:
    with os.fdopen(read, "rb", buffering=0) as answers, tempfile.TemporaryFile() as errors:
        try:
            process = _start(work, errors)
        finally:
            os.close(work.answer)
        try:
            is_open = _read_open(answers)
            if is_open and warn is not None:
                warn(not_closed(work.compiled, is_open))
            _go_on(process)
            return _read_outcome(answers, work)
        except _NoAnswer as why:
            raise KernelFault(_no_answer(work.compiled, process, errors, why)) from None
        finally:
            with suppress(ProcessLookupError):  # and all that it may have started
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _start(work: Work, errors: BinaryIO) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        pass_fds=(work.shared, work.answer),
        env=_environment(),
        start_new_session=True,
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        pickle.dump(work, process.stdin)
        process.stdin.flush()
    return process


def _environment() -> dict[str, str]:
    """Nothing of this process's is for kernels. One thread: others would not be closed in. One
    arena: each would take address space, which is limited."""
    path = os.pathsep.join(filter(None, sys.path))
    return {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}


def _go_on(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as given:
        given.write(GO_ON)


class _NoAnswer(Exception):
    """Why there is none."""


def _read_open(answers: BinaryIO) -> tuple[str, ...]:
    """List what the kernels could still reach."""
    try:
        return tuple(str(each) for each in json.loads(_next(answers)))
    except ValueError:
        raise _NoAnswer(NOT_READABLE) from None


def _read_outcome(answers: BinaryIO, work: Work) -> Outcome:
    try:
        while not (data := _next(answers)):
            pass  # a sign of life
        return _unpacked(data, len(work.plans))
    except ValueError:
        raise _NoAnswer(NOT_READABLE) from None


def _next(answers: BinaryIO) -> bytes:
    size = int.from_bytes(_exactly(answers, LENGTH_BYTES), "little")
    if size > MOST_ANSWER_BYTES:
        raise ValueError(size)
    return _exactly(answers, size)


def _exactly(answers: BinaryIO, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        if not wait([answers.fileno()], SILENT_SECONDS):
            raise _NoAnswer(_silence())
        part = answers.read(size - len(data))
        if not part:
            raise _NoAnswer("")
        data += part
    return bytes(data)


def _unpacked(data: bytes, tensors: int) -> Outcome:
    """ValueError if this is no report."""
    report = ReportStruct.from_buffer_copy(data)
    position = ctypes.sizeof(ReportStruct)
    for array, count, kind in ARRAYS:
        size = getattr(report, count) * ctypes.sizeof(kind)
        if position + size > len(data):
            raise ValueError(array)
        entries = (kind * getattr(report, count)).from_buffer_copy(data, position)
        setattr(report, array, ctypes.cast(entries, ctypes.POINTER(kind)))
        position += size
    if len(data) != position + tensors:
        raise ValueError("tensors")
    return Outcome(report, [bool(each) for each in data[position:]])


def _no_answer(
    compiled: CompiledOperation,
    process: subprocess.Popen[bytes],
    errors: BinaryIO,
    why: _NoAnswer,
) -> Diagnostic:
    text = str(why) or _end_of(process)
    errors.seek(0)
    said = errors.read().decode(errors="replace").splitlines()[-LAST_LINES:]
    notes = (*said, "the tensors are as they were before")
    helps = MORE_MEMORY if any(sign in line for line in said for sign in NO_ROOM) else ()
    return broken(compiled, text, notes, helps)


def _silence() -> str:
    return f"it gave no sign of life for {SILENT_SECONDS:g} s"


def _end_of(process: subprocess.Popen[bytes]) -> str:
    """How it ended, which it need not have: kernels may close all descriptors and stay."""
    try:
        status = process.wait(SILENT_SECONDS)
    except subprocess.TimeoutExpired:
        return _silence()
    if status >= 0:
        return f"it ended with status {status}"
    known = {each.value: each.name for each in signal.Signals}
    return known.get(-status, f"signal {-status}")


def broken(
    compiled: CompiledOperation, why: str, notes: tuple[str, ...] = (), helps: tuple[str, ...] = ()
) -> Diagnostic:
    return Diagnostic(
        codes.EXECUTOR_FAULT,
        f"the kernels of `{compiled.name}` broke the process in which they ran: {why}",
        notes=notes,
        helps=helps,
        facts={"operation": compiled.name},
    )


def not_closed(compiled: CompiledOperation, is_open: Sequence[str]) -> Diagnostic:
    return Diagnostic(
        codes.ISOLATION_PARTIAL,
        f"the kernels of `{compiled.name}` run in a process of their own, and could reach "
        f"{' and '.join(is_open)}",
        helps=_how_to_close(is_open),
        facts={"open": list(is_open)},
    )


def _how_to_close(is_open: Sequence[str]) -> tuple[str, ...]:
    from _pyttlang_installation import install_extra

    if FILES in is_open:
        return (f"on Linux: {install_extra('isolate')}",)
    return ("run it on Linux 5.13 or later, on x86-64 or aarch64, or in a container",)


def too_little_memory(compiled: CompiledOperation) -> Diagnostic:
    return Diagnostic(
        codes.GRID_TOO_LARGE,
        f"the memory that isolated kernels may take is too little for the L1 of the nodes of "
        f"`{compiled.name}`",
        helps=(*MORE_MEMORY, "run the operation on a smaller grid"),
        facts={"operation": compiled.name},
    )
