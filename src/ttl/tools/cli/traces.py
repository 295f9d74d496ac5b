"""Traces given on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ttl.diagnostics import RuleBroken, UsageError, codes, file_not_usable

T = TypeVar("T")


def read_with(read: Callable[[Path], T], file: str, how_to_write: str) -> T:
    """What `read` makes of the file; UsageError if it is none that it can read."""
    try:
        return read(Path(file))
    except OSError as error:
        raise file_not_usable(file, error) from None
    except ValueError as error:
        broken = RuleBroken(
            codes.WRONG_ARGUMENT,
            f"{file}: {error}",
            helps=(f"write a trace with {how_to_write}",),
        )
        raise UsageError(broken.at(None)) from None
