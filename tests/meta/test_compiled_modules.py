"""What hatch_build.py compiles: with this Python's compiler; only mypy is fetched for it."""

from __future__ import annotations

import runpy
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HOOKS = runpy.run_path(str(ROOT / "hatch_build.py"))
HOOK: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"][
    "build"
]["targets"]["wheel"]["hooks"]["custom"]


def test_only_mypy_is_fetched_to_compile() -> None:
    """numpy and setuptools took seconds to fetch and unpack, for little use."""
    assert HOOK["dependencies"] == ["mypy>=2.4,<3"]
    for source in HOOKS["NATIVE_SOURCES"]:
        assert "numpy/" not in (ROOT / "src" / source).read_text()


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
    HOOKS["build_compiled"](tmp_path, [f"mixed/{name}" for name in texts])
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    assert all((tmp_path / "mixed" / name).with_suffix(suffix).is_file() for name in texts)
    command = [sys.executable, "-c", USER]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    generated = (tmp_path / "build" / "__native_mixed___right___kernel.c").read_text()
    assert generated.count('__attribute__((optimize("O0")))') == 1  # of what loads the module
    assert done.stdout == "left right 42 builtin_function_or_method\n", done.stderr


def test_files_are_shared_out_evenly(tmp_path: Path) -> None:
    files = [tmp_path / f"{size}.c" for size in (70, 10, 40, 30, 20, 50)]
    for file in files:
        file.write_text(" " * int(file.stem))
    shares = HOOKS["shared_out"](files, 2)
    assert sorted(file for share in shares for file in share) == sorted(files)
    assert [sum(int(file.stem) for file in share) for share in shares] == [110, 110]
    assert len(HOOKS["shared_out"](files, 64)) == HOOKS["MOST_UNITS"]


def test_the_environment_names_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LDSHARED", "CPPFLAGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CC", "own-cc --fast")
    monkeypatch.setenv("CFLAGS", "-DHERE='a b'")
    monkeypatch.setenv("LDFLAGS", "-Lthere")
    compiler = HOOKS["CCompiler"].of_this_python()
    assert compiler.compiling[:2] == compiler.linking[:2] == ("own-cc", "--fast")
    assert "-DHERE=a b" in compiler.compiling and "-Lthere" in compiler.linking


def test_without_a_compiler_the_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("#error nothing to see\n")
    with pytest.raises(HOOKS["NotBuilt"], match="nothing to see"):
        HOOKS["build_native"](source)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(OSError, match="no-such-compiler"):
        HOOKS["build_native"](source)
