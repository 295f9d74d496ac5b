"""What hatch_build.py compiles, with mypyc and setuptools."""

from __future__ import annotations

import runpy
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest

from native_modules import copy_arithmetic

ROOT = Path(__file__).parents[2]
HOOKS = runpy.run_path(str(ROOT / "hatch_build.py"))
HOOK: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"][
    "build"
]["targets"]["wheel"]["hooks"]["custom"]


def test_numpy_is_not_fetched_to_compile() -> None:
    """It takes seconds to fetch and unpack, for a few lines of headers."""
    assert {text.split(">")[0] for text in HOOK["dependencies"]} == {"mypy", "setuptools"}
    assert "numpy/" not in (ROOT / "src" / HOOKS["ARITHMETIC"][1]).read_text()


def test_modules_that_are_listed_exist() -> None:
    assert all((ROOT / "src" / module).is_file() for module in HOOK["modules"])


USER = """
from mixed.left.block import name as left
from mixed.right.block import name as right
from mixed.right.kernel import double
print(left(), right(), double(21), type(double).__name__)
"""


@pytest.mark.full
def test_compiled_modules_load_also_where_their_last_names_are_the_same(tmp_path: Path) -> None:
    texts = {
        "left/block.py": 'def name() -> str:\n    return "left"\n',
        "right/block.py": 'def name() -> str:\n    return "right"\n',
        "right/kernel.py": "def double(x: int) -> int:\n    return 2 * x\n",
    }
    for name, text in texts.items():
        file = tmp_path / "mixed" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        for folder in (file.parent, file.parent.parent):
            (folder / "__init__.py").touch()
        file.write_text(text)
    copy_arithmetic(tmp_path)
    HOOKS["build_compiled"](tmp_path, [f"mixed/{name}" for name in texts])
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    assert all((tmp_path / "mixed" / name).with_suffix(suffix).is_file() for name in texts)
    command = [sys.executable, "-c", USER]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "left right 42 builtin_function_or_method\n", done.stderr


def test_without_a_compiler_the_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_arithmetic(tmp_path).write_text("#error nothing to see\n")
    with pytest.raises(HOOKS["NotBuilt"], match="nothing to see"):
        HOOKS["build_compiled"](tmp_path, [])
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(HOOKS["NotBuilt"], match="no-such-compiler"):
        HOOKS["build_compiled"](tmp_path, [])
