"""The site: its links, the pages that are made of the source, and, slowly, MkDocs itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs_site.pages import DOCS, ROOT
from docs_site.reference_pages import (
    PAGES,
    api_page,
    command_line_page,
    diagnostics_page,
    environment_page,
    first_sentence,
    grouped_names,
)
from ttl.cli.verbs import VERBS
from ttl.config import OPTIONS
from ttl.diagnostics import codes

_LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def test_links_lead_somewhere() -> None:
    """Files of the repository, or pages that are made when the site is."""
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in (*ROOT.glob("*.md"), *DOCS.rglob("*.md"))
        for link in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8")))
        if not link.startswith(("http:", "https:")) and not _exists(page, link)
    ]
    assert broken == []


def _exists(page: Path, link: str) -> bool:
    target = (page.parent / link).resolve()
    return target.exists() or str(target.relative_to(ROOT)).removeprefix("docs/") in PAGES


def test_decisions_are_numbered_one_after_the_other() -> None:
    pages = {
        int(page.name[:4]): page.read_text(encoding="utf-8")
        for page in sorted((DOCS / "decisions").glob("*.md"))
    }
    for number, text in pages.items():
        assert text.startswith(f"# {number}. ")
    lines = [line for text in pages.values() for line in re.findall(r"^Replaces .*", text, re.M)]
    replaced = {int(number) for line in lines for number in re.findall(r"\d+", line)}
    assert sorted({*pages, *replaced}) == list(range(1, max(pages) + 1))
    assert not replaced & {*pages}


def test_every_variable_has_a_sentence() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]*\| (.*) \|$", environment_page(), re.MULTILINE))
    assert set(OPTIONS) <= set(rows)
    assert [name for name, text in rows.items() if len(text.split()) < 3] == []


def test_every_variable_that_the_source_reads_is_on_the_page() -> None:
    page, read = environment_page(), re.compile(r"environ(?:ment)?\.get\(\"(\w+)\"")
    found = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in read.findall(path.read_text(encoding="utf-8"))
    }
    assert {"CXX", "TTL_DEBUG"} <= found
    assert [name for name in sorted(found) if f"`{name}`" not in page] == []


def test_every_verb_has_its_help() -> None:
    page = command_line_page()
    for verb in VERBS:
        assert f"\n## ttl {verb}\n\n```\nusage: ttl {verb}" in page


def test_every_code_has_a_sentence() -> None:
    rows = re.findall(r"^\| \[?(TTL\d+).*\| (\S+) \| (.*) \|$", diagnostics_page(), re.MULTILINE)
    assert [code for code, _, _ in rows] == sorted(codes.CATALOGUE)
    assert all(text.endswith((".", "!", "?", ":")) and len(text) > 10 for _, _, text in rows)


def test_the_first_sentence_ends_where_it_ends() -> None:
    text = "`a @ b` needs a of [.., M, K]. It is so."
    assert first_sentence(text) == "`a @ b` needs a of [.., M, K]."


def test_every_public_name_is_in_the_reference() -> None:
    page = api_page()
    for _, names in grouped_names():
        for name in names:
            assert f"ttl.{name}\n" in page


def test_the_readers_of_the_source_see_comments_above_and_beside() -> None:
    from docs_site.reference_pages import comments_of

    fields = ["# One", "# two.", "a: int = 1", "b: int = 2  # three", "c: int = 3"]
    source = "\n    ".join(["class A:", *fields])
    assert comments_of(source) == {"a": "One two.", "b": "three", "c": ""}


@pytest.mark.full
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"NO_MKDOCS_2_WARNING": "1", "PATH": "", "HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    pages = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.html")}
    assert {
        "index.html",
        "tutorial/8-flash-attention.html",
        "gallery/rope.html",
        "reference/api.html",
        "reference/environment.html",
    } <= pages
    for page in tmp_path.rglob("*.html"):  # nothing is loaded from elsewhere
        assert not re.search(
            r'<(?:script|link|img)[^>]+(?:src|href)="https?://(?!www\.w3)',
            page.read_text(encoding="utf-8"),
        ), page
