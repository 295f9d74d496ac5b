"""Ctrl-C while kernels run."""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from headers.check import check_operation

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
