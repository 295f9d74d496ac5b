"""The bytecode of the modules of this package and of xDSL, in one file.

A process that compiles a kernel loads 390 of them. To find each, and to read the file that Python
keeps for it, takes longer than to make it from its bytecode. Here what those files have is
kept together, in the user's cache folder, and used as Python uses them: while the source has the
same times and size. What is not in the file, has changed or is damaged is loaded as ever:
docs/decisions/0034.
"""

from __future__ import annotations

import atexit
import marshal
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER, spec_from_file_location
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from .cache_folder import cache_dir, can_write, read_trusted, write_whole
from .kept_codes import PACKAGES, SUM_BYTES

MODULES = "modules-"  # how the name of the file begins
LENGTH_BYTES = 8
FORMAT = 1  # of the file: another one has another name
WORTH_WRITING = 20  # modules that are not in the file; fewer are loaded as ever


class Entry(NamedTuple):
    """Where a module's bytecode lies, and the source that it was made of."""

    source: str
    is_package: bool
    stamp: bytes  # its times and size
    checksum: int
    begin: int
    end: int


Bytes = bytes | memoryview
Kept = tuple[Entry, Bytes]


class KeptLoader(SourceFileLoader):
    """Of one module."""

    def __init__(self, name: str, path: str, bytecode: memoryview):
        super().__init__(name, path)
        self.bytecode = bytecode

    def get_code(self, fullname: str) -> CodeType | None:
        try:
            code: CodeType = marshal.loads(self.bytecode)
        except (EOFError, ValueError, TypeError):
            return super().get_code(fullname)
        return code


class KeptModules:
    """A finder, asked before the one that looks into folders."""

    def __init__(self, path: str):
        self.path = path
        self.index, self.content = read(path)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        entry = self.index.get(name)
        if entry is None or path is None:
            return None
        folder = os.path.dirname(entry.source)
        if (os.path.dirname(folder) if entry.is_package else folder) not in path:
            return None
        bytecode = self._bytecode(entry)
        if bytecode is None:
            return None
        loader = KeptLoader(name, entry.source, bytecode)
        within = [folder] if entry.is_package else None
        return spec_from_file_location(
            name, entry.source, loader=loader, submodule_search_locations=within
        )

    def write(self) -> None:
        """When the process ends, if much was loaded that is not in the file."""
        new = {name: each for name, each in _loaded() if type(each.loader) is SourceFileLoader}
        if len(new) < WORTH_WRITING or sys.dont_write_bytecode or not can_write(self.path):
            return
        write_whole(self.path, _joined({**dict(self._valid()), **dict(_codes(new))}))

    def _valid(self) -> Iterator[tuple[str, Kept]]:
        for name, entry in self.index.items():
            if (bytecode := self._bytecode(entry)) is not None:
                yield name, (entry, bytecode)

    def _bytecode(self, entry: Entry) -> memoryview | None:
        """If its source is what it was, and nothing was damaged: marshal trusts what it reads."""
        bytecode = self.content[entry.begin : entry.end]
        is_whole = zlib.crc32(bytecode) == entry.checksum
        return bytecode if is_whole and _stamp(entry.source) == entry.stamp else None


def read(path: str) -> tuple[dict[str, Entry], memoryview]:
    """Nothing if there is no file, or its index was damaged. Read as a whole, not mapped: who
    cuts off a file that is mapped ends the processes that use it.
    """
    try:
        content = memoryview(read_trusted(path))
        begin = SUM_BYTES + LENGTH_BYTES
        end = begin + int.from_bytes(content[SUM_BYTES:begin])
        if zlib.crc32(content[begin:end]).to_bytes(SUM_BYTES) == content[:SUM_BYTES]:
            index = marshal.loads(content[begin:end])
            return {name: Entry(*entry) for name, entry in index.items()}, content[end:]
    except (OSError, EOFError, ValueError, TypeError, AttributeError):
        pass
    return {}, memoryview(b"")


def _joined(kept: dict[str, Kept]) -> bytes:
    index: dict[str, tuple[Any, ...]] = {}
    parts: list[Bytes] = []
    begin = 0
    for name, (entry, bytecode) in sorted(kept.items()):
        end = begin + len(bytecode)
        index[name] = (*entry[:3], zlib.crc32(bytecode), begin, end)
        parts.append(bytecode)
        begin = end
    text = marshal.dumps(index)
    head = zlib.crc32(text).to_bytes(SUM_BYTES) + len(text).to_bytes(LENGTH_BYTES)
    return b"".join([head, text, *parts])


def _loaded() -> Iterator[tuple[str, Any]]:
    """The user's modules are not touched: some are loaded by the first look at them."""
    for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
        spec = getattr(sys.modules[name], "__spec__", None)
        if "." in name and spec is not None:
            yield name, spec


def _codes(specs: dict[str, Any]) -> Iterator[tuple[str, Kept]]:
    for name, spec in specs.items():
        stamp = _stamp(spec.origin)  # before the source is read, which may change meanwhile
        with suppress(ImportError, OSError, SyntaxError, ValueError):
            bytecode = _kept_by_python(name, spec)
            if stamp is not None:
                is_package = spec.submodule_search_locations is not None
                yield name, (Entry(spec.origin, is_package, stamp, 0, 0, 0), bytecode)


def _kept_by_python(name: str, spec: Any) -> bytes:
    """What Python has kept of the module, if that is still true and has the name of its source: a
    folder that was compiled from elsewhere has other names, which the loader changes.
    """
    source = os.stat(spec.origin)
    numbers = (int(source.st_mtime), source.st_size)
    header = MAGIC_NUMBER + bytes(4)
    header += b"".join((number & 0xFFFFFFFF).to_bytes(4, "little") for number in numbers)
    with suppress(OSError), open(spec.cached, "rb") as file:
        content = file.read()
        if content.startswith(header) and os.fsencode(spec.origin) in content:
            return content[len(header) :]
    return marshal.dumps(spec.loader.get_code(name))


def _stamp(source: str) -> bytes | None:
    """The times and size of a source; None if it is not there. A time can be put back, but not
    that of the last change of its entry.
    """
    try:
        found = os.stat(source)
    except OSError:
        return None
    numbers = (found.st_mtime_ns, found.st_ctime_ns, found.st_size)
    return b"".join(number.to_bytes(8, signed=True) for number in numbers)


def keep_modules() -> None:
    """Those that are imported from now on."""
    if sys.flags.optimize or PathFinder not in sys.meta_path:
        return
    folder = zlib.crc32(os.path.dirname(os.path.dirname(__file__)).encode())
    version = f"{FORMAT}-{sys.implementation.cache_tag}-{sys.hexversion:x}"
    kept = KeptModules(os.path.join(cache_dir(os.environ), f"{MODULES}{version}-{folder:x}"))
    sys.meta_path.insert(sys.meta_path.index(PathFinder), kept)
    atexit.register(kept.write)
