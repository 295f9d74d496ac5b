"""Every option and environment variable. The driver and the tools read them; others get values.

The environment is read and never written. A command of ours chooses variables for its process, a
call that needs other options chooses them for itself, and neither is seen by anybody else's calls.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from ttl.diagnostics import RuleBroken, UsageError, codes

KERNEL_DUMPS = "ttlang_kernel_dumps"  # in the current folder
SCHEDULERS = ("greedy", "fair")


@dataclass(frozen=True, slots=True)
class Config:
    backend: str = "sim"  # TTL_BACKEND: sim | host | device; real tensors are always on a device
    target: str = "wormhole_b0"  # TTL_TARGET
    check: bool = False  # TTL_CHECK=1: look for mistakes before an operation runs, report all
    compile_only: bool = False  # TTLANG_COMPILE_ONLY=1: compile, do not run
    initial_mlir: str | None = None  # TTLANG_INITIAL_MLIR=FILE: the module before the first pass
    flatbuffer: str | None = None  # TTLANG_FLATBUFFER_PATH=FILE: of a pykernel program's last call
    final_mlir: str | None = None  # TTLANG_FINAL_MLIR=FILE: the module after the last pass
    verbose_passes: bool = False  # TTLANG_VERBOSE_PASSES=1: the module around every pass, to stderr
    compiler_options: str | None = None  # TTLANG_COMPILER_OPTIONS, over those of the decorator
    grid: tuple[int, int] | None = None  # TTL_GRID=ROWS,COLUMNS of "auto"; here (columns, rows)
    max_dataflow_buffers: int | None = None  # TTL_MAX_DFBS: of a node
    max_l1_bytes: int | None = None  # TTL_MAX_L1: of a node, for dataflow buffers
    num_devices: int = 4  # TTL_NUM_DEVICES: the devices of the embedded ttnn
    scheduler: str = "greedy"  # TTL_SCHEDULER: when the simulator goes on to another kernel
    seed: int | None = None  # TTL_SEED: shuffle the simulator's schedule
    float32: bool = False  # TTL_FLOAT32=1: the simulator keeps all floats in f32
    strict: bool = False  # TTL_STRICT=1: releases and waits that are left out are errors
    json: bool = False  # TTL_JSON=1: notes as JSON, one a line
    trace: str | None = None  # TTL_TRACE=FILE: run events as JSON lines
    trace_results: bool = False  # TTL_TRACE_RESULTS=1: beside the trace, what is in the tensors
    trace_events: tuple[str, ...] | None = None  # TTL_TRACE_EVENTS=kernel,copy: only these
    counts: bool = False  # TTL_COUNTS=1: count the calls of compiled kernels on this machine
    dry_run: bool = False  # TTL_DRY_RUN=1: run and check, but leave the tensors as they were
    compile_to: str | None = None  # TTL_COMPILE_TO=DIR: compile each operation into this folder
    kernel_dumps: str | None = None  # TTLANG_KERNEL_DUMPS=DIR, or 1: compiled operations go there
    cache_dir: Path = Path()  # PYTTL_CACHE, else the user's cache folder

    @property
    def wants_artifact(self) -> bool:
        """Is there anything that only a compilation gives?"""
        files = (self.initial_mlir, self.final_mlir, self.compile_to, self.kernel_dumps)
        dumps = (*files, self.verbose_passes)
        return self.backend in ("host", "device") or self.compile_only or any(dumps)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Config:
        return _config(_given(environment, {}), ())

    @classmethod
    def current(cls) -> Config:
        """What holds for the calling thread now: the environment, over it what the command line of
        this process chose, over that what the call around this one chose.
        """
        return _config(_given(os.environ, _PROCESS.variables), _CHOSEN.get())


class _Process:
    """The variables that the command line chose: for all threads of a program, so no context."""

    variables: Mapping[str, str] = {}


_PROCESS = _Process()
_CHOSEN: ContextVar[tuple[tuple[str, Any], ...]] = ContextVar("ttl_chosen_options", default=())


@contextmanager
def process_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Inside, these variables have these values for every thread of the process. For commands,
    which run one program at a time.
    """
    before, _PROCESS.variables = _PROCESS.variables, {**variables}
    try:
        yield
    finally:
        _PROCESS.variables = before


@contextmanager
def chosen_options(**options: Any) -> Iterator[None]:
    """Inside, fields of Config have these values for the calls of this thread."""
    token = _CHOSEN.set((*_CHOSEN.get(), *options.items()))
    try:
        yield
    finally:
        _CHOSEN.reset(token)


class _Asked(dict[str, str]):
    """An empty environment that remembers what it was asked for."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def get(self, name: str, default: Any = None) -> Any:
        self.names.append(name)
        return default


@cache
def _variables() -> tuple[str, ...]:
    """Every variable that a configuration depends on."""
    asked = _Asked()
    _read(asked)
    return (*asked.names, "HOME")


Given = tuple[tuple[str, str | None], ...]


def _given(environment: Mapping[str, str], over: Mapping[str, str]) -> Given:
    """The settings of a launch are looked up by the variables' values, not read anew."""
    get = environment.get
    return tuple([(name, over[name] if name in over else get(name)) for name in _variables()])


@lru_cache(maxsize=64)
def _config(given: Given, chosen: tuple[tuple[str, Any], ...]) -> Config:
    config = _read({name: value for name, value in given if value is not None})
    return replace(config, **dict(chosen))


def _read(environment: Mapping[str, str]) -> Config:
    return Config(
        backend=environment.get("TTL_BACKEND", "sim"),
        target=environment.get("TTL_TARGET", "wormhole_b0"),
        check=_flag(environment, "TTL_CHECK"),
        compile_only=_flag(environment, "TTLANG_COMPILE_ONLY"),
        initial_mlir=environment.get("TTLANG_INITIAL_MLIR"),
        final_mlir=environment.get("TTLANG_FINAL_MLIR"),
        flatbuffer=environment.get("TTLANG_FLATBUFFER_PATH"),
        verbose_passes=_flag(environment, "TTLANG_VERBOSE_PASSES"),
        compiler_options=environment.get("TTLANG_COMPILER_OPTIONS"),
        grid=_grid(environment),
        max_dataflow_buffers=_number(environment, "TTL_MAX_DFBS"),
        max_l1_bytes=_number(environment, "TTL_MAX_L1"),
        num_devices=_number(environment, "TTL_NUM_DEVICES") or 4,
        scheduler=environment.get("TTL_SCHEDULER", "greedy"),
        seed=_seed(environment),
        float32=_flag(environment, "TTL_FLOAT32"),
        strict=_flag(environment, "TTL_STRICT"),
        json=_flag(environment, "TTL_JSON"),
        trace=environment.get("TTL_TRACE"),
        trace_results=_flag(environment, "TTL_TRACE_RESULTS"),
        trace_events=_names(environment, "TTL_TRACE_EVENTS"),
        counts=_flag(environment, "TTL_COUNTS"),
        dry_run=_flag(environment, "TTL_DRY_RUN"),
        compile_to=environment.get("TTL_COMPILE_TO"),
        kernel_dumps=_kernel_dumps(environment),
        cache_dir=_cache_dir(environment),
    )


def _flag(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "0").lower() not in ("", "0", "false", "no", "off")


def _kernel_dumps(environment: Mapping[str, str]) -> str | None:
    """A folder, or a flag for the one that the public compiler has."""
    given = environment.get("TTLANG_KERNEL_DUMPS", "0")
    if not _flag(environment, "TTLANG_KERNEL_DUMPS"):
        return None
    return KERNEL_DUMPS if given.lower() in ("1", "true", "yes", "on") else given


def _number(environment: Mapping[str, str], name: str) -> int | None:
    given = environment.get(name)
    if not given:
        return None
    if not is_positive(given):
        raise _wrong(f"{name}={given}", "a whole number greater than 0", f"{name}=16")
    return int(given)


def _seed(environment: Mapping[str, str]) -> int | None:
    given = environment.get("TTL_SEED")
    if not given:
        return None
    if not (given.isascii() and given.isdecimal()):
        raise _wrong(f"TTL_SEED={given}", "a whole number", "TTL_SEED=1")
    return int(given)


def _grid(environment: Mapping[str, str]) -> tuple[int, int] | None:
    given = environment.get("TTL_GRID")
    if not given:
        return None
    try:
        return read_grid(given)
    except ValueError:
        raise _wrong(f"TTL_GRID={given}", "ROWS,COLUMNS", "TTL_GRID=8,8") from None


def read_grid(text: str) -> tuple[int, int]:
    """ROWS,COLUMNS as the public simulator has them, to our (columns, rows); ValueError if not."""
    rows, columns = (size.strip() for size in text.split(","))
    if not is_positive(rows) or not is_positive(columns):
        raise ValueError(text)
    return int(columns), int(rows)


def is_positive(text: str) -> bool:
    return text.isascii() and text.isdecimal() and int(text) > 0


def _names(environment: Mapping[str, str], name: str) -> tuple[str, ...] | None:
    given = environment.get(name)
    return None if given is None else tuple(part.strip() for part in given.split(",") if part)


def _wrong(given: str, wanted: str, example: str) -> UsageError:
    message = f"{given}: not {wanted}"
    helps = (f"set for example {example}, or unset the variable",)
    return UsageError(RuleBroken(codes.WRONG_ARGUMENT, message, helps=helps).at(None))


def _cache_dir(environment: Mapping[str, str]) -> Path:
    if chosen := environment.get("PYTTL_CACHE"):
        return Path(chosen)
    base = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pyttl"
