"""The folder of everything kept between processes, and whether its code may run.

rule OURS      read code only from a file and a folder that belong to this user or to root, and
               that neither the group nor others may write
rule PRIVATE   new folders belong to the user alone (mode 0700), and so do new files (0600)
rule ABSOLUTE  a relative $PYTTLANG_CACHE starts at the folder in which the process started; a
               relative $XDG_CACHE_HOME is ignored, as its specification demands
rule OLD       the former name of $PYTTLANG_CACHE is read if the present one is not set
rule WITHOUT   a refused folder is neither read nor written: the process uses a temporary one
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import NamedTuple

CACHE, OLD_CACHE = "PYTTLANG_CACHE", "PYTTL_CACHE"
ROOT = 0  # can change everything anyway, so it needs no trust
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # the folder was removed
        return os.sep


START = _working_folder()


class Refusal(NamedTuple):
    """Why a folder is not used, and the command that fixes it."""

    why: str
    command: str


def cache_dir(variables: Mapping[str, str]) -> str:
    """Return the cache folder as a full path; it may not exist, or be refused."""
    if chosen := variables.get(CACHE) or variables.get(OLD_CACHE):  # rule OLD
        return os.path.join(START, chosen)  # rule ABSOLUTE
    base = variables.get("XDG_CACHE_HOME") or ""
    if not os.path.isabs(base):
        base = os.path.expanduser(os.path.join("~", ".cache"))
    if base.startswith("~"):  # a user without a home
        base = os.path.join(os.sep, "nonexistent")
    return os.path.join(base, "pyttlang")


def refusal_of(folder: str) -> Refusal | None:
    """Make the folder if needed; return None if its code may run, else why not."""
    try:
        os.makedirs(folder, mode=PRIVATE_FOLDER, exist_ok=True)  # rule PRIVATE
        found = os.stat(folder)
    except OSError as error:
        return Refusal(
            f"it cannot be made: {error.strerror}", f"export {CACHE}=$HOME/.cache/pyttlang"
        )
    if not (why := mistrust(found)):
        return None
    return Refusal(why, _command(folder, found))


def mistrust(found: os.stat_result) -> str:
    """Return why others may have written it, or "" if nobody else can (rule OURS)."""
    if found.st_uid not in (os.geteuid(), ROOT):
        return f"it belongs to another user ({found.st_uid})"
    if found.st_mode & OTHERS_MAY_WRITE:
        return f"others may write to it (mode {stat.S_IMODE(found.st_mode):04o})"
    return ""


def _command(folder: str, found: os.stat_result) -> str:
    from shlex import quote  # rarely needed, and imports many modules

    own = f"chmod go-w {quote(folder)}"
    if found.st_uid == os.geteuid():
        return own
    if found.st_uid == ROOT:  # a folder of the system, such as /tmp
        return f"export {CACHE}=$HOME/.cache/pyttlang"
    return f"sudo chown {os.geteuid()} {quote(folder)} && {own}"


def usable(folder: str) -> str:
    """Return the folder itself, or the temporary one (rule WITHOUT)."""
    return folder if known_refusal(folder) is None else temporary_folder()


@cache
def known_refusal(folder: str) -> Refusal | None:
    """Return refusal_of(), asked once per process so that calls of operations stay fast."""
    return refusal_of(folder)


@cache
def temporary_folder() -> str:
    """Make one folder for the life of this process."""
    import atexit
    import shutil
    import tempfile

    folder, owner = tempfile.mkdtemp(prefix="pyttlang-"), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # not in a fork
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def is_trusted(path: str) -> bool:
    """Return whether code in this file may run."""
    try:
        return not (mistrust(os.stat(os.path.dirname(path))) or mistrust(os.stat(path)))
    except OSError:
        return False


def read_trusted(path: str) -> bytes:
    """Return the content of a file with code; raise OSError if it is missing or not trusted."""
    with open(path, "rb") as file:
        folder = os.stat(os.path.dirname(path))
        if mistrust(folder) or mistrust(os.fstat(file.fileno())):
            raise PermissionError(path)
        return file.read()


def can_write(path: str) -> bool:
    """Return whether the file can be written; ask before computing expensive content."""
    folder = os.path.dirname(path)
    return refusal_of(folder) is None and os.access(folder, os.W_OK | os.X_OK)


def write_whole(path: str, content: bytes) -> None:
    """Write a file atomically; do nothing if it cannot be written."""
    if not can_write(path):
        return
    own = f"{path}.{os.getpid()}"
    try:
        with open(own, "xb", opener=_private) as file:
            file.write(content)
        os.replace(own, path)
    except OSError:
        _remove(own)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE_FILE)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
