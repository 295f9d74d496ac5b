"""The programs of the examples, the documentation and the fuzzers are treated alike every way.

What is compared, the plugin does while a program runs. Here programs are only run, on each backend;
that some fail is not looked at.
"""

from __future__ import annotations

import linecache
import sys
from pathlib import Path

import pytest

from docs_site.pages import DOCS, ROOT, TUTORIAL, code_blocks, program_of
from fuzz.engines import run as run_text
from fuzz.kinds import made
from fuzz.programs import RIGHT
from ttl.cli import main
from ttl.diagnostics import TTLError

BACKENDS = ("sim", "host")
EXAMPLES = ROOT / "examples"
FILES = sorted(
    file
    for folder in ("", "gallery", "unified", "wrong")
    for file in (EXAMPLES / folder).glob("*.py")
    if "@ttl.operation" in file.read_text(encoding="utf-8")
)
OTHER_PAGES = [
    page
    for page in sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
    if page not in TUTORIAL and "gallery" not in page.parts and "diagnostics" not in page.parts
]
BLOCKS = {
    f"{page.stem}-{number}": block.text
    for page in OTHER_PAGES
    for number, block in enumerate(code_blocks(page.read_text(encoding="utf-8")))
    if block.kind == "python" and "@ttl.operation" in block.text
}
TEXTS = {**{page.stem: program_of(page) for page in TUTORIAL}, **BLOCKS}
# Mutants may have several mistakes, of which each way meets another one first: fuzz.judging has
# their rules.
OF_PROGRAMS = sorted(RIGHT)
SEEDS = range(1000, 1025)


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a program changes in this process is put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", sys.path.copy())


def run(file: Path, backend: str) -> None:
    linecache.clearcache()
    try:
        main(["run", *(["--host"] if backend == "host" else []), str(file)])
    except (Exception, SystemExit) as error:
        assert not isinstance(error, TTLError)  # the command shows it


@pytest.mark.sampled(4)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(EXAMPLES).as_posix())
def test_an_example(file: Path, backend: str) -> None:
    run(file, backend)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", TEXTS)
def test_a_program_of_the_documentation(name: str, backend: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(TEXTS[name], encoding="utf-8")
    run(file, backend)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", OF_PROGRAMS)
def test_a_program_of_the_fuzzers(kind: str, seed: int, backend: str) -> None:
    run_text(made(kind, seed).text, backend)
