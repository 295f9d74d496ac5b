"""Gradients and numbers that are taken apart: three axes, places between pixels, complex numbers,
rows in groups.
"""

from __future__ import annotations

import copy
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import tt_torch
from tt_torch.decompositions.layers import grouped_mm
from tt_torch.lowering import UnsupportedOperation
from ttgraph.flatbuffer import Runtime


@pytest.fixture(autouse=True)
def forgotten():
    torch._dynamo.reset()
    torch.manual_seed(0)


def assert_alike(model, *inputs):
    """Results and gradients, compiled and not."""
    own, given = copy.deepcopy(model), [each.clone().requires_grad_() for each in inputs]
    inputs = [each.requires_grad_() for each in inputs]
    expected = model(*inputs)
    found = torch.compile(own, backend="tt", fullgraph=True)(*given)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    expected.square().sum().backward()
    found.square().sum().backward()
    pairs = [*zip(inputs, given, strict=True)]
    pairs += zip(model.parameters(), own.parameters(), strict=True)
    for right, mine in pairs:
        torch.testing.assert_close(mine.grad, right.grad, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    "model",
    [
        nn.Conv3d(4, 6, (3, 2, 2), (2, 1, 2), (1, 1, 0), (1, 2, 1), groups=2),
        nn.ConvTranspose3d(4, 6, (3, 2, 1), (3, 1, 2), (2, 1, 0), (1, 0, 1), 2, dilation=(2, 2, 1)),
        # output_padding is as wide as a step
        nn.ConvTranspose2d(4, 6, (2, 3), (1, 2), 0, (1, 1), dilation=(2, 1)),
    ],
    ids=["convolution", "transposed", "two axes"],
)
def test_windows(model):
    sizes = (4, 5, 4)[: model.weight.ndim - 2]
    assert_alike(model, torch.randn(2, 4, *sizes))


class Sample(nn.Module):
    def __init__(self, mode, padding, align):
        super().__init__()
        self.options = {"mode": mode, "padding_mode": padding, "align_corners": align}

    def forward(self, x, grid):
        return F.grid_sample(x, grid, **self.options)


@pytest.mark.parametrize(
    ("mode", "padding", "align"),
    [
        ("nearest", "zeros", False),
        ("bilinear", "reflection", False),
        *(
            pytest.param("bilinear", *each, marks=pytest.mark.full)
            for each in [*product(["zeros", "border"], [True, False]), ("reflection", True)]
        ),
    ],
)
def test_places_between_pixels(mode, padding, align):
    assert_alike(Sample(mode, padding, align), torch.randn(2, 3, 5, 4), torch.randn(2, 6, 3, 2) * 2)


@pytest.mark.full
def test_what_has_no_gradient_is_named():
    sample = torch.compile(Sample("bicubic", "zeros", False), backend="tt")
    with pytest.raises(UnsupportedOperation, match=r"grid_sampler_2d_backward.* that is bicubic"):
        sample(torch.ones(1, 1, 3, 3, requires_grad=True), torch.ones(1, 2, 2, 2)).sum().backward()


# Complex numbers ----------------------------------------------------------------------------------


class Turned(nn.Module):
    """Positions as complex numbers, as the first Llama had them: kept by the model."""

    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(16.0), 0.1 ** torch.arange(4.0))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        pairs = torch.view_as_complex(self.linear(x).reshape(*x.shape[:-1], -1, 2))
        turns = self.turns[: x.shape[1]].view(1, x.shape[1], 1, 4)
        return torch.view_as_real(pairs * turns).flatten(3)


def test_complex_positions():
    model, x = Turned(), torch.randn(2, 6, 3, 8)
    with torch.no_grad():
        expected = model(x)
        found = copy.deepcopy(model).to("tt")(x.to("tt"))
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-5, atol=1e-6)
    exported = tt_torch.export(model, (x,))
    (own,) = Runtime(exported.flatbuffer()).run(exported.inputs(x))
    torch.testing.assert_close(torch.from_numpy(own), expected, rtol=1e-5, atol=1e-6)
    assert_alike(model, x)


def complex_functions(x, places, real):
    z = torch.view_as_complex(x)
    turned = z * torch.polar(torch.ones_like(real), real)
    chosen = turned[places].transpose(0, 1).unsqueeze(1)
    joined = torch.cat([chosen, chosen.conj() * 2 - real[0, 0] + 1j], 1)
    return joined, z.abs(), joined[..., 1], z.to(torch.complex128), -z, z.real + z.imag, z.sum(0)


def test_functions_of_complex_numbers():
    x, places = torch.randn(5, 4, 2), torch.tensor([3, 0, 3])
    arguments = (x, places, torch.randn(5, 4))
    found = torch.compile(complex_functions, backend="tt", fullgraph=True)(*arguments)
    for own, right in zip(found, complex_functions(*arguments), strict=True):
        torch.testing.assert_close(own, right, rtol=1e-5, atol=1e-5)
    with pytest.raises(UnsupportedOperation, match=r"aten\.exp\.default of complex numbers"):
        torch.compile(lambda y: torch.exp(torch.view_as_complex(y)), backend="tt")(x)


# Rows in groups -----------------------------------------------------------------------------------


def test_rows_in_groups():
    """An empty group, and rows after the last of them."""
    x, weights, ends = torch.randn(9, 4), torch.randn(4, 4, 5), torch.tensor([2, 2, 6, 8])
    found = torch.compile(grouped_mm, backend="tt", fullgraph=True)(x, weights, ends.int())
    expected = [
        x[first:last] @ weight
        for first, last, weight in zip([0, 2, 2, 6], ends, weights, strict=True)
    ]
    torch.testing.assert_close(found, torch.cat([*expected, torch.zeros(1, 5)]))


def test_a_quotient_by_a_constant_on_the_device():
    """torch computes what is constant while it traces."""

    def divided(x):
        return torch.floor_divide(x, torch.tensor(3, device="tt"))

    found = torch.compile(divided, backend="tt")(torch.arange(7).to("tt"))
    assert found.tolist() == [0, 0, 0, 1, 1, 1, 2]
