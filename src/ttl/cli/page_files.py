"""Chooses the file of a page, which may only replace earlier pages of the same program or file.

A page's head names the file that it is about, relative to its folder. Any other existing file is
kept.
"""

from __future__ import annotations

import html
import os
import re
from dataclasses import dataclass
from pathlib import Path

from ttl.diagnostics import codes, reading, usage_error, writing

from .program import FROM_STANDARD_INPUT, STANDARD_INPUT

HEAD_BYTES = 4096
PAGE_OF = re.compile(r'<meta name="ttl-page-of" content="([^"]*)">')


@dataclass(frozen=True, slots=True)
class PageFile:
    path: str
    subject: str  # the page's program or file, relative to its folder
    replaces: bool  # an earlier page of it


def default_page(file: str, verb: str) -> str:
    """Return add_view.html, in the current folder, for the program, trace or folder `file`."""
    path = Path(file)
    if file == STANDARD_INPUT:
        stem = "stdin"
    elif path.is_dir() or path.name == "manifest.json":
        stem = (path if path.is_dir() else path.parent).resolve().name
    else:
        stem = path.stem
    return f"{stem}_{verb}.html"


def page_file(path: str, file: str, forced: bool, help_text: str) -> PageFile:
    """Check the path before the run, whose page would be lost: UsageError if `path` is taken."""
    subject = _subject(path, file)
    replaces = _page_of(path) == subject
    if _has_content(path) and not (replaces or forced):
        message = f"{path} is there already, and is not a page of {file}"
        raise usage_error(codes.FILE_NOT_USABLE, message, help_text)
    was_there = os.path.lexists(path)
    with writing(path):
        Path(path).open("a").close()
        if not was_there:
            os.unlink(path)
    return PageFile(path, subject, replaces)


def _subject(path: str, file: str) -> str:
    if file == STANDARD_INPUT:
        return FROM_STANDARD_INPUT
    folder = os.path.dirname(os.path.realpath(path))
    return Path(os.path.relpath(os.path.realpath(file), folder)).as_posix()


def _has_content(path: str) -> bool:
    return os.path.isfile(path) and os.path.getsize(path) > 0


def _page_of(path: str) -> str | None:
    """Return the subject of a page that we wrote; None for other files."""
    if not os.path.isfile(path):
        return None
    with reading(path), open(path, "rb") as file:
        head = file.read(HEAD_BYTES).decode(errors="replace")
    found = PAGE_OF.search(head)
    return None if found is None else html.unescape(found[1])
