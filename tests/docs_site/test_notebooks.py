"""The notebooks are the pages of the tutorial, and run from their first cell to their last."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

from docs_site.notebooks import FOLDER, files
from sampling import sample_seed

NOTEBOOKS = sorted(files())


def test_they_are_up_to_date() -> None:
    assert len(NOTEBOOKS) == 8
    for path, text in files().items():
        assert path.read_text(encoding="utf-8") == text, "run python -m docs_site.notebooks"
    assert sorted(FOLDER.iterdir()) == NOTEBOOKS


def test_they_are_valid() -> None:
    for path in NOTEBOOKS:
        nbformat.validate(nbformat.read(path, as_version=4))


def test_one_of_them_runs(tmp_path: Path) -> None:
    execute(NOTEBOOKS[sample_seed() % len(NOTEBOOKS)], tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_all_of_them_run(path: Path, tmp_path: Path) -> None:
    execute(path, tmp_path)


def execute(path: Path, folder: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=None, resources=place).execute()
    printed = [output["text"] for cell in notebook.cells for output in cell.get("outputs", ())]
    lines = "".join(printed).splitlines()
    assert lines and all(line.endswith("True") for line in lines)
