"""Prints tensors like the real ttnn: the outer elements of each dimension, and the type."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array, DType
from ttl.semantics.html import html_table

from .faults import wrong
from .tensor import Tensor

__all__ = ["set_printoptions"]

HEAD = "ttnn.Tensor("
SHORT_LIMIT = 4  # a longer dimension is shown by its first and last EDGE elements
EDGE = 2


@dataclass(frozen=True, slots=True)
class PrintOptions:
    profile: str = "short"
    precision: int = 4
    scientific: bool | None = None  # None: if the numbers need it


SHORT = PrintOptions()
OPTIONS: ContextVar[PrintOptions] = ContextVar("print options of tensors", default=SHORT)


def set_printoptions(
    *, profile: str = "short", sci_mode: Any = "default", precision: int | None = None
) -> None:
    """How tensors are printed: `profile` is "short", "full" or "empty"."""
    if profile not in ("short", "full", "empty"):
        raise wrong(f"profile={profile!r}", "use 'short', 'full' or 'empty'")
    scientific = None if sci_mode in (None, "default") else bool(sci_mode)
    OPTIONS.set(PrintOptions(profile, 4 if precision is None else precision, scientific))


def tensor_text(tensor: Tensor) -> str:
    """Return the text for print(); tensors of a mesh are shown part by part."""
    return "\n".join(_text(part) for part in tensor.shards)


def tensor_html(tensor: Tensor) -> str:
    """Return HTML for notebooks; tensors of a mesh are shown part by part."""
    return "".join(_html(part) for part in tensor.shards)


def _html(tensor: Tensor) -> str:
    facts = {"shape": tuple(tensor.shape), "dtype": tensor.dtype, "layout": tensor.layout.name}
    if not tensor.is_allocated():
        return html_table("ttnn.Tensor (not allocated)", facts)
    dtype, values = tensor.dtype, tensor.storage.logical
    return html_table("ttnn.Tensor", facts, values.astype(np.float64 if dtype.is_float else int))


def _text(tensor: Tensor) -> str:
    kind = (
        f"shape={tensor.shape!r}, dtype=DataType::{tensor.dtype.name}, "
        f"layout=Layout::{tensor.layout.name})"
    )
    if not tensor.is_allocated():
        return f"{HEAD}<buffer is not allocated>, {kind}"
    return f"{HEAD}{_values(tensor.storage.logical, tensor.dtype)}, {kind}"


def _values(values: Array, dtype: DType) -> str:
    options = OPTIONS.get()
    if options.profile == "empty":
        return "..."
    limit = SHORT_LIMIT if options.profile == "short" else values.size
    return _nested(values, _number(values, dtype, options), len(HEAD), limit)


def _number(values: Array, dtype: DType, options: PrintOptions) -> Callable[[Any], str]:
    if not dtype.is_float:
        return lambda value: f"{int(value):5d}"
    digits = options.precision
    scientific = options.scientific
    if _needs_exponent(values) if scientific is None else scientific:
        return lambda value: f"{float(value):{digits + 7}.{digits}e}"
    return lambda value: f"{float(value):{digits + 3}.{digits}f}"


def _needs_exponent(values: Array) -> bool:
    sizes = np.abs(values.astype(np.float64))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if not sizes.size:
        return False
    smallest, largest = sizes.min(), sizes.max()
    return bool(largest > 1e8 or smallest < 1e-4 or largest / smallest > 1000)


def _nested(values: Array, number: Callable[[Any], str], column: int, limit: int) -> str:
    if values.ndim == 0:
        return number(values)
    inner = values.ndim == 1
    gap = ", " if inner else ",\n" + "\n" * (values.ndim > 2) + " " * (column + 1)
    items = [_nested(item, number, column + 1, limit) for item in _outer(values, limit)]
    if len(values) > limit:
        items.insert(EDGE, " ..." if inner else "...")
    return f"[{gap.join(items)}]"


def _outer(values: Array, limit: int) -> list[Any]:
    if len(values) <= limit:
        return list(values)
    return [*values[:EDGE], *values[-EDGE:]]
