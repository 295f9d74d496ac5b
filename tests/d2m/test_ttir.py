"""Path 3 of the guide: a ttir graph through ttir-to-d2m runs."""

import numpy as np
import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from op_samples import coarse
from ttgraph.d2m_graph import run_ttir
from ttgraph.dialects import make_context
from ttgraph.passes import find_pass, run_passes
from ttl.cli import main
from ttl.diagnostics import CompileError
from ttl.dialects import print_module
from ttl.dialects.reading import parse_module
from ttl.semantics.dtypes import TF32_STEP
from ttl.semantics.ops.matmul import LOST_DIGITS

GRAPH = """
func.func @main(%a: tensor<64x96xf32>, %b: tensor<64x96xf32>, %w: tensor<96x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x1xf32>, tensor<1x96xf32>) {
  %0 = ttir.add(%a, %b) : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  %1 = ttir.multiply(%0, %b) : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  %2 = ttir.exp(%1) : (tensor<64x96xf32>) -> tensor<64x96xf32>
  %3 = ttir.matmul(%2, %w) : (tensor<64x96xf32>, tensor<96x64xf32>) -> tensor<64x64xf32>
  %4 = ttir.sum(%2) {dim_arg = array<i64: 1>, keep_dim = true} : (tensor<64x96xf32>) -> tensor<64x1xf32>
  %5 = ttir.max(%2) {dim_arg = array<i64: 0>, keep_dim = true} : (tensor<64x96xf32>) -> tensor<1x96xf32>
  func.return %3, %4, %5 : tensor<64x64xf32>, tensor<64x1xf32>, tensor<1x96xf32>
}
"""  # noqa: E501


def parse(text):
    return Parser(make_context(), text).parse_module()


def test_graph_runs():
    rng = np.random.default_rng(3)
    a, b = (rng.uniform(0, 1, (64, 96)).astype(np.float32) for _ in range(2))
    w = rng.uniform(0, 1, (96, 64)).astype(np.float32)
    found = run_ttir(parse(GRAPH), [a, b, w])
    e = np.exp((a + b) * b)
    wanted = (e @ w, e.sum(1, keepdims=True), e.max(0, keepdims=True))
    for result, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(result, expected, rtol=LOST_DIGITS * TF32_STEP)


def type_of(shape):
    return f"tensor<{''.join(f'{size}x' for size in shape)}f32>"


def one(call, attributes, shapes):
    """A graph of one operation."""
    *inputs, result = (type_of(shape) for shape in shapes)
    names = [f"%x{n}" for n in range(len(inputs))]
    arguments = ", ".join(f"{name}: {type}" for name, type in zip(names, inputs, strict=True))
    return f"""
    func.func @main({arguments}) -> {result} {{
      %y = ttir.{call}({", ".join(names)}) {attributes} : ({", ".join(inputs)}) -> {result}
      func.return %y : {result}
    }}"""


def reduced(dims, keep):
    return f"{{dim_arg = array<i64: {', '.join(map(str, dims))}>, keep_dim = {str(keep).lower()}}}"


GRAPHS = [
    # dimensions beyond two, one dimension, padding
    ("add", "", [(2, 40, 33), (2, 40, 33), (2, 40, 33)], np.add),
    ("exp", "", [(50,), (50,)], np.exp),
    # repeated operands
    ("add", "", [(64, 96), (1, 96), (64, 96)], np.add),
    ("subtract", "", [(64, 1), (64, 96), (64, 96)], np.subtract),
    ("multiply", "", [(3, 64, 40), (40,), (3, 64, 40)], np.multiply),
    ("add", "", [(64, 1), (1, 96), (64, 96)], np.add),
    # reductions
    ("sum", reduced([1], False), [(64, 50), (64,)], lambda x: x.sum(1)),
    ("sum", reduced([0, 1], True), [(64, 96), (1, 1)], lambda x: x.sum(keepdims=True)),
    ("max", reduced([0], False), [(64, 50), (50,)], lambda x: x.max(0)),
    ("sum", reduced([2], False), [(2, 32, 96), (2, 32)], lambda x: x.sum(2)),
    # along other dimensions, or along some that are not whole tiles
    ("sum", reduced([1], False), [(2, 64, 40), (2, 40)], lambda x: x.sum(1)),
    ("max", reduced([0, 2], True), [(3, 20, 32), (1, 20, 1)], lambda x: x.max((0, 2), keepdims=1)),
    ("max", reduced([1], True), [(40, 50), (40, 1)], lambda x: x.max(1, keepdims=1)),
    ("min", reduced([0], False), [(50, 64), (64,)], lambda x: x.min(0)),
    ("sum", reduced([0, 1, 2], False), [(2, 3, 40), ()], lambda x: x.sum()),
    # repeated along some of the leading dimensions
    ("add", "", [(2, 40, 64), (40, 64), (2, 40, 64)], np.add),
    ("multiply", "", [(2, 1, 64), (2, 40, 1), (2, 40, 64)], np.multiply),
    ("logical_not", "", [(64, 32), (64, 32)], lambda x: (x == 0).astype(np.float32)),
    # only moved
    ("permute", "{permutation = array<i64: 1, 0>}", [(40, 64), (64, 40)], np.transpose),
    # products: not square, batches, one matrix for all of them
    ("matmul", "", [(32, 160), (160, 96), (32, 96)], np.matmul),
    ("matmul", "", [(3, 40, 64), (3, 64, 32), (3, 40, 32)], np.matmul),
    ("matmul", "", [(2, 64, 64), (64, 32), (2, 64, 32)], np.matmul),
    ("matmul", "", [(64, 64), (2, 64, 32), (2, 64, 32)], np.matmul),
    ("matmul", "", [(2, 1, 32, 64), (3, 64, 32), (2, 3, 32, 32)], np.matmul),
    ("matmul", "", [(10, 32, 32), (10, 32, 32), (10, 32, 32)], np.matmul),
    ("matmul", "", [(10, 32, 32), (32, 32), (10, 32, 32)], np.matmul),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("call", "attributes", "shapes", "meaning"), GRAPHS)
def test_shapes(call, attributes, shapes, meaning):
    rng = np.random.default_rng(4)
    sign = -1 if call == "max" else 1  # what tensors are padded with must not win
    # With as many digits as the matrix unit has.
    arrays = [sign * coarse(rng.uniform(1, 2, s)) for s in shapes[:-1]]
    if call == "logical_not":
        arrays[0][::2] = 0
    (found,) = run_ttir(parse(one(call, attributes, shapes)), arrays)
    np.testing.assert_allclose(found, meaning(*arrays), rtol=1e-5)


def test_padding_is_zero_between_operations():
    """exp(0) is 1 in what its result is padded with, which no sum may add."""
    text = """
    func.func @main(%x: tensor<32x40xf32>) -> tensor<32x1xf32> {
      %0 = ttir.exp(%x) : (tensor<32x40xf32>) -> tensor<32x40xf32>
      %1 = ttir.sum(%0) {dim_arg = array<i64: 1>, keep_dim = true} : (tensor<32x40xf32>) -> tensor<32x1xf32>
      func.return %1 : tensor<32x1xf32>
    }"""  # noqa: E501
    (found,) = run_ttir(parse(text), [np.zeros((32, 40), np.float32)])
    assert (found == 40).all()


def test_graph_as_threads():
    module = parse(GRAPH)
    find_pass("ttir-to-d2m")().apply(make_context(), module)
    module.verify()
    text = print_module(module)
    assert "ttir." not in text
    assert "d2m.call @add_0(%a, %b, %" in text
    assert text.count("d2m.generic") == 6
    assert text.count("grid = #ttcore.grid<1x1>") == 6
    run_passes([find_pass("d2m-grid-selection")()], make_context(), module)
    module.verify()
    text = print_module(module)
    assert "grid = #ttcore.grid<2x3>" in text  # of the sum
    assert print_module(parse(text)) == text


def test_graph_through_ttl_opt(tmp_path, capsys):
    """Each program by itself, down to its commands and its C++."""
    file = tmp_path / "test.mlir"
    file.write_text(GRAPH)
    assert main(["opt", str(file), "-p", "ttir-to-ttmetal-frontend"]) == 0
    assert "d2m.tilize(%in0" in capsys.readouterr().out
    assert main(["opt", str(file), "-p", "ttir-to-ttmetal-backend"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("builtin.module @host") == 6
    for part in ("add_binary_tile", "matmul_tiles", "reduce_tile", "ttmetal.enqueue_program"):
        assert part in shown
    assert print_module(parse_module(shown, "test.mlir", make_context())) == shown


REFUSED = {
    "ttir.erfc(%a) : (tensor<64x96xf32>) -> tensor<64x96xf32>": "no tile operation",
    "ttir.prod(%a) {dim_arg = array<i64: 1>, keep_dim = true} : (tensor<64x96xf32>) -> "
    "tensor<64x1xf32>": "no tile operation",
}


@pytest.mark.parametrize("operation", REFUSED)
def test_what_is_refused(operation):
    text = f"""
    func.func @main(%a: tensor<64x96xf32>, %b: tensor<1x96xf32>, %c: tensor<2x64x96xf32>,
                    %d: tensor<64x96xf32>) {{
      %0 = {operation}
      func.return
    }}"""
    with pytest.raises(CompileError, match=REFUSED[operation]):
        find_pass("ttir-to-d2m")().apply(make_context(), parse(text))


GENERIC = """
func.func @main(%0: tensor<32x64xf32>) -> tensor<32xf32> {
  %1 = "ttir.matmul"(%0, %0) <{transpose_a = true, transpose_b = false}>
    : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %2 = "ttir.max"(%0) <{dim_arg = [1 : i32], keep_dim = false}>
    : (tensor<32x64xf32>) -> tensor<32xf32>
  func.return %2 : tensor<32xf32>
}
"""


def test_generic_text_with_properties():
    x = coarse(np.random.default_rng(4).uniform(0, 1, (32, 64)))
    lines = GENERIC.splitlines()
    (found,) = run_ttir(parse("\n".join([*lines[:2], *lines[4:]])), [x])
    np.testing.assert_array_equal(found, x.max(1))


def test_properties_that_would_change_the_result_are_refused():
    with pytest.raises(VerifyException, match="`transpose_a = true` is not supported"):
        parse(GENERIC).verify()


def test_passes_that_leave_a_graph_to_the_host_are_timed(tmp_path, capsys):
    file = tmp_path / "graph.mlir"
    file.write_text(one("permute", "{permutation = array<i64: 1, 0>}", [(32, 64), (64, 32)]))
    assert main(["opt", str(file), "-p", "ttir-to-ttmetal-backend", "--time-passes"]) == 0
    times = [float(line.split()[0]) for line in capsys.readouterr().err.splitlines()]
    assert len(times) > 20 and max(times) < 60_000
