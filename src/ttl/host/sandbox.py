"""What a process gives up before it runs kernels that nobody vouches for.

Limits of the system hold everywhere. Files are closed by Landlock, through the package of the extra
`isolate`; the network by a network of the process's own. What could not be closed is reported.
"""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Iterable
from pathlib import Path

CPU_SECONDS = 3600  # a loop that is stopped by nothing else
OPEN_FILES = 64
FILE_BYTES = 1 << 16  # a traceback
FILES, NETWORK = "files", "the network"

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000  # of unshare(2)


def enter(readable: Iterable[Path]) -> list[str]:
    """From here on this process opens these files only; gives what stays open to it."""
    set_limits()
    network, files = close_network(), close_files(readable)
    return [name for name, closed in ((FILES, files), (NETWORK, network)) if not closed]


def set_limits() -> None:
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: FILE_BYTES,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_AS: memory_bytes,
    }
    for kind, wanted in limits.items():
        _, most = resource.getrlimit(kind)
        limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        try:
            resource.setrlimit(kind, (limit, limit))
        except (OSError, ValueError):  # macOS does not limit the address space
            continue


def close_network() -> bool:
    """A network without a single way out; a user who is not root may make one with users of its
    own, where the system allows that."""
    unshare = getattr(ctypes.CDLL(None), "unshare", None)
    if unshare is None:
        return False
    kinds = _NEW_NETWORK if os.geteuid() == 0 else _NEW_NETWORK | _NEW_USER
    return bool(unshare(kinds) == 0)


def close_files(readable: Iterable[Path]) -> bool:
    try:
        from landlockpy import AccessFS, LandlockError, Ruleset, Scope
    except ImportError:
        return False
    try:
        with Ruleset(scoped=Scope.SIGNAL | Scope.ABSTRACT_UNIX_SOCKET) as rules:
            for path in readable:
                rules.allow_path(path, AccessFS.READ_FILE | AccessFS.EXECUTE)
            rules.restrict()
    except (LandlockError, OSError):  # a system without Landlock
        return False
    return True
