"""Code that others may have written is not run, and a cache that is no use stops no program."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from ttl.loading import cache_folder
from ttl.loading.cache_folder import (
    cache_dir,
    is_trusted,
    read_trusted,
    refusal_of,
    usable,
    write_whole,
)

SOMEBODY_ELSE = 54321
SIMULATED = """
import ttnn
import ttl


@ttl.operation(grid=(1, 1))
def move(x, y):
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)

    @ttl.datamovement()
    def read():
        with dfb.reserve() as block:
            ttl.copy(x[0, 0], block).wait()

    @ttl.datamovement()
    def write():
        with dfb.wait() as block:
            ttl.copy(block, y[0, 0]).wait()


device = ttnn.open_device(device_id=0)
x = ttnn.ones((32, 32), dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device)
y = ttnn.zeros_like(x)
move(x, y)
move(x, y)
print(float(ttl.to_numpy(y).sum()))
"""


def run(folder: Path, *options: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess:
    (cwd / "program.py").write_text(SIMULATED)
    environment = {**os.environ, "PYTTLANG_CACHE": str(folder), **variables}
    command = [sys.executable, "-m", "ttl", "run", *options, "program.py"]
    return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True)


def others_may_write(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    return folder


def test_a_folder_that_is_made_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert refusal_of(str(tmp_path / "made" / "cache")) is None
        write_whole(str(tmp_path / "made" / "cache" / "file"), b"x")
    finally:
        os.umask(before)
    made = tmp_path / "made" / "cache"
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert stat.S_IMODE((made / "file").stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o1777])
def test_a_folder_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    refused = refusal_of(str(tmp_path))
    assert refused is not None and refused.why == f"others may write to it (mode {mode:04o})"
    done = subprocess.run(refused.command, shell=True, check=False)
    assert done.returncode == 0 and refusal_of(str(tmp_path)) is None  # the help works


def test_a_folder_of_somebody_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_folder, "ROOT", 99)  # the tests may run as root
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY_ELSE)
    refused = refusal_of(str(tmp_path))
    assert refused is not None and refused.why == f"it belongs to another user ({owner})"
    assert refused.command == f"sudo chown {SOMEBODY_ELSE} {tmp_path} && chmod go-w {tmp_path}"
    (tmp_path / "file").write_bytes(b"code")
    assert not is_trusted(str(tmp_path / "file"))


def test_what_root_has_written_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_folder, "ROOT", tmp_path.stat().st_uid)
    monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY_ELSE)
    assert refusal_of(str(tmp_path)) is None


def test_a_private_folder_in_one_that_all_may_write_is_used(tmp_path: Path) -> None:
    others_may_write(tmp_path).chmod(0o1777)
    assert refusal_of(str(tmp_path / "own")) is None


def test_a_file_that_others_may_write_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"code")
    assert read_trusted(str(file)) == b"code" and is_trusted(str(file))
    file.chmod(0o666)
    assert not is_trusted(str(file))
    with pytest.raises(PermissionError):
        read_trusted(str(file))


def crafted(folder: Path, ran: Path) -> None:
    """An artifact whose kernels do something else when they are loaded."""
    (path,) = folder.glob("operation-*.json")
    _, _, body = path.read_bytes().partition(b"\n")
    manifest = json.loads(body)
    for kernel in manifest["kernels"]:
        kernel["cpp_source"] += (
            f'\n#include <cstdio>\nstatic const bool ran = std::fopen("{ran}", "w") != nullptr;\n'
        )
    body = json.dumps(manifest).encode()
    path.write_bytes(sha256(body).hexdigest().encode() + b"\n" + body)


def test_a_crafted_artifact_in_a_folder_of_others_does_not_run(tmp_path: Path) -> None:
    folder, ran = tmp_path / "cache", tmp_path / "ran"
    keeps = {"TTL_ALWAYS_COMPILE": ""}
    assert run(folder, "--host", cwd=tmp_path, **keeps).stdout == "1024.0\n"
    crafted(folder, ran)
    others_may_write(folder)
    assert run(folder, "--host", cwd=tmp_path, **keeps).stdout == "1024.0\n"
    assert not ran.exists()
    folder.chmod(0o700)  # that it would have run is what makes this a test
    run(folder, "--host", cwd=tmp_path, **keeps)
    assert ran.exists()


@pytest.mark.parametrize("option", [(), ("--host",)])
def test_a_program_runs_without_a_cache_that_is_refused(
    tmp_path: Path, option: tuple[str, ...]
) -> None:
    folder = others_may_write(tmp_path / "cache")
    done = run(folder, *option, cwd=tmp_path)
    assert done.stdout == "1024.0\n"
    assert done.stderr.count("note[TTL6017]") == 1
    assert f"= help: chmod go-w {folder}" in done.stderr
    assert list(folder.iterdir()) == []


UNUSABLE = {"too long": "x" * 300, "under a file": "program.py/cache", "no such device": "/proc/x"}


@pytest.mark.parametrize("name", UNUSABLE)
@pytest.mark.parametrize("option", [(), ("--host",), ("--strict",)])
def test_a_program_runs_without_a_cache_that_cannot_be_made(
    tmp_path: Path, name: str, option: tuple[str, ...]
) -> None:
    done = run(Path(UNUSABLE[name]), *option, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "1024.0\n")
    assert done.stderr.count("note[TTL6017]") == 1 and "TTL9001" not in done.stderr


def test_a_relative_folder_is_where_the_process_started(tmp_path: Path) -> None:
    program = "import os, ttl; os.chdir('/'); from ttl.config import Config; "
    program += "print(Config.current().cache_dir)"
    environment = {**os.environ, "PYTTLANG_CACHE": "some/cache"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{tmp_path / 'some' / 'cache'}\n"
    assert run(Path("here"), "--host", cwd=tmp_path).stdout == "1024.0\n"
    assert list((tmp_path / "here").glob("kernels-*.so"))


def test_names_of_the_variable() -> None:
    old, now = {"PYTTL_CACHE": "/old"}, {"PYTTLANG_CACHE": "/now"}
    assert cache_dir(old) == "/old"
    assert cache_dir({**old, **now}) == "/now"
    assert cache_dir({"XDG_CACHE_HOME": "/caches"}) == "/caches/pyttlang"
    assert cache_dir({"XDG_CACHE_HOME": "caches"}) == cache_dir({})


def test_a_refused_folder_has_a_private_one_instead(tmp_path: Path) -> None:
    folder = Path(usable(str(others_may_write(tmp_path / "cache"))))
    assert folder != tmp_path / "cache" and refusal_of(str(folder)) is None
    assert usable(str(tmp_path / "own")) == str(tmp_path / "own")
