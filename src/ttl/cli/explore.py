"""ttl explore FILE"""

from __future__ import annotations

import argparse
import hashlib
import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ttl.diagnostics import KernelFault, TTLError, codes
from ttl.language.engine import LAUNCH_HOOK
from ttl.semantics.dtypes import Array
from ttl.studio.sweep import Job, Task, may_fork, program_files, sweep

from .program import add_program_arguments, program_variables, program_words, run_to_its_end
from .where import add_where, runner

SCHEDULES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--schedules",
        type=_count,
        default=SCHEDULES,
        metavar="N",
        help=f"how many seeds are tried (default: {SCHEDULES})",
    )
    add_where(parser)
    add_program_arguments(parser)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number of schedules")
    return int(text)


@dataclass(frozen=True, slots=True)
class CalledTensors:
    """Contents of the tensors after one call of an operation."""

    operation: str
    tensors: dict[str, Array]


def run(options: argparse.Namespace) -> int:
    """Compare the results of all seeds with those of the schedule without one."""
    expected = _run_calls(options, None)
    if not expected:
        message = f"{options.file} calls no operation on the simulator; nothing was explored"
        print(f"ttl: {message}", file=sys.stderr)
        return 1
    for seed in _find_suspects(options, expected):
        found = _run_calls(options, seed)
        if len(found) != len(expected):
            times = f"{len(expected)} or {len(found)} times"
            what = f"how often the program calls operations depends on the schedule: {times}"
            raise _make_depends(options, seed, what)
        for number, (one, other) in enumerate(zip(expected, found, strict=True), 1):
            for name, values in one.tensors.items():
                if values.tobytes() != other.tensors[name].tobytes():
                    what = f"`{name}` of `{one.operation}` (call {number})"
                    found_now = _difference(what, values, other.tensors[name])
                    raise _make_depends(options, seed, *found_now)
    calls = "1 call" if len(expected) == 1 else f"{len(expected)} calls"
    print(f"{options.schedules} schedules of {calls}: no race, and the same results in all of them")
    return 0


def _find_suspects(options: argparse.Namespace, expected: list[CalledTensors]) -> Iterable[int]:
    """Return the seeds to compare here: with several processes, one that failed there or had other
    results.
    """
    seeds = range(options.schedules)
    if options.scheduler is None and (options.jobs < 2 or len(seeds) < 2 or not may_fork()):
        return seeds
    tasks = [Task(_job(options, part)) for part in _parts(seeds, options)]
    with runner(options) as run_jobs:
        results = sweep(tasks, run_jobs, text="schedules")
    same = {
        str(seed)
        for each in results
        for seed, found in each.items()
        if found == digest_of(expected)
    }
    return [seed for seed in seeds if str(seed) not in same][:1]


def _parts(seeds: range, options: argparse.Namespace) -> list[range]:
    """Split the seeds; one per job on a cluster, which has many workers without shared startup."""
    count = len(seeds) if options.scheduler is not None else min(len(seeds), options.jobs)
    return [seeds[number::count] for number in range(count)]


def _job(options: argparse.Namespace, seeds: range) -> Job:
    names = ("arguments", "strict", "warnings", "json", "target", "grid")
    values = {**{name: getattr(options, name) for name in names}, "seeds": list(seeds)}
    files = program_files(Path(options.file))
    return Job("ttl.cli.explore:digests", values, options.file, files)


def digests(seeds: list[int], **options: object) -> dict[str, str]:
    """Job: return a digest of the tensors after each of these schedules. A schedule that fails has
    none, and runs again where it can be reported.
    """
    found = {}
    given = argparse.Namespace(**options)
    for seed in seeds:
        try:
            with redirect_stderr(io.StringIO()):
                found[str(seed)] = digest_of(_run_calls(given, seed))
        except (TTLError, SystemExit):
            found[str(seed)] = ""
    return found


def digest_of(calls: list[CalledTensors]) -> str:
    found = hashlib.sha256()
    for call in calls:
        for name, values in call.tensors.items():
            found.update(f"{call.operation} {name} {values.shape}".encode())
            found.update(values.tobytes())
    return found.hexdigest()


def _run_calls(options: argparse.Namespace, seed: int | None) -> list[CalledTensors]:
    """Run the program once; hide its output, but show its errors."""
    variables = {
        **program_variables(options),
        "TTL_STRICT": str(int(options.strict)),
        "TTL_SEED": "" if seed is None else str(seed),
    }
    calls: list[CalledTensors] = []
    shown = io.StringIO()
    status: object = 0
    with _kept_results(calls), redirect_stdout(io.StringIO()), redirect_stderr(shown):
        try:
            status = run_to_its_end(options, variables)
        except TTLError as error:
            raise error.with_note(f"to repeat it: {command(options, seed)}") from None
        except SystemExit as end:
            status = end.code
    if status != 0:  # the program's own exception or exit
        print(shown.getvalue(), end="", file=sys.stderr)
        print(f"ttl: the program failed; to repeat it: {command(options, seed)}", file=sys.stderr)
        raise SystemExit(status)
    return calls


@contextmanager
def _kept_results(calls: list[CalledTensors]) -> Iterator[None]:
    plain = LAUNCH_HOOK.launch

    def launch(operation: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        plain(operation, args, kwargs)
        given = operation.named_arguments(args, kwargs)
        kept = {
            name: value.storage.logical.copy()
            for name, value in given.items()
            if hasattr(value, "storage") and value.is_allocated()
        }
        if kept:  # a model's tensors have only descriptions here, and its kernels run compiled
            calls.append(CalledTensors(operation.__name__, kept))

    LAUNCH_HOOK.launch = launch
    try:
        yield
    finally:
        LAUNCH_HOOK.launch = plain


def _difference(what: str, one: Array, other: Array) -> tuple[str, str]:
    differ = one.view(f"u{one.itemsize}") != other.view(f"u{other.itemsize}")
    element = tuple(int(index) for index in np.argwhere(differ)[0])
    values = f"element {element} is {one[element]} or {other[element]}"
    count = f"{int(differ.sum())} of {differ.size} elements differ"
    return f"{what} depends on the schedule: {values}", count


def command(options: argparse.Namespace, seed: int | None) -> str:
    seeded = [] if seed is None else ["--seed", str(seed)]
    chosen = [*program_words(options), *seeded]
    return " ".join(["ttl", "run", *chosen, options.file, *options.arguments])


def _make_depends(options: argparse.Namespace, seed: int, what: str, *notes: str) -> KernelFault:
    help_text = "run with --strict: it names the accesses that nothing orders"
    notes = (*notes, f"to repeat it: {command(options, seed)}")
    broken = codes.SCHEDULE_DEPENDENT.broken(what, help_text, notes=notes)
    return KernelFault(broken.at(None))
