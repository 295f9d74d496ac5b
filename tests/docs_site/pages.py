"""The pages of docs/ with programs: their code blocks, and what the blocks of a page are called."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TUTORIAL = tuple(sorted((DOCS / "tutorial").glob("[1-8]-*.md")))
_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class CodeBlock:
    kind: str
    text: str
    start: int  # in the text of the page
    end: int


def code_blocks(page: str) -> list[CodeBlock]:
    """Those of admonitions too, without their indent."""
    return [
        CodeBlock(found[2], textwrap.dedent(found[3]), *found.span())
        for found in _FENCE.finditer(page)
    ]


def program_of(page: Path) -> str:
    """All python blocks of a page, one after the other, as they would be typed."""
    blocks = code_blocks(page.read_text(encoding="utf-8"))
    return "\n\n".join(block.text for block in blocks if block.kind == "python")


def file_name(page: Path) -> str:
    """`matmul.py` of `3-matmul.md`."""
    return f"{page.stem.split('-')[1]}.py"
