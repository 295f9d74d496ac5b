"""What operations left in their tensors, beside a trace: a zip of arrays, one for each tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as array_format
from numpy.typing import NDArray

from ttl.semantics.layout import TILE_LAYOUT, layout_of


@dataclass(frozen=True, slots=True)
class Result:
    call: int  # counted from 0
    tensor: str
    is_tiled: bool
    values: NDArray[Any]  # floats as float32


def results_file(trace: Path) -> Path:
    return trace.with_suffix(".npz")


def append_results(trace: Path, call: int, tensors: Mapping[str, Any]) -> None:
    """Add the tensors of a call; the first call begins the file anew."""
    with ZipFile(results_file(trace), "a" if call else "w") as archive:
        for name, tensor in tensors.items():
            logical = tensor.storage.logical
            values = logical.astype(np.float32) if tensor.dtype.is_float else logical
            form = "tiles" if layout_of(tensor) is TILE_LAYOUT else "rows"
            with archive.open(f"{call}.{form}.{name}.npy", "w") as out:
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
