"""Jobs as plain values, a function and its arguments, for other processes or machines.

The function is one of ours, `package.module:function`; its arguments and results are JSON values.
The job contains the programs that it runs: another machine may not have the files.
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

from ttl.loading.packages import is_ours

from .store import Result

CRASHED = "crashed"  # in the result of a job whose process died
MAIN = "from ttl.studio.sweep.job import serve; serve()"


@dataclass(frozen=True, slots=True)
class Job:
    function: str
    values: Mapping[str, object]
    program: str = ""  # the path of the user's program, if there is one
    # Texts of the program and of the modules that it imports from its folder, by name.
    files: Mapping[str, str] = field(default_factory=dict)


def perform(job: Job) -> Result:
    """Run a job in this process, which a program may leave changed."""
    module, _, name = job.function.partition(":")
    if not is_ours(module):
        raise ValueError(f"{job.function} is no function of pyttlang")
    with tempfile.TemporaryDirectory(prefix="ttl-job-") as folder:
        found = _write_program(job, Path(folder))
        values = {**found.values, "file": found.program} if found.program else found.values
        result: Result = getattr(import_module(module), name)(**values)
    return result


def _write_program(job: Job, folder: Path) -> Job:
    """Use the program's own file if it exists unchanged; otherwise write it to this folder."""
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
    """Run a job in its own process; if that dies, the result is CRASHED."""
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
    """Serve run_job() in its process: only the result goes to standard output."""
    answers = os.dup(1)
    os.dup2(2, 1)
    result = perform(Job(**json.load(sys.stdin)))
    sys.stdout.flush()
    with os.fdopen(answers, "w") as output:
        json.dump(result, output)
