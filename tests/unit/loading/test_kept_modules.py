"""The bytecode of modules is kept in one file; what has changed is loaded as ever."""

from __future__ import annotations

import marshal
import os
import shutil
import subprocess
import sys
import zlib
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from ttl.loading import kept_modules
from ttl.loading.cache_folder import cache_dir, can_write
from ttl.loading.kept_modules import KeptLoader, KeptModules

SOURCES = Path(kept_modules.__file__).parents[2]
# Which of the package's modules were loaded how; of one, what inspect and a traceback need.
PROGRAM = """
import inspect, sys
import ttl
import ttl.target
load = ttl.target.load.__wrapped__
specs = [m.__spec__ for n, m in sys.modules.items() if n.startswith("ttl.") and m.__spec__]
print(sum(type(spec.loader).__name__ == "KeptLoader" for spec in specs), len(specs))
file = sys.modules[load.__module__].__file__
print(inspect.getsource(load).splitlines()[0], load.__code__.co_filename == file)
print(getattr(ttl.target, "ADDED", None))
"""


def run(cache: Path, sources: Path = SOURCES, *flags: str) -> list[str]:
    variables = {**os.environ, "PYTTLANG_CACHE": str(cache), "PYTHONPATH": str(sources)}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, *flags, "-c", PROGRAM]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert not done.stderr
    return done.stdout.splitlines()


def kept(cache: Path) -> Path:
    (path,) = cache.glob("modules-*")
    return path


def numbers(lines: list[str]) -> tuple[int, int]:
    ours, all_of_them = lines[0].split()
    return int(ours), int(all_of_them)


def test_a_second_process_takes_modules_from_the_file(tmp_path: Path) -> None:
    first, second = run(tmp_path), run(tmp_path)
    assert numbers(first)[0] == 0
    ours, all_of_them = numbers(second)
    assert ours >= all_of_them - 12  # those that are loaded before, and compiled ones
    assert first[1:] == second[1:]
    assert second[1].endswith("True")


@pytest.mark.parametrize("damage", ["cut", "emptied", "changed", "zeros", "of another form"])
def test_a_damaged_file_is_as_none(tmp_path: Path, damage: str) -> None:
    run(tmp_path)
    path = kept(tmp_path)
    content = path.read_bytes()
    changed = content[:20] + bytes([content[20] ^ 1]) + content[21:]
    index = marshal.dumps({"ttl.target": ("one field",)})
    head = zlib.crc32(index).to_bytes(4) + len(index).to_bytes(8)
    texts = {"cut": content[:30], "emptied": b"", "changed": changed, "zeros": bytes(4096)}
    path.write_bytes(texts.get(damage, head + index))
    assert numbers(run(tmp_path))[0] == 0
    assert numbers(run(tmp_path))[0] > 0  # it was written anew


def test_damaged_bytecode_is_not_used(tmp_path: Path) -> None:
    """All of it, each byte by one bit: what is used of it could end the process."""
    run(tmp_path)
    path = kept(tmp_path)
    content = path.read_bytes()
    begin = 12 + int.from_bytes(content[4:12])
    path.write_bytes(content[:begin] + bytes(byte ^ 1 for byte in content[begin:]))
    assert numbers(run(tmp_path))[0] == 0
    assert numbers(run(tmp_path))[0] > 0


def test_a_file_that_is_cut_off_while_it_is_in_use(tmp_path: Path) -> None:
    run(tmp_path)
    finder = KeptModules(str(kept(tmp_path)))
    os.truncate(kept(tmp_path), 100)
    spec = finder.find_spec("ttl.target", [str(SOURCES / "ttl")])
    assert spec is not None and isinstance(spec.loader, KeptLoader)
    assert spec.loader.get_code("ttl.target") is not None


LAZY = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("lazy", sys.argv[1])
spec.loader = importlib.util.LazyLoader(spec.loader)
sys.modules["lazy"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
import ttl
"""


def test_modules_that_the_program_loads_late_are_not_loaded_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "lazy.py").write_text("print('loaded')")
    command = [sys.executable, "-c", LAZY, str(tmp_path / "lazy.py")]
    variables = {**os.environ, "PYTTLANG_CACHE": str(tmp_path)}
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_bytecode_that_cannot_be_read_is_made_of_the_source() -> None:
    source = str(SOURCES / "ttl" / "target" / "__init__.py")
    loader = KeptLoader("ttl.target", source, memoryview(b"\xff\x00"))
    made, plain = loader.get_code("ttl.target"), SourceFileLoader("ttl.target", source)
    assert made == plain.get_code("ttl.target")


def test_a_changed_source_is_what_runs(tmp_path: Path) -> None:
    sources = tmp_path / "src"
    shutil.copytree(SOURCES, sources, ignore=shutil.ignore_patterns("__pycache__", "runtime"))
    assert run(tmp_path, sources)[2] == "None"
    file = sources / "ttl" / "target" / "__init__.py"
    file.write_text(file.read_text() + "\nADDED = 5\n")
    lines = run(tmp_path, sources)
    assert (lines[2], numbers(lines)[0] > 0) == ("5", True)


def test_optimized_bytecode_is_not_mixed_with_this(tmp_path: Path) -> None:
    run(tmp_path)
    assert numbers(run(tmp_path, SOURCES, "-O"))[0] == 0


def test_modules_of_another_folder_are_not_found(tmp_path: Path) -> None:
    run(tmp_path)
    finder = KeptModules(str(kept(tmp_path)))
    within = [str(SOURCES / "ttl")]
    spec = finder.find_spec("ttl.target", within)
    assert spec is not None
    assert spec.submodule_search_locations == [str(SOURCES / "ttl" / "target")]
    assert finder.find_spec("ttl.target", ["elsewhere"]) is None
    assert finder.find_spec("ttl.nothing", within) is None


def test_where_nothing_can_be_written_nothing_is_prepared(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert can_write(str(tmp_path / "new" / "modules-1"))
    assert not can_write(str(tmp_path / "file" / "modules-1"))


def test_a_user_without_a_home_gets_no_folder_of_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert os.path.isabs(cache_dir({}))
