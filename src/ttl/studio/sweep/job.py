"""A job as plain values: what to call, and with what. It can go to another process or machine.

The function is one of ours, `package.module:function`; it gets the values and returns others, both
as JSON has them. Programs that it runs are files of the job: another machine may not have them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ttl.loading.packages import is_ours

Result = dict[str, Any]
CRASHED = "crashed"  # in the result of a job whose process ended before it was done
MAIN = "from ttl.studio.sweep.job import serve; serve()"


@dataclass(frozen=True, slots=True)
class Job:
    function: str
    values: Mapping[str, Any]
    program: str = ""  # the path of the user's program, if there is one
    # Its text and those of the modules beside it that it imports, by their names in its folder.
    files: Mapping[str, str] = field(default_factory=dict)


def perform(job: Job) -> Result:
    """Do it in this process, which a program that it runs does not leave as it was."""
    module, _, name = job.function.partition(":")
    if not is_ours(module):
        raise ValueError(f"{job.function} is no function of pyttlang")
    with tempfile.TemporaryDirectory(prefix="ttl-job-") as folder:
        found = _with_program(job, Path(folder))
        values = {**found.values, "file": found.program} if found.program else found.values
        result: Result = getattr(import_module(module), name)(**values)
    return result


def _with_program(job: Job, folder: Path) -> Job:
    """The program where it is, if it is there and the same; else in this folder."""
    beside = Path(job.program).parent
    if not job.program or all(_text(beside / each) == job.files[each] for each in job.files):
        return job
    for name, text in job.files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return replace(job, program=str(folder / Path(job.program).name))


def _text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def run_job(job: Job) -> Result:
    """Do it in a process of its own. A process that dies gives a result that says so."""
    values = {"function": job.function, "values": dict(job.values), "program": job.program}
    given = json.dumps({**values, "files": dict(job.files)})
    command = [sys.executable, "-P", "-c", MAIN]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        return failed(done.returncode, done.stderr)
    result: Result = json.loads(done.stdout)
    return result


def failed(status: int, text: str = "") -> Result:
    last = (text.strip().splitlines() or [""])[-1]
    how = f"signal {-status}" if status < 0 else f"status {status}"
    return {CRASHED: f"its process ended with {how}{': ' if last else ''}{last}"}


def serve() -> None:
    """The other end of run_job(): only the result goes to standard output."""
    answers = os.dup(1)
    os.dup2(2, 1)
    result = perform(Job(**json.load(sys.stdin)))
    sys.stdout.flush()
    with os.fdopen(answers, "w") as output:
        json.dump(result, output)
