"""What an editor shows in programs: pyright and mypy find nothing to complain about in ours."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from editor import stubs

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PACKAGES = ("ttl", "tt_torch", "pykernel")


def test_the_stubs_are_up_to_date() -> None:
    assert stubs.is_up_to_date(), "run python tests/editor/stubs.py"


def programs_of(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def written_in_pages() -> dict[str, str]:
    """The programs of the README, and those of each page of the tutorial one after the other."""
    pages = sorted((ROOT / "docs" / "tutorial").glob("[1-8]*.md"))
    found = {f"tutorial_{page.stem[0]}": "\n".join(programs_of(page)) for page in pages}
    readme = enumerate(programs_of(ROOT / "README.md"))
    return {name: text for name, text in found.items() if text} | {
        f"readme_{number}": text for number, text in readme
    }


WRONG = """\
import ttnn
import ttl

@ttl.operation()
def wrong(x: ttnn.Tensor) -> None:
    columns, rows = ttl.node(dims=1)
    a, b, c = ttl.grid_size()
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))

    @ttl.compute()
    def compute(block: int) -> None:
        with dfb.wait() as blk:
            blk.store(ttl.math.exq(blk))
            blk.store(ttl.math.relu_max(blk))
            ttl.block.fill("one")

ttnn.open_devise(0)
"""
WRONG_FILE, WRONG_LINES = "wrong_types.py", [6, 7, 10, 13, 14, 15, 17]
OURS = "".join(f"[mypy-{name}.*]\nfollow_imports = silent\n" for name in PACKAGES)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, the programs of the README and a wrong one: a checker to which all is `Any`
    would find nothing there either.
    """
    folder = tmp_path_factory.mktemp("programs")
    shutil.copytree(EXAMPLES, folder / "examples")
    for name, text in written_in_pages().items():
        (folder / "examples" / f"{name}.py").write_text(text)
    (folder / "examples" / WRONG_FILE).write_text(WRONG)
    options = {
        "extraPaths": [str(ROOT / "src")],
        "exclude": ["examples/pytorch"],
        "reportMissingModuleSource": "none",  # what a stub package without its package gets
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(options))
    (folder / "mypy.ini").write_text(f"[mypy]\n{OURS}")
    return folder


def pyright(folder: Path) -> list[str]:
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    command += ["-p", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] > 0
    return [
        f"{Path(each['file']).name}:{each['range']['start']['line'] + 1}: {each['message']}"
        for each in found["generalDiagnostics"]
    ]


def mypy(folder: Path, stubs: Path, *options: str) -> list[str]:
    """Modules find each other as when one of them is run."""
    if not (stubs / "ttnn").exists():  # `ttnn-stubs` is found only where it is installed
        (stubs / "ttnn").symlink_to(ROOT / "src" / "ttnn-stubs")
    homes = (folder / "examples" / name for name in (".", "pieces", "gallery"))
    path = os.pathsep.join(map(str, (ROOT / "src", stubs, *homes)))
    roots = ("--namespace-packages", "--explicit-package-bases", "--exclude", "examples/pytorch/")
    command = [sys.executable, "-m", "mypy", "--strict", *roots]
    command += ["--cache-dir", str(stubs / "cache")]
    environment = {**os.environ, "MYPYPATH": path}
    done = subprocess.run(
        [*command, *options], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return [line.partition("/")[2] for line in done.stdout.splitlines() if "error:" in line]


def split(found: list[str]) -> tuple[list[str], set[int]]:
    """What is reported of our programs, and the lines of the wrong one."""
    wrong = [line for line in found if line.startswith(WRONG_FILE)]
    return [each for each in found if each not in wrong], {int(w.split(":")[1]) for w in wrong}


@pytest.mark.full
def test_pyright_finds_nothing_in_our_programs(programs: Path) -> None:
    assert split(pyright(programs)) == ([], set(WRONG_LINES))


@pytest.mark.full
def test_mypy_finds_nothing_in_our_programs(programs: Path, tmp_path: Path) -> None:
    found, lines = split(mypy(programs, tmp_path, "examples"))
    assert "\n".join(found) == ""
    assert lines == set(WRONG_LINES)


@pytest.mark.full
def test_pyright_finds_nothing_in_the_examples_of_pytorch(programs: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "pytorch", tmp_path / "pytorch")
    options = json.loads((programs / "pyrightconfig.json").read_text())
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({**options, "exclude": []}))
    assert pyright(tmp_path) == []


@pytest.mark.full
def test_mypy_finds_nothing_in_the_examples_of_pytorch(programs: Path, tmp_path: Path) -> None:
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    folder = tmp_path / "models"
    shutil.copytree(EXAMPLES / "pytorch", folder)
    shutil.copy(programs / "mypy.ini", folder)
    assert mypy(folder, stubs, *sorted(path.name for path in folder.glob("*.py"))) == []
