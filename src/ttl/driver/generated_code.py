"""The code of methods that dataclasses write, kept from process to process.

A dataclass writes its methods as text and compiles them whenever its module is imported. The
compiler and the IR library have some 400: compiling their text is a third of a first compilation.
Python keeps the code of modules for the next process; this keeps the code of that text, by the
text, in the user's cache. Without the file, or with one that cannot be read, the text is compiled.
"""

from __future__ import annotations

import dataclasses
import marshal
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType
from typing import Any

HOOK = "exec"  # the function that dataclasses give their text to; a global name wins
MOST_TEXTS = 8000  # several times what is imported; beyond it other versions have left theirs


@contextmanager
def code_kept(folder: Path) -> Iterator[None]:
    """While it lasts, dataclasses find their code in a file of `folder`, and leave it there."""
    names = vars(dataclasses)
    if HOOK in names or folder == Path():  # another thread is at it, or there is no cache
        yield
        return
    kept = _KeptCode(folder / f"dataclasses-{MAGIC_NUMBER.hex()}.bin")
    names[HOOK] = kept.run
    try:
        yield
    finally:
        names.pop(HOOK, None)
    if kept.is_changed and not sys.dont_write_bytecode:
        kept.write()


class _KeptCode:
    """The file is read when the first text comes: a second compilation has none."""

    def __init__(self, file: Path):
        self.file = file
        self.codes: dict[str, CodeType] | None = None
        self.used: dict[str, CodeType] = {}
        self.is_changed = False

    def run(self, text: str, *names: Any) -> None:
        if self.codes is None:
            self.codes = self._read()
        code = self.codes.get(text)
        if code is None:
            code = self.codes[text] = compile(text, "<string>", "exec", dont_inherit=True)
            self.is_changed = True
        self.used[text] = code
        exec(code, *names)

    def _read(self) -> dict[str, CodeType]:
        with suppress(OSError, EOFError, TypeError, ValueError):
            found = marshal.loads(self.file.read_bytes())
            if isinstance(found, dict):
                return found
        return {}

    def write(self) -> None:
        """All at once: other processes read it meanwhile."""
        codes = self.codes if len(self.codes or ()) <= MOST_TEXTS else self.used
        part = self.file.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(marshal.dumps(codes))
            part.replace(self.file)
