"""The programs of examples/gallery agree with numpy on both backends, and have their pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docs_site.gallery_pages import GALLERY, KINDS, PROGRAMS, estimate, files, shown_estimate
from sampling import sample_seed
from ttl.cli import main

SAMPLED = 2
CHOSEN = [PROGRAMS[(sample_seed() * SAMPLED + n) % len(PROGRAMS)] for n in range(SAMPLED)]
BACKENDS = pytest.mark.parametrize("backend", [[], ["--host"]], ids=["sim", "host"])


def name_of(program: Path) -> str:
    return program.stem


@BACKENDS
@pytest.mark.parametrize("program", CHOSEN, ids=name_of)
def test_it_agrees_with_numpy(program: Path, backend: list[str], capsys) -> None:
    run(program, backend, capsys)


@pytest.mark.full
@BACKENDS
@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_all_agree_with_numpy(program: Path, backend: list[str], capsys) -> None:
    run(program, backend, capsys)


def run(program: Path, backend: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *backend, str(program)]) == 0
    printed, errors = capsys.readouterr()
    assert printed.startswith(program.stem)
    assert errors == ""


def test_a_program_that_differs_fails(tmp_path: Path) -> None:
    """The check is none that cannot fail."""
    text = next(each for each in PROGRAMS if each.stem == "rope").read_text(encoding="utf-8")
    shared = PROGRAMS[0].parent / "against_numpy.py"
    (tmp_path / shared.name).write_text(shared.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "rope.py").write_text(text.replace("low * c - high * s)", "low * c + high * s)", 1))
    with pytest.raises(SystemExit, match="differs from numpy"):
        main(["run", str(tmp_path / "rope.py")])


def test_the_pages_are_up_to_date() -> None:
    for path, text in files().items():
        assert path.read_text(encoding="utf-8") == text, "run python -m docs_site.gallery_pages"
    assert {path.name for path in GALLERY.glob("*.md")} == {path.name for path in files()}


def test_every_program_has_a_place_a_picture_and_an_estimate() -> None:
    names = {program.stem for program in PROGRAMS}
    assert len(names) >= 20
    assert {name for each in KINDS.values() for name in each} == names
    assert {path.stem for path in (GALLERY / "pictures").glob("*.svg")} == names
    assert set(json.loads((GALLERY / "estimates.json").read_text())) == names


@pytest.mark.full
@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_the_estimate_that_is_shown_is_not_far_from_todays(program: Path) -> None:
    known = json.loads((GALLERY / "estimates.json").read_text())[program.stem]
    today = shown_estimate(estimate(program))
    assert today["nodes"] == known["nodes"]
    assert known["us"][0] / 2 < today["us"][0] < known["us"][0] * 2
