"""Many launches, large tensors, many nodes, long kernels, many processes: `make soak`.

    python -m soak [--launches 10000] [--megabytes 64 512 4096] [--nodes 10000]
                   [--statements 1000] [--processes 16] [--only launches tensors ...]

Each part runs in a process of its own, on simulator and executor. Results are compared, and memory
and descriptors have to stay flat. Exits 1 if something does not.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from soak.programs import doubling, missing_push

BACKENDS = ("sim", "host")
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "elementwise.py"
WARM = 5  # one in so many launches comes before memory is looked at
GROWTH_BYTES = 8 << 20  # what allocators may keep
CHIP = (8, 8)
BESIDE_BYTES = 128 << 20  # what a run may take beside its tensors, and a part of their size:
BESIDE_PART = 32  # which tiles were written is noted


class NotFlat(AssertionError):
    pass


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def tensors(rows: int, columns: int, mesh: Any = None) -> tuple[Any, Any]:
    """Ones of bfloat16, and zeros, made where they are: no copy of numpy's is left over."""
    from ttl import ttnn

    device = mesh or ttnn.open_device(device_id=0)
    given = {"dtype": ttnn.bfloat16, "layout": ttnn.TILE_LAYOUT, "device": device}
    return ttnn.full((rows, columns), 1.0, **given), ttnn.zeros((rows, columns), **given)


def is_doubled(tensor: Any) -> bool:
    """Looked at in pages: two bytes of every element."""
    return bool((tensor.storage.words.view(np.uint16) == 0x4000).all())


# The parts ----------------------------------------------------------------------------------------


def launches(options: argparse.Namespace) -> Iterator[str]:
    from ttl.diagnostics import TTLError

    right, wrong = doubling(), missing_push()
    start = (0, 0)
    for number in range(options.launches):
        a, y = tensors(32, 32)
        if number % 10 == 9:
            with suppress(TTLError):
                wrong(a, y)
                raise AssertionError("a wrong operation was run")
        else:
            right(a, y)
            assert is_doubled(y)
        if number == options.launches // WARM:
            start = resident_bytes(), descriptors()
    grown, more = resident_bytes() - start[0], descriptors() - start[1]
    yield f"{options.launches} launches: memory grew by {grown >> 10} kB, descriptors by {more}"
    if grown > GROWTH_BYTES or more:
        raise NotFlat


COLUMNS, BLOCK = 8192, (4, 8)
LEAST_MEGABYTES = 4  # of bfloat16, of which each node of the chip gets one block


def large_tensors(options: argparse.Namespace) -> Iterator[str]:
    double = doubling(CHIP, BLOCK)
    for size in options.megabytes:
        rows = size * 2**20 // 2 // COLUMNS
        before = descriptors()
        a, y = tensors(rows, COLUMNS)
        start, begun = resident_bytes(), time.perf_counter()
        double(a, y)
        seconds, taken = time.perf_counter() - begun, peak_bytes() - start
        assert is_doubled(y)
        del a, y
        yield f"tensors of {size} MB: {seconds:.1f} s, {taken >> 20} MB beside them"
        most = BESIDE_BYTES + size * 2**20 // BESIDE_PART
        if taken > most or descriptors() != before:
            raise NotFlat


def many_nodes(options: argparse.Namespace) -> Iterator[str]:
    """Simulated as one grid with a mesh in it, compiled as one call on a mesh of chips."""
    from ttl import ttnn

    devices = -(-options.nodes // (CHIP[0] * CHIP[1]))
    tiles = devices * CHIP[0] * CHIP[1]
    begun = time.perf_counter()
    if options.backend == "sim":
        a, y = tensors(32, tiles * 32)
        doubling((*CHIP, devices))(a, y)
        assert is_doubled(y)
    else:
        mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, devices))
        a, y = tensors(32, tiles // devices * 32, mesh)
        doubling(CHIP)(a, y)
        assert all(map(is_doubled, ttnn.get_device_tensors(y)))
    yield f"{tiles} nodes: {time.perf_counter() - begun:.1f} s, peak {peak_bytes() >> 20} MB"


def long_kernels(options: argparse.Namespace) -> Iterator[str]:
    begun = time.perf_counter()
    a, y = tensors(64, 64)
    doubling(statements=options.statements)(a, y)
    assert is_doubled(y)
    yield f"a kernel of {options.statements} statements: {time.perf_counter() - begun:.1f} s"


def processes(options: argparse.Namespace) -> Iterator[str]:
    """On one cache that is empty: one runtime is built, nothing half-built is left."""
    with tempfile.TemporaryDirectory(prefix="ttl-soak-") as folder:
        environment = {**os.environ, "PYTTLANG_CACHE": folder}
        command = [sys.executable, "-P", "-m", "ttl", "run", "--host", str(EXAMPLE)]
        begun = time.perf_counter()
        started = [
            subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
            for _ in range(options.processes)
        ]
        assert not any([process.wait() for process in started])
        names = sorted(each.name for each in Path(folder).iterdir())
        assert sum(name.startswith("runtime-") and name.endswith(".so") for name in names) == 1
        assert not any(name.startswith("building-") or name.endswith(".lock") for name in names)
        seconds = time.perf_counter() - begun
        count = options.processes
        yield f"{count} processes on one empty cache: {seconds:.1f} s, one runtime built"


PARTS = {
    "launches": launches,
    "tensors": large_tensors,
    "nodes": many_nodes,
    "statements": long_kernels,
    "processes": processes,
}
ON_HOST_ONLY = ("processes",)


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    if options.part:
        for line in PARTS[options.part](options):
            print(f"{options.backend:4}  {line}", flush=True)
        return 0
    failed = [
        f"{part} on {backend}"
        for part in options.only
        for backend in BACKENDS
        if (backend == "host" or part not in ON_HOST_ONLY) and _in_process(part, backend, arguments)
    ]
    print(f"failed: {', '.join(failed)}" if failed else "all parts passed")
    return int(bool(failed))


def _in_process(part: str, backend: str, arguments: Sequence[str]) -> int:
    devices = {"TTL_NUM_DEVICES": "4096"} if part == "nodes" else {}
    own = ["--part", part, "--backend", backend]
    command = [sys.executable, "-m", "soak", *arguments, *own]
    return subprocess.call(command, env={**os.environ, "TTL_BACKEND": backend, **devices})


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--launches", type=int, default=10_000)
    parser.add_argument("--megabytes", type=_megabytes, nargs="+", default=[64, 512, 4096])
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--statements", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--backend", choices=BACKENDS, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _megabytes(text: str) -> int:
    size = int(text)
    if size <= 0 or size % LEAST_MEGABYTES:
        raise argparse.ArgumentTypeError(f"{text} is no multiple of {LEAST_MEGABYTES}")
    return size


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
