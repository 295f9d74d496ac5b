"""Device `tt`: tensors, views, parameters, and operations outside of torch.compile."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.utils.checkpoint
from torch import nn

import tt_torch


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def test_tensors_go_there_and_back():
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        x = torch.arange(12).reshape(3, 4).to(dtype)
        moved = x.to("tt")
        assert moved.device.type == "tt" and moved.dtype is dtype
        assert torch.equal(moved.cpu(), x) and moved[:0].clone().cpu().numel() == 0
        x.zero_()  # a copy, not the same memory
        assert moved.cpu().any()


def test_views_share_memory():
    x = torch.arange(12.0).reshape(3, 4).to("tt")
    view = x.t()[1:, :2]
    x.fill_(7)
    assert torch.equal(view.cpu(), torch.full((3, 2), 7.0))
    view.copy_(torch.zeros(3, 2))
    assert x.cpu().sum() == 7 * 6


def test_memory_lives_as_long_as_a_view_does():
    x = torch.ones(4, device="tt")
    view, seen = x[1:], weakref.ref(x.untyped_storage())
    del x
    gc.collect()
    assert view.cpu().sum() == 3
    del view
    gc.collect()
    assert seen() is None


def test_modules_move():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).to("tt")
    assert {each.device.type for each in model.state_dict().values()} == {"tt"}
    assert isinstance(model[0].weight, nn.Parameter)
    assert torch.equal(model.cpu()[0].weight, model[0].weight)


def test_parameters_that_modules_share_stay_one():
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4)))
    model[1][0].weight = model[0].weight
    for moved in (model.to("tt"), model.bfloat16(), copy.deepcopy(model), model.cpu()):
        assert moved[1][0].weight is moved[0].weight
        assert moved[1][0].bias is not moved[0].bias


def test_models_are_copied_saved_and_loaded():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).to("tt")
    copied = copy.deepcopy(model)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    loaded = torch.load(file)
    pickled = pickle.loads(pickle.dumps(model.state_dict()))
    for name, value in model.state_dict().items():
        for other in (copied.state_dict()[name], loaded[name], pickled[name]):
            assert other.device.type == "tt" and torch.equal(other.cpu(), value.cpu())
    with torch.no_grad():
        model[0].weight.fill_(0)
    assert copied[0].weight.cpu().any() and loaded["0.weight"].cpu().any()


def test_operations_outside_of_compile():
    x, y = torch.randn(40, 50), torch.randn(40, 50)
    a, b = x.to("tt"), y.to("tt")
    torch.testing.assert_close((a + b * 2).cpu(), x + y * 2)
    torch.testing.assert_close((a * a).cpu(), x * x)  # one tensor twice
    torch.testing.assert_close((a * b).cpu(), x * y)
    torch.testing.assert_close(torch.softmax(a @ b.t(), -1).cpu(), torch.softmax(x @ y.t(), -1))
    torch.testing.assert_close((a % 0.7).cpu(), x % 0.7)  # torch makes a tensor of the number
    torch.testing.assert_close((a @ b[0]).cpu(), x @ y[0])
    a += b
    torch.testing.assert_close(a.cpu(), x + y)
    out = torch.empty(0, device="tt")
    assert torch.mul(a, b, out=out) is out
    torch.testing.assert_close(out.cpu(), (x + y) * y)
    assert a.sum().item() == pytest.approx((x + y).sum().item(), rel=1e-4)


def test_tensors_of_another_device_are_refused():
    a, b = torch.ones(2), torch.ones(2, device="tt")
    for call in (lambda: a + b, lambda: torch.cat([a, b]), lambda: a.add_(b)):
        with pytest.raises(
            RuntimeError, match=r"(?i)expected all tensors to be on the same device"
        ):
            call()
    assert b[torch.tensor([0])].tolist() == [1]


def test_masks_choose():
    x = torch.arange(6.0).reshape(2, 3)
    mask = x > 1
    assert torch.equal(x.to("tt")[mask.to("tt")].cpu(), x[mask])
    assert torch.equal(x.to("tt")[:, mask[1].to("tt")].cpu(), x[:, mask[1]])


def test_resizing_keeps_the_elements():
    whole = torch.arange(6.0).to("tt")
    assert whole.resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    assert whole.resize_(2, 4).flatten()[:6].tolist() == list(range(6))
    part = torch.arange(6.0).to("tt")[2:4]
    assert part.resize_(4).tolist() == [2, 3, 4, 5]
    assert part.resize_(6)[:4].tolist() == [2, 3, 4, 5]


def test_there_is_one_device():
    for make in (lambda: torch.ones(2).to("tt:1"), lambda: torch.empty(2, device="tt:1")):
        with pytest.raises(RuntimeError, match="no device 'tt:1'"):
            make()
    torch.tt.synchronize()


def test_equal():
    a = torch.arange(3).to("tt")
    assert torch.equal(a, a.clone()) and not torch.equal(a, a + 1)


def test_checkpoints_and_autocast():
    weight = torch.ones(3, 3).to("tt").requires_grad_()
    run = torch.utils.checkpoint.checkpoint
    run(lambda w: (w * w).sum(), weight, use_reentrant=False).backward()
    assert torch.equal(weight.grad.cpu(), torch.full((3, 3), 2.0))
    with (
        pytest.warns(UserWarning, match="not supported"),
        torch.autocast("tt", dtype=torch.bfloat16),
    ):
        assert (weight @ weight).dtype is torch.float32


def test_printing():
    assert repr(torch.arange(3.0).to("tt")) == "tensor([0., 1., 2.], device='tt:0')"


def bernoulli(place):
    return torch.empty(20, device=place).bernoulli_(0.5)


def test_random_and_filled():
    assert torch.randn(1000, device="tt").cpu().std() > 0.5
    for draw in (lambda place: torch.randint(3, 9, (20,), device=place), bernoulli):
        torch.manual_seed(4)
        first, second = draw("tt"), draw("tt")
        assert not torch.equal(first, second)
        torch.manual_seed(4)
        assert torch.equal(first.cpu(), draw("cpu"))
    assert sorted(torch.randperm(5, device="tt").tolist()) == list(range(5))
    assert torch.multinomial(torch.tensor([0.0, 1.0], device="tt"), 1).tolist() == [1]
    weight = torch.ones(1000, device="tt", requires_grad=True)
    nn.functional.dropout(weight, 0.25).sum().backward()
    assert set(weight.grad.tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    assert torch.equal(torch.ones(2, 2, device="tt").cpu(), torch.ones(2, 2))
    assert torch.equal(torch.arange(5, device="tt").cpu(), torch.arange(5))


def test_threads_compute_and_export():
    """torch traces in one thread at a time."""

    def work(number):
        x = torch.arange(float(number * 7)).reshape(number, 7)
        found = (x.to("tt") * number - x.to("tt").sum(0)).cpu()
        exported = tt_torch.export(nn.Softplus(), (x,))
        return torch.equal(found, x * number - x.sum(0)) and "chlo" not in exported.stablehlo

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(1, 9)))


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_recurrent_layer_is_one_graph(make, monkeypatch):
    from tt_torch import eager

    made = []

    def counted(graph):
        made.append(eager_executable(graph))
        return made[-1]

    eager_executable = eager.Executable
    monkeypatch.setattr(eager, "Executable", counted)
    torch.manual_seed(3)
    layer, x = make(3, 4, bidirectional=True, batch_first=True), torch.randn(2, 5, 3)
    moved, given = copy.deepcopy(layer).to("tt"), x.to("tt").requires_grad_()
    with torch.no_grad():
        found = moved(given)[0]
        kept = len([each for each in made if each.program.outputs])
    expected = layer(x.requires_grad_())[0]
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-5, atol=1e-6)
    assert kept == 1
    expected.square().sum().backward()
    moved(given)[0].square().sum().backward()
    torch.testing.assert_close(given.grad.cpu(), x.grad, rtol=1e-4, atol=1e-5)


def test_what_is_dropped_between_recurrent_layers():
    layer, x = nn.LSTM(3, 4, 2, dropout=0.5).to("tt"), torch.ones(5, 2, 3, device="tt")
    for has_gradient in (True, False):
        with torch.set_grad_enabled(has_gradient):
            first, second = (layer(x)[0].cpu() for _ in range(2))
        assert not torch.equal(first, second)
