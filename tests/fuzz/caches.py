"""Damaged cache folders: a program gives its result, whatever is in them.

A case is a JSON object: what is done to which file of a cache that a run has filled. The files are
artifacts, compiled kernels, the limit, the arguments of the last calls and results of tuning.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz.judging import Verdict
from ttl.config import Config
from unit.loading.test_cache_folder import SIMULATED

RESULT = "1024.0\n"
# The runtime takes long to build again, so it is seldom damaged.
NAMES = ("operation-", "kernels-", "limit", "last-calls", "last-pruned", "tuning")
RUNTIME = "runtime-"
DAMAGES = ("byte", "cut", "empty", "remove", "folder", "link", "mode", "text", "zeros")
MODES = (0o000, 0o444, 0o666, 0o777)
TEXTS = ("none", "-1", "much", "{}", "[]", "null", '{"scale": {"x": 1}}', "\x00")


def cache_case(seed: int) -> str:
    random = Random(seed)
    edits: list[list[Any]] = []
    for _ in range(random.choice((1, 1, 2, 4))):
        name = RUNTIME if random.random() < 0.02 else random.choice(NAMES)
        how = random.choice(DAMAGES)
        edits.append([how, name, random.randrange(1 << 20), random.randrange(256)])
    if random.random() < 0.15:
        edits.append(["mode", "", 0, random.choice((1, 2, 3))])
    return json.dumps({"host": random.random() < 0.7, "edits": edits})


def check_cache(text: str) -> Verdict:
    given, verdict = json.loads(text), Verdict()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "cache")
        shutil.copytree(_filled(), folder)
        for edit in given["edits"]:
            _damage(folder, *edit)
        Path(name, "program.py").write_text(SIMULATED)
        command = [sys.executable, "-m", "ttl", "run", "program.py"]
        command[4:4] = ["--host"] if given["host"] else []
        done = _run(command, Path(name), folder)
        folder.chmod(0o700)
    verdict.ending = "ended"
    if done.returncode or done.stdout != RESULT:
        verdict.failure = f"cache: status {done.returncode}: {done.stdout} {done.stderr[-400:]}"
    elif "Traceback" in done.stderr or "TTL9" in done.stderr:
        verdict.failure = f"cache: traceback: {done.stderr[-400:]}"
    return verdict


def _run(command: list[str], folder: Path, kept: Path) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTTLANG_CACHE": str(kept), "TTL_ALWAYS_COMPILE": ""}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=False
    )


@cache
def _filled() -> Path:
    """A cache after two runs. The runtime comes from the cache of this process."""
    from ttl.host.build import build_runtime
    from ttl.host.toolchain import find_compiler

    folder, owner = Path(tempfile.mkdtemp(prefix="fuzz-cache-")), os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(folder, ignore_errors=True))
    kept = folder / "cache"
    kept.mkdir(mode=0o700)
    shutil.copy2(build_runtime(find_compiler(), Config.current().cache_dir), kept)
    (folder / "program.py").write_text(SIMULATED)
    for options in (["--host"], []):
        command = [sys.executable, "-m", "ttl", "run", *options, "program.py"]
        assert _run(command, folder, kept).stdout == RESULT
    (kept / "limit").write_text("100M\n")
    (kept / "tuning").mkdir(exist_ok=True)
    (kept / "tuning" / "x.json").write_text("{}")
    return kept


def _damage(folder: Path, how: str, name: str, place: int, value: int) -> None:
    for path in [folder] if not name else sorted(folder.glob(f"{name}*"))[:1]:
        if not path.exists():
            continue
        if how == "mode":
            path.chmod(MODES[value % len(MODES)])
        elif how in ("remove", "folder", "link"):
            _replace(path, how)
        elif path.is_file():
            _write(path, how, place, value)


def _replace(path: Path, how: str) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    if how == "folder":
        path.mkdir()
    elif how == "link":
        path.symlink_to("nowhere")


def _write(path: Path, how: str, place: int, value: int) -> None:
    content = bytearray(path.read_bytes() or b"\0")
    place %= len(content)
    if how == "byte":
        content[place] = value
    elif how == "text":
        content[:] = TEXTS[value % len(TEXTS)].encode()
    elif how == "zeros":
        content[place : place + 64] = bytes(64)
    else:
        del content[place if how == "cut" else 0 :]
    path.chmod(0o600)
    path.write_bytes(content)
