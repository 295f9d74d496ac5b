"""One BLAS thread while a simulation runs.

Blocks are small: on a busy machine OpenBLAS loses more by waking threads than it wins, up to
175 times at 128x128.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from ttl.loading.forks import WhileRunning

_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "")


def _one_thread() -> Callable[[], None]:
    """Use one thread until undone; has no effect if numpy lacks its own OpenBLAS."""
    functions = _openblas()
    if functions is None:
        return lambda: None
    get_threads, set_threads = functions
    before = get_threads()
    set_threads(1)

    def undo() -> None:
        set_threads(before)

    return undo


one_blas_thread = WhileRunning(_one_thread)


@cache
def _openblas() -> tuple[Callable[[], int], Callable[[int], object]] | None:
    package = Path(np.__file__).parent
    folders = (package.parent / "numpy.libs", package / ".dylibs")
    for file in sorted(file for folder in folders for file in folder.glob("*openblas*")):
        try:
            library = ctypes.CDLL(str(file))
        except OSError:
            continue
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                if hasattr(library, f"{prefix}_set_num_threads{suffix}"):
                    return (
                        getattr(library, f"{prefix}_get_num_threads{suffix}"),
                        getattr(library, f"{prefix}_set_num_threads{suffix}"),
                    )
    return None
