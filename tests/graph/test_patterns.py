"""The graph that a performance engineer would write: one operation of ttnn for each pattern.

Results are those of torch.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from xdsl.context import Context

import tt_torch
from ttgraph.flatbuffer import Runtime
from ttgraph.passes import find_pass, run_passes
from ttgraph.passes.pipelines import GRAPH
from ttgraph.stablehlo import read_module

ROWS, WIDTH, HEADS, SIZE = 32, 128, 4, 64


def calls(exported) -> Counter[str]:
    """How often each operation of ttnn is called."""
    module = read_module(exported.stablehlo)
    names = GRAPH[: GRAPH.index("ttnn-deallocate")]
    run_passes([find_pass(name)() for name in names], Context(), module, None, None)
    names = (op.name for op in module.walk())
    return Counter(name.removeprefix("ttnn.") for name in names if name.startswith("ttnn."))


def check(model, *inputs, near: float = 2e-6) -> Counter[str]:
    exported = tt_torch.export(model.eval(), inputs)
    (found,) = Runtime(exported.flatbuffer()).run(exported.inputs(*inputs))
    with torch.no_grad():
        wanted = model(*inputs).float().numpy()
    np.testing.assert_allclose(found.astype(np.float32), wanted, rtol=near, atol=near)
    return calls(exported)


# A Llama of two layers, as Hugging Face writes it -------------------------------------------------


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(WIDTH))

    def forward(self, x):
        wide = x.to(torch.float32)
        variance = wide.pow(2).mean(-1, keepdim=True)
        return self.weight * (wide * torch.rsqrt(variance + 1e-6)).to(x.dtype)


def rotated(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([RMSNorm(), RMSNorm()])
        kinds = [(WIDTH, HEADS * SIZE), (WIDTH, 2 * SIZE), (WIDTH, 2 * SIZE), (HEADS * SIZE, WIDTH)]
        kinds += [(WIDTH, 256), (WIDTH, 256), (256, WIDTH)]
        self.linears = nn.ModuleList([nn.Linear(*kind, bias=False) for kind in kinds])

    def forward(self, x, cosine, sine):
        query, key, value, out, gate, up, down = self.linears
        normed = self.norms[0](x)
        q, k, v = (
            each(normed).view(1, ROWS, -1, SIZE).transpose(1, 2) for each in (query, key, value)
        )
        q, k = (each * cosine + rotated(each) * sine for each in (q, k))
        k, v = (
            each[:, :, None].expand(1, 2, 2, ROWS, SIZE).reshape(1, HEADS, ROWS, SIZE)
            for each in (k, v)
        )
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + out(found.transpose(1, 2).reshape(1, ROWS, -1))
        normed = self.norms[1](x)
        return x + down(F.silu(gate(normed)) * up(normed))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, WIDTH)
        self.layers = nn.ModuleList([Layer(), Layer()])
        self.norm, self.head = RMSNorm(), nn.Linear(WIDTH, 100, bias=False)

    def forward(self, ids):
        x = self.table(ids)
        places = torch.arange(ROWS, device=ids.device).float()
        rates = 1.0 / 10000 ** (torch.arange(0, SIZE, 2, device=ids.device).float() / SIZE)
        angles = torch.outer(places, rates)
        angles = torch.cat((angles, angles), -1)[None, None]
        cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for layer in self.layers:
            x = layer(x, cosine, sine)
        return self.head(self.norm(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_two_layers_of_llama(dtype):
    """On main: 141 reshapes and 77 expands for 19 matrix products."""
    torch.manual_seed(0)
    ids = torch.randint(0, 100, (1, ROWS))
    near = 5e-6 if dtype is torch.float32 else 2e-2  # a few steps of bfloat16 beside 1
    found = check(Llama().to(dtype), ids, near=near)
    assert found["linear"] == 15 and not found["matmul"]
    assert found["rms_norm"] == 5 and found["silu"] == 2
    assert found["scaled_dot_product_attention"] == 2 and found["rotary_embedding"] == 4
    assert found["reshape"] <= 16 and not found["expand"]
    assert not found["softmax"] + found["where"] + found["rsqrt"] + found["neg"]
    # Each parameter once, but for the table of the embedding, and the result.
    assert found["to_layout"] == sum(1 for _ in Llama().parameters())


# Single patterns ----------------------------------------------------------------------------------


def numbers(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


class Of(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: F.softmax(x, -1), "softmax"),
        (lambda x: F.softmax(x, 1), "softmax"),
        (F.gelu, "gelu"),
        (F.silu, "silu"),
        (lambda x: x * torch.sigmoid(x), "silu"),
    ],
)
def test_of_one_tensor(function, name):
    assert check(Of(function), numbers(2, 5, 40)) == {name: 1, "to_layout": 2}


def test_layer_norm_and_linear():
    model = nn.Sequential(nn.LayerNorm(40), nn.Linear(40, 24), nn.GELU(), nn.Linear(24, 8))
    found = check(model, numbers(2, 5, 40))
    assert (found["layer_norm"], found["linear"], found["gelu"]) == (1, 2, 1)
    assert not found["reshape"] + found["permute"] + found["add"] + found["multiply"]


def test_gelu_of_tanh_is_another_function():
    found = check(Of(lambda x: F.gelu(x, approximate="tanh")), numbers(2, 5, 40))
    assert found == {"gelu_tanh": 1, "to_layout": found["to_layout"]}


def attention(q, k, v, mask=None):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def test_attention_with_a_mask_that_is_given():
    """Rows that it hides altogether are 0 in torch: the guard against them stays."""
    inputs = [numbers(2, 3, 8, 16, seed=seed) for seed in range(3)]
    mask = numbers(1, 1, 8, 8)
    mask[..., 5, :] = -torch.inf
    found = check(Of(attention), *inputs, mask)
    assert found["softmax"] == 1 and not found["scaled_dot_product_attention"]


def test_attention_without_a_mask():
    inputs = [numbers(2, 3, 8, 16, seed=seed) for seed in range(3)]
    found = check(Of(attention), *inputs)
    assert found["scaled_dot_product_attention"] == 1 and not found["where"]


def test_what_else_uses_a_part_of_a_pattern():
    def function(x):
        spread = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return x * spread + spread

    found = check(Of(function), numbers(4, 40))
    assert found["rsqrt"] == 1 and not found["rms_norm"]


def test_a_gradient_runs():
    model = nn.Sequential(nn.LayerNorm(40), nn.Linear(40, 24), nn.GELU(), nn.Linear(24, 8))

    x = numbers(3, 40)
    compiled = torch.compile(model, backend="tt")
    mine, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    compiled(mine).sum().backward()
    model(other).sum().backward()
    np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-5, atol=1e-5)
