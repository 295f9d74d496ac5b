"""Pictures of `ttl view` for the pages of the tutorial, taken in a headless Chromium.

    PYTHONPATH=src:tests python -m docs_site.screens

takes them anew. The tests ask that they are there; what the panels look like is tests/view's.
"""

from __future__ import annotations

import ast
import contextlib
import io
import tempfile
from pathlib import Path

from docs_site.pages import DOCS, TUTORIAL, file_name, program_of
from docs_site.timelines import SHOWN
from ttl.cli import main
from view.chromium import Tab, opened, page_address

# The panel that shows what a page is about, its height, and keys to press in it.
PANELS = {
    "1-add": ("timeline", 300, "e"),
    "2-blocks-and-buffers": ("memory", 560, ""),
    "3-matmul": ("code", 760, ""),
    "4-fusion": ("heat", 700, ""),
    "5-softmax": ("heat", 560, ""),
    "6-pipes": ("graph", 640, ""),
    "7-semaphores-and-meshes": ("timeline", 560, ""),
    "8-flash-attention": ("heat", 860, ""),
}


def cut(program: str, operation: str) -> str:
    """The program without its other operations, up to the first statement that runs this one."""
    lines, kept, other, end = program.splitlines(keepends=True), [], set(), 0
    for statement in ast.parse(program).body:
        start, end = end, statement.end_lineno or 0
        names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        if isinstance(statement, ast.FunctionDef):
            if statement.decorator_list and statement.name != operation:
                other.add(statement.name)
                continue
        elif names & other:
            continue
        kept += lines[start:end]
        if operation in names:
            return "".join(kept)
    raise AssertionError(f"{operation} is not called")


def take(page: Path, tab: Tab, folder: Path) -> bytes:
    program = folder / file_name(page)
    view = program.with_suffix(".html")
    text = cut(program_of(page), SHOWN[page.stem])
    program.write_text(text, encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.chdir(folder):
        assert main(["view", "--no-open", "-o", view.name, program.name]) == 0, page
    panel, height, keys = PANELS[page.stem]
    tab.open(page_address(view, panel), width=1300, height=height)
    for key in keys:
        tab.press(key)
    return tab.screenshot()


if __name__ == "__main__":
    with opened() as browser, tempfile.TemporaryDirectory() as temporary:
        for page in TUTORIAL:
            picture = take(page, browser.open_tab(), Path(temporary))
            (DOCS / "tutorial" / "pictures" / f"{page.stem}-view.png").write_bytes(picture)
