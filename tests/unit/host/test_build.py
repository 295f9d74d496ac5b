"""Compiler lookup and the cache of libraries."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ttl.artifact import ComputeConfig, ThreadKind
from ttl.diagnostics import UsageError, codes, render_text
from ttl.host import build, launch, toolchain
from ttl.host.build import RUNTIME_FOLDER, build_kernels, build_runtime
from ttl.host.cache_entries import STALE_SECONDS, is_whole
from ttl.host.toolchain import Compiler, find_compiler
from ttl.host.translation_unit import translation_units

UNIT = 'extern "C" __attribute__((visibility("default"))) int answer() { return 42; }\n'


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    return find_compiler()


@pytest.fixture
def small_runtime(tmp_path: Path) -> Path:
    folder = tmp_path / "runtime"
    (folder / "include").mkdir(parents=True)
    (folder / "one.cpp").write_text("int one() { return 1; }\n")
    return folder


def _fake_compiler(folder: Path, name: str, version: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_lookup_order(tmp_path: Path):
    path = {"PATH": str(tmp_path)}
    for name in ("clang++", "g++", "c++"):  # each is preferred to those before it
        expected = _fake_compiler(tmp_path, name, name)
        assert find_compiler(path) == Compiler((str(expected),), name)
    mine = _fake_compiler(tmp_path, "mine", "my-own")
    chosen = find_compiler({**path, "CXX": f"{mine} -m64"})
    assert chosen == Compiler((str(mine), "-m64"), "my-own")


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    with pytest.raises(UsageError) as caught:
        find_compiler({"PATH": str(tmp_path)})
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code is codes.NO_COMPILER
    text = render_text(diagnostic)
    for way in ("install one", "set CXX", "pip install '.[native]'"):
        assert way in text


def test_wrong_cxx_is_named(tmp_path: Path):
    with pytest.raises(UsageError, match="named by CXX does not run: /no/such/compiler"):
        find_compiler({"PATH": str(tmp_path), "CXX": "/no/such/compiler"})


def test_zig_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(toolchain, "find_spec", lambda name: object())
    monkeypatch.setattr(toolchain, "_version", lambda command, option="--version": "0.1")
    found = find_compiler({"PATH": str(tmp_path)})
    assert found.command == (sys.executable, "-m", "ziglang", "c++")
    assert "-nostdlib++" in found.flags and not found.has_cxx_library


def test_every_header_of_cxx_is_there_without_its_library():
    runtime = toolchain.FREESTANDING.parent / "runtime"
    texts = [path.read_text() for path in runtime.rglob("*") if path.suffix in (".h", ".cpp")]
    used = {name for text in texts for name in re.findall(r"#include <([a-z_]+)>", text)}
    folders = (runtime / "freestanding", toolchain.FREESTANDING)
    assert "cstdint" in used and used <= {each.name for f in folders for each in f.iterdir()}


def test_library_is_built_once(compiler, small_runtime, tmp_path):
    cache = tmp_path / "new" / "cache"
    first = build_runtime(compiler, cache, small_runtime)
    stamp = first.stat().st_mtime_ns
    assert build_runtime(compiler, cache, small_runtime) == first
    assert first.stat().st_mtime_ns == stamp
    assert [path.name for path in cache.iterdir()] == [first.name]


def test_another_source_flag_or_compiler_is_another_library(compiler, small_runtime, tmp_path):
    cache = tmp_path / "cache"
    first = build_runtime(compiler, cache, small_runtime)
    (small_runtime / "include" / "new.h").write_text("// only a header\n")
    second = build_runtime(compiler, cache, small_runtime)
    newer = Compiler(compiler.command, compiler.version + " newer")
    third = build_runtime(newer, cache, small_runtime)
    flagged = Compiler(compiler.command, compiler.version, ("-DX",))
    fourth = build_runtime(flagged, cache, small_runtime)
    assert len({first, second, third, fourth}) == 4


def test_gcc_is_recognized():
    gcc = "g++ (Debian 12.2.0-14) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc."
    assert Compiler(("g++",), gcc).is_gcc
    assert not Compiler(("g++",), "Apple clang version 15.0.0 (clang-1500.3.9.4)").is_gcc


def test_kernels_need_the_runtime_they_were_built_for(compiler, small_runtime, tmp_path):
    cache = tmp_path / "cache"
    runtime = build_runtime(compiler, cache, small_runtime)
    moved = tmp_path / "elsewhere" / runtime.name
    moved.parent.mkdir()
    shutil.copy(runtime, moved)
    assert build_kernels(compiler, UNIT, runtime, cache) != build_kernels(
        compiler, UNIT, moved, cache
    )


def test_rejected_source_leaves_nothing_behind(compiler, small_runtime, tmp_path):
    (small_runtime / "two.cpp").write_text("int two() { return }\n")
    with pytest.raises(build.CompilerRejected, match=r"two\.cpp:1"):
        build_runtime(compiler, tmp_path / "cache", small_runtime)
    assert list((tmp_path / "cache").iterdir()) == []


def test_cache_folder_that_cannot_be_made(compiler, small_runtime, tmp_path):
    """A file where the folder should be: also fails for root, whom permissions do not stop."""
    (tmp_path / "cache").write_text("not a folder")
    first = build_runtime(compiler, tmp_path / "cache", small_runtime)
    assert first.is_file() and first.parent == Path(build.temporary_folder())
    assert build_runtime(compiler, tmp_path / "cache", small_runtime) == first


def test_read_only_cache_is_used_and_not_written(compiler, small_runtime, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    first = build_runtime(compiler, cache, small_runtime)

    def refuse(*args, **options):
        raise PermissionError(13, "read-only", str(cache))

    make = build.tempfile.mkdtemp
    monkeypatch.setattr(
        build.tempfile,
        "mkdtemp",
        lambda prefix, dir=None: refuse() if dir == cache else make(prefix=prefix, dir=dir),
    )
    assert build_runtime(compiler, cache, small_runtime) == first
    kernels = build_kernels(compiler, UNIT, first, cache)
    assert kernels.parent == Path(build.temporary_folder()) and kernels.is_file()


def test_the_temporary_folder_is_removed_at_exit(small_runtime, tmp_path):
    (tmp_path / "cache").write_text("not a folder")
    program = f"""
from pathlib import Path
from ttl.host.build import build_runtime
from ttl.host.toolchain import find_compiler
cache, folder = Path({str(tmp_path / "cache")!r}), Path({str(small_runtime)!r})
print(build_runtime(find_compiler(), cache, folder))
"""
    place = Path(_python(program).strip())
    assert place.name.startswith("runtime-") and not place.parent.exists()


def test_one_process_builds_and_the_others_wait(small_runtime, tmp_path):
    """The compiler notes its calls: two for the runtime (one unit, one link)."""
    calls, command = tmp_path / "calls", tmp_path / "noting"
    real = " ".join(find_compiler().command)
    command.write_text(f'#!/bin/sh\necho x >> {calls}\nsleep 0.2\nexec {real} "$@"\n')
    command.chmod(0o700)
    program = f"""
from pathlib import Path
from ttl.host.build import build_runtime
from ttl.host.toolchain import Compiler
compiler = Compiler(({str(command)!r},), "1")
build_runtime(compiler, Path({str(tmp_path / "cache")!r}), Path({str(small_runtime)!r}))
"""
    told = [process.communicate()[1] for process in [_start(program) for _ in range(4)]]
    assert sorted(map(len, filter(None, told))) == [len(max(told))], told  # by one of them
    assert max(told).startswith("ttl: building the C++ runtime") and max(told).count("\n") == 1
    assert calls.read_text() == "x\n" * 2


def test_processes_that_start_at_once_on_an_empty_cache(small_runtime, tmp_path):
    program = f"""
import ctypes
from pathlib import Path
from ttl.host.build import build_kernels, build_runtime
from ttl.host.toolchain import find_compiler
cache = Path({str(tmp_path / "cache")!r})
compiler = find_compiler()
runtime = build_runtime(compiler, cache, Path({str(small_runtime)!r}))
print(ctypes.CDLL(str(build_kernels(compiler, {UNIT!r}, runtime, cache))).answer())
"""
    processes = [_start(program) for _ in range(5)]
    outputs = [process.communicate() for process in processes]
    assert [output for output, _ in outputs] == ["42\n"] * 5, outputs
    names = sorted(path.name.split("-")[0] for path in (tmp_path / "cache").iterdir())
    assert names == ["kernels", "runtime"]


def test_the_runtime_needs_no_cxx_library(compiler, tmp_path):
    """Every standard header it includes has a stand-in for compilers without that library."""
    included = set()
    for path in RUNTIME_FOLDER.rglob("*"):
        if path.suffix in (".h", ".cpp"):
            included |= set(re.findall(r"#include <(c\w+)>", path.read_text()))
    stand_ins = {path.name for path in (RUNTIME_FOLDER / "freestanding").iterdir()}
    assert included == stand_ins


def test_a_damaged_entry_is_built_again(compiler, small_runtime, tmp_path):
    cache = tmp_path / "cache"
    runtime = build_runtime(compiler, cache, small_runtime)

    def kernels(anew: bool) -> Path:
        return build_kernels(compiler, UNIT, runtime, cache, anew=anew)

    damaged = kernels(False)
    damaged.write_bytes(b"")
    path, library = build.load(kernels)
    assert (path, library.answer()) == (damaged, 42)


def test_a_library_that_was_cut_off_is_not_loaded(compiler, small_runtime, tmp_path):
    """Loading it would end the process: its pages are not there."""
    cache = tmp_path / "cache"
    whole = build_runtime(compiler, cache, small_runtime)
    content = whole.read_bytes()
    for end in (len(content) // 2, len(content) - 1):
        whole.write_bytes(content[:end])
        assert build_runtime(compiler, cache, small_runtime) == whole
        assert whole.read_bytes()[:end] == content[:end] and is_whole(whole)
    whole.write_bytes(b"?" + content[1:])
    build_runtime(compiler, cache, small_runtime)
    assert whole.read_bytes()[:1] == content[:1]


def test_what_a_killed_process_was_building_is_removed(compiler, small_runtime, tmp_path):
    cache = tmp_path / "cache"
    for name, age in (("building-old", 2 * STALE_SECONDS), ("building-now", 0)):
        (cache / name).mkdir(parents=True)
        os.utime(cache / name, (time.time() - age,) * 2)
    build_runtime(compiler, cache, small_runtime)
    assert not (cache / "building-old").exists() and (cache / "building-now").exists()


def test_the_runtime_of_a_wheel_is_not_built(
    compiler, small_runtime, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(build, "PREBUILT_FOLDER", tmp_path / "prebuilt")
    prebuilt = tmp_path / "prebuilt" / build.prebuilt_name(small_runtime)
    build_runtime(compiler, prebuilt.parent, small_runtime).rename(prebuilt)
    cache = tmp_path / "cache"
    capsys.readouterr()
    assert build_runtime(compiler, cache, small_runtime) == prebuilt
    assert capsys.readouterr().err == ""
    assert build_runtime(compiler, cache, small_runtime, anew=True).parent == cache
    assert "building the C++ runtime" in capsys.readouterr().err
    (small_runtime / "one.cpp").write_text("int one() { return 2; }\n")
    assert build_runtime(compiler, cache, small_runtime).parent == cache


def test_a_runtime_of_a_wheel_that_is_not_whole(compiler, small_runtime, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "PREBUILT_FOLDER", tmp_path)
    (tmp_path / build.prebuilt_name(small_runtime)).write_bytes(b"")
    cache = tmp_path / "cache"
    assert build_runtime(compiler, cache, small_runtime).parent == cache


def test_leftovers_are_looked_for_once(compiler, small_runtime, tmp_path, monkeypatch):
    cache, scanned = tmp_path / "cache", []
    glob = Path.glob

    def noting(self, *given, **options):  # pathlib itself calls it with options
        scanned.append(self)
        return glob(self, *given, **options)

    monkeypatch.setattr(Path, "glob", noting)
    runtime = build_runtime(compiler, cache, small_runtime)
    build_kernels(compiler, UNIT, runtime, cache)
    assert scanned.count(cache) == 1


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_the_cache_is_the_users_alone(compiler, small_runtime, tmp_path, umask):
    before = os.umask(umask)
    try:
        build_runtime(compiler, tmp_path / "cache", small_runtime)
    finally:
        os.umask(before)
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def test_a_full_disk_is_no_mistake_of_the_source(small_runtime, tmp_path):
    command = tmp_path / "full"
    command.write_text("#!/bin/sh\necho 'cannot write: No space left on device' >&2\nexit 1\n")
    command.chmod(0o700)
    with pytest.raises(OSError, match="No space left on device"):
        build_runtime(Compiler((str(command),), "1"), tmp_path / "cache", small_runtime)
    assert list((tmp_path / "cache").iterdir()) == []


def test_damage_in_a_cache_that_cannot_be_written(compiler, small_runtime, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    damaged = build_runtime(compiler, cache, small_runtime)
    damaged.write_bytes(b"")
    monkeypatch.setattr(build, "_make_workspace", _refuse_in(cache, build._make_workspace))
    path, _ = build.load(lambda anew: build_runtime(compiler, cache, small_runtime, anew=anew))
    assert path.parent == Path(build.temporary_folder()) and damaged.read_bytes() == b""


def test_a_folder_in_the_place_of_a_library(compiler, small_runtime, tmp_path):
    place = build_runtime(compiler, tmp_path / "cache", small_runtime)
    place.unlink()
    (place / "inside").mkdir(parents=True)
    assert build_runtime(compiler, tmp_path / "cache", small_runtime) == place
    assert place.is_file()


def test_a_library_that_never_loads_is_built_twice_and_no_more(tmp_path):
    builds = []

    def broken(anew: bool) -> Path:
        builds.append(anew)
        (tmp_path / "broken.so").write_bytes(b"")
        return tmp_path / "broken.so"

    with pytest.raises(OSError, match="too short"):
        build.load(broken)
    assert builds == [False, True]


def _refuse_in(folder, make):
    def refuse(parent):
        if parent == folder:
            raise PermissionError(13, "read-only", str(folder))
        return make(parent)

    return refuse


def _start(program: str) -> subprocess.Popen[str]:
    source = str(Path(build.__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": source}
    return subprocess.Popen(
        (sys.executable, "-c", program),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _python(program: str) -> str:
    output, error = _start(program).communicate()
    told = [line for line in error.splitlines() if not line.startswith("ttl: building the C++")]
    assert not told, error
    return output


@pytest.mark.parametrize(
    "body, is_asked_for", [("", False), ("static_assert(std::is_same_v<int, int>);", True)]
)
def test_traits_of_types_are_read_where_a_kernel_uses_them(tiny, cache_dir, body, is_asked_for):
    """The header is most of a unit's text, and the device's own headers bring it."""
    source = tiny.compute_source(body)
    kernel = tiny.make_kernel("compute", ThreadKind.COMPUTE, source, (), ComputeConfig())
    operation = tiny.make_operation([kernel], [], 0)
    (unit,) = translation_units(operation, [])
    assert ("#include <type_traits>" in unit.text) == is_asked_for
    launch(operation, [], cache_dir=cache_dir)
