"""Path 3 of the guide: a ttir graph through ttir-to-d2m runs."""

import numpy as np
import pytest
from xdsl.parser import Parser

from ttl.diagnostics import CompileError
from ttl.dialects import make_context, print_module
from ttl.integrations.d2m_graph import run_ttir
from ttl.passes import find_pass

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
        np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_graph_as_threads():
    module = parse(GRAPH)
    find_pass("ttir-to-d2m")().apply(make_context(), module)
    module.verify()
    text = print_module(module)
    assert "ttir." not in text
    assert "func.call @add_0(%a, %b, %" in text
    assert text.count("d2m.generic") == 6
    assert "grid = #ttcore.grid<2x3>" in text  # of the sum
    assert print_module(parse(text)) == text


REFUSED = {
    "ttir.erf(%a) : (tensor<64x96xf32>) -> tensor<64x96xf32>": "no tile operation",
    "ttir.sum(%a) {dim_arg = array<i64: 1>, keep_dim = false} : (tensor<64x96xf32>) -> "
    "tensor<64xf32>": "two dimensions",
    "ttir.add(%a, %b) : (tensor<64x96xf32>, tensor<1x96xf32>) -> tensor<64x96xf32>": "different",
}


@pytest.mark.parametrize("operation", REFUSED)
def test_what_is_refused(operation):
    text = f"""
    func.func @main(%a: tensor<64x96xf32>, %b: tensor<1x96xf32>) {{
      %0 = {operation}
      func.return
    }}"""
    with pytest.raises(CompileError, match=REFUSED[operation]):
        find_pass("ttir-to-d2m")().apply(make_context(), parse(text))
