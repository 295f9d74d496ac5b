"""StableHLO modules of the tests, and the flatbuffers they become."""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from ttgraph.dialects import make_context
from ttgraph.flatbuffer import compile_module
from ttgraph.passes import find_pass, run_passes
from ttgraph.passes.pipelines import GRAPH

RESOLVER = "graph_resolver"

# As torch_xla writes it: operations around the kernel, whose output is not among its operands.
STITCHED = """
func.func @main(%arg0: tensor<{0}x{1}xbf16>, %arg1: tensor<{0}x{1}xbf16>, %arg2: tensor<{0}x{1}xbf16>) -> tensor<{0}x{1}xbf16> {{
  %0 = stablehlo.add %arg0, %arg1 : tensor<{0}x{1}xbf16>
  %1 = stablehlo.custom_call @tt.tt_lang_op(%0, %arg1) {{api_version = 0 : i32, backend_config = "", mhlo.frontend_attributes = {{arg_roles = "in,in,out", kernel_id = "add", shard_spec = "", version_tag = "0123456789ab"}}}} : (tensor<{0}x{1}xbf16>, tensor<{0}x{1}xbf16>) -> tensor<{0}x{1}xbf16>
  %2 = stablehlo.add %1, %arg2 : tensor<{0}x{1}xbf16>
  return %2 : tensor<{0}x{1}xbf16>
}}
"""  # noqa: E501

# The outputs are operands, and both results are used twice.
TWO_OUTPUTS = """
func.func @main(%a: tensor<96x32xf32>, %b: tensor<96x32xf32>, %out: tensor<96x32xf32>) -> (tensor<96x32xf32>, tensor<96x32xf32>, tensor<96x32xf32>) {
  %0, %1 = stablehlo.custom_call @tt.tt_lang_op(%a, %b, %out, %out) {api_version = 0 : i32, mhlo.frontend_attributes = {arg_roles = "in,in,out,out", kernel_id = "sum_and_product", shard_spec = "", version_tag = "t"}} : (tensor<96x32xf32>, tensor<96x32xf32>, tensor<96x32xf32>, tensor<96x32xf32>) -> (tensor<96x32xf32>, tensor<96x32xf32>)
  %2, %3 = stablehlo.custom_call @tt.tt_lang_op(%0, %1) {api_version = 0 : i32, mhlo.frontend_attributes = {arg_roles = "in,in,out,out", kernel_id = "sum_and_product", shard_spec = "", version_tag = "t"}} : (tensor<96x32xf32>, tensor<96x32xf32>) -> (tensor<96x32xf32>, tensor<96x32xf32>)
  %4 = stablehlo.add %2, %0 : tensor<96x32xf32>
  return %4, %3, %out : tensor<96x32xf32>, tensor<96x32xf32>, tensor<96x32xf32>
}
"""  # noqa: E501

SHARDED = """
#half = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<l1>>, <height_sharded>>
!t = tensor<64x64xbf16, #half>
func.func @main(%a: !t, %b: !t, %out: !t) -> !t {
  %0 = stablehlo.custom_call @tt.tt_lang_op(%a, %b, %out) {api_version = 0 : i32, mhlo.frontend_attributes = {arg_roles = "in,in,out", kernel_id = "add", shard_spec = "", version_tag = "t"}} : (!t, !t, !t) -> !t
  return %0 : !t
}
"""  # noqa: E501


def parsed(text: str) -> ModuleOp:
    return Parser(make_context(), text).parse_module()


def lowered(text: str, until: str) -> ModuleOp:
    """The module after the passes up to `until`, each verified."""
    module = parsed(text)
    for name in GRAPH[: GRAPH.index(until) + 1]:
        resolves = name == "ttnn-resolve-tt-lang-kernels"
        made = find_pass(name)(**({"python_module": RESOLVER} if resolves else {}))
        run_passes([made], make_context(), module)
        module.verify()
    return module


@cache
def binary(text: str) -> bytes:
    return compile_module(parsed(text), python_module=RESOLVER)


def stitched(rows: int, columns: int) -> str:
    return STITCHED.format(rows, columns)
