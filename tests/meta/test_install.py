"""The built wheel: what is in it, and `import ttnn` from it."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from installed import OTHER_PACKAGES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like site-packages after `pip install`."""
    folder = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def python(site: Path, code: str, *more: Path) -> str:
    """Run code in an interpreter whose only pyttlang is the one in `site`."""
    paths = [str(path) for path in more]
    start = (
        f"import sys, site; sys.path[:0] = {paths!r}; site.addsitedir({str(site)!r})\n"
        f"sys.path.append({str(OTHER_PACKAGES)!r})\n"
    )
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", start + code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wanted <= names
    assert {"pyttlang_ttnn.pth", "_pyttlang_ttnn_finder.py", "ttl/target/blackhole.json"} <= names
    assert any(name.startswith("ttl/host/runtime/") and name.endswith(".cpp") for name in names)


LINK = re.compile(r"\]\(([^)]*)\)")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def test_what_a_package_index_shows_has_no_broken_links(wheel: Path) -> None:
    """Links of the README lead to files of the repository, which an index does not have."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = [link for link in LINK.findall(FENCED.sub("", readme)) if "://" not in link]
    assert links and all((ROOT / link.partition("#")[0]).exists() for link in links)
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
    head, _, text = archive.read(name).decode().partition("\n\n")
    assert head.count("Project-URL: ") >= 2 and "text/markdown" in head
    assert all("://" in link for link in LINK.findall(FENCED.sub("", text)))
    assert FENCED.findall(text) == FENCED.findall(readme)


def test_links_of_the_readme_start_at_the_home_of_the_repository() -> None:
    hooks = runpy.run_path(str(ROOT / "hatch_build.py"))
    text = "[a](docs/a.md), [b](https://b.org/c), [d](#e)"
    assert hooks["readme_elsewhere"](text, "https://x.org/y") == (
        "[a](https://x.org/y/docs/a.md), [b](https://b.org/c), [d](#e)"
    )
    assert hooks["readme_elsewhere"](text, "") == "a, [b](https://b.org/c), [d](#e)"


@pytest.mark.parametrize("first", ["ttnn", "ttl", "ttl.ttnn"])
def test_ttnn_is_ttl_ttnn_whichever_comes_first(installed: Path, first: str) -> None:
    code = f"import {first}\nimport ttnn, ttl.ttnn\nprint(ttnn is ttl.ttnn, ttnn.__spec__.name)"
    assert python(installed, code) == "True ttl.ttnn"


def test_the_wheel_explains_its_diagnostics(installed: Path) -> None:
    code = "from ttl.diagnostics.pages import page_of; print(page_of('TTL5005')[:9])"
    assert python(installed, code) == "# TTL5005"


def test_no_submodule_loads_twice(installed: Path) -> None:
    code = """
import importlib, pkgutil, ttnn, ttl.ttnn
names = [item.name for item in pkgutil.iter_modules(ttnn.__path__)]
same = [importlib.import_module("ttnn." + name) is importlib.import_module("ttl.ttnn." + name)
        for name in names]
print(len(names) > 0, all(same))
"""
    assert python(installed, code) == "True True"


def test_the_real_ttnn_wins(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "ttnn").mkdir()
    (tmp_path / "ttnn" / "__init__.py").write_text("REAL = True\n")
    code = """
import ttnn
try:
    import ttnn.nothing
except ModuleNotFoundError as error:
    print(ttnn.REAL, error.name)
"""
    assert python(installed, code, tmp_path) == "True ttnn.nothing"


def test_interpreter_start_loads_nothing_of_ours_but_the_finder(installed: Path) -> None:
    code = (
        "print(*sorted(m for m in sys.modules if m.split('.')[0] in"
        " ('ttl', 'ttnn', 'numpy', 'importlib', '_pyttlang_ttnn_finder')))"
    )
    assert python(installed, code) == "_pyttlang_ttnn_finder"
