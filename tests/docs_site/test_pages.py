"""Every program that a page of the documentation shows runs, and prints what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs_site.consoles import run_again
from docs_site.pages import DOCS, TUTORIAL, code_blocks, file_name, program_of
from sampling import sample_seed
from ttl.cli import main

WRITTEN = (
    *TUTORIAL,
    DOCS / "index.md",
    *sorted((DOCS / "concepts").glob("*.md")),
    *sorted((DOCS / "coming-from").glob("*.md")),
)
# Run by tests of what they are about.
ELSEWHERE = {
    "howto/hand-written-kernels.md",
    "howto/jax.md",
    "howto/tuning.md",
    "howto/unified-operations.md",
    "howto/which-dsl.md",
}
# What programs of other pages take as given.
GIVEN = {
    "howto/graphs.md": """
import numpy as np
from ttgraph.stablehlo import read_module

a, b = np.ones((32, 32), np.float32), np.ones((32, 32), np.float32)
module = read_module('''
func.func @main(%a: tensor<32x32xf32>, %b: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %y = stablehlo.add %a, %b : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}
''')
""",
    "howto/calls.md": """
import numpy as np
import ttl
from ttl import ttnn

@ttl.operation(grid=(1, 1))
def scaled_sum(a, b, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute():
        with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
            y_blk.store(a_blk + b_blk)

    @ttl.datamovement()
    def read():
        with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
            ttl.copy(a[0, 0], a_blk).wait()
            ttl.copy(b[0, 0], b_blk).wait()

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[0, 0]).wait()

device = ttnn.open_device(device_id=0)
a, b, y, a2, b2, y2 = [
    ttl.from_numpy(np.ones((64, 128)), dtype=ttnn.bfloat16, device=device) for _ in range(6)
]
""",
    "howto/tensors.md": "",
    "reference/severity.md": "a = y = None\noperation = print\n",
}
WITH_PROGRAMS = [page for page in WRITTEN if program_of(page)] + [DOCS / name for name in GIVEN]
WITH_TERMINALS = [
    page
    for page in WRITTEN
    if any(block.kind == "console" for block in code_blocks(page.read_text("utf-8")))
]


def chosen(pages: list[Path]) -> list[Path]:
    """The page that is compiled in every run of the tests; the seed chooses it."""
    return [pages[sample_seed() % len(pages)]]


def name_of(page: Path) -> str:
    return str(page.relative_to(DOCS))


def write_program(page: Path, folder: Path) -> Path:
    name = file_name(page) if page in TUTORIAL else f"{page.stem}.py"
    program = folder / name
    text = GIVEN.get(name_of(page), "") + program_of(page)
    program.write_text(text, encoding="utf-8")
    return program


@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=name_of)
def test_the_program_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", write_program(page, tmp_path).name]) == 0


def _compiled(page: Path, folder: Path) -> None:
    assert main(["run", "--host", write_program(page, folder).name]) == 0


@pytest.mark.parametrize("page", chosen(WITH_PROGRAMS), ids=name_of)
def test_the_program_runs_compiled(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _compiled(page, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=name_of)
def test_every_program_runs_compiled(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _compiled(page, tmp_path)


def _shown(page: Path, folder: Path) -> None:
    write_program(page, folder)
    for block in code_blocks(page.read_text(encoding="utf-8")):
        if block.kind == "console":
            run_again(block.text)


@pytest.mark.parametrize("page", chosen(WITH_TERMINALS), ids=name_of)
def test_the_terminal_shows_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _shown(page, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("page", WITH_TERMINALS, ids=name_of)
def test_every_terminal_shows_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _shown(page, tmp_path)


def test_no_page_with_programs_is_left_out() -> None:
    """What is marked `python` is run; `py` marks what cannot be, as programs for a GPU."""
    others = {
        name_of(page)
        for page in DOCS.rglob("*.md")
        if page not in WRITTEN and page.parent.name != "diagnostics" and program_of(page)
    }
    assert others == ELSEWHERE | set(GIVEN)


@pytest.mark.parametrize("page", TUTORIAL, ids=name_of)
def test_every_page_of_the_tutorial_has_its_parts(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for part in ("## What the chip does", "## Exercise", '??? success "Solution"', "](pictures/"):
        assert part in text, part
    assert program_of(page).rstrip().splitlines()[-1].strip().startswith("assert ")


def test_a_line_that_is_not_printed_is_found() -> None:
    from docs_site.consoles import compare

    assert compare("run", ["a", "b..."], ["a", "bc"]) == []
    assert compare("run", ["a", "b"], ["a", "c"]) == ["b"]
    assert compare("run", ["a"], ["a", "b"]) != []
    assert compare("tune", ["2 us X=1; bound: DRAM"], ["3 us X=1; bound: math"]) == []
    assert compare("tune", ["2 us X=1"], ["3 us Y=1"]) == ["2 us X=1"]
