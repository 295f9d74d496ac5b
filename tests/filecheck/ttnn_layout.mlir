// RUN: ttl opt %s -p ttnn-layout | filecheck %s

!t = tensor<64x32xbf16>
#sharded = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<l1>>, <height_sharded>>

// Arguments and results are rows of the caller; what kernels and calls work on is in tiles.
func.func @main(%a: !t, %out: !t, %unused: !t) -> !t {
  %0 = ttir.add(%a, %a) : (!t, !t) -> !t
  %1 = ttir.tt_lang_op(%a, %0, %out) {arg_roles = "in,in,out", kernel_id = "k", version_tag = "t"} : (!t, !t, !t) -> !t
  return %1 : !t
}

// CHECK: func.func @main(%a: tensor<64x32xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x32xbf16, #ttnn.buffer_type<dram>>, <interleaved>>>
// CHECK-SAME: -> tensor<64x32xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x32xbf16, #ttnn.buffer_type<dram>>, <interleaved>>>
// CHECK-NEXT: [[A:%.*]] = ttir.to_layout(%a) : {{.*}} -> tensor<64x32xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>
// CHECK-NEXT: [[OUT:%.*]] = ttir.to_layout(%out) :
// CHECK-NEXT: [[S:%.*]] = ttir.add([[A]], [[A]]) : {{.*}} -> tensor<64x32xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>
// CHECK-NEXT: [[K:%.*]] = ttir.tt_lang_op([[A]], [[S]], [[OUT]]) {{.*}} -> tensor<64x32xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>
// CHECK-NEXT: [[R:%.*]] = ttir.to_layout([[K]]) : {{.*}} -> tensor<64x32xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x32xbf16, #ttnn.buffer_type<dram>>, <interleaved>>>
// CHECK-NEXT: func.return [[R]]

// An argument that has its place keeps it, and so does the result that is written to it.
func.func @shards(%a: tensor<64x32xbf16, #sharded>, %out: tensor<64x32xbf16, #sharded>) -> tensor<64x32xbf16, #sharded> {
  %0 = ttir.tt_lang_op(%a, %out) {arg_roles = "in,out", kernel_id = "k", version_tag = "t"} : (tensor<64x32xbf16, #sharded>, tensor<64x32xbf16, #sharded>) -> tensor<64x32xbf16, #sharded>
  return %0 : tensor<64x32xbf16, #sharded>
}

// CHECK-LABEL: func.func @shards
// CHECK-NEXT: ttir.tt_lang_op(%a, %out) {{.*}} -> tensor<64x32xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<l1>>, <height_sharded>>>

// There are no 64 bits and no booleans on the chip.
func.func @types(%a: tensor<2x40x8xi64>, %b: tensor<f64>) -> tensor<2x40x8xi1> {
  %0 = ttir.ne(%a, %a) : (tensor<2x40x8xi64>, tensor<2x40x8xi64>) -> tensor<2x40x8xi1>
  return %0 : tensor<2x40x8xi1>
}

// CHECK-LABEL: func.func @types
// CHECK-SAME: %a: tensor<2x40x8xi32, #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 40 + d1, d2), <1x1>, memref<80x8xi32,
// CHECK-SAME: %b: tensor<f32, #ttnn.ttnn_layout<() -> (0, 0), <1x1>, memref<1x1xf32,
// CHECK: ttir.ne({{.*}} -> tensor<2x40x8xbf16, #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>,

// What is only handed through stays where it is.
func.func @through(%a: !t) -> !t {
  return %a : !t
}

// CHECK-LABEL: func.func @through
// CHECK-NEXT: func.return %a
