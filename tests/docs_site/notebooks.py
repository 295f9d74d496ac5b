"""The pages of the tutorial as notebooks: words and programs are the pages' own.

    PYTHONPATH=src:tests python -m docs_site.notebooks

writes them to examples/notebooks.
"""

from __future__ import annotations

import base64
import json
import re
import textwrap
from pathlib import Path
from typing import Any

from docs_site.pages import DOCS, ROOT, TUTORIAL, CodeBlock, code_blocks

FOLDER = ROOT / "examples" / "notebooks"
_SOLUTION = re.compile(r'^\?\?\? success "(.*)"\n\n', re.MULTILINE)
_PICTURE = re.compile(r"!\[([^\]]*)\]\(pictures/([\w-]+\.svg)\)")
_SCREEN = re.compile(r"!\[[^\]]*\]\(pictures/[\w-]+\.png\)\n*")  # large; they are on the site
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!http)[^)]*\)")


def notebook(page: Path) -> str:
    text, cells, done = page.read_text(encoding="utf-8"), [], 0
    for block in code_blocks(text):
        if block.kind == "python":
            cells += [*_words(text[done : block.start]), _code(block)]
            done = block.end
    cells += _words(text[done:])
    numbered = [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {
        "cells": numbered,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _words(text: str) -> list[dict[str, Any]]:
    """A cell of words; none if there are none. Links to other pages are only words here."""
    head, found, rest = text, _SOLUTION.search(text), ""
    if found:
        rest = textwrap.dedent(text[found.end() :])
        head, rest = text[: found.start()], f"### {found[1]}\n\n{rest}"
    text = _SCREEN.sub("", _LINK.sub(r"\1", head + rest)).strip()
    if not text:
        return []
    pictures = {name: _encoded(name) for _, name in _PICTURE.findall(text)}
    source = _PICTURE.sub(r"![\1](attachment:\2)", text)
    cell: dict[str, Any] = {"cell_type": "markdown", "metadata": {}, "source": _lines(source)}
    return [{**cell, "attachments": pictures} if pictures else cell]


def _encoded(name: str) -> dict[str, str]:
    data = (DOCS / "tutorial" / "pictures" / name).read_bytes()
    return {"image/svg+xml": base64.b64encode(data).decode()}


def _code(block: CodeBlock) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": _lines(block.text.rstrip("\n")),
    }


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def files() -> dict[Path, str]:
    """The notebooks, as they should be."""
    return {FOLDER / f"{page.stem}.ipynb": notebook(page) for page in TUTORIAL}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
