"""The same kernel in both DSLs gives the same C++ up to names."""

import re

import numpy as np
import pytest
import ttnn

import ttl
from kernels_d2m import elementwise
from ttl.driver.captured import CAPTURED


def in_tt_lang(operator):
    @ttl.operation(grid=(2, 2))
    def operation(lhs, rhs, out):
        left_dfb = ttl.make_dataflow_buffer_like(lhs, shape=(1, 1), block_count=2)
        right_dfb = ttl.make_dataflow_buffer_like(rhs, shape=(1, 1), block_count=2)
        result_dfb = ttl.make_dataflow_buffer_like(out, shape=(1, 1), block_count=1)

        @ttl.datamovement()
        def read():
            row = ttl.node(dims=2)[1]
            column = ttl.node(dims=2)[0]
            left = left_dfb.reserve()
            ttl.copy(lhs[row : row + 1, column : column + 1], left).wait()
            right = right_dfb.reserve()
            ttl.copy(rhs[row : row + 1, column : column + 1], right).wait()
            left.push()
            right.push()

        @ttl.compute()
        def calculate():
            result = result_dfb.reserve()
            with left_dfb.wait() as left, right_dfb.wait() as right:
                if operator == "+":
                    result.store(left + right)
                else:
                    result += left @ right
            result.push()

        @ttl.datamovement()
        def write():
            with result_dfb.wait() as result:
                row = ttl.node(dims=2)[1]
                column = ttl.node(dims=2)[0]
                ttl.copy(result, out[row : row + 1, column : column + 1]).wait()

    return operation


def compiled(call):
    """The C++ of the kernels of a call, by thread."""
    token = CAPTURED.set([])
    try:
        call()
        ((operation, _),) = CAPTURED.get()
    finally:
        CAPTURED.reset(token)
    return {kernel.thread: normal(kernel.cpp_source) for kernel in operation.kernels}


def normal(text):
    """Without comments and unused values, names in the order of their declarations."""
    text = re.sub(r" *//.*", "", text)
    text = re.sub(r"\n  int32_t \w+ = get_absolute_logical_[xy]\(\);(?=\n)", _used(text), text)
    declared = r"(?:int32_t|uint32_t|auto) (\w+) ="
    names = dict.fromkeys(re.findall(declared, text))
    for number, name in enumerate(names):
        text = re.sub(rf"\b{name}\b", f"v{number}", text)
    return text


def _used(text):
    def keep(match):
        name = match.group().split()[1]
        return match.group() if len(re.findall(rf"\b{name}\b", text)) > 1 else ""

    return keep


@pytest.mark.parametrize("operator", ["+", "@"])
def test_same_cpp(operator, monkeypatch):
    monkeypatch.setenv("TTL_BACKEND", "host")
    arrays = [np.ones((64, 64), np.float32) for _ in range(3)]
    device = ttnn.open_device(device_id=0)
    tensors = [
        ttnn.from_numpy(x, dtype=ttnn.float32, device=device, memory_config=ttnn.L1_MEMORY_CONFIG)
        for x in arrays
    ]
    kernel = elementwise(operator, grid=(2, 2), use_tile_matmul=False)
    ours = compiled(lambda: kernel(*arrays))
    theirs = compiled(lambda: in_tt_lang(operator)(*tensors))
    assert ours == theirs
