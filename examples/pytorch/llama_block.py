"""Kernels in a Llama of Hugging Face: RMSNorm, SwiGLU, rotary embedding and flash attention.

tt_torch.replace swaps the modules; the parameters stay those of the model. Compared end to end with
the model as it is, in f32. Needs transformers: pip install '.[models]'.
"""

from typing import Any

import torch
import ttnn
from compare import Case, run_everywhere
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaMLP, LlamaRMSNorm

import tt_torch
import ttl

LENGTH, WIDTH, HEADS, LAYERS = 64, 128, 2, 2
NODES = 2
LOWEST = -1e30


@tt_torch.tt_lang_operation(operation_id="examples.llama.rmsnorm", arg_roles=["in", "in", "out"])
@ttl.operation(grid=(NODES, 1), fp32_dest_acc_en=True)
def rmsnorm(x: ttnn.Tensor, weight: ttnn.Tensor, y: ttnn.Tensor) -> None:
    """Rows divided by their root mean square; `weight` is one row."""
    columns = x.shape[1] // ttl.TILE_SIZE
    rows = x.shape[0] // ttl.TILE_SIZE // NODES
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, columns), block_count=2)
    weight_dfb = ttl.make_dataflow_buffer_like(weight, shape=(1, columns), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, columns), block_count=2)
    first = ttl.node(dims=1) * rows
    for row in range(first, first + rows):
        with x_dfb.reserve() as x_blk, weight_dfb.reserve() as weight_blk:
            ttl.copy(x[row : row + 1, 0:columns], x_blk).wait()
            ttl.copy(weight[0:1, 0:columns], weight_blk).wait()
        with x_dfb.wait() as x_blk, weight_dfb.wait() as weight_blk, y_dfb.reserve() as y_blk:
            total = ttl.math.reduce_sum(ttl.math.square(x_blk), dims=[-1])
            factor = ttl.math.rsqrt(total * (1 / x.shape[1]) + 1e-6)
            scaled = x_blk * ttl.block.broadcast(factor, dims=[-1])
            y_blk.store(scaled * ttl.block.broadcast(weight_blk, dims=[-2]))
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[row : row + 1, 0:columns]).wait()


@tt_torch.tt_lang_operation(operation_id="examples.llama.swiglu", arg_roles=["in", "in", "out"])
@ttl.operation(grid=(NODES, 1), fp32_dest_acc_en=True)
def swiglu(gate: ttnn.Tensor, up: ttnn.Tensor, y: ttnn.Tensor) -> None:
    """silu(gate) * up"""
    columns = gate.shape[1] // ttl.TILE_SIZE
    rows = gate.shape[0] // ttl.TILE_SIZE // NODES
    gate_dfb = ttl.make_dataflow_buffer_like(gate, shape=(1, columns), block_count=2)
    up_dfb = ttl.make_dataflow_buffer_like(up, shape=(1, columns), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, columns), block_count=2)
    first = ttl.node(dims=1) * rows
    for row in range(first, first + rows):
        with gate_dfb.reserve() as gate_blk, up_dfb.reserve() as up_blk:
            ttl.copy(gate[row : row + 1, 0:columns], gate_blk).wait()
            ttl.copy(up[row : row + 1, 0:columns], up_blk).wait()
        with gate_dfb.wait() as gate_blk, up_dfb.wait() as up_blk, y_dfb.reserve() as y_blk:
            y_blk.store(gate_blk * ttl.math.sigmoid(gate_blk) * up_blk)
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[row : row + 1, 0:columns]).wait()


@tt_torch.tt_lang_operation(
    operation_id="examples.llama.rotary", arg_roles=["in", "in", "in", "out"]
)
@ttl.operation(grid=(NODES, 1), fp32_dest_acc_en=True)
def rotary(x: ttnn.Tensor, cos: ttnn.Tensor, sin: ttnn.Tensor, y: ttnn.Tensor) -> None:
    """Heads one below the other; the halves of a row are turned by the angles of its place."""
    half = x.shape[1] // ttl.TILE_SIZE // 2
    places = cos.shape[0] // ttl.TILE_SIZE
    rows = x.shape[0] // ttl.TILE_SIZE // NODES
    low_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, half), block_count=2)
    high_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, half), block_count=2)
    cos_dfb = ttl.make_dataflow_buffer_like(cos, shape=(1, half), block_count=2)
    sin_dfb = ttl.make_dataflow_buffer_like(sin, shape=(1, half), block_count=2)
    y_low_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, half), block_count=2)
    y_high_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, half), block_count=2)
    first = ttl.node(dims=1) * rows
    for row in range(first, first + rows):
        place = row % places
        with low_dfb.reserve() as low, high_dfb.reserve() as high:
            ttl.copy(x[row : row + 1, 0:half], low).wait()
            ttl.copy(x[row : row + 1, half : 2 * half], high).wait()
        with cos_dfb.reserve() as cos_blk, sin_dfb.reserve() as sin_blk:
            ttl.copy(cos[place : place + 1, 0:half], cos_blk).wait()
            ttl.copy(sin[place : place + 1, 0:half], sin_blk).wait()
        with (
            low_dfb.wait() as low,
            high_dfb.wait() as high,
            cos_dfb.wait() as cos_blk,
            sin_dfb.wait() as sin_blk,
            y_low_dfb.reserve() as y_low,
            y_high_dfb.reserve() as y_high,
        ):
            y_low.store(low * cos_blk - high * sin_blk)
            y_high.store(high * cos_blk + low * sin_blk)
        with y_low_dfb.wait() as y_low, y_high_dfb.wait() as y_high:
            ttl.copy(y_low, y[row : row + 1, 0:half]).wait()
            ttl.copy(y_high, y[row : row + 1, half : 2 * half]).wait()


@tt_torch.tt_lang_operation(
    operation_id="examples.llama.flash_attention", arg_roles=["in", "in", "in", "in", "out"]
)
@ttl.operation(grid=(NODES, 1), fp32_dest_acc_en=True)
def flash_attention(
    q: ttnn.Tensor, k: ttnn.Tensor, v: ttnn.Tensor, mask: ttnn.Tensor, y: ttnn.Tensor
) -> None:
    """softmax(q k^T / sqrt(width) + mask) v of heads one below the other, keys tile by tile."""
    width = q.shape[1] // ttl.TILE_SIZE
    places = mask.shape[0] // ttl.TILE_SIZE
    rows = q.shape[0] // ttl.TILE_SIZE // NODES
    scale = q.shape[1] ** -0.5
    q_dfb = ttl.make_dataflow_buffer_like(q, shape=(1, width), block_count=2)
    k_dfb = ttl.make_dataflow_buffer_like(k, shape=(1, width), block_count=2)
    v_dfb = ttl.make_dataflow_buffer_like(v, shape=(1, width), block_count=2)
    mask_dfb = ttl.make_dataflow_buffer_like(mask, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, width), block_count=2)
    first = ttl.node(dims=1) * rows
    for row in range(first, first + rows):
        head = row // places
        with q_dfb.reserve() as q_blk:
            ttl.copy(q[row : row + 1, 0:width], q_blk).wait()
        with q_dfb.wait() as q_blk, y_dfb.reserve() as y_blk:
            largest = ttl.block.fill(LOWEST, shape=(1, 1))
            total = ttl.block.fill(0, shape=(1, 1))
            weighed = ttl.block.fill(0, shape=(1, width))
            for step in range(places):
                key = head * places + step
                place = row % places
                with k_dfb.reserve() as k_blk, v_dfb.reserve() as v_blk:
                    ttl.copy(k[key : key + 1, 0:width], k_blk).wait()
                    ttl.copy(v[key : key + 1, 0:width], v_blk).wait()
                with mask_dfb.reserve() as mask_blk:
                    ttl.copy(mask[place : place + 1, step : step + 1], mask_blk).wait()
                with k_dfb.wait() as k_blk, v_dfb.wait() as v_blk, mask_dfb.wait() as mask_blk:
                    scores = (q_blk @ ttl.block.transpose(k_blk)) * scale + mask_blk
                    higher = ttl.math.max(largest, ttl.math.reduce_max(scores, dims=[-1]))
                    factor = ttl.math.exp(largest - higher)
                    powers = ttl.math.exp(scores - ttl.block.broadcast(higher, dims=[-1]))
                    total = total * factor + ttl.math.reduce_sum(powers, dims=[-1])
                    weighed = weighed * ttl.block.broadcast(factor, dims=[-1]) + powers @ v_blk
                    largest = higher
            y_blk.store(weighed / ttl.block.broadcast(total, dims=[-1]))
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[row : row + 1, 0:width]).wait()


def mlp(module: Any, x: torch.Tensor) -> torch.Tensor:
    """LlamaMLP, its activation and product in one kernel."""
    gate, up = (each(x).flatten(0, 1) for each in (module.gate_proj, module.up_proj))
    product = swiglu(gate, up, torch.empty_like(gate)).reshape(*x.shape[:2], -1)
    result: torch.Tensor = module.down_proj(product)
    return result


def attention(
    module: Any, hidden_states: torch.Tensor, position_embeddings: Any, **_: Any
) -> tuple[torch.Tensor, None]:
    """LlamaAttention of one sequence from its start on."""
    length, width = hidden_states.shape[1], module.head_dim
    cos, sin = (each[0].contiguous() for each in position_embeddings)

    def heads(x: torch.Tensor) -> torch.Tensor:
        """[1, length, heads * width] -> the heads one below the other."""
        return x[0].reshape(length, -1, width).transpose(0, 1)

    q, k, v = (heads(each(hidden_states)) for each in (module.q_proj, module.k_proj, module.v_proj))
    q, k = (turned(each.flatten(0, 1), cos, sin).reshape(-1, length, width) for each in (q, k))
    k, v = (each.repeat_interleave(len(q) // len(k), 0).flatten(0, 1) for each in (k, v))
    q = q.flatten(0, 1)
    mask = torch.full((length, length), LOWEST, dtype=q.dtype, device=q.device).triu(1)
    y = flash_attention(q, k, v, mask, torch.empty_like(q)).unflatten(0, (-1, length))
    return module.o_proj(y.transpose(0, 1).flatten(1)[None]), None


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = rotary(x, cos, sin, torch.empty_like(x))
    return result


KERNELS: dict[type[torch.nn.Module], Any] = {
    LlamaRMSNorm: rmsnorm,
    LlamaMLP: mlp,
    LlamaAttention: attention,
}


class Logits(torch.nn.Module):
    """A model of ids that gives nothing but its logits."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.model(ids, use_cache=False).logits
        return result


def make() -> Case:
    """The model with kernels, its arguments, what it gives in f32, and how far it may be from it:
    as far as the model itself is in bfloat16, twice, because the kernels round at other places.
    """
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=1,
        vocab_size=256,
        rms_norm_eps=1e-6,
    )
    make_model: Any = LlamaForCausalLM  # which has no types
    model = make_model(config).eval().bfloat16()
    ids = torch.randint(0, 256, (1, LENGTH))
    with torch.no_grad():
        result = model.float()(ids, use_cache=False).logits
        short = model.bfloat16()(ids, use_cache=False).logits
    bound = 2 * (short - result).abs().max().item()
    return Logits(tt_torch.replace(model, KERNELS)), (ids,), result, bound


if __name__ == "__main__":
    run_everywhere("llama_block", *make())
