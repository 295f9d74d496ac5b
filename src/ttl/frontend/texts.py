"""Texts of f-strings: with values that are known only when the kernel runs, for print()."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .builder import KernelBuilder
from .hir import Scalar, StandIn, Value
from .problems import not_in_kernels
from .value_ranges import as_constant


@dataclass(frozen=True, slots=True)
class RunTimeText(StandIn):
    """An f-string with run-time values: its texts and pairs of value and spec."""

    described = "a text with run-time values"
    is_of_run = True
    python_class = str

    parts: tuple[str | tuple[Scalar, str], ...]


def known_text(builder: KernelBuilder, value: Value) -> Value:
    """Make a text with run-time values constant, if the path knows them."""
    if not isinstance(value, RunTimeText):
        return value
    found = ""
    for part in value.parts:
        if isinstance(part, str):
            found += part
            continue
        what = "a text that is known only at run time here"
        found += format(as_constant(builder, part[0], what), part[1])
    return found


def spec_of_text(value: Scalar, spec: str) -> str:
    """Translate a text's format to a number's: texts align left."""
    found = re.fullmatch(r"(.?[<>^])?([1-9][0-9]*)?s?", spec)
    if found is None or (spec and value.kind is bool):
        raise not_in_kernels(f"`{spec}` for a run-time value that is converted to a text")
    return f"{found[1] or '<'}{found[2]}" if found[2] else ""


CONVERSIONS: dict[int, Callable[[object], object]] = {
    -1: lambda value: value,
    ord("s"): str,
    ord("r"): repr,
    ord("a"): ascii,
}
