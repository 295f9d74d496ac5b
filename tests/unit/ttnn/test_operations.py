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

DEVICE = ttnn.open_device(device_id=0)
TILES = {"layout": ttnn.TILE_LAYOUT, "device": DEVICE}
X = ttnn.from_numpy(np.arange(12, dtype=np.float32).reshape(3, 4), device=DEVICE)
ROWS = ttnn.to_layout(X, ttnn.ROW_MAJOR_LAYOUT)
INTEGERS = ttnn.from_numpy(np.arange(12, dtype=np.int32).reshape(3, 4), device=DEVICE)
WHOLE = ttnn.to_numpy(X)
ALIASES = {
    "divide": "div",
    "div_": "divide_",
    "mul": "multiply",
    "mul_": "multiply_",
    "sub": "subtract",
    "sub_": "subtract_",
}


@pytest.mark.parametrize("module", operations.OPERATIONS)
def test_the_list_of_names_is_that_of_the_functions(module: str) -> None:
    found = import_module(f"ttl.ttnn.operations.{module}")
    own = {
        name.removeprefix("_")  # what a function of the same name checks and calls
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
        assert function.__doc__ and function.__doc__.strip().endswith(".")
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
    result = ttnn.add(ROWS, ROWS)
    assert (result.layout, result.dtype) == (ttnn.ROW_MAJOR_LAYOUT, ttnn.float32)
    assert ttnn.add(ROWS, X).layout is ttnn.add(X, ROWS).layout is ttnn.TILE_LAYOUT
    assert result.device() is DEVICE
    narrow = ttnn.from_numpy(WHOLE, dtype=ttnn.bfloat16, device=DEVICE)
    assert ttnn.multiply(narrow, X).dtype is ttnn.bfloat16
    assert ttnn.multiply(X, narrow).dtype is ttnn.float32
    assert ttnn.multiply(X, narrow, dtype=ttnn.bfloat8_b).dtype is ttnn.bfloat8_b
    assert (2 * narrow).dtype is ttnn.bfloat16


def test_results_lie_in_the_memory_of_the_first_operand() -> None:
    device = ttnn.open_device(device_id=0)
    grid = ttnn.CoreGrid(y=2, x=2)
    sharded = ttnn.create_sharded_memory_config((256, 256), grid, ttnn.ShardStrategy.BLOCK)
    x = ttnn.zeros((256, 256), layout=ttnn.TILE_LAYOUT, device=device, memory_config=sharded)
    assert (x + 1).memory_config() == ttnn.exp(x).memory_config() == sharded
    assert not ttnn.sum(x, dim=0).is_sharded()
    assert ttnn.add(x, 1, memory_config=ttnn.DRAM_MEMORY_CONFIG).memory_config() == (
        ttnn.DRAM_MEMORY_CONFIG
    )
    in_l1 = ttnn.zeros(
        (64, 64), layout=ttnn.TILE_LAYOUT, device=device, memory_config=ttnn.L1_MEMORY_CONFIG
    )
    assert ttnn.sum(in_l1, dim=0).memory_config() == ttnn.L1_MEMORY_CONFIG


def test_operands_are_left_alone() -> None:
    for result in (ttnn.reshape(X, (4, 3)), X[0], ttnn.untilize(X), ttnn.expand(X, (2, 3, 4))):
        result.storage.fill(np.array(7))
    assert np.array_equal(ttnn.to_numpy(X), np.arange(12).reshape(3, 4))


@pytest.mark.parametrize("name", ["silu", "softplus", "round", "pow"])
def test_one_element_keeps_its_shape(name: str) -> None:
    """float64() of numpy 1.26 makes a scalar of an array of one element."""
    one = ttl.from_numpy(np.ones(1, np.float32), device=DEVICE, layout=ttnn.ROW_MAJOR_LAYOUT)
    given = (2.5,) if name == "pow" else ()
    assert tuple(getattr(ttnn, name)(one, *given).shape) == (1,)


def test_a_result_is_rounded_once() -> None:
    # 256 + 1 is 256 in bfloat16, 256 + 1 + 1 is 258.
    ones = ttnn.ones((1, 32), ttnn.bfloat16, **TILES)
    weights = ttnn.from_numpy(np.full((32, 1), 8.0), dtype=ttnn.bfloat16, device=DEVICE)
    bias = ttnn.ones((1, 1), ttnn.bfloat16, **TILES)
    assert ttnn.to_numpy(ttnn.linear(ones, weights, bias=bias)).item() == 256  # 257, a tie
    bias = ttnn.full((1, 1), 1.0625, ttnn.bfloat16, **TILES)
    assert ttnn.to_numpy(ttnn.linear(ones, weights, bias=bias)).item() == 258


def test_output_tensors() -> None:
    output = ttnn.zeros((3, 4), ttnn.bfloat16, **TILES)
    result = ttnn.add(X, 1, output_tensor=output)
    assert np.array_equal(ttnn.to_numpy(output), WHOLE + 1)
    assert result is not output and result.buffer_address() == output.buffer_address()
    square = ttnn.zeros((3, 3), ttnn.float32, **TILES)
    ttnn.matmul(X, X, transpose_b=True, optional_output_tensor=square)
    assert np.array_equal(ttnn.to_numpy(square), WHOLE @ WHOLE.T)
    own = ttnn.from_numpy(WHOLE, device=DEVICE)
    assert ttnn.multiply_(own, 2) is own and ttnn.subtract_(own, X) is own
    assert np.array_equal(ttnn.to_numpy(own), WHOLE)
    assert np.array_equal(ttnn.to_numpy(ttnn.divide_(ttnn.add_(own, X), 2)), WHOLE)


def test_keywords_that_only_tune_are_accepted() -> None:
    result = ttnn.exp(X, fast_and_approximate_mode=True, queue_id=0, memory_config=None)
    assert np.allclose(ttnn.to_numpy(result), np.exp(WHOLE))
    ttnn.matmul(X, X, transpose_b=True, compute_kernel_config=None, core_grid=None)


def test_activations_of_operands_and_results() -> None:
    relu, square = (
        ttnn.UnaryWithParam(kind) for kind in (ttnn.UnaryOpType.RELU, ttnn.UnaryOpType.SQUARE)
    )
    result = ttnn.to_numpy(ttnn.subtract(X, 5, activations=[relu, square]))
    assert np.array_equal(result, np.maximum(WHOLE - 5, 0) ** 2)
    result = ttnn.to_numpy(ttnn.subtract(X, 5, input_tensor_a_activations=[square]))
    assert np.array_equal(result, WHOLE**2 - 5)
    slope = ttnn.UnaryWithParam(ttnn.UnaryOpType.LEAKY_RELU, 0.5)
    result = ttnn.to_numpy(ttnn.subtract(X, 5, activations=[slope]))
    assert np.array_equal(result, np.where(WHOLE < 5, (WHOLE - 5) / 2, WHOLE - 5))


def test_integers_and_floats() -> None:
    assert np.array_equal(ttnn.to_numpy(INTEGERS + 2.0), WHOLE + 2)
    assert np.array_equal(ttnn.to_numpy(INTEGERS + True), WHOLE + 1)
    assert np.array_equal(ttnn.to_numpy(ttnn.where(INTEGERS, X, 0.5)), np.where(WHOLE, WHOLE, 0.5))
    assert np.array_equal(ttnn.to_numpy(ttnn.pow(INTEGERS, 2)), WHOLE.astype(int) ** 2)
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
    wrapped = ttnn.full((1, 1), 2**31 - 1, ttnn.int32, **TILES) + 1
    assert ttnn.to_numpy(wrapped).item() == -(2**31)


def test_tensors_can_be_kept_in_sets() -> None:
    assert len({X, X, ROWS}) == 2
    assert ttnn.to_numpy(np.float64(3) == X).sum() == 1


def test_empty_and_single_elements() -> None:
    nothing = ttnn.zeros((0, 4), ttnn.float32, **TILES)
    assert ttnn.to_numpy(ttnn.sum(nothing, dim=0)).tolist() == [0] * 4
    assert ttnn.softmax(nothing).shape == (0, 4)
    assert ttnn.to_numpy(X[1, 2]).shape == ()
    assert ttnn.to_numpy(ttnn.sum(X)).item() == 66


def test_a_matrix_with_a_product_of_more_dimensions() -> None:
    b = ttnn.from_numpy(np.arange(8, dtype=np.float32).reshape(1, 4, 2), device=DEVICE)
    result = ttnn.matmul(X, b)
    assert result.shape == (1, 3, 2)
    assert np.array_equal(ttnn.to_numpy(result), WHOLE @ np.arange(8).reshape(1, 4, 2))


def test_bfloat16_has_no_nan_where_it_is_computed() -> None:
    x = ttnn.full((1, 1), -1.0, ttnn.bfloat16, **TILES)
    nan = ttnn.full((1, 1), float("nan"), ttnn.bfloat16, **TILES)
    zero = ttnn.zeros((1, 1), ttnn.bfloat16, **TILES)
    for result in (ttnn.sqrt(x), ttnn.log(x), ttnn.relu(nan), ttnn.exp(nan), zero / zero):
        assert ttnn.to_numpy(result).item() == np.inf
    for name, value in {"sigmoid": 1, "tanh": 1, "erf": 1, "sign": 1, "reciprocal": 0}.items():
        assert ttnn.to_numpy(getattr(ttnn, name)(nan)).item() == value
    assert ttnn.to_numpy(ttnn.isnan(nan)).item() == 1


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


A = ttnn.zeros((3, 4), **TILES)
B = ttnn.zeros((3, 5), **TILES)
INDICES = ttnn.full((2, 2), 7, ttnn.uint32, **TILES)
ARRAY = np.zeros((3, 4))

WRONG: list[tuple[Callable[[], Any], str]] = [
    # what is no tensor
    (lambda: ttnn.add(A, ARRAY), r"takes a ttnn tensor or a number as `input_tensor_b`, not a nd"),
    (lambda: A + ARRAY, "make a tensor of it first: ttl.from_numpy"),
    (lambda: ARRAY * A, "`input_tensor_a`, not a ndarray"),
    (lambda: A < ARRAY, "not a ndarray"),
    (lambda: A @ 2, r"ttnn.matmul\(\) takes a ttnn tensor as `input_tensor_b`, not 2"),
    (lambda: ttnn.exp(1.0), r"ttnn.exp\(\) takes a ttnn tensor as `input_tensor`, not 1.0"),
    (lambda: ttnn.add(1, 2), "takes a ttnn tensor as its first operand"),
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
        lambda: ttnn.zeros((2, 3, 4), **TILES) @ ttnn.zeros((3, 4, 3), **TILES),
        "the leading sizes do not broadcast",
    ),
    (
        lambda: ttnn.matmul(A, ttnn.zeros((), **TILES)),
        "a matrix product of a single number",
    ),
    (
        lambda: ttnn.matmul(A, ttnn.zeros((4,), **TILES), transpose_b=True),
        "no rows and columns to exchange",
    ),
    (lambda: ttnn.linear(A, A, bias=B, transpose_b=True), r"a bias of shape \(3, 5\) cannot be ad"),
    (lambda: ttnn.add(A, A, output_tensor=B), r"has shape \(3, 4\), output_tensor \(3, 5\)"),
    (lambda: ttnn.concat([A, B], dim=0), r"of shapes \(3, 4\), \(3, 5\)"),
    (lambda: ttnn.stack([A, B], 0), "all sizes must be equal"),
    (lambda: ttnn.reshape(A, (5, -1)), r"the 12 elements .* do not make one of shape \(5, -1\)"),
    (lambda: A.reshape((2, 5)), r"do not make one of shape \(2, 5\)"),
    (lambda: A.reshape(2, 6), "takes one shape or four sizes"),
    (lambda: ttnn.reshape(A, (-1, -1)), "do not make one"),
    (lambda: ttnn.expand(A, (3, 8)), r"cannot grow to \(3, 8\)"),
    (lambda: ttnn.expand(A, (4,)), r"cannot grow to \(4,\)"),
    (lambda: ttnn.layer_norm(A, weight=B), "weight has shape"),
    (lambda: ttnn.layer_norm(A, residual_input_tensor=B), "with a residual of shape"),
    (lambda: ttnn.rms_norm(ttnn.zeros((), **TILES)), "a tensor without rows"),
    (lambda: ttnn.split(A, [1, 2], dim=1), r"parts of sizes \[1, 2\] do not make dimension 1"),
    (
        lambda: ttnn.max(ttnn.zeros((0, 4), **TILES), dim=0),
        "no largest or smallest among the 0 elements",
    ),
    (lambda: ttnn.tril(ttnn.zeros((4,), **TILES)), "it has no rows and columns"),
    (
        lambda: ttnn.unsqueeze_to_4D(ttnn.zeros((1,) * 5, **TILES)),
        "more than four dimensions",
    ),
    # dimensions and other parameters
    (lambda: ttnn.softmax(A, dim=2), "dim=2: a tensor of 2 dimensions has no such dimension"),
    (lambda: ttnn.sum(A, dim=(0, -2)), "one is named twice"),
    (lambda: ttnn.sum(A, dim=1.0), r"takes an int or a list of ints as `dim`, not 1.0"),
    (lambda: ttnn.argmax(A, dim=(0, 1)), "takes an int as `dim`"),
    (lambda: ttnn.embedding(X, A), "ttnn.embedding.. with indices of"),
    (
        lambda: ttnn.embedding(INDICES, ttnn.zeros((4,), **TILES)),
        r"a weight of shape \(4,\)",
    ),
    (lambda: ttnn.embedding(INDICES, A), "index 7 of the 3 rows of the weight"),
    (lambda: ttnn.permute(A, (0,)), "has 2 dimensions"),
    (lambda: ttnn.permute(A, (0, 0)), "one is named twice"),
    (lambda: ttnn.transpose(A, 0, 5), "has no such dimension"),
    (lambda: ttnn.repeat(A, (2, -1)), r"repeat_dims=\(2, -1\)"),
    (lambda: ttnn.repeat_interleave(A, -1, 0), "repeats=-1"),
    (lambda: ttnn.pad(A, ((0, -1), (0, 0)), 0.0), "padding="),
    (lambda: ttnn.pad(A, 3, 0.0), "padding=3"),
    (lambda: ttnn.pad(A, ((1, 0), (0, 0)), 0.0), "in front of a tensor in tiles"),
    (lambda: ttnn.pad(A, (4, 4), (0,), 0.0), "a size and a start for each dimension"),
    (lambda: ttnn.split(A, 0), "split_size=0"),
    (lambda: ttnn.chunk(A, 0, 0), "chunks=0"),
    (lambda: ttnn.slice(A, (0, 0), (3, 9)), r"slice_end=\(3, 9\)"),
    (lambda: ttnn.tilize(ROWS), "no whole tiles"),
    (lambda: ttnn.argmax(A), "among all elements of a tensor in tiles"),
    (lambda: ttnn.concat([A, X]), r"ttnn.concat\(\) of bfloat16, float32"),
    # where tensors lie
    (lambda: ttnn.from_device(A) + 1, r"ttnn.add\(\) of a tensor in the memory of the host"),
    (lambda: ttnn.exp(ttnn.zeros((3, 4))), "make it with device="),
    (lambda: ttnn.softmax(ROWS), "make it with layout=ttnn.TILE_LAYOUT"),
    (lambda: ttnn.matmul(A, ROWS), "`input_tensor_b` is a tensor in rows"),
    (lambda: ttnn.slice(A, (0,), (1,)), "give a start and an end for each dimension"),
    (lambda: ttnn.clamp(A), "needs `min` or `max`"),
    (lambda: ttnn.div(A, A, rounding_mode="up"), "rounding_mode='up'"),
    (lambda: ttnn.softplus(A, beta=0), "beta=0"),
    (lambda: ttnn.celu(A, alpha=0), "alpha=0"),
    (lambda: ttnn.leaky_relu(A, "steep"), "takes a number as `negative_slope`, not 'steep'"),
    (lambda: ttnn.linear(A, A, transpose_b=True, activation="rellu"), "no activation 'rellu'"),
    (lambda: ttnn.add(A, A, activations="relu"), "takes a list such as"),
    (
        lambda: ttnn.add(A, A, dtype="bf16"),
        "takes an element type such as ttnn.bfloat16 as `dtype`",
    ),
    (lambda: ttnn.add(A, A, memory_config="l1"), "memory_config='l1': not a memory config"),
    (lambda: ttnn.sum(A, keepdim="no"), "takes True or False as `keepdim`, not 'no'"),
    (lambda: ttnn.add(A, A, colour=1), "has no argument `colour`"),
    (lambda: ttnn.add(A), "missing a required argument: 'input_tensor_b'"),
    (lambda: ttnn.add_(A), "missing a required argument: 'input_tensor_b'"),
    (lambda: ttnn.add_(1, A), "takes a ttnn tensor as"),
    (lambda: ttnn.exp(A, A, A), "too many positional arguments"),
    # indices
    (lambda: A[3], "index 3 of dimension 0, which has 3 elements"),
    (lambda: A[..., 4], "index 4 of dimension 1"),
    (lambda: A[0, 0, 0], "3 indices for a tensor of 2 dimensions"),
    (lambda: A[..., ...], "2 indices for a tensor of 2 dimensions"),
    (lambda: A[::-1], "the step of a slice of a tensor is 1 or more"),
    (lambda: A[None], "is neither an index nor a slice"),
    (lambda: A[0.5], "0.5 is neither an index nor a slice"),
    # element types
    (lambda: ttnn.exp(INTEGERS), "numbers with fractions, which int32 cannot hold"),
    (lambda: ttnn.sqrt(INTEGERS), "dtype=ttnn.float32"),
    (lambda: INTEGERS + 0.5, "and a number with a fraction"),
    (lambda: INTEGERS + X, r"ttnn.add\(\) of float32 and int32"),
    (lambda: INTEGERS @ INTEGERS, "a matrix product of integers"),
    (lambda: ttnn.floor_div(INTEGERS, 0), "an integer // 0 has no value"),
    (lambda: ttnn.fmod(INTEGERS, 0), "an integer divided by 0"),
    (lambda: ttnn.pow(INTEGERS, -1), "an integer to a negative power"),
    (lambda: INTEGERS + 2**70, "is too large"),
    (lambda: A * 10**400, "is too large"),
    (lambda: ttnn.add(ROWS, 1, dtype=ttnn.bfloat8_b), "bfloat8_b exists only in tiles"),
    # what tensors of the real ttnn do not have
    (lambda: -A, r"write ttnn.neg\(a\)"),
    (lambda: abs(A), r"write ttnn.abs\(a\)"),
    (lambda: A**2, r"write ttnn.pow\(a, b\)"),
    (lambda: 2**A, r"write ttnn.pow\(a, b\)"),
    (lambda: A // 2, r"write ttnn.floor_div\(a, b\)"),
    (lambda: A % 2, r"write ttnn.remainder\(a, b\)"),
    (lambda: A == None, "not None"),  # noqa: E711
    (lambda: ttnn.maximum(1.0, A), "takes a ttnn tensor as its first operand"),
    (lambda: ttnn.exp(A, dtype=ttnn.float32), "has no argument `dtype`"),
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
        doubled(ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT, device=device))


def test_bitcast_reads_the_same_bits() -> None:
    numbers = np.array([[1.0, -2.5], [0.0, np.inf]], np.float32)
    source = ttnn.from_numpy(numbers, **TILES)
    bits = ttnn.bitcast(source, ttnn.uint32)
    assert (ttnn.to_numpy(bits) == numbers.view(np.uint32)).all()
    assert (ttnn.to_numpy(ttnn.bitcast(bits, ttnn.float32)) == numbers).all()
    with pytest.raises(ttl.UsageError, match="differ in size"):
        ttnn.bitcast(source, ttnn.bfloat16)


def test_rotary_embedding_turns_rows() -> None:
    generator = np.random.default_rng(0)
    shapes = ((1, 2, 32, 64), (1, 1, 32, 64), (1, 1, 32, 64))
    x, cosine, sine = (generator.standard_normal(shape).astype(np.float32) for shape in shapes)
    tensors = [ttnn.from_numpy(a, **TILES) for a in (x, cosine, sine)]
    turned = np.concatenate((-x[..., 32:], x[..., :32]), -1)
    found = ttnn.to_numpy(ttnn.experimental.rotary_embedding(*tensors))
    np.testing.assert_allclose(found, x * cosine + turned * sine, rtol=1e-6, atol=1e-6)
    one = ttnn.to_numpy(ttnn.experimental.rotary_embedding(*tensors, 3))
    wanted = x * cosine[:, :, 3:4] + turned * sine[:, :, 3:4]
    np.testing.assert_allclose(one, wanted, rtol=1e-6, atol=1e-6)
    with pytest.raises(ttl.UsageError, match="multiple of 64"):
        ttnn.experimental.rotary_embedding(tensors[0], *(tensors[0],) * 2)
