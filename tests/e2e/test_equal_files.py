"""Files whose functions are equal line by line: their codes are equal, what they name is not."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import ttl
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)
OPERATION = """
import ttl


@ttl.operation(grid=(1, 1))
def pass_on(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

    @ttl.datamovement()
    def read():
        for i in range(2):
            blk = dfb.reserve()
            tx = ttl.copy(a[0, i], blk)

    @ttl.datamovement()
    def write():
        for i in range(2):
            ttl.copy(dfb.wait(), y[0, i])
"""
HELPER = """
import ttl


def load(a, i, dfb):
    blk = dfb.reserve()
    tx = ttl.copy(a[0, i], blk)
"""


@pytest.fixture
def modules(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)

    def make(text: str, *names: str):
        for name in names:
            (tmp_path / f"{name}.py").write_text(text)
            monkeypatch.delitem(sys.modules, name, raising=False)
        return [__import__(name) for name in names]

    return make


def check(operation) -> None:
    values = np.arange(32 * 64, dtype=np.float32).reshape(32, 64)
    a = ttl.from_numpy(values, dtype=ttnn.float32, device=DEVICE)
    y = ttnn.zeros((32, 64), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    operation(a, y)
    assert (ttl.to_numpy(y) == values).all()


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_what_is_supplied_in_one_is_supplied_in_the_other(
    modules, monkeypatch, capsys, backend
) -> None:
    monkeypatch.setenv("TTL_BACKEND", backend)
    one, two = modules(OPERATION, f"equal_one_{backend}", f"equal_two_{backend}")
    for module in (one, two):
        check(module.pass_on)
        text = capsys.readouterr().err
        assert text.count("note[TTL3010]") == 1 and f"{module.__name__}.py" in text


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_helpers_of_one_kernel(modules, monkeypatch, backend) -> None:
    monkeypatch.setenv("TTL_BACKEND", backend)
    one, two = modules(HELPER, f"helper_one_{backend}", f"helper_two_{backend}")

    @ttl.operation(grid=(1, 1))
    def pass_on(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            one.load(a, 0, dfb)
            two.load(a, 1, dfb)

        @ttl.datamovement()
        def write():
            for i in range(2):
                ttl.copy(dfb.wait(), y[0, i])

    check(pass_on)


def test_a_fault_names_the_file_it_is_in(modules, monkeypatch) -> None:
    monkeypatch.setenv("TTL_BACKEND", "sim")
    one, two = modules(HELPER, "fault_one", "fault_two")

    @ttl.operation(grid=(1, 1))
    def pass_on(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            one.load(a, 7, dfb)
            two.load(a, 1, dfb)

        @ttl.datamovement()
        def write():
            ttl.copy(dfb.wait(), y[0, 0])

    with pytest.raises(ttl.KernelFault) as caught:
        check(pass_on)
    assert caught.value.diagnostics[0].primary.span.file.endswith("fault_one.py")
