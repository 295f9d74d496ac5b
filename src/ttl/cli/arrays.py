"""Reads and writes archives of arrays, .npz, for verbs with input and output tensors."""

from __future__ import annotations

import argparse
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ttl.diagnostics import UsageError, codes, file_not_usable, usage_error, writing
from ttl.semantics.dtypes import Array, DType
from ttl.semantics.printing import array_text

from .program import natural


class NamedArray(NamedTuple):
    name: str  # in an archive
    heading: str  # on the terminal
    array: Array
    dtype: DType


_DAMAGED = (
    ValueError,
    AttributeError,
    TypeError,
    EOFError,
    MemoryError,
    RuntimeError,  # from numpy
    zipfile.BadZipFile,
    zlib.error,
)


def read_archive(file: str) -> dict[str, Array]:
    try:
        archive = np.load(file, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise make_not_arrays(f"{file} is one array, as numpy.save writes it, and no archive")
        with archive:
            return {name: _numbers(archive[name]) for name in archive.files}
    except OSError as error:
        if error.strerror is None:
            raise make_not_arrays(f"{file}: {error}") from None
        raise file_not_usable(file, error) from None
    except _DAMAGED as error:
        if "allow_pickle" in str(error):  # numpy gives this advice for any unknown type
            error = ValueError("numpy did not write it, or it holds other objects than numbers")
        raise make_not_arrays(f"{file} is no archive of arrays: {error}") from None


def _numbers(array: Array) -> Array:
    """Restore bfloat16, which numpy writes as two unnamed bytes."""
    return array.view(ml_dtypes.bfloat16) if array.dtype == np.dtype("V2") else array


def write_archive(file: str, arrays: Mapping[str, Any]) -> None:
    with writing(file), Path(file).open("wb") as out:
        np.savez(out, **arrays)


def make_not_arrays(message: str) -> UsageError:
    help_text = "write it with numpy.savez(FILE, name=array, ...)"
    return usage_error(codes.WRONG_FILE, message, help_text)


def add_array_arguments(parser: argparse.ArgumentParser, inputs: str, results: str) -> None:
    """Add the options of verbs that run kernels on tensors from archives, or on random ones."""
    parser.add_argument("--inputs", metavar="FILE.npz", help=inputs)
    parser.add_argument(
        "--outputs", metavar="FILE.npz", help=f"write {results} here, and not to the terminal"
    )
    parser.add_argument(
        "--seed", type=natural, default=0, metavar="N", help="seed of random tensors (default: 0)"
    )
    parser.add_argument("--json", action="store_true", help="diagnostics as JSON, one a line")


def random_array(shape: Sequence[int], dtype: DType, generator: np.random.Generator) -> Array:
    """Make a random array; raise MemoryError if no machine has the memory for it."""
    try:
        if dtype.is_float:
            return generator.uniform(-2, 2, shape).astype(np.float32)
        return generator.integers(0, 100, shape)
    except ValueError as error:  # numpy cannot even count its elements
        raise MemoryError(str(error)) from None


def write_results(results: Sequence[NamedArray], file: str | None) -> None:
    """Write results to an archive, or print them if there is no file."""
    # Types that numpy can write, which bfloat16 and block floats are not.
    types = [np.float32 if each.dtype.is_float else each.dtype.storage for each in results]
    pairs = zip(results, types, strict=True)
    arrays: dict[str, Array] = {each.name: each.array.astype(plain) for each, plain in pairs}
    if file is not None:
        write_archive(file, arrays)
        return
    for each in results:
        heading = f"{each.heading} {tuple(each.array.shape)} {each.dtype.spelling}:"
        print(f"{heading}\n{array_text(arrays[each.name])}")
