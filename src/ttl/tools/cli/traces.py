"""Traces given on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ttl.diagnostics import codes, file_not_usable, usage_error

T = TypeVar("T")


def read_with(read: Callable[[Path], T], file: str, how_to_write: str) -> T:
    """What `read` makes of the file; UsageError if it is none that it can read."""
    try:
        return read(Path(file))
    except OSError as error:
        raise file_not_usable(file, error) from None
    except ValueError as error:
        help_text = f"write a trace with {how_to_write}"
        raise usage_error(codes.WRONG_ARGUMENT, f"{file}: {error}", help_text) from None


def emptied(trace: str) -> str:
    """The file in full, empty: every operation adds its events."""
    try:
        Path(trace).write_text("")
    except OSError as error:
        raise file_not_usable(trace, error) from None
    return str(Path(trace).resolve())
