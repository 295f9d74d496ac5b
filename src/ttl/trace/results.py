"""The tensors after each operation, in a zip of arrays beside a trace."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import Path
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as array_format

from ttl.semantics.dtypes import Array

BOUND = "~"  # separates the parts of the bound in names of the archive


@dataclass(frozen=True, slots=True)
class ErrorBound:
    """A call's operations whose bound in the op table is not 0.

    The spacings are those at 1.0, of the registers' format and of the tensor's.
    """

    operations: tuple[str, ...]
    spacing: float
    spacing_of_result: float

    @property
    def relative(self) -> float:
        """The bound relative to the largest element: both engines' bounds for each operation, plus
        roundings of the result on both sides of a tie."""
        return 2 * len(self.operations) * self.spacing + self.spacing_of_result


@dataclass(frozen=True, slots=True)
class Result:
    call: int  # counted from 0
    tensor: str
    is_tiled: bool
    values: Array  # floats as float32
    bound: ErrorBound | None = None  # allowed difference of another engine; None: bit for bit


def results_file(trace: Path) -> Path:
    return trace.with_suffix(".npz")


def append_results(trace: Path, results: Iterable[Result], is_first: bool) -> None:
    """Append the tensors after calls; `is_first` replaces the file."""
    with ZipFile(results_file(trace), "w" if is_first else "a") as archive:
        for each in results:
            is_float = each.values.dtype.kind not in "iub"
            values = each.values.astype(np.float32) if is_float else each.values
            form = "tiles" if each.is_tiled else "rows"
            if each.bound is not None:
                numbers = each.bound.spacing.hex(), each.bound.spacing_of_result.hex()
                form += BOUND + BOUND.join((*numbers, *each.bound.operations)).replace(".", ";")
            with archive.open(f"{each.call}.{form}.{each.tensor}.npy", "w") as out:
                array_format.write_array(out, np.ascontiguousarray(values))


def read_results(trace: Path) -> list[Result]:
    """Return the results beside a trace, if any; raise ValueError if the file is damaged."""
    file = results_file(trace)
    if not file.exists():
        return []
    try:
        with ZipFile(file) as archive:
            return [_read(archive, name) for name in archive.namelist()]
    except _DAMAGED as error:
        raise ValueError(f"{file} does not hold results: {error}") from None


# Exceptions of zipfile and numpy for damaged files.
_DAMAGED = (BadZipFile, ValueError, EOFError, RuntimeError, OverflowError, TypeError, struct.error)


def _read(archive: ZipFile, name: str) -> Result:
    parts = name.removesuffix(".npy").split(".", 2)
    if len(parts) != 3 or not parts[0].isdecimal():
        raise ValueError(f"{name!r} is not the name of a tensor after a call")
    call, form, tensor = parts
    form, *bound = form.replace(";", ".").split(BOUND)
    values = _array(archive, name)
    return Result(int(call), tensor, form == "tiles", values, _bound(bound) if bound else None)


def _array(archive: ZipFile, name: str) -> Array:
    """Read an array, checking its size before allocating: both sizes may be damaged."""
    if archive.getinfo(name).compress_type != ZIP_STORED:
        raise ValueError(f"{name} is compressed")
    data = BytesIO(archive.read(name))
    if array_format.read_magic(data) != (1, 0):
        raise ValueError(f"{name} is of another version of numpy's format")
    shape, is_fortran, dtype = array_format.read_array_header_1_0(data)
    if is_fortran or dtype.kind not in "iufb":
        raise ValueError(f"{name} does not hold numbers row by row")
    if prod(shape) * dtype.itemsize != len(data.getvalue()) - data.tell():
        raise ValueError(f"{name} has another size than its header says")
    return np.frombuffer(data.getvalue(), dtype, prod(shape), data.tell()).reshape(shape)


def _bound(parts: list[str]) -> ErrorBound:
    if len(parts) < 3:
        raise ValueError("a bound names no operations")
    spacing, of_result, *operations = parts
    return ErrorBound(tuple(operations), float.fromhex(spacing), float.fromhex(of_result))
