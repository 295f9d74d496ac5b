"""A program that is bound once: the same results, nobody's memory but the caller's own, no work
that is done again."""

from __future__ import annotations

import importlib
import inspect
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest
import torch
from torch import nn

import tt_torch  # noqa: F401
from graph_texts import binary
from ttgraph.flatbuffer import Runtime
from ttgraph.flatbuffer.plan import BoundStep, bind
from ttgraph.flatbuffer.program import CallStep, FreeStep, GraphProgram, TensorDescription
from ttgraph.graph_ops import BINARY, REDUCTIONS, UNARY
from ttl import ttnn
from ttl.semantics.dtypes import bfloat16, float32, int32
from ttl.semantics.layout import ROW_MAJOR_LAYOUT
from ttl.ttnn.memory_config import DRAM_MEMORY_CONFIG
from ttl.ttnn.operations.run import unrestricted

BF16 = ml_dtypes.bfloat16


def drawn(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(dtype)


def runtime(arguments: str, results: str, body: str) -> Runtime:
    return Runtime(binary(f"func.func @main({arguments}) -> ({results}) {{\n{body}\n}}"))


def refuse(*args, **kwargs):
    raise AssertionError("this is done again at each step")


# Results ------------------------------------------------------------------------------------------


def test_a_square_that_is_turned_is_not_taken_for_the_one_before_it() -> None:
    found = runtime(
        "%a: tensor<8x8xf32>",
        "tensor<8x8xf32>",
        """
        %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
        %p = stablehlo.multiply %a, %t : tensor<8x8xf32>
        return %p : tensor<8x8xf32>
        """,
    )
    a = drawn(8, 8)
    assert (found.run([a])[0] == a * a.T).all()


def test_operands_are_not_expanded_but_the_result_is() -> None:
    """All operands are smaller than the result, or one of them is."""
    found = runtime(
        "%a: tensor<3xf32>, %b: tensor<2x3xf32>",
        "tensor<2x3xf32>, tensor<2x3xf32>",
        """
        %x = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
        %two = stablehlo.constant dense<2.0> : tensor<2x3xf32>
        %s = stablehlo.add %x, %two : tensor<2x3xf32>
        %m = stablehlo.maximum %x, %b : tensor<2x3xf32>
        return %s, %m : tensor<2x3xf32>, tensor<2x3xf32>
        """,
    )
    a, b = drawn(3), drawn(2, 3, seed=1)
    total, most = found.run([a, b])
    assert (total == np.broadcast_to(a + 2, (2, 3))).all()
    assert (most == np.maximum(a, b)).all()


def test_integers_that_are_chosen_keep_all_their_digits() -> None:
    """What chooses has a float's type, and f32 has no room for these."""
    found = runtime(
        "%p: tensor<2xi1>, %a: tensor<2xi64>, %b: tensor<2xi64>",
        "tensor<2xi64>",
        """
        %c = stablehlo.select %p, %a, %b : tensor<2xi1>, tensor<2xi64>
        return %c : tensor<2xi64>
        """,
    )
    a, b = np.array([2**24 + 1, 3]), np.array([5, 2**30 + 7])
    assert found.run([np.array([True, False]), a, b])[0].tolist() == [2**24 + 1, 2**30 + 7]


def test_zero_and_minus_zero_are_two_constants() -> None:
    found = runtime(
        "%a: tensor<2xf32>",
        "tensor<2xf32>, tensor<2xf32>",
        """
        %p = stablehlo.constant dense<0.0> : tensor<2xf32>
        %m = stablehlo.constant dense<-0.0> : tensor<2xf32>
        %x = stablehlo.divide %a, %p : tensor<2xf32>
        %y = stablehlo.divide %a, %m : tensor<2xf32>
        return %x, %y : tensor<2xf32>, tensor<2xf32>
        """,
    )
    x, y = found.run([np.ones(2, np.float32)])
    assert x.tolist() == [np.inf] * 2 and y.tolist() == [-np.inf] * 2


def test_rows_of_a_table_that_is_not_converted() -> None:
    found = runtime(
        "%n: tensor<3xi32>, %w: tensor<5x4xbf16>",
        "tensor<3x4xbf16>",
        """
        %r = "stablehlo.gather"(%w, %n) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<5x4xbf16>, tensor<3xi32>) -> tensor<3x4xbf16>
        return %r : tensor<3x4xbf16>
        """,  # noqa: E501
    )
    table = drawn(5, 4, dtype=BF16)
    assert (found.run([np.array([4, 0, 4], np.int32), table])[0] == table[[4, 0, 4]]).all()


def described(*shape: int, dtype=float32) -> TensorDescription:
    return TensorDescription(shape, dtype, ROW_MAJOR_LAYOUT, DRAM_MEMORY_CONFIG)


def test_an_id_that_is_used_again_is_another_value() -> None:
    steps = (
        CallStep("neg", (1,), 2),
        CallStep("abs", (2,), 3),
        FreeStep(2),
        CallStep("exp", (1,), 2),
        CallStep("subtract", (2, 3), 4),
        CallStep("tanh", (1,), 5),
    )
    tensors = {number: described(4) for number in range(1, 6)}
    plan = bind(GraphProgram("main", (1,), (4,), steps, tensors), refuse, refuse, refuse)
    a = drawn(4)
    assert (plan.run([a])[0] == np.exp(a) - np.abs(a)).all()
    assert len(plan.steps) == 4  # nobody asks for the last one


def test_what_depends_on_no_input_is_computed_once() -> None:
    steps = (
        CallStep("arange", (), 2, {"shape": (4,), "dim": 0}),
        CallStep("typecast", (2,), 3),
        CallStep("exp", (3,), 4),
        CallStep("exp", (3,), 5),
        CallStep("add", (4, 5), 6),
        CallStep("add", (1, 6), 7),
    )
    tensors = {number: described(4) for number in range(1, 8)} | {2: described(4, dtype=int32)}
    plan = bind(GraphProgram("main", (1,), (7,), steps, tensors), refuse, refuse, refuse)
    assert [type(step) for step in plan.steps] == [BoundStep]
    assert (plan.run([np.zeros(4, np.float32)])[0] == 2 * np.exp(np.arange(4, dtype="f4"))).all()


def of_tensors(name: str, arrays: list[np.ndarray], dtypes, out, **options):
    """What the embedded ttnn gives for tensors in tiles, which have padding."""
    device = ttnn.open_device(device_id=0)
    tensors = [
        ttnn.from_numpy(array, dtype, ttnn.TILE_LAYOUT, device)
        for array, dtype in zip(arrays, dtypes, strict=True)
    ]
    found = unrestricted(getattr(ttnn, name))(*tensors, dtype=out, **options)
    return ttnn.to_numpy(found)


@pytest.mark.parametrize("dtype", [float32, bfloat16, int32], ids=str)
@pytest.mark.parametrize("name", sorted({*UNARY, *BINARY} - {"gelu_tanh"}))  # a variant of gelu
def test_arrays_give_the_bits_that_tensors_give(name, dtype) -> None:
    count = 1 if name in UNARY else 2
    if name.startswith("bitwise") or name == "logical_right_shift":
        dtype = int32
    arrays = [(4 * drawn(5, 33, seed=n)).astype(dtype.storage) for n in range(count)]
    if name in ("pow", "fmod") and dtype is int32:
        arrays[1] = np.abs(arrays[1]) + 1
    tensors = {number: described(5, 33, dtype=dtype) for number in range(count + 1)}
    inputs = tuple(range(count))
    program = GraphProgram("main", inputs, (count,), (CallStep(name, inputs, count),), tensors)
    (found,) = bind(program, refuse, refuse, refuse).run(arrays)
    wanted = of_tensors(name, arrays, [dtype] * count, dtype)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.view(np.uint8), wanted.view(np.uint8))


@pytest.mark.parametrize("dtype", [float32, bfloat16, int32], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_arrays_give_the_bits_that_those_of_tensors_give(name, dtype) -> None:
    array = (4 * drawn(5, 33)).astype(dtype.storage)
    step = CallStep(name, (0,), 1, {"dim_arg": [1], "keep_dim": True})
    tensors = {0: described(5, 33, dtype=dtype), 1: described(5, 1, dtype=dtype)}
    (found,) = bind(GraphProgram("main", (0,), (1,), (step,), tensors), refuse, refuse, refuse).run(
        [array]
    )
    wanted = of_tensors(name, [array], [dtype], dtype, dim=[1], keepdim=True)
    np.testing.assert_array_equal(found.view(np.uint8), wanted.view(np.uint8))


# Memory -------------------------------------------------------------------------------------------

SHARED = """
%flat = stablehlo.reshape %a : (tensor<4x6xf32>) -> tensor<24xf32>
%sum = stablehlo.add %a, %a : tensor<4x6xf32>
%same = stablehlo.reshape %sum : (tensor<4x6xf32>) -> tensor<24xf32>
%row = stablehlo.slice %sum [1:2, 0:6] : (tensor<4x6xf32>) -> tensor<1x6xf32>
%one = stablehlo.constant dense<1.0> : tensor<24xf32>
return %flat, %sum, %same, %row, %one, %a : tensor<24xf32>, tensor<4x6xf32>, tensor<24xf32>, tensor<1x6xf32>, tensor<24xf32>, tensor<4x6xf32>
"""  # noqa: E501


def test_outputs_lie_in_memory_of_their_own() -> None:
    results = ", ".join(f"tensor<{size}xf32>" for size in ("24", "4x6", "24", "1x6", "24", "4x6"))
    found = runtime("%a: tensor<4x6xf32>", results, SHARED)
    a = drawn(4, 6)
    before = a.copy()
    first = found.run([a])
    kept = [each.copy() for each in first]
    for each in first:
        assert each.flags.writeable and each.flags.c_contiguous
        assert each.base is None or each.base.nbytes == each.nbytes  # holds nothing else
        assert not np.shares_memory(each, a)
        assert not any(np.shares_memory(each, other) for other in first if other is not each)
        each[...] = -7
    assert (a == before).all()
    for again, wanted in zip(found.run([a]), kept, strict=True):
        assert (again == wanted).all()


@pytest.mark.parametrize("place", ["cpu", "tt"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_parameters_that_were_written_are_the_new_ones(place, dtype) -> None:
    """By any way: what counts writes, what does not, and another memory."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = nn.Linear(64, 32).to(dtype)
    x = torch.randn(4, 64, dtype=dtype)
    placed = nn.Linear(64, 32).to(dtype)
    placed.load_state_dict(model.state_dict())
    placed, given = placed.to(place), x.to(place)
    run = torch.compile(placed, backend="tt")
    writes = (
        lambda it: it.weight.mul_(2),
        lambda it: it.weight.data.copy_(it.weight.data.flip(0)),
        lambda it: setattr(it.weight, "data", it.weight.data * -3),
        lambda it: it.bias.data.fill_(5),
    )
    with torch.no_grad():
        for write in writes:
            for each in (model, placed):
                write(each)
            # The product is rounded before the bias is added, and torch's is not.
            room = {"rtol": 0.016, "atol": 0.05} if dtype is torch.bfloat16 else {}
            torch.testing.assert_close(run(given).cpu(), model(x), **room)


def test_what_a_model_returned_stays_when_it_runs_again() -> None:
    """Also where it is a view of a parameter."""
    torch._dynamo.reset()

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.arange(6.0).reshape(2, 3))

        def forward(self, x):
            return self.weight.T + 0, (x + 1).reshape(-1), x * 2

    model = Tied()
    run = torch.compile(model, backend="tt")
    with torch.no_grad():
        first = run(torch.ones(2, 2))
        kept = [each.clone() for each in first]
        model.weight.fill_(9)
        run(torch.zeros(2, 2))
    assert all(torch.equal(one, other) for one, other in zip(first, kept, strict=True))


def test_memory_does_not_grow_with_runs() -> None:
    found = runtime(
        "%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>",
        "tensor<64x64xbf16>",
        """
        %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
        %e = stablehlo.exponential %p : tensor<64x64xbf16>
        %t = stablehlo.transpose %e, dims = [1, 0] : (tensor<64x64xbf16>) -> tensor<64x64xbf16>
        return %t : tensor<64x64xbf16>
        """,  # noqa: E501
    )
    arrays = [drawn(64, 64, seed=n, dtype=BF16) for n in range(2)]
    for _ in range(1000):  # what is made once is there afterwards
        found.run(arrays)
    tracemalloc.start()
    try:
        found.run(arrays)
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(1000):
            found.run(arrays)
        after, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 4096
    assert most - before < 8 * 64 * 64 * 4  # what is not used any more is dropped


# Work ---------------------------------------------------------------------------------------------


def test_a_run_looks_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    found = runtime(
        "%a: tensor<4x6xf32>, %n: tensor<4x6xf32>",
        "tensor<4xf32>",
        """
        %s = stablehlo.add %a, %n : tensor<4x6xf32>
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %r = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
        %g = stablehlo.logistic %r : tensor<4xf32>
        return %g : tensor<4xf32>
        """,  # noqa: E501
    )
    arrays = [drawn(4, 6), drawn(4, 6, seed=1)]
    (wanted,) = found.run(arrays)
    monkeypatch.setattr(importlib, "import_module", refuse)
    monkeypatch.setattr(inspect.Signature, "bind", refuse)
    assert (found.run(arrays)[0] == wanted).all()


def test_threads_run_one_program_at_once() -> None:
    found = runtime(
        "%a: tensor<128x128xf32>",
        "tensor<128x128xf32>",
        """
        %p = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
        %t = stablehlo.tanh %p : tensor<128x128xf32>
        return %t : tensor<128x128xf32>
        """,  # noqa: E501
    )
    arrays = [drawn(128, 128, seed=n) for n in range(16)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda a: found.run([a])[0], arrays))
    for a, result in zip(arrays, results, strict=True):
        assert (result == found.run([a])[0]).all()
