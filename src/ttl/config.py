"""Every option and environment variable. The driver and the tools read them; others get values.

The environment is read and never written. Our commands choose variables for their process, and a
call that needs other options chooses them for itself; other calls see neither.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from ttl.diagnostics import Code, Severity, UsageError, WarningOptions, codes, usage_error
from ttl.loading.cache_folder import CACHE, OLD_CACHE, cache_dir, usable
from ttl.target import ALIASES, CHOICES, find_choice, load

if TYPE_CHECKING:
    from pathlib import Path

KERNEL_DUMPS = "ttlang_kernel_dumps"  # in the current folder
OURS = ("TTL_", "TTLANG_", "PYTTLANG_")  # prefixes of our variables
CACHE_LIMIT = "PYTTLANG_CACHE_LIMIT"
# Former names of variables, used if the present name is not set.
OLD_VARIABLES = {CACHE: OLD_CACHE, CACHE_LIMIT: "PYTTL_CACHE_LIMIT"}
BACKENDS = ("sim", "host", "device")
# language: the simulator keeps all digits of f32; tf32: the matrix unit cuts f32 off, as in
# compiled kernels; chip: ties and stores to 16 bits also round as on the chip.
ROUNDINGS = ("language", "tf32", "chip")
SCHEDULERS = ("greedy", "fair")  # when the simulator switches to another kernel


NO_CHOICE = WarningOptions()
Read = Callable[[str, str], object]  # a variable and its text -> the option, None for the default


def _option(variable: str, read: Read = lambda _, text: text, default: object = None) -> Any:
    """Make a field of Config that an environment variable sets."""
    return field(default=default, metadata={"variable": variable, "read": read})


def _flag(variable: str) -> Any:
    return _option(variable, lambda _, text: _is_on(text), default=False)


def _is_on(text: str) -> bool:
    return text.lower() not in ("", "0", "false", "no", "off")


def _folder(_: str, text: str) -> str | None:
    """Return a folder; a flag stands for the public compiler's."""
    if not _is_on(text):
        return None
    return KERNEL_DUMPS if text.lower() in ("1", "true", "yes", "on") else text


def _number(variable: str, text: str) -> int | None:
    if text and not is_positive(text):
        raise _wrong(variable, text, "a whole number greater than 0", "16")
    return int(text) if text else None


UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
NO_LIMIT = 0


def read_bytes(text: str) -> int:
    """Parse 512M, 2G, a number of bytes, or none; raise ValueError for anything else."""
    number, unit = text.strip().lower().removesuffix("b"), 1
    if number == "none":
        return NO_LIMIT
    if number[-1:] in UNITS:
        number, unit = number[:-1], UNITS[number[-1]]
    if not is_positive(number):
        raise ValueError(text)
    return int(number) * unit


def _bytes(variable: str, text: str) -> int | None:
    try:
        return read_bytes(text) if text else None
    except ValueError:
        raise _wrong(variable, text, "a size in bytes", "512M") from None


def _target(variable: str, text: str) -> str | None:
    try:
        return read_target(text) if text else None
    except ValueError as error:
        message = f"{variable}={text}: {error}"
        help_text = f"set for example {variable}={CHOICES[-1]}, or unset the variable"
        raise usage_error(codes.WRONG_OPTION, message, help_text) from None


def read_target(text: str) -> str:
    """Return the target that `text` names, or raise ValueError with the list of targets."""
    name = find_choice(text)
    if name is None:
        from ttl.diagnostics.names import near_names  # only when needed

        near = near_names(text, (*CHOICES, *ALIASES))
        meant = f"did you mean {near[0]}? There are" if near else "there are"
        raise ValueError(f"not a target; {meant} {target_list()}")
    return name


def target_list() -> str:
    """Return the names of targets with the sizes of their grids."""
    sizes = ["{}x{}".format(*load(name).default_grid) for name in CHOICES]
    shown = [f"{name} ({size} nodes)" for name, size in zip(CHOICES, sizes, strict=True)]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _seed(variable: str, text: str) -> int | None:
    if text and not (text.isascii() and text.isdecimal()):
        raise _wrong(variable, text, "a whole number", "1")
    return int(text) if text else None


def _grid(variable: str, text: str) -> tuple[int, int] | None:
    try:
        return read_grid(text) if text else None
    except ValueError:
        raise _wrong(variable, text, "ROWS,COLUMNS", "8,8") from None


def read_grid(text: str) -> tuple[int, int]:
    """Parse the public simulator's ROWS,COLUMNS to our (columns, rows), or raise ValueError."""
    rows, columns = (size.strip() for size in text.split(","))
    if not is_positive(rows) or not is_positive(columns):
        raise ValueError(text)
    return int(columns), int(rows)


def is_positive(text: str) -> bool:
    return text.isascii() and text.isdecimal() and int(text) > 0


def _names(_: str, text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part)


def _warnings(variable: str, text: str) -> WarningOptions:
    try:
        return WarningOptions.read(text)
    except ValueError as error:
        example = f"set for example {variable}=error,ignore=TTL3006, or unset the variable"
        raise usage_error(codes.WRONG_OPTION, f"{variable}={text}: {error}", example) from None


def _wrong(variable: str, text: str, wanted: str, example: str) -> UsageError:
    return usage_error(
        codes.WRONG_OPTION,
        f"{variable}={text}: not {wanted}",
        f"set for example {variable}={example}, or unset the variable",
    )


HandOver = Callable[[Any, list[object]], object]


@dataclass(frozen=True, slots=True)
class Config:
    # Where operations run: sim, host or device; real tensors are always on a device.
    backend: str = _option("TTL_BACKEND", default="sim")
    # The first calls of each kind that are simulated, if those after them are to be compiled.
    fast: int | None = _option("TTL_FAST", _number)
    # The chip: wormhole_b0, wormhole_b0_full (its 8x9 workers, none left to ttnn) or blackhole.
    target: str = _option("TTL_TARGET", _target, default="wormhole_b0")
    check: bool = _flag("TTL_CHECK")  # look for mistakes before an operation runs, report all
    # FILE.ttsys: the system descriptor of the device that pykernel programs and graphs are for
    system_desc_path: str | None = _option("SYSTEM_DESC_PATH")
    compile_only: bool = _flag("TTLANG_COMPILE_ONLY")  # compile operations, do not run them
    always_compile: bool = _flag("TTL_ALWAYS_COMPILE")  # also what an earlier process compiled
    initial_mlir: str | None = _option("TTLANG_INITIAL_MLIR")  # FILE: the IR before the first pass
    final_mlir: str | None = _option("TTLANG_FINAL_MLIR")  # FILE: the IR after the last pass
    # FILE: the flatbuffer of the last call of a pykernel program
    flatbuffer: str | None = _option("TTLANG_FLATBUFFER_PATH")
    verbose_passes: bool = _flag("TTLANG_VERBOSE_PASSES")  # the IR around every pass, to stderr
    # Options of the compiler; they win over those of the decorator.
    compiler_options: str | None = _option("TTLANG_COMPILER_OPTIONS")
    # ROWS,COLUMNS of the grid that "auto" means; the field is (columns, rows).
    grid: tuple[int, int] | None = _option("TTL_GRID", _grid)
    max_dataflow_buffers: int | None = _option("TTL_MAX_DFBS", _number)  # buffers of a node
    max_l1_bytes: int | None = _option("TTL_MAX_L1", _number)  # bytes of a node for buffers
    num_devices: int | None = _option("TTL_NUM_DEVICES", _number)  # devices of the embedded ttnn
    # Processes that run the devices of a mesh; without it, one after the other in this process.
    mesh_processes: int | None = _option("TTL_MESH_PROCESSES", _number)
    # When the simulator goes on to another kernel: greedy (when one waits) or fair.
    scheduler: str = _option("TTL_SCHEDULER", default="greedy")
    # Threads that run the nodes of compiled operations on this machine; one for each processor.
    threads: int | None = _option("TTL_THREADS", _number)
    seed: int | None = _option("TTL_SEED", _seed)  # a number: shuffles the simulator's schedule
    float32: bool = _flag("TTL_FLOAT32")  # the simulator keeps all floats in f32
    # language, tf32 (the simulator cuts off f32 in the matrix unit), chip (all as on the chip).
    rounding: str = _option("TTL_ROUNDING", default="language")
    # Warnings are errors, releases and waits are written, and races between nodes are followed.
    strict: bool = _flag("TTL_STRICT")
    # What -W of the commands takes, separated by commas: error, error=CODE, ignore=CODE.
    warnings: WarningOptions = _option("TTL_WARNINGS", _warnings, NO_CHOICE)  # noqa: RUF009
    json: bool = _flag("TTL_JSON")  # notes and diagnostics as JSON, one a line
    trace: str | None = _option("TTL_TRACE")  # FILE: the events of the run as JSON lines
    trace_results: bool = _flag("TTL_TRACE_RESULTS")  # beside the trace, what the tensors hold
    # The kinds of events that are traced, as kernel,copy; all without it.
    trace_events: tuple[str, ...] | None = _option("TTL_TRACE_EVENTS", _names)
    trace_times: bool = _flag("TTL_TRACE_TIMES")  # record calls too, for the times of the trace
    counts: bool = _flag("TTL_COUNTS")  # count the calls of compiled kernels on this machine
    estimate: bool = _flag("TTL_ESTIMATE")  # record the calls of kernels, compute nothing
    view: bool = _flag("TTL_VIEW")  # keep what a page shows: the IR of each stage, recorded calls
    isolate: bool = _flag("TTL_ISOLATE")  # compiled kernels run in a process of their own
    # Bytes that isolated kernels may take beside the tensors, 4G without it; none: the machine's.
    isolate_memory: int | None = _option("TTL_ISOLATE_MEMORY", _bytes)
    dry_run: bool = _flag("TTL_DRY_RUN")  # run and check, but leave the tensors as they were
    # Seconds: wait for each launch on a device, show what it prints, report it if it hangs.
    device_timeout: int | None = _option("TTL_DEVICE_TIMEOUT", _number)
    compile_to: str | None = _option("TTL_COMPILE_TO")  # DIR: compile each operation into it
    show_threads: bool = _flag("TTL_SHOW_THREADS")  # threads of unified operations, to stdout
    # DIR for the C++ of what is compiled; 1 is ttlang_kernel_dumps in the current folder.
    kernel_dumps: str | None = _option("TTLANG_KERNEL_DUMPS", _folder)
    cache_folder: str = ""  # PYTTLANG_CACHE, else the user's cache folder
    # Bytes that compiled kernels may take there, as 512M; none: no limit. See `ttl cache`.
    cache_limit: int | None = _option(CACHE_LIMIT, _bytes)
    # For calls of a function of the program: compile an operation for its tensors, and hand over
    # the artifact and the tensors in the place of a run.
    hand_over: HandOver | None = field(default=None, compare=False)

    @property
    def chip(self) -> str:
        """The name of the target's chip in artifacts and files of costs."""
        return load(self.target).name

    @property
    def cache_dir(self) -> Path:
        """The chosen folder, or a temporary one if others could write code into the chosen one."""
        return _path(self.cache_folder)

    @property
    def wants_artifact(self) -> bool:
        """Whether an option needs a compilation."""
        files = (self.initial_mlir, self.final_mlir, self.compile_to, self.kernel_dumps)
        dumps = (*files, self.verbose_passes)
        asked = self.compile_only or self.estimate or self.trace_times
        return self.backend in ("host", "device") or asked or any(dumps)

    def severity_of(self, code: Code) -> Severity | None:
        """Return the severity of a diagnostic, or None to hide it."""
        return self.warnings.severity_of(code, self.strict)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Config:
        return _config(_given(environment, {}), ())

    @classmethod
    def current(cls) -> Config:
        """Return the calling thread's options: environment, overridden by the command line,
        overridden by the enclosing chosen_options().
        """
        chosen, now = _CHOSEN.get(), _PROCESS
        # Launches may ask every few microseconds, so compare the environment's raw data.
        in_memory = getattr(os.environ, "_data", None)
        if in_memory is None:
            return _config(_given(os.environ, now.variables), chosen)
        known = now.last
        if known is None or known[0] != (in_memory, now.variables, chosen):
            config = _config(_given(os.environ, now.variables), chosen)
            known = now.last = (dict(in_memory), now.variables, chosen), config
        return known[1]


@cache
def _path(folder: str) -> Path:
    """Import pathlib late: a process that only simulates or compiles needs it only here."""
    from pathlib import Path

    return Path(usable(folder))


class _Process:
    """The command line's variables; they are for all threads, so no context variable."""

    variables: Mapping[str, str] = {}
    last: tuple[tuple[object, ...], Config] | None = None  # the last call's settings and Config


_PROCESS = _Process()
_CHOSEN: ContextVar[tuple[tuple[str, object], ...]] = ContextVar("ttl_chosen_options", default=())


def chosen_variables() -> dict[str, str]:
    """Return our variables that the environment or the command line sets."""
    ours = {name: text for name, text in os.environ.items() if _is_ours(name)}
    return {**ours, **_PROCESS.variables}


def _is_ours(name: str) -> bool:
    return name.startswith(OURS) or name in OLD_VARIABLES.values()


def old_variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the former names of variables that are set, with the present names."""
    return {old: now for now, old in OLD_VARIABLES.items() if environment.get(old)}


@contextmanager
def process_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables for every thread of the process, inside the context.

    For commands, which run one program at a time.
    """
    before, _PROCESS.variables = _PROCESS.variables, {**variables}
    try:
        yield
    finally:
        _PROCESS.variables = before


@contextmanager
def process_config(variables: Mapping[str, str]) -> Iterator[Config]:
    """As process_variables(): gives what holds inside."""
    with process_variables(variables):
        yield Config.current()


@contextmanager
def chosen_options(**options: object) -> Iterator[None]:
    """Set fields of Config for the calls of this thread, inside the context.

    `warnings` may be text: chosen_options(strict=True, warnings="ignore=TTL3006").
    """
    if isinstance(text := options.get("warnings"), str):
        options["warnings"] = _warnings("warnings", text)
    token = _CHOSEN.set((*_CHOSEN.get(), *options.items()))
    try:
        yield
    finally:
        _CHOSEN.reset(token)


OPTIONS = {each.metadata["variable"]: each for each in fields(Config) if each.metadata}
# Every variable that Config depends on.
VARIABLES = (*OPTIONS, CACHE, *OLD_VARIABLES.values(), "XDG_CACHE_HOME", "HOME")
Given = tuple[tuple[str, str | None], ...]


def _given(environment: Mapping[str, str], over: Mapping[str, str]) -> Given:
    """Return the variables' values, by which _config() caches a launch's options."""
    get = environment.get
    return tuple([(name, over[name] if name in over else get(name)) for name in VARIABLES])


@lru_cache(maxsize=64)
def _config(given: Given, chosen: tuple[tuple[str, object], ...]) -> Config:
    variables = {name: text for name, text in given if text is not None}
    options: dict[str, Any] = {"cache_folder": cache_dir(variables)}
    for variable, option in OPTIONS.items():
        name = _name_that_is_set(variable, variables)
        text = variables.get(name)
        value = None if text is None else option.metadata["read"](name, text)
        if value is not None:
            options[option.name] = value
    return Config(**{**options, **dict(chosen)})


def _name_that_is_set(variable: str, variables: Mapping[str, str]) -> str:
    """Return the present name of a variable, or the old one if only that is set."""
    old = OLD_VARIABLES.get(variable)
    return variable if old is None or variables.get(variable) else old
