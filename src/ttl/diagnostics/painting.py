"""Colored diagnostics, on terminals with colors unless NO_COLOR is set."""

from __future__ import annotations

import os
from typing import TextIO

STYLES = (
    (r"(?m)^error(?=\[)", "bold red"),
    (r"(?m)^warning(?=\[)", "bold yellow"),
    (r"(?m)^note(?=\[)", "bold cyan"),
    (r"(?m)^(?:error|warning|note)\[TTL\d+\](?P<message>: .*)$", "bold"),
    (r"(?m)^ *--> .*$", "cyan"),
    (r"(?m)^ *\d* \|", "blue"),
    (r"(?m)^ *\| *\^+.*$", "red"),
    (r"(?m)^ *\| *-+ .*$", "blue"),
    (r"(?m)^ *= (?:help|more):", "green"),
)


def shows_colours(stream: TextIO) -> bool:
    """Return whether to load rich, which checks the variables again in more detail."""
    return bool(os.environ.get("FORCE_COLOR")) or (
        stream.isatty() and not os.environ.get("NO_COLOR")
    )


def show_text(text: str, stream: TextIO) -> None:
    """Print rendered diagnostics, plain unless the stream is a terminal with colors."""
    if not shows_colours(stream):
        print(text, file=stream)
        return
    from rich.console import Console
    from rich.text import Text

    painted = Text(text)
    for pattern, style in STYLES:
        painted.highlight_regex(pattern, style)
    # The terminal breaks long lines, so marks stay under the marked text.
    Console(file=stream, highlight=False).print(painted, soft_wrap=True)
