"""A-5: one graph with operations before and after the kernel; out.copy_; what is returned."""

from __future__ import annotations

import copy
from functools import partial

import pytest
import torch
from torch import nn
from torch._dynamo.testing import CompileCounter
from torch.utils import _pytree as pytree

import tt_torch
import ttl
from torch_models import Product, Stitched, TwoOutputs, add, bf16, gradients, multiply_tiles
from tt_torch.lowering import UnsupportedOperation
from ttgraph.flatbuffer import Runtime
from ttl.diagnostics import CompileError


@pytest.fixture(autouse=True)
def forgotten():
    """Of one function, and all layers of torch are one, dynamo compiles eight forms."""
    torch._dynamo.reset()


def stitched_inputs():
    return [bf16(seed, 64, 32) for seed in range(3)]


def test_a5_capture_keeps_one_graph():
    counter = CompileCounter()
    compiled = torch.compile(Stitched(), backend=counter)
    with torch.no_grad(), torch._subclasses.FakeTensorMode():
        compiled(*(torch.empty(64, 32, device="tt") for _ in range(3)))
    assert counter.frame_count == 1


def test_a5_export_is_functional():
    exported = tt_torch.export(Stitched(), stitched_inputs())
    targets = [str(node.target) for node in exported.program.graph_module.graph.nodes]
    calls = [each for each in targets if each.startswith(("aten", "tt"))]
    kernel, copy = "tt.tt_lang_op.default", "aten.copy.default"
    assert calls == ["aten.add.Tensor", kernel, copy, "aten.mul.Tensor"]
    assert exported.written == ["out"]


@pytest.mark.parametrize("compiled", [False, True])
def test_a5_results_and_the_callers_out(compiled):
    x, y, out = stitched_inputs()
    on_tt = [each.to("tt") for each in (x, y, out)]
    run = torch.compile(Stitched(), backend="tt", fullgraph=True) if compiled else Stitched()
    result = run(*on_tt)
    assert torch.equal(result.cpu(), (x + y + y) * 2)
    assert torch.equal(on_tt[2].cpu(), x + y + y)
    assert torch.equal(on_tt[0].cpu(), x)


@pytest.mark.parametrize("compiled", [False, True])
def test_a5_two_outputs_are_a_tuple(compiled):
    x, y = bf16(0, 64, 32), bf16(1, 64, 32)
    run = torch.compile(TwoOutputs(), backend="tt", fullgraph=True) if compiled else TwoOutputs()
    first, second = run(x.to("tt"), y.to("tt"))
    grad = x + y
    assert torch.equal(second.cpu(), grad * x)
    assert torch.equal(first.cpu(), grad * y - grad * x)
    assert (first.cpu() == second.cpu()).float().mean() < 0.5
    outs = [torch.empty(64, 32, dtype=torch.bfloat16, device="tt") for _ in range(2)]
    results = gradients(x.to("tt"), y.to("tt"), x.to("tt"), *outs)
    assert type(results) is tuple and torch.equal(results[1].cpu(), outs[1].cpu())


def test_a5_out_is_a_part_of_a_tensor():
    def placed(x, y):
        whole = torch.zeros(128, 64, dtype=x.dtype, device=x.device)
        add(x, y, whole[64:, :32])
        return whole

    x, y, _ = stitched_inputs()
    result = torch.compile(placed, backend="tt", fullgraph=True)(x.to("tt"), y.to("tt")).cpu()
    assert torch.equal(result[64:, :32], x + y)
    assert result.count_nonzero() == (x + y).count_nonzero()


def test_graph_breaks_leave_our_frames_alone(recwarn):
    def signed(x, y):
        total = add(x, y, torch.empty_like(x))
        return total + 1 if total.float().sum() > 0 else total - 1

    x, y, _ = stitched_inputs()
    result = torch.compile(signed, backend="tt")(x.to("tt"), y.to("tt")).cpu()
    assert torch.equal(result, signed_reference(x, y))
    assert not [each for each in recwarn if "Dynamo" in str(each.message)]


def signed_reference(x, y):
    return x + y + (1 if (x + y).float().sum() > 0 else -1)


# Gradients ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
def test_backward_operation(compiled):
    model = Product().to("tt")
    weight = Product().weight
    x = torch.linspace(-2, 2, 64 * 32).reshape(64, 32)
    expected_x = x.clone().requires_grad_()
    expected = ((expected_x + 1) * weight).square().sum()
    expected.backward()
    given = x.to("tt").requires_grad_()
    run = torch.compile(model, backend="tt", fullgraph=True) if compiled else model
    loss = run(given)
    loss.backward()
    torch.testing.assert_close(loss.cpu(), expected, rtol=1e-6, atol=0)
    assert torch.equal(model.weight.grad.cpu(), weight.grad)
    assert torch.equal(given.grad.cpu(), expected_x.grad)


def test_backward_operation_must_fit():
    tt_torch.tt_lang_operation(operation_id="tests.misfit", arg_roles=["in", "out"])(
        lambda a, y: None
    )
    product = tt_torch.tt_lang_operation(
        operation_id="tests.with_misfit", arg_roles=["in", "in", "out"], backward="tests.misfit"
    )(multiply_tiles)
    with pytest.raises(ValueError, match=r"1 'in' and 1 'out'.*needs the 2 inputs"):
        Product(product).to("tt")(torch.ones(64, 32, device="tt")).backward()


def test_training_step_moves_the_parameters():
    model = Product().to("tt")
    run = torch.compile(model, backend="tt")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.ones(64, 32, device="tt")
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = run(x)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > losses[1] > losses[2]


# What models do -----------------------------------------------------------------------------------


def test_sizes_may_change_between_calls():
    def product(a):
        return torch.relu(a @ a.t())

    compiled = torch.compile(product, backend="tt")
    for size in (32, 40, 56, 40):
        a = bf16(size, size, 64).float()
        torch.testing.assert_close(compiled(a.to("tt")).cpu(), product(a), rtol=1e-5, atol=1e-4)


def test_an_operation_without_lowering_is_named_with_its_line():
    def inverse(a):
        return torch.linalg.inv(a)  # the line

    with pytest.raises(UnsupportedOperation, match=r"aten\.linalg_inv_ex") as raised:
        torch.compile(inverse, backend="tt")(torch.ones(4, 4, device="tt"))
    (found,) = raised.value.diagnostics
    assert found.code.code == "TTL7030"
    assert found.primary.span.file == __file__
    line = inverse.__code__.co_firstlineno + 1
    assert found.primary.span.line == line
    with pytest.raises(NotImplementedError, match=r"aten\.linalg_inv_ex"):
        torch.linalg.inv(torch.ones(4, 4, device="tt"))
    with pytest.raises(UnsupportedOperation, match=r"aten\._fft_r2c"):
        torch.fft.rfft(torch.ones(4, device="tt"))


def test_what_an_operation_is_not_lowered_for_is_named_with_its_line():
    def larger(a):
        return torch.slice_scatter(a, a[:1], step=2)  # the line

    limit = r"aten\.slice_scatter\.default with a step"
    with pytest.raises(UnsupportedOperation, match=limit) as raised:
        torch.compile(larger, backend="tt")(torch.ones(2, 2, device="tt"))
    (found,) = raised.value.diagnostics
    assert found.primary.span.line == larger.__code__.co_firstlineno + 1


def test_numbers_that_do_not_fit_into_32_bits_are_refused():
    whole = torch.arange(4, device="tt")
    assert (whole + (2**31 - 4)).tolist() == [2**31 - 4 + each for each in range(4)]
    assert whole.amax().item() == 3  # starts with the smallest number of 64 bits
    table = [0, 0, 0, -(2**40)]
    for add_large in (lambda a: a + 2**31, lambda a: a + torch.tensor(table, device="tt")):
        with pytest.raises(CompileError, match="does not fit into the 32 bits"):
            torch.compile(add_large, backend="tt")(whole)


def test_arguments_of_export():
    x = torch.ones(2, 3)
    for model, args in ((nn.Linear(3, 2), x), (torch.relu, (x,))):
        with pytest.raises(TypeError, match=r"a torch\.nn\.Module and a tuple"):
            tt_torch.export(model, args)
    exported = tt_torch.export(nn.Linear(3, 2), (x,))
    for wrong in ((), (x, x)):
        with pytest.raises(TypeError, match=f"with 1 arguments, not {len(wrong)}"):
            exported.inputs(*wrong)


def test_wrong_operation_is_reported_as_it_is():
    """Not wrapped by dynamo: what the compiler of the operation reports."""
    import ttl

    @tt_torch.tt_lang_operation(operation_id="tests.wrong", arg_roles=["in", "out"])
    @ttl.operation(grid=(1, 1))
    def wrong(a, y):
        pass

    with pytest.raises(ttl.TTLError, match=r"tests\.wrong") as raised:
        torch.compile(lambda a: wrong(a, torch.empty_like(a)), backend="tt")(
            torch.ones(32, 32, device="tt")
        )
    assert "declares no kernels" in str(raised.value)


def test_buffers_and_constants_of_models():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mask", torch.tensor([1.0, 0.0, 1.0, 0.0]))

        def forward(self, x):
            return x * self.mask + torch.tensor([0.5, 0.25, 0.0, -1.0], device=x.device)

    x = torch.arange(8.0).reshape(2, 4)
    expected = Masked()(x)
    assert torch.equal(torch.compile(Masked().to("tt"), backend="tt")(x.to("tt")).cpu(), expected)
    exported = tt_torch.export(Masked(), (x,))
    (result,) = Runtime(exported.flatbuffer()).run(exported.inputs(x))
    assert (result == expected.numpy()).all()


class Words(nn.Module):
    """A table of words that is also the matrix at the end; its result is a loss."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 16)
        self.layer = nn.GRU(16, 16, batch_first=True)
        self.last = nn.Linear(16, 20, bias=False)
        self.last.weight = self.table.weight

    def forward(self, x):
        words = (x[..., 0] * 5).long().abs() % 20
        found = self.last(self.layer(self.table(words))[0])
        return nn.functional.cross_entropy(found[:, :-1].flatten(0, 1), words[:, 1:].flatten())


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(32, 8)

    def forward(self, x):
        return torch.cat(self.layer(x)[1])


@pytest.mark.sampled(1, of="compiled|one by one")
@pytest.mark.parametrize("compiles", [True, False], ids=["compiled", "one by one"])
@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU()), (4, 8)),
        (lambda: nn.TransformerEncoderLayer(32, 2, 64, 0.0, batch_first=True), (2, 8, 32)),
        (Recurrent, (3, 2, 32)),
        (Words, (2, 4, 1)),
    ],
    ids=["batch norm", "transformer", "recurrent", "words"],
)
def test_layers_of_torch_train(make, shape, compiles):
    """Results, gradients of the parameters, and what the model keeps for itself."""
    torch.manual_seed(0)
    model, x = make(), torch.randn(shape)
    moved = copy.deepcopy(model).to("tt")
    found = torch.compile(moved, backend="tt") if compiles else moved
    result, expected = found(x.to("tt")), model(x)
    torch.testing.assert_close(result.cpu(), expected, rtol=1e-5, atol=1e-5)
    result.square().sum().backward()
    expected.square().sum().backward()
    for own, other in zip(moved.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(own.grad.cpu(), other.grad, rtol=1e-4, atol=1e-3)
    for own, other in zip(moved.buffers(), model.buffers(), strict=True):
        torch.testing.assert_close(own.cpu(), other)


def test_dropout_draws_anew_and_its_gradient_knows_what_was_kept():
    model = nn.Dropout(0.25)
    scale = torch.tensor(1 / 0.75).item()
    results = []
    for run in (model, torch.compile(model, backend="tt"), torch.compile(model, backend="tt")):
        x = torch.ones(200, device="tt", requires_grad=True)
        results.append(run(x))
        results[-1].sum().backward()
        assert set(results[-1].tolist()) == {0.0, scale}
        assert x.grad.tolist() == results[-1].tolist()
    assert results[1].tolist() != results[2].tolist()
    assert tt_torch.export(model.eval(), (torch.ones(4),)).input_names == ["input"]


def test_convolutions_one_by_one():
    torch.manual_seed(0)
    model, x = nn.Conv2d(3, 4, 3, padding=1), torch.randn(2, 3, 6, 6)
    moved = copy.deepcopy(model).to("tt")
    found = moved(x.to("tt"))
    expected = model(x)
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-5, atol=1e-5)
    found.square().sum().backward()
    expected.square().sum().backward()
    for own, right in zip(moved.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(own.grad.cpu(), right.grad, rtol=1e-5, atol=1e-4)


def test_an_index_that_is_not_there_is_refused():
    table, index = torch.ones(3, 2, device="tt"), torch.tensor([[0, 3]], device="tt")
    for wrong in (
        lambda: nn.functional.embedding(index, table),
        lambda: table.gather(0, index),
        lambda: table.scatter(0, index, 1.0),
        lambda: table.index_put((index,), table[0]),
    ):
        with pytest.raises(ttl.UsageError, match=r"index . of the . "):
            wrong()


encoder_layer = partial(nn.TransformerEncoderLayer, 32, 2, 64, batch_first=True)
attention = partial(nn.MultiheadAttention, 32, 2, batch_first=True)
KEYS = torch.tensor([[False] * 5 + [True] * 3, [False] * 8])
CAUSAL = nn.Transformer.generate_square_subsequent_mask(8)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (encoder_layer, {}),
        (partial(encoder_layer, norm_first=True, activation="gelu"), {"src_mask": CAUSAL}),
        (encoder_layer, {"src_key_padding_mask": KEYS}),
        (attention, {}),
        (attention, {"average_attn_weights": False, "attn_mask": CAUSAL != 0}),
        (attention, {"need_weights": False, "key_padding_mask": KEYS}),
    ],
)
def test_attention_layers_that_do_not_train(make, options):
    """torch has one operation for all of such a layer."""
    torch.manual_seed(0)
    model, x = make().eval(), torch.randn(2, 8, 32)
    inputs = [x] * (3 if make is attention else 1)
    with torch.no_grad():
        expected = pytree.tree_leaves(model(*inputs, **options))
        inputs, options = pytree.tree_map_only(
            torch.Tensor, lambda each: each.to("tt"), (inputs, options)
        )
        found = torch.compile(model.to("tt"), backend="tt", fullgraph=True)(*inputs, **options)
    for result, wanted in zip(pytree.tree_leaves(found), expected, strict=True):
        if wanted is not None:
            torch.testing.assert_close(result.cpu(), wanted, rtol=1e-5, atol=1e-5)
