"""Ctrl-C while kernels run."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest

from headers.check import check_operation
from ttl.host import execution

PROGRAM = Path(__file__).with_name("endless_program.py")
spec = spec_from_file_location("endless_program", PROGRAM)
assert spec is not None and spec.loader is not None
endless_program = module_from_spec(spec)
spec.loader.exec_module(endless_program)


HAS_SIGNALS = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")


@pytest.mark.parametrize(
    "loop", [loop for loop in endless_program.LOOPS if HAS_SIGNALS or "nothing" not in loop]
)
def test_an_interrupt_ends_the_run(loop: str, cache_dir: Path) -> None:
    assert check_operation(endless_program.endless_operation(loop)) == []
    done = subprocess.run(
        [sys.executable, str(PROGRAM), loop, str(cache_dir)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "interrupted, the tensor is written",
        "still running: []",
    ], done.stderr


def test_a_machine_that_gives_no_time_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the process ends while its kernels run."""
    answers = iter([0] * 500 + [1])
    runtime = SimpleNamespace(ttl_stop=lambda *_: None, ttl_wait=lambda *_: next(answers))
    monkeypatch.setattr(execution.time, "process_time", lambda: 1.0)
    program = SimpleNamespace(struct=ctypes.c_int())
    assert execution._stop(runtime, program, execution.STOPPED)


def test_what_a_thread_uses_outlives_the_interpreter() -> None:
    """A run that cannot be stopped writes to it until the process has ended."""
    program = """if True:
    import os
    from ttl.host import execution

    class Used:
        def __del__(self, write=os.write):
            write(1, b"freed")

    execution.in_flight[0] = Used()
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b""


def test_ctrl_c_before_a_run_has_begun() -> None:
    """Nothing runs, so nothing is waited for."""

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    runtime = SimpleNamespace(
        ttl_begin=interrupted, ttl_stop=lambda *_: None, ttl_wait=lambda *_: 1
    )
    program = SimpleNamespace(struct=ctypes.c_int())
    report = execution.ReportStruct()
    assert isinstance(execution.execute(runtime, program, report), KeyboardInterrupt)
    assert execution.in_flight == {}
