"""Which C++ compiler to use, and how it wants to be called."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ttl.diagnostics import Diagnostic, UsageError, codes
from ttl.diagnostics.errors import helps_for

COMPILER_NAMES = ("c++", "g++", "clang++")
# What says nothing about the program that was to be started.
NO_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)
# Headers of C++ beside those in runtime/, every change of which builds all kernels anew.
FREESTANDING = Path(__file__).parent / "freestanding"


@dataclass(frozen=True, slots=True)
class Compiler:
    """`version` is part of every cache key: another compiler never reuses a library."""

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...] = ()
    has_cxx_library: bool = True

    @property
    def is_gcc(self) -> bool:
        return "Free Software Foundation" in self.version


def find_compiler(environment: Mapping[str, str] = os.environ) -> Compiler:
    """$CXX, then c++, g++, clang++, then the ziglang wheel; UsageError TTL6001 without any."""
    named = shlex.split(environment.get("CXX", ""))
    if named:
        return _named_compiler(named, environment)
    for name in COMPILER_NAMES:
        path = shutil.which(name, path=environment.get("PATH"))
        if path is not None and (version := _version((path,))) is not None:
            return Compiler((path,), version)
    if find_spec("ziglang") is not None:
        return _zig_compiler()
    raise UsageError(_no_compiler("no C++ compiler was found"))


def _named_compiler(command: list[str], environment: Mapping[str, str]) -> Compiler:
    path = shutil.which(command[0], path=environment.get("PATH"))
    full_command = (path or command[0], *command[1:])
    version = _version(full_command)
    if version is None:
        raise UsageError(_no_compiler(f"the compiler named by CXX does not run: {command[0]}"))
    return Compiler(full_command, version)


def _zig_compiler() -> Compiler:
    """Zig would first build its C++ library, for a minute; the runtime does without it."""
    command = (sys.executable, "-m", "ziglang", "c++")
    version = _version((sys.executable, "-m", "ziglang", "version"), option=None)
    if version is None:
        raise UsageError(_no_compiler("the installed ziglang wheel does not run"))
    # Zig instruments code for undefined behaviour unless told not to. It brings the C library's
    # headers itself, but only when asked to link it: a bare machine has none.
    flags = ("-fno-sanitize=undefined", "-nostdlib++", "-lc", f"-I{FREESTANDING}")
    return Compiler(command, version, flags, has_cxx_library=False)


def _version(command: tuple[str, ...], option: str | None = "--version") -> str | None:
    arguments = command if option is None else (*command, option)
    try:
        result = subprocess.run(arguments, capture_output=True, text=True, check=False)
    except OSError as error:
        if error.errno in NO_RESOURCES:  # it may well be a compiler
            raise UsageError(_not_started(command[0], error)) from None
        return None
    return result.stdout.strip() if result.returncode == 0 else None


def _not_started(command: str, error: OSError) -> Diagnostic:
    return Diagnostic(
        codes.NO_COMPILER,
        f"the C++ compiler {command} cannot be started: {error.strerror}",
        helps=helps_for(error) or ("end other programs, and run again",),
        facts={"errno": error.errno},
    )


def _no_compiler(message: str) -> Diagnostic:
    from _pyttlang_installation import install_extra

    install = "xcode-select --install" if sys.platform == "darwin" else "apt install g++"
    return Diagnostic(
        codes.NO_COMPILER,
        message,
        notes=("compiled kernels are C++; running them on the CPU needs a compiler",),
        helps=(
            f"install one (for example `{install}`), or set CXX to the one you have",
            f"or take one from the package index: {install_extra('native')}",
        ),
        facts={"searched": ["$CXX", *COMPILER_NAMES, "ziglang"]},
    )
