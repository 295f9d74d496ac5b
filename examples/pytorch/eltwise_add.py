"""A TT-Lang addition in the middle of a model: torch operations before and after it, one graph."""

import torch
import ttnn
from compare import HALF_ULP, Case, run_everywhere
from torch import nn

import tt_torch
import ttl


@tt_torch.tt_lang_operation(operation_id="examples.add", arg_roles=["in", "in", "out"])
@ttl.operation(grid=(2, 1))
def add(a: ttnn.Tensor, b: ttnn.Tensor, y: ttnn.Tensor) -> None:
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    nodes, _ = ttl.grid_size(dims=2)
    rows = y.shape[0] // ttl.TILE_SIZE // nodes  # of tiles, of each node
    columns = y.shape[1] // ttl.TILE_SIZE

    @ttl.compute()
    def compute() -> None:
        for _ in range(rows * columns):
            with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk + b_blk)

    @ttl.datamovement()
    def read() -> None:
        node, _ = ttl.node(dims=2)
        for row in range(node * rows, (node + 1) * rows):
            for column in range(columns):
                with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                    a_copy = ttl.copy(a[row, column], a_blk)
                    b_copy = ttl.copy(b[row, column], b_blk)
                    a_copy.wait()
                    b_copy.wait()

    @ttl.datamovement()
    def write() -> None:
        node, _ = ttl.node(dims=2)
        for row in range(node * rows, (node + 1) * rows):
            for column in range(columns):
                with y_dfb.wait() as y_blk:
                    y_copy = ttl.copy(y_blk, y[row, column])
                    y_copy.wait()


class Model(nn.Module):
    """(x + y) + z + x; the second addition is the TT-Lang operation."""

    def forward(self, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        before = x + y
        out = torch.empty_like(before)
        add(before, z, out)
        return out + x


def make(shape: tuple[int, int] = (128, 64)) -> Case:
    """The model, its arguments, what it gives in f32, and how far a result may be from that."""
    torch.manual_seed(0)
    x, y, z = (torch.randn(shape).bfloat16() for _ in range(3))
    sums = [x.float() + y.float()]
    sums.append(sums[0] + z.float())
    sums.append(sums[1] + x.float())
    bound = sum(HALF_ULP * each.abs().max().item() for each in sums)  # each sum is rounded once
    return Model(), (x, y, z), sums[-1], bound * (1 + HALF_ULP)


if __name__ == "__main__":
    run_everywhere("eltwise_add", *make())
