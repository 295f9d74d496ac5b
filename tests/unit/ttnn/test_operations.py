"""What results of operations look like, and what cannot be computed."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import UsageError
from ttl.ttnn import operations

X = ttnn.from_numpy(np.arange(12, dtype=np.float32).reshape(3, 4))
ROWS = ttnn.from_numpy(np.arange(12, dtype=np.float32).reshape(3, 4), layout=ttnn.ROW_MAJOR_LAYOUT)
INTEGERS = ttnn.from_numpy(np.arange(12, dtype=np.int32).reshape(3, 4))
WHOLE = ttnn.to_numpy(X)
ALIASES = {"clip": "clamp", "mul": "multiply", "sub": "subtract"}


@pytest.mark.parametrize("module", operations.OPERATIONS)
def test_the_list_of_names_is_that_of_the_functions(module: str) -> None:
    found = import_module(f"ttl.ttnn.operations.{module}")
    own = {
        name
        for name, value in vars(found).items()
        if inspect.isfunction(value)
        and (hasattr(value, "operation") or name.endswith("_"))
        and not (module != "elementwise" and value is getattr(_elementwise(), name, None))
    }
    assert own - {"get_item"} == set(operations.OPERATIONS[module])


def _elementwise() -> Any:
    return import_module("ttl.ttnn.operations.elementwise")


def test_every_operation_says_what_it_does_under_its_name() -> None:
    for name in operations.NAMES:
        function = getattr(ttnn, name)
        assert function.__name__ == ALIASES.get(name, name)
        assert function.__doc__ and function.__doc__.endswith(".")
        assert next(iter(inspect.signature(function).parameters))


def test_importing_ttnn_loads_no_operation() -> None:
    code = (
        "import sys, ttnn\n"
        "assert 'softmax' in dir(ttnn) and 'softmax' in ttnn.__all__\n"
        "print(*(n for n in sys.modules if n.startswith('ttl.ttnn.operations.')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["ttl.ttnn.operations.operators"]


def test_a_misspelt_operation_gets_the_nearest_name() -> None:
    with pytest.raises(UsageError, match=r"did you mean .*`softmax`"):
        ttnn.softmx  # noqa: B018


def test_results_are_like_the_first_operand() -> None:
    device = ttnn.open_device(device_id=0)
    there = ttnn.to_device(ROWS, device)
    result = ttnn.add(there, ttnn.to_device(X, device))
    assert (result.layout, result.dtype) == (ttnn.ROW_MAJOR_LAYOUT, ttnn.float32)
    assert result.device() is device
    narrow = ttnn.from_numpy(WHOLE, dtype=ttnn.bfloat16)
    assert ttnn.multiply(narrow, X).dtype is ttnn.bfloat16
    assert ttnn.multiply(X, narrow).dtype is ttnn.float32
    assert ttnn.multiply(X, narrow, dtype=ttnn.bfloat8_b).dtype is ttnn.bfloat8_b
    assert (2 * narrow).dtype is ttnn.bfloat16


def test_results_lie_in_the_memory_of_the_first_operand() -> None:
    device = ttnn.open_device(device_id=0)
    grid = ttnn.CoreGrid(y=2, x=2)
    sharded = ttnn.create_sharded_memory_config((256, 256), grid, ttnn.ShardStrategy.BLOCK)
    x = ttnn.zeros((256, 256), device=device, memory_config=sharded)
    assert (x + 1).memory_config == ttnn.exp(x).memory_config == sharded
    assert not ttnn.sum(x, dim=0).is_sharded()
    assert ttnn.add(x, 1, memory_config=ttnn.DRAM_MEMORY_CONFIG).memory_config == (
        ttnn.DRAM_MEMORY_CONFIG
    )
    in_l1 = ttnn.zeros((64, 64), device=device, memory_config=ttnn.L1_MEMORY_CONFIG)
    assert ttnn.sum(in_l1, dim=0).memory_config == ttnn.L1_MEMORY_CONFIG


def test_operands_are_left_alone() -> None:
    for result in (ttnn.reshape(X, (4, 3)), X[0], ttnn.tilize(X), ttnn.expand(X, (2, 3, 4))):
        result.storage.fill(np.array(7))
    assert np.array_equal(ttnn.to_numpy(X), np.arange(12).reshape(3, 4))


def test_a_result_is_rounded_once() -> None:
    # 256 + 1 is 256 in bfloat16, 256 + 1 + 1 is 258.
    ones = ttnn.ones((1, 32), ttnn.bfloat16)
    weights = ttnn.from_numpy(np.full((32, 1), 8.0), dtype=ttnn.bfloat16)
    bias = ttnn.ones((1, 1), ttnn.bfloat16)
    assert ttnn.to_numpy(ttnn.linear(ones, weights, bias=bias)).item() == 256  # 257, a tie
    bias = ttnn.full((1, 1), 1.0625, ttnn.bfloat16)
    assert ttnn.to_numpy(ttnn.linear(ones, weights, bias=bias)).item() == 258


def test_output_tensors() -> None:
    for keyword in ("output_tensor", "optional_output_tensor"):
        output = ttnn.zeros((3, 4), ttnn.bfloat16)
        assert ttnn.add(X, 1, **{keyword: output}) is output
        assert np.array_equal(ttnn.to_numpy(output), WHOLE + 1)
    own = ttnn.from_numpy(WHOLE)
    assert ttnn.multiply_(own, 2) is own and ttnn.subtract_(own, X) is own
    assert np.array_equal(ttnn.to_numpy(own), WHOLE)
    assert np.array_equal(ttnn.to_numpy(ttnn.divide_(ttnn.add_(own, X), 2)), WHOLE)


def test_keywords_that_only_tune_are_accepted() -> None:
    result = ttnn.exp(X, fast_and_approximate_mode=True, queue_id=0, memory_config=None)
    assert np.allclose(ttnn.to_numpy(result), np.exp(WHOLE))
    ttnn.matmul(X, X, transpose_b=True, compute_kernel_config=None, core_grid=None)


def test_activations_by_name() -> None:
    result = ttnn.to_numpy(ttnn.subtract(X, 5, activations=["relu", "square"]))
    assert np.array_equal(result, np.maximum(WHOLE - 5, 0) ** 2)


def test_integers_and_floats() -> None:
    assert np.array_equal(ttnn.to_numpy(X + INTEGERS), 2 * WHOLE)
    assert np.array_equal(ttnn.to_numpy(INTEGERS + 2.0), WHOLE + 2)
    assert np.array_equal(ttnn.to_numpy(INTEGERS > 4.5), WHOLE > 4.5)
    assert np.array_equal(ttnn.to_numpy(INTEGERS == X), np.ones((3, 4)))
    assert np.array_equal(ttnn.to_numpy(ttnn.where(INTEGERS, X, 0.5)), np.where(WHOLE, WHOLE, 0.5))
    assert np.array_equal(ttnn.to_numpy(INTEGERS**2), WHOLE.astype(int) ** 2)
    masked = ttnn.where(INTEGERS > 4, float("-inf"), 0.5)
    for result, values in (
        (INTEGERS / 2, WHOLE / 2),
        (ttnn.div(INTEGERS, INTEGERS + 1), WHOLE / (WHOLE + 1)),
        (masked, np.where(WHOLE > 4, -np.inf, 0.5)),
    ):
        assert result.dtype is ttnn.float32
        assert np.array_equal(ttnn.to_numpy(result), values.astype(np.float32))
    half = ttnn.divide(INTEGERS, 2, dtype=ttnn.float32)
    assert np.array_equal(ttnn.to_numpy(half), WHOLE / 2)
    assert ttnn.to_numpy(ttnn.sum(INTEGERS)).item() == 66
    wrapped = ttnn.full((1, 1), 2**31 - 1, ttnn.int32) + 1
    assert ttnn.to_numpy(wrapped).item() == -(2**31)


def test_comparing_with_other_things_is_plain_python() -> None:
    assert (X == None) is False and (X != "x") is True  # noqa: E711
    assert len({X, X, ROWS}) == 2
    assert ttnn.to_numpy(np.float64(3) == X).sum() == 1


def test_empty_and_single_elements() -> None:
    nothing = ttnn.zeros((0, 4), ttnn.float32)
    assert ttnn.to_numpy(ttnn.sum(nothing, dim=0)).tolist() == [0] * 4
    assert ttnn.softmax(nothing).shape == (0, 4)
    assert ttnn.to_numpy(X[1, 2]).shape == ()
    assert ttnn.to_numpy(ttnn.sum(X)).item() == 66


def test_tensors_of_a_mesh() -> None:
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
    mapper = ttnn.ShardTensorToMesh(mesh, dim=0)
    composer = ttnn.ConcatMeshToTensor(mesh, dim=0)
    values = np.arange(128 * 32, dtype=np.float32).reshape(128, 32)
    x = ttnn.from_numpy(values, device=mesh, mesh_mapper=mapper)
    assert np.array_equal(ttnn.to_numpy(x + x, composer), 2 * values)
    assert ttnn.sum(x).shape == ()
    sums = ttnn.to_numpy(ttnn.sum(x, dim=0, keepdim=True), composer)
    assert np.array_equal(sums, [values[:64].sum(0), values[64:].sum(0)])
    first, second = ttnn.split(x, 16, dim=1)
    assert np.array_equal(ttnn.to_numpy(second, composer), values[:, 16:])
    ttnn.add(first, 1, output_tensor=first)
    assert np.array_equal(ttnn.to_numpy(first, composer), values[:, :16] + 1)
    with pytest.raises(UsageError, match="spread over a mesh"):
        ttnn.add(x, X)


A = ttnn.zeros((3, 4))
B = ttnn.zeros((3, 5))
INDICES = ttnn.full((2, 2), 7, ttnn.uint32)
ARRAY = np.zeros((3, 4))

WRONG: list[tuple[Callable[[], Any], str]] = [
    # what is no tensor
    (lambda: ttnn.add(A, ARRAY), r"takes a ttnn tensor or a number as `input_tensor_b`, not a nd"),
    (lambda: A + ARRAY, "make a tensor of it first: ttnn.from_numpy"),
    (lambda: ARRAY * A, "`input_tensor_a`, not a ndarray"),
    (lambda: A < ARRAY, "not a ndarray"),
    (lambda: A @ 2, r"ttnn.matmul\(\) takes a ttnn tensor as `input_tensor_b`, not 2"),
    (lambda: ttnn.exp(1.0), r"ttnn.exp\(\) takes a ttnn tensor as `input_tensor`, not 1.0"),
    (lambda: ttnn.add(1, 2), "needs a ttnn tensor among its operands"),
    (lambda: A + "x", "not 'x'"),
    (lambda: ttnn.concat(A), r"takes a list of ttnn tensors as `tensors`, not a Tensor"),
    (lambda: ttnn.concat([]), "takes a list of ttnn tensors"),
    (lambda: ttnn.add(A, A, output_tensor=ARRAY), "as `output_tensor`, not a ndarray"),
    # shapes
    (
        lambda: A + B,
        r"ttnn.add\(\) of tensors of shape \(3, 4\) and \(3, 5\): the shapes do not br",
    ),
    (lambda: ttnn.where(A, A, B), "the shapes do not broadcast"),
    (lambda: A @ B, r"\(3, 4\) @ \(3, 5\): the left tensor has 4 columns, the right one 3 rows"),
    (
        lambda: ttnn.zeros((2, 3, 4)) @ ttnn.zeros((3, 4, 3)),
        "the leading sizes do not broadcast",
    ),
    (lambda: ttnn.matmul(A, ttnn.zeros(())), "a matrix product of a single number"),
    (lambda: ttnn.matmul(A, ttnn.zeros((4,)), transpose_b=True), "no rows and columns to exchange"),
    (lambda: ttnn.linear(A, A, bias=B, transpose_b=True), r"a bias of shape \(3, 5\) cannot be ad"),
    (lambda: ttnn.add(A, A, output_tensor=B), r"has shape \(3, 4\), output_tensor \(3, 5\)"),
    (lambda: ttnn.concat([A, B], dim=0), r"of shapes \(3, 4\), \(3, 5\)"),
    (lambda: ttnn.stack([A, B]), "all sizes must be equal"),
    (lambda: ttnn.reshape(A, (5, -1)), r"the 12 elements .* do not make one of shape \(5, -1\)"),
    (lambda: A.reshape(2, 5), r"do not make one of shape \(2, 5\)"),
    (lambda: ttnn.reshape(A, (-1, -1)), "do not make one"),
    (lambda: ttnn.expand(A, (3, 8)), r"cannot grow to \(3, 8\)"),
    (lambda: ttnn.expand(A, (4,)), r"cannot grow to \(4,\)"),
    (lambda: ttnn.layer_norm(A, weight=B), "weight has shape"),
    (lambda: ttnn.layer_norm(A, residual_input_tensor=B), "with a residual of shape"),
    (lambda: ttnn.rms_norm(ttnn.zeros(())), "a tensor without rows"),
    (lambda: ttnn.split(A, [1, 2], dim=1), r"parts of sizes \[1, 2\] do not make dimension 1"),
    (lambda: ttnn.max(ttnn.zeros((0, 4)), dim=0), "no largest or smallest among the 0 elements"),
    (lambda: ttnn.tril(ttnn.zeros((4,))), "it has no rows and columns"),
    (lambda: ttnn.unsqueeze_to_4D(ttnn.zeros((1,) * 5)), "more than four dimensions"),
    # dimensions and other parameters
    (lambda: ttnn.softmax(A, dim=2), "dim=2: a tensor of 2 dimensions has no such dimension"),
    (lambda: ttnn.sum(A, dim=(0, -2)), "one is named twice"),
    (lambda: ttnn.sum(A, dim=1.0), r"takes an int or a list of ints as `dim`, not 1.0"),
    (lambda: ttnn.argmax(A, dim=(0, 1)), "takes an int as `dim`"),
    (lambda: ttnn.embedding(A, A), "embedding.. of float32 indices and a weight of shape"),
    (lambda: ttnn.embedding(INDICES, ttnn.zeros((4,))), r"a weight of shape \(4,\)"),
    (lambda: ttnn.embedding(INDICES, A), "index 7 of the 3 rows of the weight"),
    (lambda: ttnn.permute(A, (0,)), "has 2 dimensions"),
    (lambda: ttnn.permute(A, (0, 0)), "one is named twice"),
    (lambda: ttnn.transpose(A, 0, 5), "has no such dimension"),
    (lambda: ttnn.repeat(A, (2,)), r"repeat_dims=\(2,\) for a tensor of shape \(3, 4\)"),
    (lambda: ttnn.repeat_interleave(A, -1), "repeats=-1"),
    (lambda: ttnn.pad(A, ((0, -1), (0, 0))), "padding="),
    (lambda: ttnn.pad(A, 3), "padding=3"),
    (lambda: ttnn.split(A, 0), "split_size=0"),
    (lambda: ttnn.chunk(A, 0), "chunks=0"),
    (lambda: ttnn.slice(A, (0,), (1,)), "give a start and an end for each dimension"),
    (lambda: ttnn.clamp(A), "needs `min` or `max`"),
    (lambda: ttnn.div(A, A, rounding_mode="up"), "rounding_mode='up'"),
    (lambda: ttnn.softplus(A, beta=0), "beta=0"),
    (lambda: ttnn.celu(A, alpha=0), "alpha=0"),
    (lambda: ttnn.leaky_relu(A, "steep"), "takes a number as `negative_slope`, not 'steep'"),
    (lambda: ttnn.linear(A, A, transpose_b=True, activation="rellu"), "no activation 'rellu'"),
    (lambda: ttnn.add(A, A, activations="relu"), "takes a list of names"),
    (
        lambda: ttnn.add(A, A, dtype="bf16"),
        "takes an element type such as ttnn.bfloat16 as `dtype`",
    ),
    (lambda: ttnn.add(A, A, memory_config="l1"), "memory_config='l1': not a memory config"),
    (lambda: ttnn.sum(A, keepdim="no"), "takes True or False as `keepdim`, not 'no'"),
    (lambda: ttnn.add(A, A, colour=1), "has no argument `colour`"),
    (lambda: ttnn.add(A), "missing a required argument: 'input_tensor_b'"),
    (lambda: ttnn.add_(A), "missing a required argument: 'input_tensor_b'"),
    (lambda: ttnn.add_(1, A), "takes a ttnn tensor as `output_tensor`, not 1"),
    (lambda: ttnn.exp(A, A, A), "too many positional arguments"),
    # indices
    (lambda: A[3], "index 3 of dimension 0, which has 3 elements"),
    (lambda: A[..., 4], "index 4 of dimension 1"),
    (lambda: A[0, 0, 0], "3 indices for a tensor of 2 dimensions"),
    (lambda: A[..., ...], "2 indices for a tensor of 2 dimensions"),
    (lambda: A[::-1], "the step of a slice of a tensor is 1 or more"),
    (lambda: A[[0, 1]], "is neither an index nor a slice"),
    (lambda: A[0.5], "0.5 is neither an index nor a slice"),
    # element types
    (lambda: ttnn.exp(INTEGERS), "numbers with fractions, which int32 cannot hold"),
    (lambda: ttnn.sqrt(INTEGERS), "dtype=ttnn.float32"),
    (lambda: INTEGERS + 0.5, "which int32 cannot hold"),
    (lambda: INTEGERS + X, "which int32 cannot hold"),
    (lambda: INTEGERS // 0, "an integer // 0 has no value"),
    (lambda: ttnn.fmod(INTEGERS, 0), "an integer divided by 0"),
    (lambda: INTEGERS**-1, "an integer to a negative power"),
    (lambda: INTEGERS + 2**70, "is too large"),
    (lambda: A * 10**400, "is too large"),
    (lambda: ttnn.add(ROWS, 1, dtype=ttnn.bfloat8_b), "bfloat8_b exists only in tiles"),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_wrong_calls_point_at_the_program(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        make()
    primary = caught.value.diagnostics[0].primary
    assert primary is not None and primary.span.file == __file__
    assert "src/ttl" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_operations_on_whole_tensors_are_refused_in_kernels() -> None:
    @ttl.operation(grid=(1, 1))
    def doubled(x: ttnn.Tensor) -> None:
        @ttl.datamovement()
        def reader() -> None:
            x + x

    device = ttnn.open_device(device_id=0)
    with pytest.raises(ttl.TTLError, match=r"ttnn.add\(\) works on whole tensors, not in a kernel"):
        doubled(ttnn.zeros((32, 32), device=device))
