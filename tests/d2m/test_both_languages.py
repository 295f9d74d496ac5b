"""The same kernel in both DSLs gives the same C++ up to names.

Not compared: dma() with core and mcast. In TT-Lang blocks go to other nodes by pipes, whose
handshake the compiler makes; in pykernel the program writes it.
"""

import re
from dataclasses import replace

import numpy as np
import pytest
import ttnn

import ttl
from kernels_d2m import elementwise
from pykernel.d2m_api import *
from ttl.config import chosen_options


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
    operations = []
    with chosen_options(hand_over=lambda compiled, tensors: operations.append(compiled)):
        call()
    (operation,) = operations
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


@pykernel_gen(grid=(2, 2))
def turns(x, out):
    """A product in a loop; the core (0, 0) lets the others start when all are there."""
    x_stream = Stream(x)

    @compute()
    async def calculate(
        x_cb: CircularBuffer, out_cb: CircularBuffer, there: Semaphore, go: Semaphore
    ):
        o = out_cb.reserve()
        for _ in range(2):
            block = x_cb.pop()
            o.store(block @ block)
        out_cb.pop()

    @datamovement()
    async def read(x_cb: CircularBuffer, out_cb: CircularBuffer, there: Semaphore, go: Semaphore):
        cy = core_index(0)
        cx = core_index(1)
        if cy + cx == 0:
            there.wait(3, reset=0)
            go.set(1, core=(0, 0), mcast=(2, 2))
        else:
            there.inc(1, core=(0, 0))
        go.wait(1, reset=0)
        for k in range(2):
            dma(x_stream[cy, k], x_cb.reserve()).wait()

    return Program(calculate, read)(x, out)


@ttl.operation(grid=(2, 2))
def turns_in_tt_lang(x, out):
    there = ttl.Semaphore(0)
    go = ttl.Semaphore(0)
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    out_dfb = ttl.make_dataflow_buffer_like(out, shape=(1, 1), block_count=1)

    @ttl.datamovement()
    def read():
        cy = ttl.node(dims=2)[1]
        cx = ttl.node(dims=2)[0]
        if cy + cx == 0:
            there.wait_eq(3)
            there.set(0)
            go.set(1)
            go.get_remote_multicast((slice(0, 2), slice(0, 2))).set(1)
        else:
            there.get_remote((0, 0)).inc(1)
        go.wait_eq(1)
        go.set(0)
        for k in range(2):
            with x_dfb.reserve() as block:
                ttl.copy(x[cy : cy + 1, k : k + 1], block).wait()

    @ttl.compute()
    def calculate():
        o = out_dfb.reserve()
        for _ in range(2):
            with x_dfb.wait() as block:
                o += block @ block
        o.push()

    @ttl.datamovement()
    def write():
        with out_dfb.wait() as result:
            row = ttl.node(dims=2)[1]
            column = ttl.node(dims=2)[0]
            ttl.copy(result, out[row : row + 1, column : column + 1]).wait()


def on_device(arrays):
    device = ttnn.open_device(device_id=0)
    memory = ttnn.L1_MEMORY_CONFIG
    return [
        ttl.from_numpy(x, dtype=ttnn.float32, device=device, memory_config=memory) for x in arrays
    ]


def test_same_cpp_with_semaphores(monkeypatch):
    monkeypatch.setenv("TTL_BACKEND", "host")
    arrays = [np.ones((64, 64), np.float32) for _ in range(2)]
    ours = compiled(lambda: replace(turns, use_tile_matmul=False)(*arrays))
    assert ours == compiled(lambda: turns_in_tt_lang(*on_device(arrays)))


@pytest.mark.parametrize("operator", ["+", "@"])
def test_same_cpp(operator, monkeypatch):
    monkeypatch.setenv("TTL_BACKEND", "host")
    arrays = [np.ones((64, 64), np.float32) for _ in range(3)]
    tensors = on_device(arrays)
    kernel = elementwise(operator, grid=(2, 2), use_tile_matmul=False)
    ours = compiled(lambda: kernel(*arrays))
    theirs = compiled(lambda: in_tt_lang(operator)(*tensors))
    assert ours == theirs
