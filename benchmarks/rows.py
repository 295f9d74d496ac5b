"""Rows of `make bench`: measurements and their limits."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import compile_speed
from benchmarks.bench import Bench
from benchmarks.comparison import PROGRAM_ROWS, PROGRAMS, Compared
from benchmarks.processes import TTL, Cost
from benchmarks.timing import Measured, NotMeasured, Timing
from ttl.studio.sweep import cores

HOST = {"TTL_BACKEND": "host"}
EXAMPLE = "examples/elementwise.py"
BLAS, ONE_THREAD, PEER, COMPILER = "numpy's BLAS, 1 thread", "1 thread", "tt-lang-sim", "tt-lang"
THREADS = (2, 4, 8, 16)
# Programs, with their wanted speedup on two cores.
SCALED = {
    "add 4096x4096, 4x4": (("add.py", "4096", "4"), 1.8),
    "matmul 2048^3, 4x4": (("matmul.py", "2048", "4"), 1.8),
    "softmax 4096x1024": (("softmax.py", "4096", "1024"), 1.8),
    "flash attention 4x4": (("flash_attention.py", "8", "2048", "128", "4"), 1.8),
    "multicast matmul 2048^3, 4x4": (("multicast_matmul.py", "2048", "4"), 1.5),
}
FIRST_CALLS = ("softmax", "add-4x4", "matmul-8x8")
KERNELS = ("add", "matmul", "bias-relu")  # compiled by both compilers in separate processes


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    title: str
    unit: str
    wanted: float | None
    at_least: bool
    measure: Callable[[Bench], Measured]
    other_name: str = ""
    is_long: bool = False  # left out by --quick


def rows() -> Iterator[Row]:
    yield from _executor()
    yield from _simulator()
    yield from _start()


# The executor -------------------------------------------------------------------------------------


def _executor() -> Iterator[Row]:
    for block, share in ((8, 75), (4, 50)):
        title = f"executor, 1 core: matmul 2048^3, {block}x{block} blocks, of BLAS"
        of_blas = partial(_share_of_blas, ("matmul.py", "2048", str(block)))
        yield Row(f"blas-{block}x{block}", title, " %", share, True, of_blas, BLAS)
    for title, (command, wanted) in SCALED.items():
        for count in _thread_counts():
            name = f"threads-{count}-{command[0].removesuffix('.py')}"
            scaled = partial(_scaled, command, count)
            goal = wanted if count == 2 else None
            shown = f"executor, {count} threads: {title}"
            yield Row(name, shown, "x", goal, True, scaled, ONE_THREAD)
    if missing := [count for count in THREADS if count not in _thread_counts()]:
        shown = f"executor, {', '.join(map(str, missing))} threads"
        yield Row("threads-more", shown, "x", None, True, _too_few_cores)
    for name, limit in (("add", 0.6), ("matmul", 1)):
        title = f"executor: {name} step of one tile"
        yield Row(f"step-{name}", title, " us", limit, False, partial(_step, name))
    yield Row(
        "launch-compiled",
        "launch of a compiled operation, warm (64 nodes)",
        " ms",
        0.1,
        False,
        _launch,
    )
    for clock, seconds in (("CPU", 30), ("wall", 18)):
        title = f"executor: matmul 8192^3, 4x4 blocks, {clock}"
        yield Row(
            f"large-{clock.lower()}",
            title,
            " s",
            seconds,
            False,
            partial(_large, clock),
            is_long=True,
        )


def _thread_counts() -> list[int]:
    return [count for count in THREADS if count <= cores()]


def _share_of_blas(command: tuple[str, ...], bench: Bench) -> Measured:
    ours = bench.program(command, {**HOST, "TTL_THREADS": "1"})
    blas = bench.program(("blas.py", command[1]))
    return Measured(100 * blas.cpu / ours.cpu, ours, blas)


def _scaled(command: tuple[str, ...], count: int, bench: Bench) -> Measured:
    one = bench.program(command, {**HOST, "TTL_THREADS": "1"})
    several = bench.program(command, {**HOST, "TTL_THREADS": str(count)})
    return Measured(one.wall / several.wall, several, one)


def _too_few_cores(bench: Bench) -> Measured:
    raise NotMeasured(f"this machine has {cores()} cores")


def _step(name: str, bench: Bench) -> Measured:
    timing = bench.steps()[name]
    return Measured(1e6 * timing.cpu, timing)


def _launch(bench: Bench) -> Measured:
    timing = bench.program(("launch.py",), HOST)
    return Measured(1000 * timing.cpu, timing)


def _large(clock: str, bench: Bench) -> Measured:
    """Measure one call, the first, on all cores."""
    once = {**HOST, "BENCH_WARM": "0"}
    timing = bench.program(("matmul.py", "8192", "4"), once)
    return Measured(timing.cpu if clock == "CPU" else timing.wall, timing)


# The simulator ------------------------------------------------------------------------------------


def _simulator() -> Iterator[Row]:
    for row in PROGRAM_ROWS:
        compared = partial(_times_faster, row)
        yield Row(row.name, f"simulator: {row.title}", "x", row.wanted, True, compared, PEER)
    for row in PROGRAM_ROWS:
        if row.name in FIRST_CALLS:
            title = f"first call above a warm one: {row.title}"
            first = partial(_first_call, row)
            yield Row(f"first-{row.name}", title, " ms", 15, False, first, PEER)
    yield Row(
        "multicast-share",
        "simulator: multicast matmul / matmul, 1024^3, 2x2",
        "x",
        1.3,
        False,
        _multicast,
        "without multicast",
    )
    yield Row(
        "tracing",
        "simulator: with a trace, add 1024x1024, 1x1 blocks",
        "x",
        1.8,
        False,
        _traced,
        "no trace",
    )


def _times_faster(row: Compared, bench: Bench) -> Measured:
    ours = bench.program(row.command)
    try:
        theirs = bench.public(row.command)
    except NotMeasured as reason:
        return Measured(None, ours, why=str(reason))
    return Measured(theirs.cpu / ours.cpu, ours, theirs)


def _first_call(row: Compared, bench: Bench) -> Measured:
    """Measure the first call in several processes, since each has only one."""
    runs = [
        bench.program(row.command, {"BENCH_WARM": "2", "BENCH_RUN": str(number)})
        for number in range(bench.runs)
    ]
    firsts = [run.first for run in runs if run.first is not None]
    middle = statistics.median_low(each.cpu_seconds for each in firsts)
    first = next(each for each in firsts if each.cpu_seconds == middle)
    ours = Timing(first, tuple(cost for run in runs for cost in run.warm))
    try:
        theirs = bench.public(row.command)
    except NotMeasured:  # the figure does not need them
        theirs = None
    return Measured(1000 * (middle - ours.cpu), ours, theirs)


def _multicast(bench: Bench) -> Measured:
    plain = bench.program(("matmul.py", "1024", "2"))
    multicast = bench.program(("multicast_matmul.py", "1024", "2"))
    return Measured(multicast.cpu / plain.cpu, multicast, plain)


def _traced(bench: Bench) -> Measured:
    """Measure traced and plain calls alternately in separate processes; a call writes the file."""
    plain, traced = [], []
    command = ("add.py", "1024", "1")
    with tempfile.TemporaryDirectory() as folder:
        for number in map(str, range(bench.runs)):
            file = str(Path(folder) / "trace.json")
            plain.append(bench.program(command, {"BENCH_RUN": number}))
            traced.append(bench.program(command, {"BENCH_RUN": number, "TTL_TRACE": file}))
    with_trace, without = _together(traced), _together(plain)
    return Measured(with_trace.cpu / without.cpu, with_trace, without)


def _together(timings: list[Timing]) -> Timing:
    return Timing(timings[0].first, tuple(cost for each in timings for cost in each.warm))


# Starts -------------------------------------------------------------------------------------------


def _start() -> Iterator[Row]:
    yield Row(
        "import",
        "`import ttl`, above an empty interpreter",
        " ms",
        None,
        False,
        _import,
        "an empty interpreter",
    )
    yield Row(
        "first-host",
        f"first `ttl run --host` with an empty cache, {EXAMPLE}",
        " s",
        1,
        False,
        _first_host,
    )
    yield Row(
        "kept",
        "first `--host` call of an operation that another process compiled, above `import ttl`",
        " ms",
        60,
        False,
        _kept,
        "`import ttl`",
    )
    yield Row("compile-cold", f"cold `ttl compile`, {EXAMPLE}", " s", 0.36, False, _cold_compile)
    yield Row(
        "compile-process",
        "a process that compiles a kernel, share of theirs",
        " %",
        100,
        False,
        _compile_process,
        COMPILER,
    )
    yield Row("install", "`pip install .`, with what it needs", " s", 25, False, _install)


def _import(bench: Bench) -> Measured:
    costs = [
        bench.commands([sys.executable, "-c", code], 1 + bench.runs)[1:]
        for code in ("import ttl", "pass")
    ]
    ours, empty = (Timing(None, tuple(each)) for each in costs)
    return Measured(1000 * (ours.cpu - empty.cpu), ours, empty)


def _kept(bench: Bench) -> Measured:
    kept = {**HOST, "TTL_ALWAYS_COMPILE": ""}
    program = str(PROGRAMS / "processes" / "kept.py")
    calls = bench.commands([sys.executable, program], 1 + bench.runs, kept)
    imports = bench.commands([sys.executable, "-c", "import ttl"], 1 + bench.runs)
    ours, empty = (Timing(None, tuple(each[1:])) for each in (calls, imports))
    return Measured(1000 * (ours.wall - empty.wall), ours, empty)


def _first_host(bench: Bench) -> Measured:
    costs = []
    for _ in range(bench.runs):
        with tempfile.TemporaryDirectory() as folder:
            costs += bench.commands([*TTL, "run", "--host", EXAMPLE], 1, {"PYTTLANG_CACHE": folder})
    timing = Timing(None, tuple(costs))
    return Measured(timing.cpu, timing)


def _cold_compile(bench: Bench) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        command = [*TTL, "compile", "--compile-only", EXAMPLE, "-o", folder]
        bench.commands(command, 1)  # writes bytecode, like an installation
        timing = Timing(None, tuple(bench.commands(command, bench.runs + 2)))
    return Measured(timing.cpu, timing)


def _compile_process(bench: Bench) -> Measured:
    """Measure both compilers alternately on the same kernels and Python."""
    ours: list[Cost] = []
    theirs: list[Cost] = []
    python = bench.compiler_python()
    for kernel in KERNELS:
        mine = compile_speed.kernel_command(sys.executable, kernel)
        other = compile_speed.kernel_command(python, kernel)
        for _ in range(bench.runs):
            ours += bench.commands(mine, 1)
            theirs += bench.commands(other, 1, compile_speed.STANDINS)
    found, compared = Timing(None, tuple(ours)), Timing(None, tuple(theirs))
    return Measured(100 * found.cpu / compared.cpu, found, compared)


def _install(bench: Bench) -> Measured:
    timing = Timing(None, (bench.install_cost(),))
    return Measured(timing.cpu, timing)
