"""Archives of arrays, .npz, in which verbs take and give tensors."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from ttl.diagnostics import RuleBroken, UsageError, codes, file_not_usable
from ttl.semantics.dtypes import DType

_DAMAGED = (
    ValueError, AttributeError, TypeError, EOFError, MemoryError, RuntimeError,  # of numpy
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read_archive(file: str) -> dict[str, Any]:
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {name: _numbers(archive[name]) for name in archive.files}
    except OSError as error:
        if error.strerror is None:
            raise not_arrays(f"{file}: {error}") from None
        raise file_not_usable(file, error) from None
    except _DAMAGED as error:
        if "allow_pickle" in str(error):  # numpy's advice for whatever it does not know
            error = ValueError("numpy did not write it, or it holds other objects than numbers")
        raise not_arrays(f"{file} is no archive of arrays: {error}") from None


def _numbers(array: Any) -> Any:
    """numpy writes bfloat16 as two bytes that it has no name for."""
    return array.view(ml_dtypes.bfloat16) if array.dtype == np.dtype("V2") else array


def write_archive(file: str, arrays: dict[str, Any]) -> None:
    try:
        with Path(file).open("wb") as out:
            np.savez(out, **arrays)
    except OSError as error:
        raise file_not_usable(file, error) from None


def not_arrays(message: str) -> UsageError:
    helps = ("write it with numpy.savez(FILE, name=array, ...)",)
    return UsageError(RuleBroken(codes.WRONG_ARGUMENT, message, helps=helps).at(None))


def plain_type(dtype: DType) -> Any:
    """A type that numpy can write: bfloat16 and block floats are not among them."""
    return np.float32 if dtype.is_float else dtype.storage
