"""A pykernel program as a TTNN flatbuffer with one GenericOp."""

import numpy as np

from kernels_d2m import elementwise
from ttl.driver import TensorSpec
from ttl.integrations.flatbuffer import Runtime, compile_operation
from ttl.integrations.flatbuffer.program import GenericStep
from ttl.semantics.dtypes import float32


def test_one_generic_op(load):
    specs = [TensorSpec((128, 128), float32)] * 3
    rng = np.random.default_rng(0)
    lhs, rhs = (rng.uniform(1, 2, (128, 128)).astype(np.float32) for _ in range(2))
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
