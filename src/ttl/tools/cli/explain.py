"""ttl explain CODE"""

from __future__ import annotations

import argparse
import re
from textwrap import fill

from ttl.diagnostics import Code, codes, usage_error
from ttl.diagnostics.code_table import codes_of
from ttl.diagnostics.pages import page_of
from ttl.trace.stats import Table

from .terminal import show_markdown, show_tables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", nargs="?", help="a code such as TTL5001; without it, all codes")


def run(options: argparse.Namespace) -> int:
    if options.code is None:
        listed = sorted(codes.CATALOGUE.values(), key=lambda each: each.code)
        rows = tuple((each.code, each.slug, _sentence(each.explanation)) for each in listed)
        show_tables([Table("Diagnostics", ("code", "name", "what it is"), rows)])
        return 0
    found = codes_of(options.code)
    if not found:
        message = f"there is no diagnostic {options.code}"
        raise usage_error(codes.UNKNOWN_NAME, message, "`ttl explain` without a code lists them")
    show_markdown("\n".join(map(_explained, found)))
    return 0


def _explained(entry: Code) -> str:
    verdict = entry.blame.value if entry.is_fault else entry.effect.value
    text = f"{entry.code} ({entry.slug}): {verdict}\n\n{fill(entry.explanation, 90)}\n"
    page = page_of(entry.code)
    if page is not None and "\n## " in page:  # its head is what was reported
        text += "\n" + page[page.index("\n## ") + 1 :]
    return text


def _sentence(explanation: str) -> str:
    """The first one; a point inside `code` or a number ends none."""
    text = " ".join(explanation.split())
    return re.split(r"(?<=[.:])\s+(?=[A-Z`])", text, maxsplit=1)[0].rstrip(":.") + "."
