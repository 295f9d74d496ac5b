"""Keeps the arguments of a program's operations from its last run, which an editor does not have.

`ttl run` and similar verbs write each operation's first call, with the run's chip; the language
server reads them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ttl.config import Config
from ttl.language.arguments import is_tensor
from ttl.language.engine import LAUNCH_HOOK
from ttl.semantics.dtypes import DTYPES
from ttl.semantics.layout import Layout, layout_of
from ttl.target import CHOICES

FOLDER = "last-calls"
MOST_RECORDS = 500  # programs
Argument: TypeAlias = dict[str, Any]  # JSON that describes a value
Calls = dict[str, Argument]  # the arguments of each operation, by names


def record_of(cache: Path, file: str) -> Path:
    name = hashlib.sha256(os.path.realpath(file).encode()).hexdigest()[:24]
    return cache / FOLDER / f"{name}.json"


@dataclass(frozen=True, slots=True)
class LastRun:
    calls: Calls = field(default_factory=dict)
    chip: dict[str, object] = field(default_factory=dict)  # options of Config


def last_run(cache: Path, file: str) -> LastRun:
    """Read the last run; empty if there is none, or if it is damaged or of another version."""
    try:
        found = json.loads(record_of(cache, file).read_text())
        target, grid = found["target"], found["grid"]
        if target not in CHOICES or not _is_grid(grid) or not _are_calls(found["calls"]):
            return LastRun()
        return LastRun(found["calls"], {"target": target, "grid": grid and tuple(grid)})
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return LastRun()


def _is_grid(value: Any) -> bool:
    return value is None or (_is_shape(value) and len(value) == 2 and 0 not in value)


def _is_shape(value: object) -> bool:
    sizes = value if isinstance(value, list) else [None]
    return all(type(size) is int and 0 <= size < 2**31 for size in sizes)


def _are_calls(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(call, dict) and all(map(_is_described, call.values())) for call in value.values()
    )


def _is_described(value: object) -> bool:
    """Has it the form that _describe() writes?"""
    if not isinstance(value, dict) or "value" in value:
        return isinstance(value, dict)
    named = value["dtype"] in DTYPES and value["layout"] in Layout.__members__
    return named and _is_shape(value["shape"])


@contextmanager
def recorded_calls() -> Iterator[None]:
    """Record the arguments of operations called inside; skip files that cannot be written."""
    plain, seen = LAUNCH_HOOK.launch, set[int]()
    found: dict[str, Calls] = {}

    def launch(operation: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        if id(operation) not in seen:
            seen.add(id(operation))
            with suppress(Exception):  # a failing call has its own report
                file = operation.function.__code__.co_filename
                named = operation.named_arguments(args, dict(kwargs))
                described = {name: _describe(value) for name, value in named.items()}
                found.setdefault(file, {})[operation.__name__] = described
        plain(operation, args, kwargs)

    LAUNCH_HOOK.launch = launch
    try:
        yield
    finally:
        LAUNCH_HOOK.launch = plain
        _write(found)


def _write(found: dict[str, Calls]) -> None:
    with suppress(Exception):
        config = Config.current()
        cache, chip = config.cache_dir, {"target": config.target, "grid": config.grid}
        for file, calls in found.items():
            if os.path.isfile(file):
                record = record_of(cache, file)
                record.parent.mkdir(parents=True, exist_ok=True)
                record.write_text(json.dumps({**chip, "calls": calls}))
        _forget_oldest(cache / FOLDER)


def _forget_oldest(folder: Path) -> None:
    kept = sorted(folder.iterdir(), key=lambda record: record.stat().st_mtime)
    for record in kept[:-MOST_RECORDS]:
        record.unlink(missing_ok=True)


def _describe(value: Any) -> Argument:
    """Describe an argument; raise ValueError if text cannot recreate it."""
    if not is_tensor(value):
        return {"value": json.loads(json.dumps(value))}
    config = value.memory_config()
    if config.is_sharded() or value.dtype.spelling not in DTYPES:
        raise ValueError("not made again")
    shape = [int(size) for size in value.shape]
    return {"shape": shape, "dtype": value.dtype.spelling, "layout": layout_of(value).name}


def tensor_like(described: Argument, device: object) -> Any:
    """Make a tensor of zeros, or return the value if it is no tensor."""
    if "value" in described:
        return described["value"]
    from ttl import ttnn

    dtype, layout = DTYPES[described["dtype"]], Layout[described["layout"]]
    return ttnn.zeros(described["shape"], dtype, layout, device)
