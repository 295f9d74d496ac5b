"""Finding the user's code in a call stack."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from types import FrameType, TracebackType

from ttl.loading.packages import FOLDERS, SOURCES

from .span import Span

_PACKAGES = tuple(folder + os.sep for folder in FOLDERS)
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
_COMMANDS = os.path.dirname(sys.executable or os.devnull) + os.sep  # contains `ttl`
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
# Installed packages with operations or kernel helpers, whose files count as the user's.
_LIBRARIES: set[str] = set()


def is_pyttlang_file(file: str) -> bool:
    return file.startswith(_PACKAGES) or _is_compiled_file(file)


@lru_cache(maxsize=1024)
def _is_compiled_file(file: str) -> bool:
    """Return whether it is the file of a compiled module, which is relative in tracebacks."""
    return file.startswith("ttl/") and os.path.isfile(os.path.join(SOURCES, file))


@lru_cache(maxsize=1024)
def is_user_file(file: str) -> bool:
    """Return whether a file is neither pyttlang's, Python's, a command nor of a library like numpy.

    Files of a library of operations are the user's.
    """
    if file.startswith(tuple(_LIBRARIES)):
        return True
    if is_pyttlang_file(file) or file.startswith((_STANDARD_LIBRARY, _COMMANDS, "<frozen")):
        return False
    return not any(folder in file for folder in _INSTALLED)


def add_library(file: str) -> None:
    """Count the installed package of a file as a library of operations."""
    for folder in _INSTALLED:
        before, found, inside = file.partition(folder)
        if not found or is_pyttlang_file(file):
            continue
        package, is_folder, _ = inside.partition(os.sep)
        _LIBRARIES.add(f"{before}{folder}{package}{is_folder}")
        is_user_file.cache_clear()


def user_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the user's code at or outside `frame`."""
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def frame_span(frame: FrameType | None) -> Span | None:
    return Span.of_instruction(frame.f_code, frame.f_lasti) if frame is not None else None


def calling_span() -> Span | None:
    """Return the span where the user's code called into pyttlang."""
    return frame_span(user_frame(sys._getframe(1)))


def traceback_spans(traceback: TracebackType | None) -> list[Span]:
    """Return the spans of the user's frames in a traceback, innermost first."""
    spans = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_user_file(code.co_filename):
            spans.append(Span.of_instruction(code, traceback.tb_lasti))
        traceback = traceback.tb_next
    return spans[::-1]


def raised_by_pyttlang(traceback: TracebackType | None) -> bool:
    """Return whether the innermost frame is pyttlang's."""
    from_pyttlang = False
    while traceback is not None:
        from_pyttlang = is_pyttlang_file(traceback.tb_frame.f_code.co_filename)
        traceback = traceback.tb_next
    return from_pyttlang


def user_traceback(traceback: TracebackType | None) -> TracebackType | None:
    """Remove pyttlang's frames, unless there are no others or TTL_DEBUG is set."""
    if os.environ.get("TTL_DEBUG"):
        return traceback
    frames = []
    found = traceback
    while found is not None:
        if not is_pyttlang_file(found.tb_frame.f_code.co_filename):
            frames.append(found)
        found = found.tb_next
    kept: TracebackType | None = None
    for frame in reversed(frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept or traceback
