"""Shortens the busy waiting of threads in numpy's matrix library."""

from __future__ import annotations

import os

BLAS_WAIT = "OPENBLAS_THREAD_TIMEOUT"  # a power of two of cycles
BLAS_WAITS = (BLAS_WAIT, "GOTO_THREAD_TIMEOUT", "THREAD_TIMEOUT")


def load_numpy() -> None:
    """Import numpy with OpenBLAS threads that sleep soon, unless the environment chooses otherwise.

    By default such a thread polls for 2^26 cycles before it sleeps. In a process that compiles a
    kernel on two cores this took a sixth of the time; on a busy machine a product of small matrices
    waits for a thread that waits for a core.
    """
    if any(name in os.environ for name in BLAS_WAITS):
        return
    os.environ[BLAS_WAIT] = "16"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[BLAS_WAIT]
