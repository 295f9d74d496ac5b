"""The packages keep their size, their names and their types.

Numbers here may become less; whoever needs more says for what, in ARCHITECTURE.md.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
GUIDE = (ROOT / "ARCHITECTURE.md").read_text()
FILES = sorted(SOURCES.rglob("*.py"))
TEXTS = {str(file.relative_to(SOURCES)): file.read_text(encoding="utf-8") for file in FILES}


def lines_of(package: str) -> int:
    return sum(text.count("\n") for file, text in TEXTS.items() if file.startswith(f"{package}/"))


BUDGET = re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", GUIDE, re.MULTILINE)


def test_each_package_has_a_budget() -> None:
    packages = {folder.name for folder in SOURCES.iterdir() if any(folder.rglob("*.py"))}
    assert {name for name, _ in BUDGET} == packages - {"ttnn-stubs"}


@pytest.mark.parametrize(("package", "most"), BUDGET)
def test_packages_stay_within_their_budgets(package: str, most: str) -> None:
    assert lines_of(package) <= int(most.replace(",", ""))


# Uses of `Any` per 1,000 lines. The stand-in of ttnn and what torch calls are free.
FREE = ("ttl/ttnn", "tt_torch")
MOST = 8  # of all others together, and of each folder that is not here
MOST_ANY = {
    "ttl": 22,
    "ttl/driver": 18,
    "ttl/language": 11,
    "ttl/semantics": 10,
    "ttl/studio/lsp": 11,
    "ttl/studio/tuning": 15,
    "ttl/target": 15,
    "ttgraph": 18,
    "pykernel": 13,
}


def folder_of(file: str) -> str:
    parts = file.split("/")
    depth = 3 if parts[:2] == ["ttl", "studio"] else 2
    return "/".join(parts[: min(depth, len(parts) - 1)])


def test_any_becomes_rarer() -> None:
    used: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file, text in TEXTS.items():
        if not folder_of(file).startswith(FREE):
            used[folder_of(file)][0] += len(re.findall(r"\bAny\b", text))
            used[folder_of(file)][1] += text.count("\n")
    found = {folder: 1000 * count // max(lines, 1) for folder, (count, lines) in used.items()}
    above = {name: share for name, share in found.items() if share > MOST_ANY.get(name, MOST)}
    assert not above
    assert all(found[name] > MOST for name in MOST_ANY), "a folder is better: take its row out"
    total = [sum(numbers) for numbers in zip(*used.values(), strict=True)]
    assert 1000 * total[0] <= MOST * total[1]


# Public classes of one name, and why there are several.
SAME_NAME = {
    "Config": "ttl.Config is what users type for a tuned operation; the other has the options",
    "Program": "pykernel.d2m_api.Program is what users of pykernel type",
    "TensorSpec": "ttl.driver.specs.TensorSpec is in documented programs, ttnn's is the real one's",
    "Semaphore": "pykernel.d2m_api.Semaphore is what users of pykernel type",
}
# Operations are named with their dialect, nodes of the tree with their module: `tree.Call`.
WITH_THEIR_MODULE = ("/dialects/", "ttl/source/tree.py")


def test_a_class_name_has_one_meaning() -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for file, text in TEXTS.items():
        if any(part in file for part in WITH_THEIR_MODULE):
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(file)
    found = {name: files for name, files in places.items() if len(files) > 1}
    assert found.keys() == SAME_NAME.keys(), found


DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_decisions_have_a_date_and_a_status(page: Path) -> None:
    line = page.read_text(encoding="utf-8").split("\n")[2]
    day = r"\d{4}-\d\d-\d\d"
    found = re.fullmatch(rf"\*Decided {day}(, changed {day})?\. Status: (.+)\.\*", line)
    assert found is not None, line
    replaced = re.fullmatch(r"replaced by (\d+)", found[2])
    numbers = {int(each.stem.partition("-")[0]) for each in DECISIONS}
    assert found[2] == "in force" or (replaced is not None and int(replaced[1]) in numbers)


def test_references_to_decisions_lead_somewhere() -> None:
    numbers = {each.stem.partition("-")[0] for each in DECISIONS}
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *FILES]:
        text = page.read_text(encoding="utf-8")
        assert set(re.findall(r"decisions/(\d{4})", text)) <= numbers, page


def test_the_glossary_has_each_word_once() -> None:
    page = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([\w ]+) \|", page, re.MULTILINE)[1:]
    assert words == sorted(words, key=str.lower) and len(words) == len(set(words)) >= 60
