"""Programs of several files, programs in packages, and kernels that stand in no file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ttl

OPERATION = """
import numpy as np
import ttl
import ttnn

@ttl.operation(grid=(1, 1))
def double(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.datamovement()
    def read():
        x_block = x_dfb.reserve()
        ttl.copy(x[0, 0], x_block)

    @ttl.compute()
    def compute():
        x_block = x_dfb.wait()
        y_block = y_dfb.reserve()
        y_block.store(x_block + x_block)

    @ttl.datamovement()
    def write():
        y_block = y_dfb.wait()
        ttl.copy(y_block, y[0, 0])
"""
CALL = """
device = ttnn.open_device(device_id=0)
x = ttl.from_numpy(np.ones((32, 32)), dtype=ttnn.float32, device=device)
y = ttl.from_numpy(np.zeros((32, 32)), dtype=ttnn.float32, device=device)
double(x, y)
print("found", np.unique(ttl.to_numpy(y)))
"""
IMPORTS = "import numpy as np\nimport ttl\nimport ttnn\n"


@pytest.mark.parametrize("command", [("ttl", "run"), ("tt-lang-sim",), ("python",)])
@pytest.mark.parametrize("backend", ["sim", "host"])
def test_siblings(run: Any, tmp_path: Path, command: tuple[str, ...], backend: str) -> None:
    """Whatever the current folder is."""
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "operations.py").write_text(OPERATION)
    (tmp_path / "programs" / "main.py").write_text(
        f"from operations import double\n{IMPORTS}{CALL}"
    )
    done = run(*command, "programs/main.py", TTL_BACKEND=backend)
    assert done.stdout == "found [2.]\n", done.stderr


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_a_package_by_python_m(run: Any, tmp_path: Path, backend: str) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "operations.py").write_text(OPERATION)
    (tmp_path / "package" / "__main__.py").write_text(
        f"from .operations import double\n{IMPORTS}{CALL}"
    )
    done = run("python", "-m", "package", TTL_BACKEND=backend)
    assert done.stdout == "found [2.]\n", done.stderr


# What IPython does with a cell: its text is known to linecache under a name that is no file.
NOTEBOOK = """
import linecache

def run_cell(number, text):
    name = f"<ipython-input-{number}-0123456789ab>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), namespace)

namespace = {"__name__": "__main__"}
"""


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_cells_of_a_notebook(run: Any, tmp_path: Path, backend: str) -> None:
    """Waits and releases are left out, so the source must be found."""
    cells = f"run_cell(1, {OPERATION!r})\nrun_cell(2, {CALL!r})\n"
    (tmp_path / "notebook.py").write_text(NOTEBOOK + cells)
    done = run("python", "notebook.py", TTL_BACKEND=backend)
    assert done.stdout == "found [2.]\n", done.stderr


def test_a_notebook_shows_the_message_and_no_frames_of_ours() -> None:
    """IPython shows an exception as the exception renders itself, if it does."""
    with pytest.raises(ttl.UsageError) as caught:
        ttl.node()
    shown = "\n".join(caught.value._render_traceback_())
    assert shown == str(caught.value) and shown.startswith("error[TTL")


WRONG_LINE = "        y_block.store(x_block @ 3)"


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_messages_show_the_lines_of_a_cell(run: Any, tmp_path: Path, backend: str) -> None:
    wrong = OPERATION.replace("        y_block.store(x_block + x_block)", WRONG_LINE)
    cells = f"run_cell(1, {wrong!r})\nrun_cell(2, {CALL!r})\n"
    (tmp_path / "notebook.py").write_text(NOTEBOOK + cells)
    done = run("python", "notebook.py", TTL_BACKEND=backend)
    line = wrong.splitlines().index(WRONG_LINE) + 1
    assert done.returncode == 1
    assert f"--> <ipython-input-1-0123456789ab>:{line}:" in done.stderr
    assert f"{line} | {WRONG_LINE}" in done.stderr
