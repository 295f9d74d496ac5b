"""ttl explain CODE"""

from __future__ import annotations

import argparse
from textwrap import fill

from ttl.diagnostics import codes, usage_error
from ttl.diagnostics.pages import page_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", nargs="?", help="a code such as TTL5001; without it, all codes")


def run(options: argparse.Namespace) -> int:
    if options.code is None:
        for entry in codes.CATALOGUE.values():
            print(f"{entry.code}  {entry.slug}")
        return 0
    wanted = options.code.upper()
    names = (wanted, f"TTL{wanted}")
    found = [e for e in codes.CATALOGUE.values() if e.code in names or e.slug.upper() == wanted]
    if not found:
        message = f"there is no diagnostic {options.code}"
        raise usage_error(codes.UNKNOWN_NAME, message, "`ttl explain` without a code lists them")
    entry = found[0]
    verdict = entry.blame.value if entry.is_fault else entry.effect.value
    print(f"{entry.code} ({entry.slug}): {verdict}\n\n{fill(entry.explanation, 90)}")
    page = page_of(entry.code)
    if page is not None and "\n## " in page:  # its head is what was printed
        print("\n" + page[page.index("\n## ") + 1 :], end="")
    return 0
