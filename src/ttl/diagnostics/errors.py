"""The exceptions that reach the user's program."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import catalogue as codes
from .diagnostic import Code, Diagnostic, RuleBroken
from .frames import user_traceback
from .painting import show_text
from .render import render_all

if TYPE_CHECKING:
    from pathlib import Path

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # disk full, or the user's quota used up


class TTLError(Exception):
    """One or more diagnostics that stop the program."""

    def __init__(self, *diagnostics: Diagnostic):
        assert diagnostics
        super().__init__(*diagnostics)
        self.diagnostics: Sequence[Diagnostic] = diagnostics

    @property
    def code(self) -> str:
        """The code of the first diagnostic, such as TTL5001; `diagnostics` has all of them."""
        return self.diagnostics[0].code.code

    def __str__(self) -> str:
        return render_all(self.diagnostics)

    def with_note(self, note: str) -> TTLError:
        """Return the error with an additional note on each diagnostic."""
        found = [replace(each, notes=(*each.notes, note)) for each in self.diagnostics]
        return type(self)(*found)

    def _render_traceback_(self) -> list[str]:
        """Render for notebooks, which do not call the exception hook."""
        return f"{debug_traceback(self)}{self}".splitlines()


class UsageError(TTLError):
    """A wrong use of the language, the tools or the environment."""


class WrongValue(UsageError, ValueError):
    """An error that is a ValueError in the public tools, which programs may expect."""


class CompileError(TTLError):
    """An operation that cannot be compiled."""


class KernelFault(TTLError):
    """An illegal action of a running kernel, or a deadlock."""


class InternalError(TTLError):
    """A fault in pyttlang itself."""


def wrong_argument(message: str, *helps: str, **parts: object) -> RuleBroken:
    """Describe a wrong argument in a call of `ttl`; `parts` are those of RuleBroken."""
    return codes.WRONG_ARGUMENT.broken(message, *helps, **parts)


def usage_error(code: Code, message: str, *helps: str, notes: tuple[str, ...] = ()) -> UsageError:
    """Make an error without a source position: about a command, a variable or a file."""
    return UsageError(Diagnostic(code, message, notes=notes, helps=helps))


def file_not_usable(file: object, error: OSError) -> UsageError:
    """Make the error for a user's file that cannot be read or written."""
    message = f"{error.filename or file}: {error.strerror or error}"
    return usage_error(codes.FILE_NOT_USABLE, message, *helps_for(error))


def helps_for(error: OSError) -> tuple[str, ...]:
    """Return the help if the system is out of disk space or file descriptors."""
    if error.errno in NO_ROOM:
        return ("make room there, and run again: what was begun is removed",)
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return ("allow more open files in this shell: ulimit -n 1024",)
    return ()


@contextmanager
def reading(named: object) -> Iterator[None]:
    """Turn an OSError of reading a file into a UsageError."""
    try:
        yield
    except OSError as error:
        raise file_not_usable(named, error) from None


@contextmanager
def writing(named: str | Path, *files: Path) -> Iterator[None]:
    """Turn an OSError of writing files into a UsageError.

    If the disk is full, remove all of `files`: half of a file is worse than none.
    """
    try:
        yield
    except OSError as error:
        for file in (files or (named,)) if error.errno in NO_ROOM else ():
            if os.path.isfile(file):  # no device
                os.unlink(file)
        raise file_not_usable(named, error) from None


def at_the_call(error: TTLError) -> TTLError:
    """Drop the traceback, unless TTL_DEBUG is set: the diagnostic names the place."""
    return error if os.environ.get("TTL_DEBUG") else error.with_traceback(None)


def hide_frames(package: str) -> None:
    """Let pytest leave out the frames of a package's modules where a diagnostic ends a test.

    It asks each module's `__tracebackhide__`; other exceptions keep their frames.
    """

    def is_hidden(found: Any) -> bool:
        return isinstance(found.value, TTLError)

    for name, module in list(sys.modules.items()):
        is_ours = name == package or name.startswith(f"{package}.")
        if is_ours and module is not None:  # None blocks the import of a module
            vars(module).setdefault("__tracebackhide__", is_hidden)


def debug_traceback(error: TTLError) -> str:
    """Return the traceback of the error or of its cause; empty unless TTL_DEBUG is set.

    Excludes the error's own text, which the caller shows.
    """
    if not os.environ.get("TTL_DEBUG"):
        return ""
    import traceback

    if error.__cause__ is not None:
        return "".join(traceback.format_exception(error.__cause__))
    frames = traceback.format_tb(error.__traceback__)
    return "".join(["Traceback (most recent call last):\n", *frames])


def install_exception_hook() -> None:
    """Let an uncaught TTLError end the program with its text instead of a traceback.

    Tracebacks of other exceptions lose pyttlang's frames. With TTL_DEBUG set, both have complete
    tracebacks.
    """
    if getattr(sys.excepthook, "shows_ttl_errors", False):
        return
    previous = sys.excepthook

    def hook(
        kind: type[BaseException], error: BaseException, raised_at: TracebackType | None
    ) -> None:
        if isinstance(error, TTLError):
            show_text(f"{debug_traceback(error)}{error}", sys.stderr)
        else:
            shown = user_traceback(raised_at)
            previous(kind, error.with_traceback(shown), shown)

    hook.shows_ttl_errors = True  # type: ignore[attr-defined]
    sys.excepthook = hook
