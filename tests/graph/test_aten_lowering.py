"""Every lowering of aten operations, judged by torch, by XLA, and by our own runtime.

All cases are outputs of one graph, so that there is one compilation for each judge.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

from stablehlo_oracle import mlir_text, run_with_xla
from tt_torch.capture import constants_on_cpu
from tt_torch.decompositions import decompositions
from tt_torch.executable import Executable, to_numpy
from tt_torch.lowering import LOWERINGS

SEED = torch.Generator().manual_seed(0)


def randn(*shape):
    return torch.randn(shape, generator=SEED)


INPUTS = {
    "x": randn(4, 6),
    "y": randn(4, 6),
    "positive": randn(4, 6).abs() + 0.5,
    "square": randn(2, 5, 5),
    "row": randn(6),
    "short": randn(4, 6).bfloat16(),
    "whole": torch.arange(-12, 12, dtype=torch.int32).reshape(4, 6),
    "mask": randn(4, 6) > 0,
    "places": torch.tensor([[5, 0, 2], [1, 1, 4], [3, 2, 0], [0, 5, 5]]),
    "rows": torch.tensor([3, -1, 0]),
    "odd": torch.tensor([[float("nan"), 1, -1, float("inf")], [2, 2, float("-inf"), 0]]),
    "image": randn(2, 4, 7, 6),
    "kernel": randn(6, 2, 3, 2),
}

CASES = {
    # one operand
    "abs": lambda x, **_: x.abs(),
    "ceil floor round": lambda x, **_: (x * 3).ceil() + (x * 5).floor() * (x * 7).round(),
    "cos sin tan": lambda x, **_: x.cos() + x.sin() * (x / 4).tan(),
    "exp expm1": lambda x, **_: x.exp() - (x / 2).expm1(),
    "log log1p": lambda positive, **_: positive.log() + positive.log1p(),
    "neg sign": lambda x, odd, whole, **_: (-x * x.sign(), odd.sign(), whole.sign()),
    "sqrt rsqrt reciprocal": lambda positive, **_: (
        positive.sqrt() + positive.rsqrt() + positive.reciprocal()
    ),
    "sigmoid tanh erf": lambda x, **_: x.sigmoid() + x.tanh() * x.erf(),
    "circles": lambda x, positive, **_: (
        x.atan() + x.asinh() + x.sinh() * x.cosh(),
        x.tanh().asin() + x.tanh().acos(),
        x.tanh().atanh() + (positive + 1).acosh() + x.erfc(),
    ),
    "bases": lambda x, positive, **_: positive.log2() + positive.log10() + torch.exp2(x),
    "trunc": lambda x, whole, odd, **_: ((x * 3).trunc(), whole.trunc(), odd.trunc()),
    "isnan isinf": lambda odd, whole, **_: (
        odd.isnan(),
        odd.isinf(),
        whole.isinf(),
        odd.isfinite(),
    ),
    "logical_not": lambda mask, whole, **_: (~mask, whole.logical_not()),
    "relu": lambda x, short, **_: (x.relu(), short.relu()),
    "gelu": lambda x, short, **_: (F.gelu(x), F.gelu(short)),
    "gelu tanh": lambda x, **_: F.gelu(x, approximate="tanh"),
    "silu leaky_relu elu": lambda x, **_: F.silu(x) + F.leaky_relu(x) * F.elu(x),
    "softplus hardswish": lambda x, **_: F.softplus(x) + F.hardswish(x),
    "whole to float": lambda whole, **_: whole.clamp(min=1).float().log(),
    # two operands
    "add sub alpha": lambda x, y, **_: torch.add(x, y, alpha=2) - torch.sub(x, y, alpha=0.5),
    "rsub": lambda x, **_: 1.5 - x,
    "mul div": lambda x, positive, row, **_: x * row / positive / 3,
    "maximum minimum": lambda x, y, **_: torch.maximum(x, y) * torch.minimum(x, y),
    "pow": lambda x, y, positive, **_: (
        x**2 + x**3 - positive**0.5 + positive**-0.5 + positive**1.7 + positive**y
    ),
    "two to the": lambda x, **_: 2.0**x,
    "fmod": lambda x, positive, **_: torch.fmod(x * 4, positive) + torch.fmod(x, 0.25),
    "remainder": lambda x, whole, positive, **_: (
        torch.remainder(x * 4, -positive),
        x % 0.25,
        whole % 5,
        whole % -5,
    ),
    "div modes": lambda x, positive, whole, odd, **_: (
        torch.div(x * 4, positive, rounding_mode="trunc"),
        x * 4 // -positive,
        whole // 5,
        whole // -5,
        torch.div(whole, 5, rounding_mode="trunc"),
        odd // 0,
        odd // 0.5,
    ),
    "mixed types": lambda x, whole, short, **_: x + whole * short,
    "whole numbers": lambda whole, **_: whole * 3 - whole.abs(),
    "short numbers": lambda whole, **_: (
        whole.to(torch.int8) * 11 // 2,
        (whole * 3000).to(torch.int16) + 20000 > 0,
        ((whole * 100).to(torch.int8).abs() - 1).sum(0, dtype=torch.int8).int(),
    ),
    "logical": lambda mask, x, **_: (mask & (x > 0)) | (mask ^ (x < 0.5)),
    "logical numbers": lambda mask, **_: (mask & True) | ((mask ^ True) & (mask | False)),
    "numbers of booleans": lambda mask, x, **_: ((mask + (x > 0)) * mask).float() + mask,
    "logical functions": lambda x, y, **_: (
        torch.logical_and(x, y).logical_xor(x > y),
        torch.logical_or(x > 0, y),
    ),
    "bits": lambda whole, mask, **_: (
        whole & mask,
        whole | 5,
        whole ^ (whole * 3),
        ~whole,
        whole << (whole & 3),
        whole >> (whole & 3),
        (whole.to(torch.int8) << 3).int(),
        whole & 6,
        whole << 2,
        whole >> 1,
        torch.bitwise_left_shift(whole, 1),
        torch.bitwise_right_shift(whole, whole & 3),
        torch.bitwise_left_shift(whole, whole & 3),
        torch.bitwise_right_shift(whole, 1),
        whole >> 40,
    ),
    "angles": lambda x, y, **_: (torch.atan2(x, y), torch.erfinv(x.tanh() * 0.9)),
    "comparisons": lambda x, y, whole, **_: (
        x == y,
        x != y,
        x < y,
        x <= y,
        x > 0.1,
        x >= y,
        whole < 2,
        whole == 3.0,
        x >= 0.5,
        x != 0,
    ),
    # choices
    "where": lambda x, y, mask, **_: torch.where(mask, x, y) + torch.where(x > 0, x, 0.0),
    "masked_fill": lambda x, mask, **_: x.masked_fill(mask, -1e4),
    "clamp": lambda x, y, **_: x.clamp(y, y + 1) + x.clamp(-0.5, 0.5) + x.clamp_max(0.25),
    "hardtanh": lambda x, **_: F.hardtanh(x) + F.relu6(x),
    # constants
    "full": lambda x, **_: x + torch.full_like(x, 1.5) + torch.ones_like(x) + torch.zeros(6),
    "new": lambda x, **_: x.new_zeros(4, 6) + x.new_full((6,), 2.0) + x.new_ones(4, 1),
    "arange": lambda x, **_: torch.arange(2, 14, 2) * 1.0 + x,
    "constant": lambda x, **_: x + torch.tensor([0.5, 0.25, 3.0, -1.0, 7.0, 0.125]),
    "infinity": lambda x, **_: torch.where(x > 0, x, float("-inf")).amax(1),
    "causal": lambda square, **_: square.tril(),
    # products
    "mm": lambda x, y, **_: x @ y.t(),
    "bmm": lambda square, **_: square @ square.transpose(1, 2),
    "linear": lambda x, y, row, **_: F.linear(x, y, row[:4]),
    "addmm": lambda x, y, **_: torch.addmm(x[:, :4], x, y.t(), beta=0.5, alpha=2),
    "mv dot": lambda x, row, **_: (x @ row, row @ row, torch.addmv(row[:4], x, row, beta=0.5)),
    "einsum": lambda square, **_: torch.einsum("bij,bkj->bik", square, square),
    # reductions
    "sum": lambda x, short, whole, **_: (x.sum(), x.sum(1), short.sum(0, True), whole.sum()),
    "mean": lambda x, short, **_: (x.mean(), x.mean(-1, keepdim=True), short.mean(0)),
    "var std": lambda x, **_: (x.var(1), x.std(0, correction=0), x.var()),
    "amax amin": lambda x, whole, **_: (x.amax(1), x.amin(), x.max(), whole.amax(0), whole.min()),
    "prod": lambda x, **_: (x.prod(1), x.prod()),
    "amax of booleans": lambda mask, **_: (mask.amax(1), mask.amin(1), mask.max()),
    "any": lambda mask, **_: (mask.any(), mask.any(0, keepdim=True), mask.any((0, 1))),
    "all": lambda mask, **_: (mask.all(1), mask.all()),
    "softmax": lambda x, short, **_: (F.softmax(x, -1), F.log_softmax(x, 0), F.softmax(short, 1)),
    "layer_norm": lambda x, row, short, **_: (
        F.layer_norm(x, (6,), row, row),
        F.layer_norm(short, (6,)),
    ),
    "attention": lambda square, **_: F.scaled_dot_product_attention(
        square[None], square[None], square[None], is_causal=True
    ),
    # shapes
    "reshape": lambda x, **_: x.reshape(2, 12).unsqueeze(1).squeeze() + x.flatten()[:12],
    "permute": lambda square, **_: (square.permute(2, 0, 1), square.transpose(-1, 0), square.mT),
    "expand": lambda row, **_: row.expand(3, 6) + row[None, None].expand(2, 3, 6),
    "cat stack": lambda x, y, **_: (torch.cat([x, y], 1), torch.stack([x, y], 1)),
    "slices": lambda x, **_: (x[1:, ::2], x[..., -2:], x[-1], x[:, 2], x[1:1]),
    "split": lambda x, **_: (*x.split(4, 1), *x.split([1, 5], 1), *x.chunk(2), *x[:2].unbind()),
    "pad repeat": lambda x, row, **_: (
        F.pad(x, (1, 2, 0, 3), value=5.0),
        F.pad(x, (-1, 1)),
        x.repeat(2, 3),
        row.repeat(2, 1),
    ),
    "windows": lambda x, square, row, **_: (
        square.diagonal(dim1=1, dim2=2),
        square.diagonal(1, 0, 2),
        x.diagonal(-2),
        x.unfold(1, 3, 2),
    ),
    # elements at places
    "embedding": lambda x, places, **_: F.embedding(places % 4, x),
    "index_select": lambda square, rows, **_: square.index_select(1, rows % 5),
    "gather": lambda x, places, **_: (x.gather(1, places), x.gather(0, places % 4)),
    "index": lambda square, rows, places, **_: (
        square[rows % 2],
        square[:, rows],
        square[rows % 2, :, rows],
        square[:, rows, places % 5],
    ),
    "flip": lambda x, square, **_: (x.flip(1), square.flip(0, 2)),
    "scatter": lambda x, y, places, **_: (
        x.scatter(1, places[:, :1], 7.0),
        x.scatter(1, places[:, :2], y),
        x.scatter_add(1, places, y),
        x.scatter_add(0, places[:2].repeat(1, 2) % 4, y),
        x.scatter(1, places[:2, :1], y),
        x.scatter_reduce(1, places, y, "amax"),
        x.scatter_reduce(1, places, y, "prod"),
        x.scatter_reduce(1, places, y, "mean"),
        x.scatter_reduce(1, places, y, "amin", include_self=False),
        torch.ops.aten.scatter.value_reduce(x, 1, places[:, :1], 3.0, reduce="multiply"),
        torch.ops.aten.scatter.reduce(x, 1, places, y, reduce="add"),
    ),
    "order statistics": lambda x, odd, whole, **_: (
        *x.median(1),
        x.median(),
        *odd.median(1),
        *odd.nanmedian(1),
        *x.kthvalue(2, 0),
        *x.cummax(1),
        *whole.cummin(0),
        x.logcumsumexp(1),
        x.histc(5, -1, 1),
        torch.searchsorted(x.sort(1)[0], x, right=True),
        torch.bucketize(x, torch.arange(-2.0, 3)),
    ),
    "from others": lambda x, y, mask, places, **_: (
        x.masked_scatter(mask, y),
        torch.hypot(x, y),
        torch.copysign(x, y),
        torch.cdist(x, y),
        x.as_strided((3, 2), (1, 4), 2),
        torch.repeat_interleave(x, torch.tensor([1, 0, 2, 1]), 0, output_size=4),
        F.embedding_bag(places % 4, x, mode="max"),
        F.embedding_bag(places % 4, x),
    ),
    "index_put": lambda x, square, row, rows, mask, **_: (
        x.index_put((rows,), row[:1]),
        x.index_put((rows, rows), row[:3], accumulate=True),
        square.clone().index_put_((torch.tensor([[0, 1]]), rows[:2]), row[:5]),
        torch.ops.aten.index_put(square, [None, rows], row[:3, None], True),
        x.index_put((mask,), torch.tensor(2.0)),
        x.index_put((mask[:, 0],), row[0], accumulate=True),
    ),
    "argmax": lambda x, odd, whole, **_: (
        x.argmax(1),
        x.argmin(),
        x.argmax(0, keepdim=True),
        odd.argmax(1),
        odd.argmin(1),
        *x.max(1),
        *whole.min(0, keepdim=True),
        *odd.max(1),
    ),
    "topk sort": lambda x, odd, whole, **_: (
        *x.topk(3),
        *x.topk(2, 0, largest=False),
        *odd[:1].topk(3),
        *odd[:1].topk(4, largest=False),
        *odd.sort(stable=True, descending=True),
        *whole.sort(0),
        *odd.sort(stable=True),
    ),
    "cumsum cumprod": lambda x, short, whole, **_: (
        x.cumsum(1),
        short.cumsum(0),
        whole.cumsum(-1),
        x.cumprod(1),
    ),
    "embedding gradient": lambda x, rows, **_: torch.ops.aten.embedding_dense_backward(
        x[:3], rows % 4, 5, 3, False
    ),
    # windows
    "convolution": lambda image, kernel, row, **_: (
        F.conv2d(image, kernel, row, stride=(2, 1), padding=(1, 2), groups=2),
        F.conv1d(image[:, :, 0], kernel[:, :, 0].repeat(1, 2, 1), dilation=2),
        F.conv2d(image, kernel[:, :1].repeat(2, 1, 1, 1), groups=4),
        F.conv2d(image, kernel.repeat(1, 2, 1, 1), stride=(3, 2)),
        F.conv_transpose2d(image, kernel[:4], row[:4], 2, 1, (1, 0), groups=2, dilation=2),
        F.conv_transpose1d(image[:, :, 0], kernel[:4, :, 0], stride=2),
        F.conv3d(image[:, :, None].expand(2, 4, 3, 7, 6), kernel.repeat(1, 2, 1, 1)[:, :, None]),
    ),
    "convolution gradient": lambda image, kernel, **_: torch.ops.aten.convolution_backward(
        F.conv2d(image, kernel, stride=(2, 1), padding=1, groups=2).sign() / 8,
        image,
        kernel,
        [6],
        [2, 1],
        [1, 1],
        [1, 1],
        False,
        [0, 0],
        2,
        [True, True, True],
    ),
    "pooling": lambda image, **_: (
        *F.max_pool2d(image, 3, 2, padding=1, return_indices=True),
        F.max_pool2d(image, 2, ceil_mode=True),
        F.avg_pool2d(image, 2),
        F.avg_pool2d(image, 3, 2, 1, ceil_mode=True, count_include_pad=False),
        F.avg_pool2d(image, 3, 2, 1, ceil_mode=True),
        F.avg_pool2d(image, (7, 6)),
        F.avg_pool2d(image, 200, ceil_mode=True),
        F.max_pool2d(image, (131, 1), 1, (65, 0)),
        F.adaptive_avg_pool2d(image, (3, 4)),
        F.adaptive_avg_pool2d(image, (7, 2)),
        *F.adaptive_max_pool2d(image, (3, 4), return_indices=True),
        F.max_pool3d(image, 2),
        F.avg_pool3d(image, 2, padding=1),
        F.max_pool1d(image[0], 3),
    ),
    "pooling gradients": lambda image, **_: (
        torch.ops.aten.avg_pool2d_backward(
            image[..., :4, :3], image, [3, 3], [2, 2], [1, 1], False, False, None
        ),
        torch.ops.aten.max_pool2d_with_indices_backward(
            image[..., :4, :3],
            image,
            [3, 3],
            [2, 2],
            [1, 1],
            [1, 1],
            False,
            F.max_pool2d(image, 3, 2, 1, return_indices=True)[1],
        ),
        torch.ops.aten._adaptive_avg_pool2d_backward(image[..., :3, :4], image),
    ),
    "to": lambda x, whole, mask, **_: (x.int(), x.bfloat16(), whole.bool()),
    "from bool": lambda mask, **_: (mask.float(), mask.int()),
    "copy": lambda x, y, **_: x.clone().copy_(y[:1]),
    "slice_scatter": lambda x, row, whole, **_: (
        torch.slice_scatter(x, whole[:, :2], 1, 1, 3),
        torch.slice_scatter(x, row[None], 0, -1),
        torch.slice_scatter(x, x[:0], 0, 2, 2),
        torch.slice_scatter(x, whole, 0),
    ),
}


def outputs_of(case, inputs):
    result = case(**inputs)
    return list(result) if isinstance(result, tuple) else [result]


def model(*tensors):
    inputs = dict(zip(INPUTS, tensors, strict=True))
    return [each for case in CASES.values() for each in outputs_of(case, inputs)]


NAMES = [
    f"{name} {index}"
    for name, case in CASES.items()
    for index in range(len(outputs_of(case, INPUTS)))
]
EXPECTED = model(*INPUTS.values())


@pytest.fixture(scope="module")
def graph():
    trace = make_fx(torch.func.functionalize(model), decompositions(), tracing_mode="fake")
    with constants_on_cpu():
        return trace(*INPUTS.values())


@pytest.fixture(scope="module")
def executable(graph):
    return Executable(graph)


@pytest.fixture(scope="module")
def xla(executable):
    return run_with_xla(executable.stablehlo, [to_numpy(each) for each in INPUTS.values()])


@pytest.fixture(scope="module")
def own(executable):
    return executable(list(INPUTS.values()))


def assert_close(result, expected):
    result, wanted = np.asarray(result), to_numpy(expected)
    assert result.shape == wanted.shape and result.dtype == wanted.dtype
    if not expected.is_floating_point():
        assert np.array_equal(result, wanted)
        return
    # One unit of bfloat16 where it is the type, a few of f32 elsewhere.
    unit = 2**-7 if result.dtype == ml_dtypes.bfloat16 else 2**-19
    np.testing.assert_allclose(  # what is no number is none in both
        result.astype(np.float32), wanted.astype(np.float32), rtol=unit, atol=unit
    )


@pytest.mark.parametrize("index", range(len(NAMES)), ids=NAMES)
def test_xla_computes_what_torch_does(xla, index):
    assert_close(xla[index], EXPECTED[index])


@pytest.mark.parametrize("index", range(len(NAMES)), ids=NAMES)
def test_our_runtime_computes_what_torch_does(own, index):
    assert_close(to_numpy(own[index]), EXPECTED[index])


def test_text_is_verified_by_mlir(executable):
    assert mlir_text(executable.stablehlo)


# Seen only in captured models (empty tensors, what export adds), or with scalars that graphs
# captured here have as tensors.
ELSEWHERE = {
    "<built-in function getitem>",
    "aten._assert_async.msg",
    "aten._assert_tensor_metadata.default",
    "aten._functional_assert_async.msg",
    "aten.add.Scalar",
    "aten.div.Scalar",
    "aten.div.Scalar_mode",
    "aten.empty.memory_format",
    "aten.empty_permuted.default",
    "aten.empty_strided.default",
    "aten.native_dropout.default",
    "aten.new_empty_strided.default",
    "aten.bernoulli.p",
    "aten.exponential.default",
    "aten.normal_functional.default",
    "aten.rand.default",
    "aten.rand_like.default",
    "aten.randint.default",
    "aten.randint.low",
    "aten.randint_like.default",
    "aten.randint_like.low_dtype",
    "aten.randn.default",
    "aten.randn_like.default",
    "aten.randperm.default",
    "aten.sort.default",
    "aten.uniform.default",
    "aten.sub.Scalar",
    "prims.convert_element_type.default",
    "tt.tt_lang_op.default",
}


def test_every_lowering_has_a_case(graph):
    used = {node.target for node in graph.graph.nodes if node.op == "call_function"}
    assert {str(op) for op in set(LOWERINGS) - used} - ELSEWHERE == set()


def test_no_lowering_is_dead():
    """What is taken apart before never reaches the emitter, but for what is left as it is."""
    both = {str(op) for op in set(LOWERINGS) & set(decompositions())}
    assert both == {
        "aten.convolution.default",
        "aten.div.Tensor_mode",
        "aten.div.Scalar_mode",
        "aten.scatter_reduce.two",
    }
