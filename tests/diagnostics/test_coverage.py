"""Every code is raised by a wrong program, on every backend that can raise it.

Who can raise a code is read off the source: the folders of src that name it. Pages of the
reference show what `ttl run`, `ttl check` and `ttl run --host` raise, and test_pages.py runs them;
what no program alone gets is raised by a test of the folder that names it. Folders that all
backends share (semantics, language, source, ...) are covered by any of these.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from diagnostics.test_pages import PAGES, TABLE
from ttl.diagnostics import codes

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src"
CATALOGUES = ("catalogue.py", "use_of_language.py")
NAMES = {name: value.code for name, value in vars(codes).items() if hasattr(value, "slug")}
COMMANDS = ("sim", "check", "host")
# By folder that names a code: the commands of the pages that show it, and the tests that do.
COMPILED = (("check", "host"), ("unit/frontend", "unit/passes", "filecheck", "differential"))
EVIDENCE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "sim": (("sim",), ("unit/sim",)),
    "frontend": COMPILED,
    "passes": (COMPILED[0], (*COMPILED[1], "graph")),
    "host": (("host",), ("unit/host", "host", "e2e", "unit/ttnn")),
    "device": ((), ("unit/device", "device", "e2e")),
    "pykernel": ((), ("d2m",)),
    "pykernel/passes": (COMPILED[0], (*COMPILED[1], "d2m", "graph")),
    "artifact": ((), ("unit/artifact", "e2e")),
    "ttgraph": ((), ("graph", "d2m")),
    "ttgraph/passes": (COMPILED[0], (*COMPILED[1], "graph")),
    "ttgraph/cli": ((), ("e2e", "filecheck", "d2m")),
    "tt_torch": ((), ("graph",)),
    "studio/sweep": ((), ("unit/sweep", "e2e")),
    "studio/tuning": (COMMANDS, ("unit/tuning", "unit/language")),
    "studio/lsp": ((), ("editor",)),
    "cli": ((), ("e2e", "unit/tools", "unit/device", "editor", "view", "filecheck")),
}
EVERYWHERE = (COMMANDS, ("unit", "e2e", "conformance", "diagnostics"))


@cache
def places() -> dict[str, set[str]]:
    """The folders that name each code."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in sorted(SOURCE.rglob("*.py")):
        if file.name not in CATALOGUES:
            parts = file.relative_to(SOURCE).parts
            for name in _names(file):
                found[NAMES[name]].add(_folder_of(parts))
    return found


def _folder_of(parts: tuple[str, ...]) -> str:
    """The row of EVIDENCE that a file is in; names without a package are of ttl."""
    inside = parts[1:-1] if parts[0] == "ttl" else parts[:-1]
    rows = ("/".join(inside[:count]) for count in range(len(inside), 0, -1))
    return next((row for row in rows if row in EVIDENCE), parts[0])


def _names(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        if name in NAMES:
            yield name


@cache
def shown() -> dict[str, set[str]]:
    """The commands on which a page shows each code; its own page's command is one that is run."""
    found: dict[str, set[str]] = defaultdict(set)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for cells in re.findall(re.escape(TABLE) + r"\| (.*) \|\n", text):
            for command, cell in zip(COMMANDS, cells.split(" | "), strict=True):
                for code in re.findall(r"TTL\d+", cell):
                    found[code].add(command)
    return found


@cache
def texts(folder: str) -> str:
    files = [each for each in (TESTS / folder).rglob("*") if each.suffix in (".py", ".mlir")]
    return "\n".join(file.read_text(encoding="utf-8") for file in sorted(files))


def is_tested(code: str, folder: str) -> bool:
    commands, folders = EVIDENCE.get(folder, EVERYWHERE)
    if shown()[code] & set(commands):
        return True
    (name,) = [name for name, value in NAMES.items() if value == code]
    words = re.compile(rf"\b({code}|codes\.{name}|{codes.CATALOGUE[code].slug})\b")
    return any(words.search(texts(each)) for each in folders)


@pytest.mark.parametrize("code", codes.CATALOGUE)
def test_somebody_can_raise_it(code: str) -> None:
    assert places().get(code), f"nothing names {code}: remove it"


@pytest.mark.parametrize("code", codes.CATALOGUE)
def test_every_backend_that_can_raise_it_does(code: str) -> None:
    missing = sorted(each for each in places()[code] if not is_tested(code, each))
    assert not missing, f"no wrong program gets {code} from {', '.join(missing)}"


def test_a_code_that_nobody_tests_is_noticed() -> None:
    assert not is_tested("TTL6030", "pykernel")
    assert is_tested("TTL6030", "studio/sweep")
