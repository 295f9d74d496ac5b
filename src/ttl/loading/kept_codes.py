"""What the texts that dataclasses write are compiled to, kept between processes.

Python keeps the bytecode of modules; that of the methods which `@dataclass` writes it makes anew in
each process: a tenth of the time of one that compiles a kernel. Here it is kept in the user's
cache folder, found by the whole text, and used for classes of this package and xDSL only. A file
that cannot be read or written, or that others may have written, is as none: docs/decisions/0034.
"""

from __future__ import annotations

import atexit
import marshal
import os
import sys
import zlib
from functools import cache
from types import CodeType

from .cache_folder import cache_dir, read_trusted, write_whole

PACKAGES = ("ttl", "xdsl")  # the modules and classes of others are made as ever
MOST_CODES = 5000  # those of older versions of the packages are there, too
METHODS = "methods-"  # how the name of the file begins
NAME = f"{METHODS}{sys.implementation.cache_tag}-{sys.hexversion:x}"
SUM_BYTES = 4  # of what follows them: marshal trusts what it reads


def compiled(text: str) -> CodeType:
    """As `exec` of the text does in a module that imports nothing from the future."""
    return compile(text, "<string>", "exec", dont_inherit=True)


def code_of(text: str) -> CodeType:
    known = _known()
    if text not in known:
        if not _NEW:
            atexit.register(_write)
        known[text] = _NEW[text] = compiled(text)
    return known[text]


_NEW: dict[str, CodeType] = {}


@cache
def _known() -> dict[str, CodeType]:
    return read(_path())


def _path() -> str:
    return os.path.join(cache_dir(os.environ), NAME)


def read(path: str) -> dict[str, CodeType]:
    """Nothing if there is no file, or it was damaged, or too many are in it."""
    try:
        content = read_trusted(path)
        if zlib.crc32(content[SUM_BYTES:]).to_bytes(SUM_BYTES) != content[:SUM_BYTES]:
            return {}
        codes: dict[str, CodeType] = marshal.loads(content[SUM_BYTES:])
    except (OSError, EOFError, ValueError, TypeError):
        return {}
    return codes if len(codes) <= MOST_CODES else {}


def _write() -> None:
    """With those that other processes have written since."""
    path = _path()
    content = marshal.dumps({**read(path), **_NEW})
    write_whole(path, zlib.crc32(content).to_bytes(SUM_BYTES) + content)
