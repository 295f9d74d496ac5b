"""ttl explain CODE"""

from __future__ import annotations

import argparse
import re
import sys
from textwrap import fill

from ttl.diagnostics import Code, codes
from ttl.diagnostics.code_table import codes_of
from ttl.diagnostics.names import near_names
from ttl.diagnostics.pages import page_of
from ttl.trace.stats import Table

from .terminal import show_markdown, show_tables

PUT_RIGHT = ("Put right", "A program that does not")
SHOWN = 2  # sections of a page that are shown first: a failing program, and the fix


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", nargs="?", help="a code such as TTL5001; without it, all codes")
    parser.add_argument(
        "--all", action="store_true", help="all programs of its page, not the first one only"
    )


def run(options: argparse.Namespace) -> int:
    if options.code is None:
        listed = sorted(codes.CATALOGUE.values(), key=lambda each: each.code)
        rows = tuple((each.code, each.slug, _sentence(each.explanation)) for each in listed)
        show_tables([Table("Diagnostics", ("code", "name", "what it is"), rows)])
        return 0
    found = codes_of(options.code)
    if not found:
        print(f"ttl explain: error: {_unknown(options.code)}", file=sys.stderr)
        return 1
    show_markdown("\n".join(_find_page(entry, options.all) for entry in found))
    return 0


def _unknown(name: str) -> str:
    """Describe an unknown code; suggest names but not numbers, whose neighbors are unrelated."""
    near = near_names(name.lower(), [code.slug for code in codes.CATALOGUE.values()])
    more = f"did you mean {' or '.join(near)}?" if near else "`ttl explain` lists all of them"
    return f"there is no diagnostic `{name}`; {more}"


def _find_page(entry: Code, with_all: bool) -> str:
    verdict = entry.blame.value if entry.is_fault else entry.effect.value
    text = f"{entry.code} ({entry.slug}): {verdict}\n\n{fill(entry.explanation, 90)}\n"
    page = page_of(entry.code)
    if page is None:
        return text
    _, *sections = page.split("\n## ")  # the head is the explanation
    shown = sections if with_all else sections[:SHOWN]
    text += "".join(f"\n## {section.rstrip()}\n" for section in shown)
    return text + _name_other_sections(entry, sections[len(shown) :])


def _name_other_sections(entry: Code, sections: list[str]) -> str:
    """Name the other sections of the page; empty if all are shown."""
    titles = [section.partition("\n")[0] for section in sections]
    listed = "".join(f"- {title}\n" for title in titles if title not in PUT_RIGHT)
    command = f"ttl explain {entry.code} --all"
    return f"\n## More programs\n\n`{command}` shows them, too:\n\n{listed}" if listed else ""


def _sentence(explanation: str) -> str:
    """Return the first sentence; a point inside `code` or a number does not end it."""
    text = " ".join(explanation.split())
    return re.split(r"(?<=[.:])\s+(?=[A-Z`])", text, maxsplit=1)[0].rstrip(":.") + "."
