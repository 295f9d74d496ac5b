"""What a process gives up before it runs kernels that nobody vouches for.

Limits of the system hold everywhere. Files are closed by Landlock, through the package of the extra
`isolate`; sockets and other processes by a filter of system calls; the network by that filter, and
by a network of the process's own. What could not be closed is reported.
"""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from .system_calls import close_system_calls

CPU_SECONDS = 3600  # a loop that is stopped by nothing else
OPEN_FILES = 64
FILE_BYTES = 1 << 16  # a traceback
FILES, NETWORK = "files", "the network"
SOCKETS, PROCESSES = "sockets of this machine", "other processes"
MEMORY_BYTES = 4 << 30  # beside the tensors, where no other limit is chosen
STATE, VICTIM = Path("/proc/self/statm"), Path("/proc/self/oom_score_adj")

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000  # of unshare(2)


def enter(readable: Iterable[Path], memory_bytes: int | None) -> list[str]:
    """From here on this process opens these files only, and takes no more memory than this beside
    what it has (None: the default, 0: that of the machine); gives what stays open to it."""
    offer_as_victim()
    set_limits(MEMORY_BYTES if memory_bytes is None else memory_bytes)
    network, files, calls = close_network(), close_files(readable), close_system_calls()
    closed = {FILES: files, NETWORK: network or calls, SOCKETS: calls, PROCESSES: calls}
    return [name for name, is_closed in closed.items() if not is_closed]


def offer_as_victim() -> None:
    """The first process that a system without memory ends."""
    with suppress(OSError):  # no Linux
        VICTIM.write_text("1000")


def address_space(memory_bytes: int) -> int:
    """With what is mapped already: the interpreter and the tensors."""
    machine_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        mapped = int(STATE.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # no Linux
        mapped = 0
    return mapped + min(memory_bytes or machine_bytes, machine_bytes)


def set_limits(memory_bytes: int) -> None:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: FILE_BYTES,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_AS: address_space(memory_bytes),
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
