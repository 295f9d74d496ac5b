// RUN: ttl opt %s -p 'ttnn-resolve-tt-lang-kernels{mesh-shape="1,2" python-module=graph_resolver python-function=describe}' | filecheck %s

!t = tensor<64x32xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>
!u = tensor<32xf32>

func.func @main(%a: !t, %u: !u, %out: !t) -> (!t, !t, !t) {
  %0 = ttnn.tt_lang_op(%a, %u, %out) {arg_roles = "in,in,out", kernel_id = "k", shard_spec = "s", version_tag = "t"} : (!t, !u, !t) -> !t
  %1 = ttnn.tt_lang_op(%a, %out) {arg_roles = "in,out", kernel_id = "l", version_tag = "t", kernel_artifact = ""} : (!t, !t) -> !t
  %2 = ttnn.tt_lang_op(%a, %out) {arg_roles = "in,out", kernel_artifact = "prebaked-artifact", kernel_id = "m", version_tag = "t"} : (!t, !t) -> !t
  return %0, %1, %2 : !t, !t, !t
}

// The resolver gave back what it was asked with.
// CHECK: kernel_artifact = "{\22arg_roles\22: \22in,in,out\22, \22dtypes\22: [\22bf16\22, \22f32\22, \22bf16\22], \22layouts\22: [\22#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>\22, \22\22,
// CHECK-SAME: \22mesh_shape\22: [1, 2], \22operation_id\22: \22k\22, \22shapes\22: {{\[\[}}64, 32], [32], [64, 32]{{\]}}, \22shard_spec\22: \22s\22, \22version_tag\22: \22t\22}"
// CHECK: kernel_artifact = "{\22arg_roles\22: \22in,out\22,
// CHECK-NOT: shard_spec
// CHECK: kernel_id = "l"
// CHECK: kernel_artifact = "prebaked-artifact", kernel_id = "m"
