"""A skip without a listed reason fails the run, alone and with parallel workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

CONFTEST = """
import pathlib, pytest
from skip_policy import SkipPolicy, read_allowed

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        allowed = read_allowed(pathlib.Path(__file__).parent / "allowed_skips.txt")
        config.pluginmanager.register(SkipPolicy(allowed))
"""

PASSES = "def test_one(): pass\n"
CASES = {
    "skip mark": "import pytest\n@pytest.mark.skip(reason='{}')\ndef test_it(): pass\n",
    "skip call": "import pytest\ndef test_it(): pytest.skip('{}')\n",
    "skip in a fixture": (
        "import pytest\n@pytest.fixture\ndef thing(): pytest.skip('{}')\ndef test_it(thing): pass\n"
    ),
    "module": "import pytest\npytest.skip('{}', allow_module_level=True)\n",
    "xfail mark": "import pytest\n@pytest.mark.xfail(reason='{}')\ndef test_it(): assert False\n",
    "xfail call": "import pytest\ndef test_it(): pytest.xfail('{}')\n",
    "unittest": (
        "import unittest\nclass T(unittest.TestCase):\n    @unittest.skip('{}')\n"
        "    def test_it(self): pass\n"
    ),
}


def run(folder: Path, test: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\n")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "allowed_skips.txt").write_text("# why\nno such machine here\n")
    (folder / "test_good.py").write_text(PASSES)
    (folder / "test_skip.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", sorted(CASES))
def test_listed_reason_passes(case: str, tmp_path: Path) -> None:
    done = run(tmp_path, CASES[case].format("no such machine here"))
    assert done.returncode == 0, done.stdout
    assert "1 for a listed reason, 0 without" in done.stdout
    assert "1 x no such machine here" in done.stdout


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", sorted(CASES))
def test_other_reason_fails(case: str, tmp_path: Path) -> None:
    done = run(tmp_path, CASES[case].format("did not feel like it"))
    assert done.returncode == 1, done.stdout
    assert "0 for a listed reason, 1 without" in done.stdout
    assert "did not feel like it" in done.stdout


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", ["skip call", "module", "xfail mark"])
def test_parallel_workers(case: str, tmp_path: Path) -> None:
    done = run(tmp_path, CASES[case].format("did not feel like it"), "-n", "2")
    assert done.returncode == 1, done.stdout
    assert "0 for a listed reason, 1 without" in done.stdout


def test_no_skip_passes(tmp_path: Path) -> None:
    done = run(tmp_path, PASSES)
    assert done.returncode == 0, done.stdout
    assert "0 for a listed reason, 0 without" in done.stdout
