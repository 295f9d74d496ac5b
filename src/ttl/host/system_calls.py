"""A filter of system calls for a process that runs kernels nobody vouches for.

rule SOCKETS    no socket is made, connected or written to: one of this machine, such as that of an
                ssh agent or of a container service, is a file to which no right of Landlock applies
rule RINGS      no io_uring, whose operations are not system calls that a filter sees
rule PROCESSES  no process is started, traced or signalled but this one; threads are
rule LIMITS     limits stay as they are, for root too
rule OTHER      system calls of another instruction set are refused, all of them

The filter is a program for the kernel's packet filter (BPF): each instruction is a code, two jump
distances and a number. A call that is refused fails with EPERM.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# Where the fields of struct seccomp_data are; an argument has 64 bits.
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
LOAD, IF_EQUAL, IF_AT_LEAST, IF_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW = 0x7FFF0000
REFUSE, NOT_KNOWN = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
SET_NO_NEW_PRIVILEGES = 38  # of prctl(2)
SET_FILTER, ALL_THREADS = 1, 1  # of seccomp(2)
NEW_THREAD = 0x00010000  # of clone(2)
X32 = 0x40000000  # numbers of the x32 instruction set, which has the architecture of x86-64
INSTRUCTION = struct.Struct("=HBBI")

# rules SOCKETS, RINGS, PROCESSES and LIMITS; those above 400 have one number everywhere
EVERYWHERE = {
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "pidfd_open": 434,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "process_mrelease": 448,
}
REFUSED_X86_64 = {
    "socket": 41,
    "connect": 42,
    "accept": 43,
    "sendto": 44,
    "recvfrom": 45,
    "sendmsg": 46,
    "recvmsg": 47,
    "bind": 49,
    "listen": 50,
    "socketpair": 53,
    "accept4": 288,
    "recvmmsg": 299,
    "sendmmsg": 307,
    "fork": 57,
    "vfork": 58,
    "execve": 59,
    "execveat": 322,
    "ptrace": 101,
    "tkill": 200,
    "rt_sigqueueinfo": 129,
    "rt_tgsigqueueinfo": 297,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "setns": 308,
    "unshare": 272,
    "setrlimit": 160,
    "prlimit64": 302,
}
REFUSED_AARCH64 = {
    "socket": 198,
    "socketpair": 199,
    "bind": 200,
    "listen": 201,
    "accept": 202,
    "connect": 203,
    "sendto": 206,
    "recvfrom": 207,
    "sendmsg": 211,
    "recvmsg": 212,
    "accept4": 242,
    "recvmmsg": 243,
    "sendmmsg": 269,
    "execve": 221,
    "execveat": 281,
    "ptrace": 117,
    "tkill": 130,
    "rt_sigqueueinfo": 138,
    "rt_tgsigqueueinfo": 240,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "setns": 268,
    "unshare": 97,
    "setrlimit": 164,
    "prlimit64": 261,
}


class Machine(NamedTuple):
    """An instruction set: its names, and the numbers of its system calls."""

    architecture: int
    refused: Mapping[str, int]
    clone: int
    clone3: int
    signals: tuple[int, ...]  # kill and tgkill, whose first argument is a process
    seccomp: int
    highest: int | None = None  # numbers from this one on are another instruction set


MACHINES = {
    "x86_64": Machine(0xC000003E, REFUSED_X86_64, 56, 435, (62, 234), 317, X32),
    "aarch64": Machine(0xC00000B7, REFUSED_AARCH64, 220, 435, (129, 131), 277),
}


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def close_system_calls() -> bool:
    """From here on, for all threads of this process; False where the system has no such filter."""
    machine = MACHINES.get(os.uname().machine)
    if sys.platform != "linux" or machine is None or struct.calcsize("P") != 8:
        return False
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(SET_NO_NEW_PRIVILEGES, *map(ctypes.c_ulong, (1, 0, 0, 0))) != 0:
        return False
    code = program(machine, os.getpid())
    given = _Filter(len(code) // INSTRUCTION.size, code)
    mode, flags = ctypes.c_uint(SET_FILTER), ctypes.c_uint(ALL_THREADS)
    call = ctypes.c_long(machine.seccomp)
    return bool(library.syscall(call, mode, flags, ctypes.byref(given)) == 0)


def program(machine: Machine, process: int) -> bytes:
    """The instructions. Each test is followed by what is returned where it holds."""
    code = [_load(ARCHITECTURE), *_unless_equal(machine.architecture, REFUSE), _load(NUMBER)]
    if machine.highest is not None:  # rule OTHER
        code += _if(IF_AT_LEAST, machine.highest, REFUSE)
    for number in sorted({*machine.refused.values(), *EVERYWHERE.values()}):
        code += _if(IF_EQUAL, number, REFUSE)
    # Its flags are in memory, where a filter does not look: the C library then calls clone.
    code += _if(IF_EQUAL, machine.clone3, NOT_KNOWN)
    code += _if_argument([machine.clone], [(IF_ANY_BIT, NEW_THREAD)])
    code += _if_argument(machine.signals, [(IF_EQUAL, process)])
    return b"".join([*code, _return(ALLOW)])


def _load(offset: int) -> bytes:
    return INSTRUCTION.pack(LOAD, 0, 0, offset)


def _return(what: int) -> bytes:
    return INSTRUCTION.pack(RETURN, 0, 0, what)


def _if(test: int, number: int, what: int) -> list[bytes]:
    return [INSTRUCTION.pack(test, 0, 1, number), _return(what)]


def _unless_equal(number: int, what: int) -> list[bytes]:
    return [INSTRUCTION.pack(IF_EQUAL, 1, 0, number), _return(what)]


def _if_argument(calls: Sequence[int], allowed: Sequence[tuple[int, int]]) -> list[bytes]:
    """These calls are allowed only if their first argument passes a test, and end the program."""
    tests = [part for test, number in allowed for part in _if(test, number, ALLOW)]
    judged = [_load(FIRST_ARGUMENT), *tests, _return(REFUSE)]
    code = []
    for number in calls:
        code += [INSTRUCTION.pack(IF_EQUAL, 0, len(judged), number), *judged]
    return code
