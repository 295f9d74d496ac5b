"""Sketches the tensors that a run writes, in few numbers, to keep and to compare later.

The elements of a tensor are divided into consecutive cells. A cell is two numbers: its norm, and
the sum of its elements with fixed signs. Elements with a relative error move the sum by about that
share of the norm, wherever in the cell they are.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_CELLS = 4096  # of one tensor
SEED = 22

Values = NDArray[Any]
Sketch = dict[str, Any]


@dataclass(slots=True)
class SketchedRun:
    """Sketches the tensors that programs have written."""

    sketches: list[Sketch] = field(default_factory=list)
    fills: bool = (
        True  # replace tensors of equal elements; only for copies of the program's tensors
    )
    # Indices of tensors to fill always, because they may already hold the result.
    written: set[int] = field(default_factory=set)
    elements: str = ""  # a digest of the tensors' values

    @contextmanager
    def around(self, given: Mapping[str, object]) -> Iterator[None]:
        """Sketch what a run inside writes to tensors with these names."""
        tensors = {n: t for n, t in sorted(given.items()) if hasattr(t, "storage")}
        held = [tensor.storage.logical for tensor in tensors.values()]
        self.elements = digest_of(held, self.elements)
        written = {name for n, name in enumerate(given) if n in self.written}
        for number, (name, tensor) in enumerate(tensors.items() if self.fills else ()):
            fill_uniform(tensor.storage, SEED + number, name in written)
        before = {name: tensor.storage.logical.copy() for name, tensor in tensors.items()}
        yield
        for name, tensor in tensors.items():
            after = tensor.storage.logical
            if changed := count_changed(before[name], after):
                self.sketches.append(sketch(name, after, changed))


def digest_of(arrays: Iterable[Values], others: str = "") -> str:
    found = sha256(others.encode())
    for array in arrays:
        found.update(array.tobytes())
    return found.hexdigest()[:32]


def count_changed(before: Values, after: Values) -> int:
    """Count the elements with other bits: a NaN is equal to itself."""
    one, two = (np.ascontiguousarray(each).view(np.uint8) for each in (before, after))
    return int((one != two).reshape(before.size, -1).any(axis=1).sum())


def fill_uniform(storage: Any, seed: int, in_any_case: bool = False) -> None:
    """Fill a tensor whose elements are all equal, which would hide errors, with fixed numbers."""
    values = storage.logical
    if values.size < 2 or not storage.dtype.is_float:
        return
    if not in_any_case and (values != values.flat[0]).any():
        return
    numbers = np.random.default_rng(seed).uniform(-1, 1, values.shape)
    storage.fill(numbers.astype(np.float32))


def sketch(name: str, values: Values, changed: int = 0) -> Sketch:
    numbers = np.asarray(values).astype(np.float64).ravel()
    is_odd = ~np.isfinite(numbers)
    numbers = np.where(is_odd, 0.0, numbers)
    length = max(1, -(-numbers.size // MOST_CELLS))
    cells = np.pad(numbers, (0, -numbers.size % length)).reshape(-1, length)
    signs = np.random.default_rng(SEED).choice([-1.0, 1.0], length)
    found = np.stack([cells @ signs, np.sqrt((cells * cells).sum(axis=1))]).astype("<f4")
    return {
        "name": name,
        "shape": list(values.shape),
        "changed": changed,
        "not_finite": int(is_odd.sum()),
        "cells": base64.b64encode(found.tobytes()).decode(),
    }


def find_size_difference(first: list[Sketch], other: list[Sketch], name: str = "the first") -> str:
    """Name the tensor that has another shape, in words; empty if all shapes are equal."""
    if [each["name"] for each in first] != [each["name"] for each in other]:
        return ""
    for one, two in zip(first, other, strict=True):
        if one["shape"] != two["shape"]:
            here, there = ("x".join(map(str, each["shape"])) for each in (two, one))
            return f"`{one['name']}` is {here}, with {name} {there}"
    return ""


def find_difference(
    first: list[Sketch], other: list[Sketch], tolerance: float, name: str = "the first"
) -> str:
    """Describe the difference; empty if there is none. `name` is the name of the first."""
    if found := find_size_difference(first, other, name):
        return found
    written, now = ([each["name"] for each in sketches] for sketches in (first, other))
    if written != now:
        writes = "write" if name.endswith("s") else "writes"
        return f"it writes {_named(now)}, {name} {writes} {_named(written)}"
    for one, two in zip(first, other, strict=True):
        if one["not_finite"] != two["not_finite"]:
            counts = f"{two['not_finite']} infinities and NaNs, with {name} {one['not_finite']}"
            return f"`{one['name']}` has {counts}"
        if (share := _share_off(_cells(one), _cells(two), tolerance)) > 0:
            return f"`{one['name']}` differs from that of {name} in {share:.0%} of its parts"
    return ""


def _named(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "no tensor"


def _cells(found: Sketch) -> Values:
    return np.frombuffer(base64.b64decode(found["cells"]), "<f4").reshape(2, -1).astype(np.float64)


def _share_off(one: Values, two: Values, tolerance: float) -> float:
    """Return the largest relative error; a cell of small numbers is compared to the usual size."""
    norms = np.maximum(one[1], two[1])
    allowed = tolerance * np.maximum(norms, np.sqrt((norms * norms).mean()))
    off = (np.abs(one - two) > allowed).any(axis=0)
    return float(off.mean())
