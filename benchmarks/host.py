"""`python -m benchmarks.host`: what the host executor needs for a step, a compilation and a start;
with `--steps` for a step alone, as JSON.

A step of the add is one tile of each operand read, added and written on one node, by three kernels;
one of the matmul has a product in the place of the sum.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import ttnn

import ttl

STEPS = 20_000
TILES = 8  # tiles of each tensor, which fit the processor's cache
RUNS = 5


@ttl.operation(grid=(1, 1), fp32_dest_acc_en=True)
def add(a, b, y):  # type: ignore[no-untyped-def]
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():  # type: ignore[no-untyped-def]
        for _ in range(STEPS):
            with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk + b_blk)

    @ttl.datamovement()
    def read():  # type: ignore[no-untyped-def]
        for _ in range(STEPS // TILES):
            for i in range(TILES):
                with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                    a_copy = ttl.copy(a[i, 0], a_blk)
                    b_copy = ttl.copy(b[i, 0], b_blk)
                    a_copy.wait()
                    b_copy.wait()

    @ttl.datamovement()
    def write():  # type: ignore[no-untyped-def]
        for _ in range(STEPS // TILES):
            for i in range(TILES):
                with y_dfb.wait() as y_blk:
                    y_copy = ttl.copy(y_blk, y[i, 0])
                    y_copy.wait()


@ttl.operation(grid=(1, 1), fp32_dest_acc_en=True)
def matmul(a, b, y):  # type: ignore[no-untyped-def]
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():  # type: ignore[no-untyped-def]
        for _ in range(STEPS):
            with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk @ b_blk)

    @ttl.datamovement()
    def read():  # type: ignore[no-untyped-def]
        for _ in range(STEPS // TILES):
            for i in range(TILES):
                with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                    a_copy = ttl.copy(a[i, 0], a_blk)
                    b_copy = ttl.copy(b[i, 0], b_blk)
                    a_copy.wait()
                    b_copy.wait()

    @ttl.datamovement()
    def write():  # type: ignore[no-untyped-def]
        for _ in range(STEPS // TILES):
            for i in range(TILES):
                with y_dfb.wait() as y_blk:
                    y_copy = ttl.copy(y_blk, y[i, 0])
                    y_copy.wait()


def tensors() -> list[Any]:
    device = ttnn.open_device(device_id=0)
    options = {"dtype": ttnn.bfloat16, "layout": ttnn.TILE_LAYOUT, "device": device}
    array = np.ones((32 * TILES, 32), np.float32)
    return [ttl.from_numpy(array, **options) for _ in range(3)]


@dataclass(frozen=True, slots=True)
class Figures:
    """CPU time of a step, of compiling the kernels, and of compiling the runtime."""

    add_microseconds: float
    matmul_microseconds: float
    kernels_milliseconds: float
    runtime_seconds: float
    second_run_compiles: bool


def compiler_seconds(function: Callable[[], object]) -> float:
    """Return the CPU time of the processes that a call waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    function()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def steps(operation: Any, arguments: list[Any]) -> list[tuple[float, float]]:
    """Return the CPU and wall seconds of a step, in several calls."""
    found = []
    for _ in range(RUNS):
        cpu, wall = time.process_time(), time.perf_counter()
        operation(*arguments)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        found.append((cpu / STEPS, wall / STEPS))
    return found


def step_microseconds(operation: Any, arguments: list[Any]) -> float:
    return 1e6 * statistics.median(cpu for cpu, _ in steps(operation, arguments))


def measure_steps() -> dict[str, Any]:
    """Return figures of a step of each operation, in the form of programs/measure.py."""
    os.environ["TTL_BACKEND"] = "host"
    arguments = tensors()
    found = {}
    for operation in (add, matmul):
        operation(*arguments)
        found[operation.__name__] = {"warm": steps(operation, arguments)}
    return found


def measure() -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"TTL_BACKEND": "host", "PYTTLANG_CACHE": folder}
        arguments = tensors()
        both = compiler_seconds(lambda: add(*arguments))  # the first time also compiles the runtime
        kernels = compiler_seconds(lambda: matmul(*arguments))
        built = set(Path(folder).rglob("*.so"))
        add_step = step_microseconds(add, arguments)
        matmul_step = step_microseconds(matmul, arguments)
        again = set(Path(folder).rglob("*.so")) != built
    return Figures(add_step, matmul_step, 1000 * kernels, both - kernels, again)


def report(figures: Figures) -> None:
    compiles = "something" if figures.second_run_compiles else "nothing"
    rows = (
        ("host: add step of one tile (goal: 3)", f"{figures.add_microseconds:8.2f} us CPU"),
        ("host: matmul step of one tile (goal: 2)", f"{figures.matmul_microseconds:8.2f} us CPU"),
        ("host: compile three kernels (goal: 150)", f"{figures.kernels_milliseconds:8.0f} ms CPU"),
        ("host: compile the runtime, once", f"{figures.runtime_seconds:8.1f} s CPU"),
        ("host: a second run compiles", f"{compiles:>8}"),
    )
    for name, figure in rows:
        print(f"{name:48} {figure}")


if __name__ == "__main__":
    if "--steps" in sys.argv:
        print(json.dumps(measure_steps()))
    else:
        report(measure())
