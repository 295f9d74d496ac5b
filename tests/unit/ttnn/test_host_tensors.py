"""Functions of ttnn refuse host tensors, as the real ones; TT-Lang operations take them, with a
note."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import TTLError
from ttl.driver import PROCESS_DRIVER
from ttl.driver.remarks import Remarks
from ttl.ttnn.operations import NAMES

HOST = ttl.from_numpy(np.full((32, 32), -1.0), dtype=ttnn.bfloat16)
# What the real ttnn does with host tensors, too; the others of the table calculate.
ON_HOST = {"to_layout", "typecast", "zeros_like", "ones_like", "full_like", "empty_like"}
UNARY = ["abs", "neg", "exp", "sqrt", "relu", "softmax", "sum", "max", "square", "clone"]


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_ttnn_refuses_a_host_tensor(name: str) -> None:
    assert name not in ON_HOST
    assert name in NAMES or hasattr(ttnn, name)
    with pytest.raises(TTLError, match="host"):
        getattr(ttnn, name)(HOST)


def test_an_operation_takes_one_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    @ttl.operation(grid=(1, 1))
    def absolute(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with x_dfb.wait() as block, y_dfb.reserve() as result:
                result.store(abs(block))

        @ttl.datamovement()
        def read():
            with x_dfb.reserve() as block:
                ttl.copy(x[0, 0], block).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, 0]).wait()

    monkeypatch.setattr(PROCESS_DRIVER, "remarks", Remarks())
    for backend in ("sim", "host"):
        monkeypatch.setenv("TTL_BACKEND", backend)
        y = ttl.from_numpy(np.zeros((32, 32)), dtype=ttnn.bfloat16)
        absolute(HOST, y)
        assert (ttl.to_numpy(y) == 1).all()
    assert capfd.readouterr().err.count("note[TTL1020]") == 1
