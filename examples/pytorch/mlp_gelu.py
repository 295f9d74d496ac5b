"""The MLP block of a transformer; bias and GELU in the middle are one TT-Lang operation."""

import torch
import ttnn
from compare import HALF_ULP, Case, run_everywhere
from torch import nn

import tt_torch
import ttl

BLOCK = 2  # tiles of a block, along a row


@tt_torch.tt_lang_operation(operation_id="examples.bias_gelu", arg_roles=["in", "in", "out"])
@ttl.operation(grid=(2, 2), fp32_dest_acc_en=True)
def bias_gelu(x: ttnn.Tensor, bias: ttnn.Tensor, y: ttnn.Tensor) -> None:
    """y = gelu(x + bias); bias has one row."""
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, BLOCK), block_count=2)
    bias_dfb = ttl.make_dataflow_buffer_like(bias, shape=(1, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, BLOCK), block_count=2)

    node_columns, node_rows = ttl.grid_size(dims=2)
    rows = y.shape[0] // ttl.TILE_SIZE // node_rows
    columns = y.shape[1] // (ttl.TILE_SIZE * BLOCK) // node_columns  # blocks

    @ttl.compute()
    def compute() -> None:
        for _ in range(columns):
            with bias_dfb.wait() as bias_blk:
                for _ in range(rows):
                    with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                        spread = ttl.block.broadcast(bias_blk, dims=[-2], shape=(1, BLOCK))
                        y_blk.store(ttl.math.gelu(x_blk + spread))

    @ttl.datamovement()
    def read() -> None:
        node_column, node_row = ttl.node(dims=2)
        for block in range(node_column * columns, (node_column + 1) * columns):
            first = block * BLOCK
            with bias_dfb.reserve() as bias_blk:
                bias_copy = ttl.copy(bias[0:1, first : first + BLOCK], bias_blk)
                bias_copy.wait()
            for row in range(node_row * rows, (node_row + 1) * rows):
                with x_dfb.reserve() as x_blk:
                    x_copy = ttl.copy(x[row : row + 1, first : first + BLOCK], x_blk)
                    x_copy.wait()

    @ttl.datamovement()
    def write() -> None:
        node_column, node_row = ttl.node(dims=2)
        for block in range(node_column * columns, (node_column + 1) * columns):
            first = block * BLOCK
            for row in range(node_row * rows, (node_row + 1) * rows):
                with y_dfb.wait() as y_blk:
                    y_copy = ttl.copy(y_blk, y[row : row + 1, first : first + BLOCK])
                    y_copy.wait()


class MLP(nn.Module):
    """x + down(gelu(up(x)))."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        product = x @ self.up.weight.T
        activated = torch.empty_like(product)
        bias_gelu(product, self.up.bias.unsqueeze(0), activated)
        result: torch.Tensor = x + self.down(activated)
        return result


def make(length: int = 64, width: int = 64, hidden: int = 256) -> Case:
    """The model, its arguments, what it gives in f32, and how far a result may be from that."""
    torch.manual_seed(0)
    model = MLP(width, hidden).bfloat16()
    x = torch.randn(length, width).bfloat16()
    up, down, wide = model.up, model.down, x.float()
    with torch.no_grad():
        product = wide @ up.weight.float().T
        activated = nn.functional.gelu(product + up.bias.float())
        behind = activated @ down.weight.float().T
        result = wide + behind + down.bias.float()
        # The slope of gelu is below 1.13; an error in a row of `down` adds up over its weights.
        inner = HALF_ULP * (1.13 * product.abs().max() + activated.abs().max())
        weights = down.weight.float().abs().sum(1).max()
        outer = HALF_ULP * (2 * behind.abs().max() + down.bias.abs().max() + result.abs().max())
        bound = (inner * weights + outer).item()
    return model, (x,), result, bound * (1 + HALF_ULP)


if __name__ == "__main__":
    run_everywhere("mlp_gelu", *make())
