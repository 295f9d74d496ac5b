"""Attention whose softmax and products are one TT-Lang operation, flash attention.

Compared with torch's scaled_dot_product_attention in f32.
"""

import math

import torch
import ttnn
from compare import HALF_ULP, Case, run_everywhere
from torch import nn

import tt_torch
import ttl

HEADS = 2
BLOCK = 1  # rows of tiles of a block of q, k and v
LOWEST = -1e30


@tt_torch.tt_lang_operation(
    operation_id="examples.flash_attention", arg_roles=["in", "in", "in", "out"]
)
@ttl.operation(grid=(2, 2), fp32_dest_acc_en=True)
def flash_attention(q: ttnn.Tensor, k: ttnn.Tensor, v: ttnn.Tensor, y: ttnn.Tensor) -> None:
    """The heads stand one below the other. A node keeps one block of q and walks along k and v.

    Softmax does not change when all scores move by the same amount, so sum and result are corrected
    by a factor wherever a larger score turns up.
    """
    columns = q.shape[1] // ttl.TILE_SIZE
    steps = q.shape[0] // HEADS // ttl.TILE_SIZE // BLOCK  # blocks of a head
    node_columns, node_rows = ttl.grid_size(dims=2)
    blocks = HEADS * steps // (node_columns * node_rows)  # of q, of a node
    scale = 1 / math.sqrt(q.shape[1])

    q_dfb = ttl.make_dataflow_buffer_like(q, shape=(BLOCK, columns), block_count=2)
    k_dfb = ttl.make_dataflow_buffer_like(k, shape=(BLOCK, columns), block_count=2)
    v_dfb = ttl.make_dataflow_buffer_like(v, shape=(BLOCK, columns), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, columns), block_count=2)

    @ttl.compute()
    def compute() -> None:
        for _ in range(blocks):
            with q_dfb.wait() as q_blk, y_dfb.reserve() as y_blk:
                scaled = q_blk * ttl.block.fill(scale, shape=(BLOCK, columns))
                largest = ttl.block.fill(LOWEST, shape=(BLOCK, 1))
                total = ttl.block.fill(0.0, shape=(BLOCK, 1))
                result = ttl.block.fill(0.0, shape=(BLOCK, columns))
                for _ in range(steps):
                    with k_dfb.wait() as k_blk, v_dfb.wait() as v_blk:
                        scores = scaled @ ttl.block.transpose(k_blk)
                        block_largest = ttl.math.reduce_max(scores, dims=[-1], shape=(BLOCK, 1))
                        new_largest = ttl.math.max(largest, block_largest)
                        factor = ttl.math.exp(largest - new_largest)
                        spread = ttl.block.broadcast(new_largest, dims=[-1], shape=(BLOCK, BLOCK))
                        powers = ttl.math.exp(scores - spread)
                        block_total = ttl.math.reduce_sum(powers, dims=[-1], shape=(BLOCK, 1))
                        total = total * factor + block_total
                        factors = ttl.block.broadcast(factor, dims=[-1], shape=(BLOCK, columns))
                        result = result * factors + powers @ v_blk
                        largest = new_largest
                y_blk.store(result / ttl.block.broadcast(total, dims=[-1], shape=(BLOCK, columns)))

    @ttl.datamovement()
    def read() -> None:
        node_column, node_row = ttl.node(dims=2)
        first = (node_row * node_columns + node_column) * blocks
        for block in range(first, first + blocks):
            row = block * BLOCK
            with q_dfb.reserve() as q_blk:
                q_copy = ttl.copy(q[row : row + BLOCK, 0:columns], q_blk)
                q_copy.wait()
            head = block // steps
            for step in range(head * steps, (head + 1) * steps):
                row = step * BLOCK
                with k_dfb.reserve() as k_blk, v_dfb.reserve() as v_blk:
                    k_copy = ttl.copy(k[row : row + BLOCK, 0:columns], k_blk)
                    v_copy = ttl.copy(v[row : row + BLOCK, 0:columns], v_blk)
                    k_copy.wait()
                    v_copy.wait()

    @ttl.datamovement()
    def write() -> None:
        node_column, node_row = ttl.node(dims=2)
        first = (node_row * node_columns + node_column) * blocks
        for block in range(first, first + blocks):
            row = block * BLOCK
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[row : row + BLOCK, 0:columns])
                y_copy.wait()


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, 3 * width, bias=False)
        self.join = nn.Linear(width, width, bias=False)

    def heads(self, x: torch.Tensor) -> torch.Tensor:
        """[length, width] -> the heads one below the other."""
        return x.view(x.shape[0], HEADS, -1).transpose(0, 1).reshape(HEADS * x.shape[0], -1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (self.heads(each) for each in self.project(x).chunk(3, dim=-1))
        y = torch.empty_like(q)
        flash_attention(q, k, v, y)
        joined = y.view(HEADS, x.shape[0], -1).transpose(0, 1).reshape(x.shape)
        result: torch.Tensor = self.join(joined)
        return result


def make(length: int = 128, width: int = 64) -> Case:
    """The model, its arguments, what it gives in f32, and how far a result may be from that."""
    torch.manual_seed(0)
    model = Attention(width).bfloat16()
    x = torch.randn(length, width).bfloat16()
    with torch.no_grad():
        projected = x.float() @ model.project.weight.float().T
        q, k, v = (model.heads(each).view(HEADS, length, -1) for each in projected.chunk(3, -1))
        attended = nn.functional.scaled_dot_product_attention(q, k, v)
        joined = attended.transpose(0, 1).reshape(length, width)
        result = joined @ model.join.weight.float().T
        # q and k are rounded, which moves every score; scores that move by up to d change the mean
        # of v by at most 2 d times the mean of its sizes. v and the mean are rounded as well.
        scores = (q.abs() @ k.abs().transpose(-1, -2)) / math.sqrt(q.shape[-1])
        sizes = nn.functional.scaled_dot_product_attention(q, k, v.abs())
        inner = HALF_ULP * (2 * 2 * scores.amax(-1, keepdim=True) + 2) * sizes
        spread = inner.transpose(0, 1).reshape(length, width) @ model.join.weight.float().abs().T
        bound = (spread + HALF_ULP * result.abs()).max().item()
    return model, (x,), result, bound * (1 + HALF_ULP)


if __name__ == "__main__":
    run_everywhere("attention", *make())
