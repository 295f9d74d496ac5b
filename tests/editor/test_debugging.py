"""What a debugger, a notebook and pytest show of kernels that fail, of blocks and of tensors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import ttnn

import ttl
from ttl.diagnostics import Diagnostic, Label, Span, codes, render_text

SOURCES = Path(__file__).parents[2] / "src"


def tensor(values=None):
    values = np.arange(1024, dtype=np.float32).reshape(32, 32) if values is None else values
    return ttl.from_numpy(values, device=ttnn.open_device(device_id=0))


def shown_in_a_kernel(show):
    """What `show(read block, block to be written, dataflow buffer)` gives."""
    found = []

    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                found.append(show(x_blk, y_blk, x_dfb))
                y_blk.store(x_blk)

        @ttl.datamovement()
        def read():
            with x_dfb.reserve() as x_blk:
                ttl.copy(x[0, 0], x_blk).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, 0]).wait()

    x = tensor()
    operation(x, x)
    return found[0]


def test_blocks_and_buffers_show_their_state_shape_and_first_values():
    read, written, value, buffer = shown_in_a_kernel(
        lambda x, y, dfb: (repr(x), repr(y), repr(x + x), repr(dfb))
    )
    assert read == (
        "<the block of `x_dfb`, state: MR (must be read), shape: (1, 1), dtype: float32, "
        "values: [0 1 2 3 ...]>"
    )
    assert written == (
        "<the block of `y_dfb`, state: MW (must be written), shape: (1, 1), dtype: float32>"
    )
    assert value == "<a block expression, (1, 1) float32, values: [0 2 4 6 ...]>"
    assert buffer == (
        "<dataflow buffer name: x_dfb, blocks: 2 of (1, 1) tiles, float32, "
        "now: 1 pushed, 0 reserved, 1 free>"
    )


def test_notebooks_show_tables():
    read, written, buffer = shown_in_a_kernel(
        lambda x, y, dfb: (x._repr_html_(), y._repr_html_(), dfb._repr_html_())
    )
    assert "<th>state</th><td>MR (must be read)</td>" in read
    assert "<td>0</td><td>1</td>" in read
    assert "<td>0</td>" not in written  # there is nothing in it yet
    assert "1 pushed" in buffer
    assert "<td>31</td>" not in tensor()._repr_html_()  # only the first columns
    assert "<th>shape</th><td>(32, 32)</td>" in tensor()._repr_html_()
    assert "&lt;" in ttl.operation(grid=lambda x: (1, 1))(_scale)._repr_html_()


def _scale(x, y=1):
    """Its grid is a function, whose text has < and >."""


def test_an_error_has_its_code_and_its_diagnostics():
    with pytest.raises(ttl.TTLError) as caught:
        ttl.make_dataflow_buffer_like(None)
    assert caught.value.code == caught.value.diagnostics[0].code.code == "TTL1001"


def test_a_cell_of_a_notebook_is_named_by_its_number(monkeypatch, tmp_path):
    file = tmp_path / "1234.py"
    file.write_text("x = 1\n")
    span = Span(str(file), 1, 1, 1, 2)
    diagnostic = Diagnostic(codes.WRONG_ARGUMENT, "wrong", Label(span))
    assert str(file) in render_text(diagnostic)
    names = {str(file): ("Cell", "In[8]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=names.get))
    notebook = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    assert "--> Cell [8]:1:1" in render_text(diagnostic)


FAILING = """
import numpy, ttnn, ttl

@ttl.operation(grid=(1, 1))
def wrong(x):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))

    @ttl.datamovement()
    def read():
        with x_dfb.reserve() as x_blk:
            ttl.copy(x[5, 5], x_blk).wait()

def test_kernel():
    wrong(ttl.from_numpy(numpy.ones((32, 32)), device=ttnn.open_device(device_id=0)))

def test_name():
    ttl.math.exq

def test_tensor():
    ttnn.zeros((32, 32), layout="tiles")
"""


def test_pytest_shows_the_diagnostic_and_nothing_else(tmp_path):
    (tmp_path / "test_failing.py").write_text(FAILING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "3 failed" in done.stdout
    assert "error[TTL2004]" in done.stdout
    frames = [line for line in done.stdout.splitlines() if ".py:" in line]
    assert not [line for line in frames if f"{SOURCES}" in line], done.stdout
