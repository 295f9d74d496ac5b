"""TT-Lang operations, registered for torch, and models that use them."""

from __future__ import annotations

import torch
from torch import nn

import tt_torch
import ttl


def tile_dfb(tensor):
    return ttl.make_dataflow_buffer_like(tensor, shape=(1, 1), block_count=2)


@ttl.operation(grid=(1, 1))
def add_tiles(a, b, y):
    a_dfb, b_dfb, y_dfb = tile_dfb(a), tile_dfb(b), tile_dfb(y)
    rows, columns = y.shape[0] // 32, y.shape[1] // 32

    @ttl.compute()
    def compute():
        for _ in range(rows * columns):
            with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk + b_blk)

    @ttl.datamovement()
    def read():
        for row in range(rows):
            for column in range(columns):
                with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                    ttl.copy(a[row, column], a_blk).wait()
                    ttl.copy(b[row, column], b_blk).wait()

    @ttl.datamovement()
    def write():
        for row in range(rows):
            for column in range(columns):
                with y_dfb.wait() as y_blk:
                    ttl.copy(y_blk, y[row, column]).wait()


@ttl.operation(grid=(1, 1))
def multiply_tiles(a, b, y):
    a_dfb, b_dfb, y_dfb = tile_dfb(a), tile_dfb(b), tile_dfb(y)
    rows = y.shape[0] // 32

    @ttl.compute()
    def compute():
        for _ in range(rows):
            with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk * b_blk)

    @ttl.datamovement()
    def read():
        for row in range(rows):
            with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                ttl.copy(a[row, 0], a_blk).wait()
                ttl.copy(b[row, 0], b_blk).wait()

    @ttl.datamovement()
    def write():
        for row in range(rows):
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[row, 0]).wait()


@ttl.operation(grid=(1, 1))
def multiply_gradients(a, b, grad, a_grad, b_grad):
    """a_grad = grad * b, b_grad = grad * a."""
    a_dfb, b_dfb, grad_dfb = tile_dfb(a), tile_dfb(b), tile_dfb(grad)
    a_grad_dfb, b_grad_dfb = tile_dfb(a_grad), tile_dfb(b_grad)
    rows = a_grad.shape[0] // 32

    @ttl.compute()
    def compute():
        for _ in range(rows):
            with (
                a_dfb.wait() as a_blk,
                b_dfb.wait() as b_blk,
                grad_dfb.wait() as grad_blk,
                a_grad_dfb.reserve() as a_grad_blk,
                b_grad_dfb.reserve() as b_grad_blk,
            ):
                a_grad_blk.store(grad_blk * b_blk)
                b_grad_blk.store(grad_blk * a_blk)

    @ttl.datamovement()
    def read():
        for row in range(rows):
            with (
                a_dfb.reserve() as a_blk,
                b_dfb.reserve() as b_blk,
                grad_dfb.reserve() as grad_blk,
            ):
                ttl.copy(a[row, 0], a_blk).wait()
                ttl.copy(b[row, 0], b_blk).wait()
                ttl.copy(grad[row, 0], grad_blk).wait()

    @ttl.datamovement()
    def write():
        for row in range(rows):
            with a_grad_dfb.wait() as a_grad_blk, b_grad_dfb.wait() as b_grad_blk:
                ttl.copy(a_grad_blk, a_grad[row, 0]).wait()
                ttl.copy(b_grad_blk, b_grad[row, 0]).wait()


add = tt_torch.tt_lang_operation(operation_id="tests.add", arg_roles=["in", "in", "out"])(add_tiles)
multiply = tt_torch.tt_lang_operation(
    operation_id="tests.multiply", arg_roles=["in", "in", "out"], backward="tests.gradients"
)(multiply_tiles)
gradients = tt_torch.tt_lang_operation(
    operation_id="tests.gradients", arg_roles=["in"] * 3 + ["out"] * 2
)(multiply_gradients)
multiply_only = tt_torch.tt_lang_operation(
    operation_id="tests.multiply_only", arg_roles=["in", "in", "out"]
)(multiply_tiles)


class Stitched(nn.Module):
    """Torch operations before and after the kernel; `out` belongs to the caller."""

    def forward(self, x, y, out):
        return add(x + y, y, out) * 2


class TwoOutputs(nn.Module):
    def forward(self, x, y):
        first, second = gradients(x, y, x + y, torch.empty_like(x), torch.empty_like(x))
        return first - second, second


class Product(nn.Module):
    """sum((x + 1) * w)^2, where `*` is a TT-Lang operation."""

    def __init__(self, operation=multiply):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, 64 * 32).reshape(64, 32))
        self.operation = operation

    def forward(self, x):
        moved = x + 1
        product = self.operation(moved, self.weight, torch.empty_like(moved))
        return (product * product).sum()


def bf16(seed, *shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).bfloat16()
