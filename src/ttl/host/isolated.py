"""`python -m ttl.host.isolated`: the process in which kernels of others run (isolation.py).

It gets its work on standard input, from the process that started it, and answers on another
descriptor: first what could not be closed, then, if it is to go on, signs of life, at last the
report. Whoever reads that must not believe it: the kernels may have written it.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import pickle
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ttl.artifact import CompiledOperation
from ttl.target import Target

from .execution import declare, execute
from .memory import TensorMemory, Units
from .program import (
    CallSiteStruct,
    ClashStruct,
    EventStruct,
    HostProgram,
    LeftoverStruct,
    ReportStruct,
    RunOptions,
    TensorPlan,
    WaitingStruct,
    make_program,
    program_parts,
)
from .sandbox import enter

LENGTH_BYTES = 8  # before each part of the answer
GO_ON = b"\n"
# The arrays of a report that are sent.
ARRAYS = (
    ("events", "event_count", EventStruct),
    ("waiting", "waiting_count", WaitingStruct),
    ("leftovers", "leftover_count", LeftoverStruct),
    ("printed", "printed_bytes", ctypes.c_uint8),
    ("call_sites", "call_site_count", CallSiteStruct),
    ("clashes", "clash_count", ClashStruct),
)


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """Where the elements of a tensor are in the shared memory."""

    offset: int
    shape: tuple[int, ...]
    element_bytes: int
    is_in_rows: bool
    units: Units


@dataclass(frozen=True, slots=True)
class Work:
    compiled: CompiledOperation
    target: Target
    plans: Sequence[TensorPlan]
    places: Sequence[SharedPlace]
    options: RunOptions
    runtime: Path
    libraries: Sequence[tuple[Path, tuple[int, ...]]]  # and the kernels in each
    shared: int  # the descriptors of the tensors and of the answer
    answer: int
    memory_bytes: int | None  # that the kernels may take beside the tensors


def views(places: Sequence[SharedPlace], shared: mmap.mmap) -> list[TensorMemory]:
    """A tensor that is given twice is one memory."""
    known: dict[int, TensorMemory] = {}
    for place in places:
        if place.offset not in known:
            count = int(np.prod(place.shape))
            elements = np.frombuffer(shared, f"u{place.element_bytes}", count, place.offset)
            array = elements.reshape(place.shape)
            known[place.offset] = TensorMemory(array, place.is_in_rows, place.units)
    return [known[place.offset] for place in places]


def packed(report: ReportStruct, program: HostProgram) -> bytes:
    arrays = [
        ctypes.string_at(getattr(report, array), getattr(report, count) * ctypes.sizeof(kind))
        for array, count, kind in ARRAYS
        if getattr(report, count)
    ]
    written = bytes(bool(tensor.written) for tensor in program.tensors)
    return b"".join([bytes(report), *arrays, written])


def _send(descriptor: int, data: bytes) -> None:
    with os.fdopen(os.dup(descriptor), "wb") as answer:
        answer.write(len(data).to_bytes(LENGTH_BYTES, "little") + data)


def main() -> None:
    try:
        _work()
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        status = 1
    os._exit(status)  # nothing that kernels may have left behind runs


def _work() -> None:
    work = pickle.load(sys.stdin.buffer)
    runtime = ctypes.CDLL(str(work.runtime))
    declare(runtime)
    memories = views(work.places, mmap.mmap(work.shared, 0))
    # Loading a library runs code of it, so all is closed before.
    is_open = enter([work.runtime, *(path for path, _ in work.libraries)], work.memory_bytes)
    _send(work.answer, json.dumps(is_open).encode())
    if sys.stdin.buffer.read(len(GO_ON)) != GO_ON:
        return
    libraries = [(ctypes.CDLL(str(path)), kernels) for path, kernels in work.libraries]
    entries = [
        ctypes.cast(library[f"ttl_kernel_{position}"], ctypes.c_void_p).value or 0
        for library, kernels in libraries
        for position in kernels
    ]
    parts = program_parts(work.compiled, work.target, work.plans, entries)
    program, report = make_program(parts, memories, work.options), ReportStruct()
    execute(runtime, program, report, lambda: _send(work.answer, b""))
    _send(work.answer, packed(report, program))


if __name__ == "__main__":
    main()
