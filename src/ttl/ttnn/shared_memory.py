"""Memory shared by processes, for tensors on a mesh whose devices run in separate processes.

Each array is in an unnamed file in the folder for temporary files (TMPDIR), so the system can write
out unused memory: a mesh may have more memory than the machine.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile
import weakref
from functools import cache
from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array

from .faults import wrong

IS_AVAILABLE = sys.platform == "linux"
FAILED = ctypes.c_void_p(-1).value


class SharedPages:
    """Type of such an array's memory."""


def shared_zeros(like: Array) -> Array:
    """Make an array of zeros in memory shared with processes forked later; raise UsageError if the
    disk has no room for it.
    """
    if like.nbytes == 0:
        return like
    with tempfile.TemporaryFile(prefix="ttl-mesh-") as file:
        try:
            # Allocated now: a disk that fills up later would kill the process silently.
            os.posix_fallocate(file.fileno(), 0, like.nbytes)
        except OSError as error:
            raise wrong(
                f"there is no room for {like.nbytes} bytes of a tensor in {tempfile.gettempdir()} "
                f"({error.strerror})",
                "set TMPDIR to a folder on a larger disk: with TTL_MESH_PROCESSES the tensors of a "
                "mesh lie there",
            ) from None
        pages = _mapped(file.fileno(), like.nbytes)
    return np.frombuffer(pages, np.uint8).view(like.dtype).reshape(like.shape)


def is_shared(array: Array) -> bool:
    """Do another process's writes to these elements arrive here?"""
    return _pages_of(array) is not None


def release(array: Array) -> None:
    """Release the array's memory in this process; later accesses read the file."""
    if (pages := _pages_of(array)) is not None:
        _libc().madvise(ctypes.addressof(pages), len(pages), mmap.MADV_DONTNEED)


def _pages_of(array: Any) -> Any:
    owner = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, memoryview):
        owner = owner.obj
    return owner if isinstance(owner, SharedPages) else None


@cache
def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return libc


def _mapped(descriptor: int, size: int) -> Any:
    """Map a file without Python's mmap, which keeps a descriptor open for each of thousands."""
    libc = _libc()
    access = mmap.PROT_READ | mmap.PROT_WRITE
    address = libc.mmap(None, size, access, mmap.MAP_SHARED, descriptor, 0)
    if address == FAILED:
        raise MemoryError(os.strerror(ctypes.get_errno()))
    kind: Any = type("Pages", (ctypes.c_char * size, SharedPages), {})
    pages = kind.from_address(address)
    weakref.finalize(pages, libc.munmap, address, size)
    return pages
