"""ttl run FILE, and tt-lang-sim FILE, the name it has in the public simulator"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from ttl import __version__
from ttl.config import BACKENDS, ROUNDINGS, SCHEDULERS, is_positive
from ttl.diagnostics import KernelFault, TTLError
from ttl.trace import CATEGORIES

from .check import run_checked
from .device_run import LIMIT_SECONDS, device_run
from .process import program_driver
from .program import (
    add_isolate_argument,
    add_program_arguments,
    natural,
    program_variables,
    program_words,
    run_program,
)
from .traces import empty_trace, finish_trace

if TYPE_CHECKING:
    from ttl.driver import Driver

TRACE_FILE = "trace.jsonl"
ALL = "all"

# Options whose value goes unchanged into a variable of ttl.config, and options that set one.
VALUES = {
    "fast": "TTL_FAST",
    "scheduler": "TTL_SCHEDULER",
    "rounding": "TTL_ROUNDING",
    "seed": "TTL_SEED",
    "max_dfbs": "TTL_MAX_DFBS",
    "max_l1": "TTL_MAX_L1",
    "num_devices": "TTL_NUM_DEVICES",
    "mesh_processes": "TTL_MESH_PROCESSES",
    "device_timeout": "TTL_DEVICE_TIMEOUT",
}
SWITCHES = {
    "float32": ("TTL_FLOAT32", "1"),
    "no_float32_promotion": ("TTL_FLOAT32", "0"),
    "dry_run": ("TTL_DRY_RUN", "1"),
    "check": ("TTL_CHECK", "1"),
    "counts": ("TTL_COUNTS", "1"),
    "results": ("TTL_TRACE_RESULTS", "1"),
    "times": ("TTL_TRACE_TIMES", "1"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--version", action="version", version=f"ttl {__version__}")
    backend = parser.add_mutually_exclusive_group()
    backend.add_argument(
        "--backend",
        choices=BACKENDS,
        help="the simulator (sim, the default), compiled kernels on this CPU (host), or a device "
        "through the real ttnn (device): then what kernels print is shown, and a launch that "
        "does not end is reported",
    )
    backend.add_argument(
        "--host",
        dest="backend",
        action="store_const",
        const="host",
        help="the same as --backend host",
    )
    backend.add_argument(
        "--fast",
        nargs="?",
        const="1",
        type=_positive,
        metavar="N",
        help="the simulator with all its checks for the first N calls (default: 1) of an operation "
        "with the same kinds of tensors, compiled kernels on this CPU for those after them",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="look at each operation first as ttl check does; one with errors is not run",
    )
    parser.add_argument(
        "--device-timeout",
        type=_positive,
        metavar="SECONDS",
        help=f"with --backend device: how long a launch may take (default: {LIMIT_SECONDS})",
    )
    parser.add_argument(
        "--counts",
        action="store_true",
        help="with --host: after the program's output, how often each operation's kernels called "
        "each unit of the chip",
    )
    add_isolate_argument(parser, "with --host: ")
    precision = parser.add_mutually_exclusive_group()
    precision.add_argument(
        "--float32", action="store_true", help="the simulator keeps all floats in f32"
    )
    precision.add_argument(
        "--no-float32-promotion",
        action="store_true",
        help="floats keep the type of their tensor, which is the default",
    )
    parser.add_argument(
        "--rounding",
        choices=ROUNDINGS,
        help="language (the default): round to nearest, ties to even; in the simulator f32 keeps "
        "all its digits. tf32: it keeps those of a TF32 where the chip's matrix unit reads it. "
        "chip: round ties, stores and products as the chip's units do, in the executor too",
    )
    _add_machine_arguments(parser)
    _add_trace_arguments(parser)
    add_program_arguments(parser)


def _add_machine_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scheduler",
        choices=SCHEDULERS,
        help="the simulator switches to another kernel when one must wait (greedy, the default), "
        "or also where it could go on (fair); results do not depend on it",
    )
    parser.add_argument(
        "--seed", type=natural, metavar="N", help="shuffle the simulator's schedule, repeatably"
    )
    parser.add_argument(
        "--max-dfbs", type=_positive, metavar="N", help="how many dataflow buffers a node may have"
    )
    parser.add_argument(
        "--max-l1",
        type=_positive,
        metavar="BYTES",
        help="how much L1 of a node dataflow buffers may take",
    )
    parser.add_argument(
        "--num-devices",
        type=_positive,
        metavar="N",
        help="how many devices there are (default: 4, or as many as the opened mesh has)",
    )
    parser.add_argument(
        "--mesh-processes",
        type=_positive,
        metavar="N",
        help="run the devices of a mesh in processes, N at a time; their tensors lie in files",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="run and check the kernels, but leave the tensors as they were",
    )


def _add_trace_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trace",
        nargs="?",
        const=TRACE_FILE,
        metavar="FILE",
        help=f"write run events as JSON lines (to {TRACE_FILE} if no FILE is given); a FILE.json "
        "is one that Perfetto (ui.perfetto.dev) and chrome://tracing load",
    )
    parser.add_argument(
        "--results",
        action="store_true",
        help="with --trace: keep beside it what each operation left in its tensors, for ttl diff",
    )
    parser.add_argument(
        "--view",
        metavar="FILE.html",
        help="write a page about the run: timeline, memory, graph, code, costs, diagnostics; it "
        "replaces an earlier page of the program, and no other file",
    )
    parser.add_argument(
        "--times",
        action="store_true",
        help="with --trace: estimate each operation before it runs, and give the events the "
        "estimated times; without it they have ticks, which tell their order",
    )
    chosen = parser.add_mutually_exclusive_group()
    names = f"{','.join(CATEGORIES)} or {ALL}"
    chosen.add_argument(
        "--trace-events", type=_categories, metavar="A,B", help=f"only these events: {names}"
    )
    chosen.add_argument(
        "--no-trace-events", type=_categories, metavar="A,B", help="all events but these"
    )


def _positive(text: str) -> str:
    if not is_positive(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number greater than 0")
    return text


def _categories(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in (*CATEGORIES, ALL):
            wanted = f"use {', '.join(CATEGORIES)} or {ALL}"
            raise argparse.ArgumentTypeError(f"there are no events {name!r}; {wanted}")
    return CATEGORIES if ALL in names else names


def check_arguments(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Check combinations that the parser cannot check."""
    if options.counts and options.backend != "host":
        parser.error("--counts needs --host: the simulator runs Python, not calls of the chip")
    if options.isolate and options.backend != "host":
        parser.error("--isolate needs --host: the simulator runs kernels as Python")
    if options.fast and options.float32:
        parser.error("--float32 is for the simulator alone: not with --fast")
    if options.target and options.backend == "device":
        parser.error("--target is for runs on this machine: a device is the chip that it is")
    if options.device_timeout and options.backend != "device":
        parser.error("--device-timeout needs --backend device")
    events = options.trace_events or options.no_trace_events
    if events and options.trace is None:
        parser.error("--trace-events and --no-trace-events need --trace")
    if (options.results or options.times) and options.trace is None:
        parser.error("--results and --times need --trace")
    if options.times and options.backend == "device":
        parser.error("--times are estimates: on a device the profiler has the times")


def run(options: argparse.Namespace) -> int:
    variables = run_variables(options)
    on_device = options.backend == "device"
    driver = program_driver()
    if options.times:
        driver.runs.recorded_calls.clear()  # a process may run several programs
    try:
        with (
            _viewed(driver, options, variables) if options.view else nullcontext(),
            device_run(driver, options.trace is not None) if on_device else nullcontext(),
        ):
            if options.check:
                return run_checked(options, variables, driver.checks)
            return run_program(options.file, options.arguments, variables)
    except KernelFault as fault:
        raise (fault if options.seed is None else _add_repeat(fault, options)) from fault.__cause__
    finally:
        if options.trace is not None:
            finish_trace(options.trace, options.file, driver.runs if options.times else None)
        if options.counts:
            from ttl.host import counts_table

            print(counts_table(driver.executor.counts))


@contextmanager
def _viewed(
    driver: Driver, options: argparse.Namespace, variables: dict[str, str]
) -> Iterator[None]:
    """The page is of a run that fails, too. Without --trace its trace is not kept."""
    from .page_files import page_file
    from .pages import observe, temporary_trace, write_page

    help_text = "name another one, or remove it"
    page = page_file(options.view, options.file, False, help_text)
    kept = None if options.trace is None else nullcontext(Path(variables["TTL_TRACE"]))
    with kept or temporary_trace() as trace:
        variables |= {"TTL_VIEW": "1", "TTL_TRACE": str(trace)}
        with observe(driver, trace, lambda shown: write_page(shown, page), options.file):
            yield


def _add_repeat(fault: KernelFault, options: argparse.Namespace) -> TTLError:
    """Add to a fault with a seed how to repeat its schedule."""
    chosen = ["--host"] if options.backend == "host" else []
    chosen += ["--float32"] if options.float32 else []
    chosen += [*program_words(options), "--seed", str(options.seed)]
    given = ["ttl", "run", *chosen, options.file, *options.arguments]
    return fault.with_note(f"to repeat it: {shlex.join(given)}")


def run_variables(options: argparse.Namespace) -> dict[str, str]:
    """Return the options as variables of ttl.config."""
    variables = program_variables(options)
    for name, variable in VALUES.items():
        if (value := getattr(options, name)) is not None:
            variables[variable] = str(value)
    if options.backend is not None:
        variables["TTL_BACKEND"] = options.backend
    elif options.fast is not None:
        variables["TTL_BACKEND"] = "sim"
    if options.backend == "device":
        variables.setdefault("TTL_DEVICE_TIMEOUT", str(LIMIT_SECONDS))
    for name, (variable, value) in SWITCHES.items():
        if getattr(options, name):
            variables[variable] = value
    if options.trace is not None:
        variables["TTL_TRACE"] = empty_trace(options.trace)
        variables["TTL_TRACE_EVENTS"] = ",".join(_chosen_categories(options))
    return variables


def _chosen_categories(options: argparse.Namespace) -> tuple[str, ...]:
    if options.no_trace_events:
        return tuple(name for name in CATEGORIES if name not in options.no_trace_events)
    chosen: tuple[str, ...] = options.trace_events or CATEGORIES
    return chosen
