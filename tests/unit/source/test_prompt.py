"""Operations that are typed at the prompt of Python: their text is found."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from ttl.config import Config

# Releases and waits are left out, so even the simulator needs the source.
TYPED = """
import ttl, ttnn, numpy as np
def scaled(a): return a * 3

@ttl.operation(grid=(1, 1))
def scale(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
    @ttl.datamovement()
    def read():
        block = x_dfb.reserve()
        ttl.copy(x[0, 0], block)
    @ttl.compute()
    def compute():
        a = x_dfb.wait()
        b = y_dfb.reserve()
        b.store(scaled(a))
    @ttl.datamovement()
    def write():
        block = y_dfb.wait()
        ttl.copy(block, y[0, 0])

x = ttl.from_numpy(np.ones((32, 32)), dtype=ttnn.float32, device=ttnn.open_device(device_id=0))
y = ttnn.zeros_like(x)
scale(x, y)
print("the result is", ttl.to_numpy(y)[0, 0])
exit()
"""


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_an_operation_that_is_typed(backend, tmp_path):
    own, terminal = pty.openpty()
    # The prompt that all versions have: the newer one indents by itself.
    variables = {"TTL_BACKEND": backend, "PYTHON_BASIC_REPL": "1", "HOME": str(tmp_path)}
    variables["PYTTLANG_CACHE"] = str(Config.current().cache_dir)
    with subprocess.Popen(
        [sys.executable, "-P", "-q"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, **variables},
        start_new_session=True,
    ) as prompt:
        os.close(terminal)
        shown = answers(own, TYPED.strip().split("\n"))
        prompt.wait()
    assert "the result is 3.0" in shown
    assert "block = x_dfb.reserve()" in shown.partition("TTL3010")[2], "what was typed is shown"


def answers(own: int, lines: list[str]) -> str:
    """Types each line when Python asks for it."""
    shown = ""
    for line in lines:
        shown += until_asked(own)
        os.write(own, f"{line}\n".encode())
    return shown + until_asked(own)


def until_asked(own: int) -> str:
    shown = ""
    while not shown.endswith((">>> ", "... ")):
        try:
            shown += os.read(own, 4096).decode()
        except OSError:  # it has ended
            break
    return shown
