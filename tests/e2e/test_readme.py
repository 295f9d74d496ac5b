"""The kernel of README.md runs as it stands there, simulated and compiled."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def test_the_kernel_of_the_readme(run: Any, check_headers: Any, tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "kernel.py").write_text(program)

    def printed(*command: str) -> np.ndarray:
        done = run("ttl", *command, "kernel.py")
        assert done.returncode == 0, done.stderr
        return np.array([float(number) for number in re.findall(r"[-\d.e]+", done.stdout)])

    simulated = printed("run")
    assert simulated.size == 8
    np.testing.assert_array_equal(printed("compile", "-o", "kernels"), simulated)
    check_headers(tmp_path / "kernels")
    np.testing.assert_allclose(printed("run", "--host"), simulated, rtol=2**-7)
