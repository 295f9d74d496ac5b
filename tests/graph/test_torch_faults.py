"""What owners of models met: threads, names in files, messages, modules computed by kernels."""

from __future__ import annotations

from threading import Barrier, Thread

import numpy as np
import pytest
import torch
from torch import nn

import tt_torch
import ttl
from tt_torch.executable import Executable
from tt_torch.lowering import UnsupportedOperation
from ttgraph.flatbuffer import Runtime
from ttl.cli import main


@pytest.fixture(autouse=True)
def forgotten():
    torch._dynamo.reset()


# 1. Threads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("round", range(3))
def test_the_first_calls_may_come_from_four_threads(round):
    torch.manual_seed(round)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8), nn.LayerNorm(8))
    compiled, x = torch.compile(model, backend="tt"), torch.randn(4, 8)
    expected, barrier, found = model(x), Barrier(4), []

    def call():
        barrier.wait()
        try:
            found.append(compiled(x))
        except BaseException as error:  # so that the test has it
            found.append(error)

    threads = [Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in found:
        torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)


def test_what_is_wrong_with_a_model_is_reported_at_each_call_as_it_is():
    compiled = torch.compile(torch.linalg.inv, backend="tt")
    for _ in range(2):
        with pytest.raises(UnsupportedOperation, match=r"aten\.linalg_inv_ex"):
            compiled(torch.eye(4))


@pytest.mark.parametrize("given", [{"mode": "max-autotune"}, {"options": {"level": 3}}])
def test_modes_and_options_of_other_backends_are_refused(given):
    (name,) = given
    with pytest.raises(ttl.UsageError, match=f"TTL1003.* has one way to compile, and no {name}="):
        torch.compile(torch.relu, backend="tt", **given)(torch.ones(3))
    assert torch.compile(torch.relu, backend="tt", mode="default")(torch.ones(3)).sum() == 3


# 2. Names -----------------------------------------------------------------------------------------


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x, *, scale):
        self.calls.add_(1)
        return self.fc(x) * scale


@pytest.fixture
def scaled(tmp_path):
    """A file, its inputs by name, and what it should give."""
    torch.manual_seed(0)
    x, scale, model = torch.randn(4, 3), torch.tensor(2.0), Scaled()
    exported = tt_torch.export(model, (x,), {"scale": scale})
    exported.save(tmp_path / "model.ttnn")
    return exported, exported.named_inputs(x, scale=scale), model(x, scale=scale).detach()


def test_inputs_of_a_file_have_the_names_of_parameters_and_arguments(scaled, tmp_path):
    exported, inputs, expected = scaled
    assert list(inputs) == ["fc.weight", "fc.bias", "calls", "x", "scale"]
    (program,) = Runtime.from_file(tmp_path / "model.ttnn").programs
    assert list(program.input_names) == list(inputs)
    assert list(program.output_names) == ["calls", "output_0"]
    calls, result = Runtime(exported.flatbuffer()).run(list(inputs.values()))
    assert calls == [1]
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6)
    with pytest.raises(TypeError, match="these keyword arguments: scale; not with none"):
        exported.inputs(torch.ones(4, 3))
    with pytest.raises(ttl.UsageError, match="input `x` of `main` has shape"):
        Runtime(exported.flatbuffer()).run([*list(inputs.values())[:3], np.ones(2), np.ones(())])


def test_run_flatbuffer_lists_takes_and_gives_names(scaled, tmp_path, capsys):
    _, inputs, expected = scaled
    files = {name: str(tmp_path / name) for name in ("model.ttnn", "in.npz", "out.npz", "x.npy")}
    command = ["run-flatbuffer", files["model.ttnn"]]
    assert main([*command, "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed[0] == "input  fc.weight  (2, 3) float32"
    assert listed[-1] == "output output_0  (4, 2) float32"
    for arrays in (inputs, {f"arr_{n}": each for n, each in enumerate(inputs.values())}):
        np.savez(files["in.npz"], **arrays)
        given = ["--inputs", files["in.npz"], "--outputs", files["out.npz"]]
        assert main([*command, *given]) == 0
        assert "2 outputs written to" in capsys.readouterr().out
        np.testing.assert_allclose(np.load(files["out.npz"])["output_0"], expected, rtol=1e-6)
    np.save(files["x.npy"], np.ones(3))
    assert main([*command, "--inputs", files["x.npy"]]) == 1
    assert "is one array, as numpy.save writes it, and no archive" in capsys.readouterr().err
    np.savez(files["in.npz"], x=np.ones(3))
    assert main([*command, "--inputs", files["in.npz"]]) == 1
    assert "has x, and not fc.weight, fc.bias, calls, x, scale" in capsys.readouterr().err


def test_a_program_that_is_too_large_is_no_broken_file(scaled, tmp_path):
    with pytest.raises(ttl.UsageError, match="bytes of memory, and there are 64") as raised:
        Runtime.from_file(tmp_path / "model.ttnn", memory_bytes=64)
    assert "use a smaller batch" in str(raised.value)


# 3. Messages --------------------------------------------------------------------------------------


def tile(tensor):
    return ttl.make_dataflow_buffer_like(tensor, shape=(1, 1), block_count=2)


@tt_torch.tt_lang_operation(operation_id="tests.faults.doubled", arg_roles=["in", "out"])
@ttl.operation(grid=(1, 1))
def doubled(x, y):
    """A unified operation: no threads are written."""
    x_dfb, y_dfb = tile(x), tile(y)
    for row in range(x.shape[0] // ttl.TILE_SIZE):
        with x_dfb.reserve() as x_blk:
            ttl.copy(x[row : row + 1, 0:1], x_blk).wait()
        with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
            y_blk.store(x_blk + x_blk)
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[row : row + 1, 0:1]).wait()


def ones(*shape):
    return torch.ones(*shape, device="tt")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: doubled(x), ValueError, "in, out, and is called with 1: an 'out'"),
        (lambda x: doubled(x, x, x), ValueError, "called with 3: there is one too many"),
        (lambda x: doubled(x, out=x), TypeError, "takes its tensors by position, not by out="),
        (lambda x: doubled(x.bool(), x.bool()), tt_torch.TTLangError, "no elements of type 'i1'"),
        (
            lambda x: torch.vmap(lambda a: doubled(a, torch.empty_like(a)))(x[None]),
            NotImplementedError,
            "is called under torch.vmap",
        ),
    ],
)
def test_wrong_calls_of_an_operation_name_it(call, error, message):
    with pytest.raises(error, match=f"operation 'tests.faults.doubled' .*{message}|{message}"):
        call(ones(32, 32))


def test_wrong_roles_name_the_operation():
    with pytest.raises(ValueError, match=r"arg_roles of operation 'tests\.short' has 1 roles"):
        tt_torch.tt_lang_operation(operation_id="tests.short", arg_roles=["in"])(
            ttl.operation(grid=(1, 1))(lambda x, y: None)
        )


def test_a_loss_whose_sizes_depend_on_elements_is_refused_by_name():
    scores, targets = ones(10, 4, 30), torch.ones(4, 5, dtype=torch.long, device="tt")
    lengths = torch.tensor([10] * 4), torch.tensor([5] * 4)
    with pytest.raises(UnsupportedOperation, match=r"aten\._ctc_loss\.default, whose sizes"):
        nn.functional.ctc_loss(scores, targets, *lengths)


# Kernels inside models ----------------------------------------------------------------------------


class Double(nn.Module):
    def forward(self, x):
        return 2 * x


def test_replace_computes_modules_with_kernels():
    model = nn.Sequential(nn.Linear(32, 32), Double(), nn.ReLU())
    for kernel in (doubled, lambda module, x: doubled(x, torch.empty_like(x))):
        changed = tt_torch.replace(model, {Double: kernel})
        assert list(changed.state_dict()) == list(model.state_dict())
        x = torch.randn(32, 32)
        with torch.no_grad():
            found = torch.compile(changed.to("tt"), backend="tt")(x.to("tt")).cpu()
        torch.testing.assert_close(found, model(x), rtol=2e-2, atol=2e-2)  # kernels have TF32
    with pytest.raises(ValueError, match=r"the model has no GELU: its modules are Double, Linear"):
        tt_torch.replace(model, {nn.GELU: doubled})


# Lengths that grow --------------------------------------------------------------------------------


def test_a_cache_that_grows_is_not_compiled_for_each_length(monkeypatch):
    made = []

    def make(graph):
        made.append(Executable(graph))
        return made[-1]

    monkeypatch.setattr("tt_torch.lengths.Executable", make)

    def attend(query, keys, values):
        positions = torch.arange(keys.shape[0])
        scores = query @ keys.mT + positions / 16
        return scores.softmax(-1) @ values.cumsum(0), torch.cat([keys, query])

    torch.manual_seed(0)
    compiled = torch.compile(attend, backend="tt", dynamic=True)
    keys = torch.randn(2, 8)
    with torch.no_grad():
        for _ in range(12):
            query, values = torch.randn(1, 8), torch.randn(*keys.shape)
            found, longer = compiled(query, keys, values)
            expected, keys = attend(query, keys, values)
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
            assert torch.equal(longer, keys)
    assert len(made) == 3


def test_attention_takes_another_batch_and_another_length():
    """torch's own attention has other strides than the sums that it is decomposed into."""
    inner = nn.Linear(8, 8)

    def attend(x):
        batch, length, _ = x.shape
        split = inner(x).view(batch, length, 2, 4).transpose(1, 2)
        found = nn.functional.scaled_dot_product_attention(split, split, split)
        return inner(found.transpose(1, 2).reshape(batch, length, -1).contiguous())

    compiled = torch.compile(attend, backend="tt")
    with torch.no_grad():
        for sizes in ((2, 7), (2, 9), (4, 5)):
            x = torch.randn(*sizes, 8)
            torch.testing.assert_close(compiled(x), attend(x), rtol=1e-5, atol=1e-5)


def test_a_number_that_does_not_grow_along_a_line_is_compiled_each_time():
    def mean(x):
        return x.mean(0) + x.shape[0] ** 2

    compiled = torch.compile(mean, backend="tt", dynamic=True)
    with torch.no_grad():
        for count in range(2, 9):
            x = torch.randn(count, 4)
            torch.testing.assert_close(compiled(x), mean(x), rtol=1e-6, atol=1e-5)


def test_models_that_differ_in_a_number_are_compiled_one_after_the_other() -> None:
    """dynamo leaves a number open that was another one before, and begins again where it cannot."""

    class Scaled(nn.Module):
        def __init__(self, scale):
            super().__init__()
            self.scale = scale

        def forward(self, x):
            return nn.functional.scaled_dot_product_attention(x, x, x, scale=self.scale) * 2

    torch._dynamo.reset()
    x = torch.randn(1, 2, 8, 16)
    for scale in (0.25, 0.125, 0.3):
        model = Scaled(scale)
        torch.testing.assert_close(torch.compile(model, backend="tt")(x), model(x))


# Whole numbers ------------------------------------------------------------------------------------


def test_numbers_of_64_bits_may_leave_32():
    def leave(x, y):
        moved = (x << 40) >> 38
        added = x + torch.tensor([1, 2, 2**30])
        return x.sum(), x * y, x.cumsum(0), moved, added, x * x > x, x // 3

    x, y = torch.tensor([2**30, 2**30, -(2**29)]), torch.tensor([3, 1, 2])
    found = torch.compile(leave, backend="tt")(x, y)
    for one, other in zip(found, leave(x, y), strict=True):
        assert torch.equal(one, other)


def test_numbers_of_32_bits_wrap_around():
    x = torch.tensor([2**30] * 3, dtype=torch.int32)
    assert torch.compile(lambda x: x + x, backend="tt")(x).tolist() == (x + x).tolist()


def test_tensors_that_a_model_makes_are_exported_with_it():
    class Placed(nn.Module):
        def forward(self, x):
            added = torch.arange(4) + torch.zeros(2, 1) + torch.tensor([1.0, 2.0, 3.0, 4.0])
            return x + added * torch.rand(4).ceil()  # which is 1, but drawn

    x = torch.ones(2, 4)
    exported = tt_torch.export(Placed(), (x,))
    (found,) = Runtime(exported.flatbuffer()).run(exported.inputs(x))
    assert found.tolist() == [[2, 4, 6, 8]] * 2


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16])
def test_floats_become_short_numbers_as_on_the_cpu(dtype):
    x = torch.tensor([1.5, -2.5, -300.0, 300.0, 70000.0])
    assert torch.equal(torch.compile(lambda x: x.to(dtype), backend="tt")(x), x.to(dtype))


def test_what_is_no_probability_is_refused():
    compiled = torch.compile(lambda x: torch.bernoulli(x, 2.0), backend="tt")
    with pytest.raises(UnsupportedOperation, match=r"with 2\.0, which is no probability"):
        compiled(torch.ones(4))
