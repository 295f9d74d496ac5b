"""Arguments of operations: tensors, and values that are known when kernels are compiled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

import numpy as np

from ttl.diagnostics import RuleBroken, codes
from ttl.semantics.dtypes import find_dtype

Named = tuple[str, Any]


def is_tensor(value: object) -> bool:
    """Is it a tensor of the embedded or of the real ttnn?"""
    # A module looks for a name that it has not among all that it has, to name the nearest.
    if isinstance(value, ModuleType):
        return False
    return find_dtype(value) is not None and hasattr(value, "shape") and hasattr(value, "layout")


def parts_of(name: str, value: Any) -> Iterator[Named]:
    """A value and what lists, dicts and dataclasses in it hold: `name_0` for name[0]."""
    yield from _parts(name, value, set())


def _parts(name: str, value: Any, around: set[int]) -> Iterator[Named]:
    yield name, value
    if id(value) not in around:  # else a list in itself
        for inner, part in _held(value):
            yield from _parts(f"{name}_{inner}", part, around | {id(value)})


def _held(value: Any) -> Iterator[Named]:
    if is_tensor(value):
        return
    if isinstance(value, (tuple, list)):
        yield from ((str(at), item) for at, item in enumerate(value))
    elif isinstance(value, dict):
        yield from ((str(at), item) for at, item in enumerate(value.values()))
    elif is_dataclass(value) and not isinstance(value, type):
        yield from ((each.name, getattr(value, each.name, None)) for each in fields(value))


def python_numbers(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of numpy among the arguments, as Python's: constants are written into kernels."""
    numbers = {name: value for name, value in arguments.items() if isinstance(value, np.generic)}
    return {name: value.item() for name, value in numbers.items()}


def check_arguments(operation: str, arguments: Mapping[str, Any]) -> None:
    """RuleBroken for an array that is not a tensor of ttnn; all else is a compile-time value."""
    for argument, value in arguments.items():
        for _, part in parts_of(argument, value):
            is_array = hasattr(part, "shape") and hasattr(part, "dtype")
            if is_array and not isinstance(part, (type, np.generic)) and not is_tensor(part):
                raise RuleBroken(
                    codes.NOT_A_TENSOR,
                    f"argument `{argument}` of {operation} {'is' if part is value else 'holds'} a "
                    f"{type(part).__name__}, not a ttnn tensor",
                    helps=("make one: ttnn.from_numpy(array, dtype=ttnn.bfloat16, device=device)",),
                )
