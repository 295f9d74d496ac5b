"""What operations left in their tensors, beside a trace: a zip of arrays, one for each tensor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as array_format
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Result:
    call: int  # counted from 0
    tensor: str
    is_tiled: bool
    values: NDArray[Any]  # floats as float32


def results_file(trace: Path) -> Path:
    return trace.with_suffix(".npz")


def append_results(trace: Path, results: Iterable[Result], is_first: bool) -> None:
    """Add what calls left in their tensors; the first of a file begin it anew."""
    with ZipFile(results_file(trace), "w" if is_first else "a") as archive:
        for each in results:
            is_float = each.values.dtype.kind not in "iub"
            values = each.values.astype(np.float32) if is_float else each.values
            form = "tiles" if each.is_tiled else "rows"
            with archive.open(f"{each.call}.{form}.{each.tensor}.npy", "w") as out:
                array_format.write_array(out, np.ascontiguousarray(values))


def read_results(trace: Path) -> list[Result]:
    """Those beside a trace; none if it was written without them. ValueError for another file."""
    file = results_file(trace)
    if not file.exists():
        return []
    try:
        with ZipFile(file) as archive:
            return [_read(archive, name) for name in archive.namelist()]
    except (BadZipFile, ValueError) as error:
        raise ValueError(f"{file} does not hold results: {error}") from None


def _read(archive: ZipFile, name: str) -> Result:
    call, form, tensor = name.removesuffix(".npy").split(".", 2)
    with archive.open(name) as source:
        return Result(int(call), tensor, form == "tiles", array_format.read_array(source))
