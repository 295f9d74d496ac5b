"""Arguments of operations: tensors, and values that are known when kernels are compiled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from types import ModuleType
from typing import Any, TypeGuard

import numpy as np

from ttl.diagnostics import codes
from ttl.semantics.dtypes import find_dtype
from ttl.semantics.tensor_like import TensorLike

Named = tuple[str, object]


def is_tensor(value: object) -> TypeGuard[TensorLike]:
    """Return whether it is a tensor of the embedded or the real ttnn."""
    # A module without the name would search all its names for the nearest.
    if isinstance(value, ModuleType):
        return False
    if find_dtype(value) is None or not hasattr(value, "shape") or not hasattr(value, "layout"):
        return False
    return hasattr(value, "device")  # a description of a tensor has none


def parts_of(name: str, value: object, around: tuple[object, ...] = ()) -> list[Named]:
    """Return a value and the parts of lists, dicts and dataclasses in it: `name_0` for name[0].

    Objects that the language declares have no parts: the program knows a buffer's tensor.
    """
    found = [(name, value)]
    for inner, part in _held(value):
        if not any(part is each for each in (*around, value)):  # a list may contain itself
            found += parts_of(f"{name}_{inner}", part, (*around, value))
    return found


def _held(value: Any) -> Iterable[tuple[object, object]]:
    if isinstance(value, (tuple, list)):
        return enumerate(value)
    if isinstance(value, dict):
        return enumerate(value.values())
    kind = type(value)
    is_dataclass = hasattr(kind, "__dataclass_fields__") and not kind.__module__.startswith("ttl.")
    if is_dataclass and not is_tensor(value):
        return [(each.name, getattr(value, each.name, None)) for each in fields(value)]
    return ()


def python_numbers(arguments: Mapping[str, object]) -> dict[str, object]:
    """Return the numpy numbers among the arguments as Python's, for constants in kernels."""
    numbers = {name: value for name, value in arguments.items() if isinstance(value, np.generic)}
    return {name: value.item() for name, value in numbers.items()}


def check_arguments(operation: str, arguments: Mapping[str, object]) -> None:
    """Raise RuleBroken for an array of another library; any other value is a constant."""
    for argument, value in arguments.items():
        for _, part in parts_of(argument, value):
            is_array = hasattr(part, "shape") and hasattr(part, "dtype")
            if is_array and not isinstance(part, (type, np.generic)) and not is_tensor(part):
                raise codes.NOT_A_TENSOR.broken(
                    f"argument `{argument}` of {operation} {'is' if part is value else 'holds'} a "
                    f"{type(part).__name__}, not a ttnn tensor",
                    "make one: ttl.from_numpy(array, dtype=ttnn.bfloat16, device=device)",
                )
