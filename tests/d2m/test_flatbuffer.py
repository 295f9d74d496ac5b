"""A pykernel program as a TTNN flatbuffer with one GenericOp."""

import re
from pathlib import Path

import numpy as np
import pytest

from kernels_d2m import elementwise
from op_samples import coarse
from ttgraph.flatbuffer import Runtime, compile_operation
from ttgraph.flatbuffer.program import GenericStep
from ttl.diagnostics import UsageError
from ttl.driver.specs import TensorSpec
from ttl.semantics.dtypes import float32


def test_c17_flatbuffer_path(monkeypatch, tmp_path):
    file = tmp_path / "add.ttnn"
    monkeypatch.setenv("TTLANG_FLATBUFFER_PATH", str(file))
    lhs, rhs = (np.full((64, 64), value, np.float32) for value in (2, 3))
    out = np.zeros_like(lhs)
    elementwise("+", grid=(2, 2))(lhs, rhs, out)
    (again,) = Runtime(file.read_bytes()).run([lhs, rhs])
    np.testing.assert_array_equal(again, out)
    monkeypatch.setenv("TTLANG_FLATBUFFER_PATH", str(tmp_path))
    with pytest.raises(UsageError, match="directory"):
        elementwise("+", grid=(2, 2))(lhs, rhs, out)


def test_one_generic_op(load):
    specs = [TensorSpec((128, 128), float32)] * 3
    rng = np.random.default_rng(0)
    # With as many digits as the matrix unit has.
    lhs, rhs = (coarse(rng.uniform(1, 2, (128, 128))) for _ in range(2))
    kernels = {
        "matmul": (load("custom_dm_matmul").matmul, lhs @ rhs),
        "add": (elementwise("+", grid=(2, 2)), lhs + rhs),
    }
    for kernel, expected in kernels.values():
        runtime = Runtime(compile_operation(kernel, specs))
        (program,) = runtime.programs
        assert sum(isinstance(step, GenericStep) for step in program.steps) == 1
        (out,) = runtime.run([lhs, rhs])
        np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_howto_page(run_file, capsys):
    """The programs of docs/howto/which-dsl.md, one after the other."""
    page = (Path(__file__).parents[2] / "docs" / "howto" / "which-dsl.md").read_text()
    run_file("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)))
    assert capsys.readouterr().out == "2.0\n128.0\nTrue\n"
