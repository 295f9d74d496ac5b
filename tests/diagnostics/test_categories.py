"""Every category of mistakes has a page whose program fails on each backend.

A backend that finds something else than the simulator says why here; one that finds nothing is an
exception with its reason.
"""

from __future__ import annotations

import re

import pytest

from ttl.diagnostics.pages import PAGES

FIRST = "the section after the explanation"
# Category: the code and the section of its page.
CATEGORIES: dict[str, tuple[str, str]] = {
    "transfer not waited for": ("TTL3003", FIRST),
    "transfer waited for twice": ("TTL3002", FIRST),
    "transfer through no pipe waited for twice": ("TTL3017", FIRST),
    "transfer dropped, --strict": ("TTL3011", FIRST),
    "shapes in a copy": ("TTL2001", FIRST),
    "shapes in a store": ("TTL2001", "A value and the block it is stored into"),
    "shapes in an operator, missing broadcast": ("TTL2001", "A broadcast that is left out"),
    "shapes at a pipe": ("TTL2001", "The two ends of a pipe"),
    "element types in a copy": ("TTL2002", FIRST),
    "element types in an operator": ("TTL2002", "The operands of an operator"),
    "element types at a pipe": ("TTL2002", "The two ends of a pipe"),
    "layouts in a copy": ("TTL2007", FIRST),
    "layouts in an operator": ("TTL2007", "An operator on rows"),
    "layouts at a pipe": ("TTL2007", "The two ends of a pipe"),
    "inner dimensions of a matmul": ("TTL2003", FIRST),
    "slice out of range": ("TTL2004", FIRST),
    "ragged slice": ("TTL2004", "Blocks that do not divide the tensor"),
    "push during a transfer": ("TTL3001", FIRST),
    "uninitialized L1": ("TTL3001", "A block that is read before anything was written to it"),
    "block that one node does not write": ("TTL3001", "A block that one node does not write"),
    "double pop": ("TTL3001", "A block that is popped twice"),
    "double push": ("TTL3001", "A block that is pushed twice"),
    "use after release": ("TTL3001", "A block that is used after its release"),
    "release of somebody else's block": ("TTL3007", "A block that another kernel acquired"),
    "block left at the end": ("TTL3004", FIRST),
    "data left at the end": ("TTL3006", FIRST),
    "two consumers": ("TTL3007", FIRST),
    "two producers": ("TTL3007", "Two kernels that fill one buffer"),
    "buffer too small": ("TTL5001", "A buffer that is too small for the pattern"),
    "deadlock of buffers": ("TTL5001", FIRST),
    "deadlock of a semaphore": ("TTL5001", "A semaphore that nobody changes"),
    "mixed deadlock": ("TTL5001", "A cycle through a buffer and a semaphore"),
    "pipe without a receiver": ("TTL5001", "A pipe that nobody receives from"),
    "pipe without a sender": ("TTL5001", "A pipe that nobody sends to"),
    "pipe used too often": (
        "TTL5001",
        "A pipe whose source sends more often than it is received from",
    ),
    "pipe outside the grid": ("TTL1008", FIRST),
    "pipe outside its function": ("TTL3008", "A pipe outside its function"),
    "pipe in the wrong role": ("TTL3008", FIRST),
    "copy in compute": ("TTL1002", FIRST),
    "math in data movement": ("TTL1002", "Arithmetic in a data movement kernel"),
    "call outside of kernels": ("TTL1001", FIRST),
    "L1 limit": ("TTL4001", FIRST),
    "buffer limit": ("TTL4002", FIRST),
    "output not covered": ("TTL3013", FIRST),
    "output written twice": ("TTL5005", "Two nodes that do the same work"),
    "write/write race": ("TTL5005", FIRST),
    "read/write race": ("TTL5005", "A tile that one node reads and another one writes"),
    "spinning": ("TTL5004", FIRST),
    "wrong decorator use": ("TTL1043", FIRST),
    "unsupported Python": ("TTL7003", FIRST),
    "misspelt name": ("TTL1004", FIRST),
    "misspelt variable": ("TTL1004", "A name that nothing has"),
    "division by zero": ("TTL5002", "A division by zero on one node"),
    "old spelling": ("TTL1018", FIRST),
    "captured state written": ("TTL1016", FIRST),
    "padding in a reduction": ("TTL2008", FIRST),
}

ROW = re.compile(r"\|---\|---\|---\|\n\| (.*?) \| (.*?) \| (.*?) \|")


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_page_shows_it_on_every_road(category: str) -> None:
    code, section = CATEGORIES[category]
    text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    sections = {part.partition("\n")[0]: part for part in text.split("\n## ")[1:]}
    row = ROW.search(sections[next(iter(sections)) if section is FIRST else section])
    assert row is not None
    assert "nothing" not in row.groups()
