// RUN: ttl opt %s -p ttir-fuse-normalization | filecheck %s

!rows = tensor<2x4x8xf32>
!one = tensor<2x4x1xf32>

func.func @rms(%x: !rows, %w: tensor<8xf32>) -> (!rows, !one) {
  %eight = ttir.full() {fill_value = 8.0 : f64, shape = []} : () -> tensor<f32>
  %small = ttir.full() {fill_value = 1.0e-06 : f64, shape = []} : () -> tensor<f32>
  %0 = ttir.multiply(%x, %x) : (!rows, !rows) -> !rows
  %1 = ttir.sum(%0) {dim_arg = array<i64: 2>, keep_dim = true} : (!rows) -> !one
  %2 = ttir.div(%1, %eight) : (!one, tensor<f32>) -> !one
  %3 = ttir.add(%2, %small) : (!one, tensor<f32>) -> !one
  %4 = ttir.rsqrt(%3) : (!one) -> !one
  %5 = ttir.multiply(%x, %4) : (!rows, !one) -> !rows
  %6 = ttir.multiply(%w, %5) : (tensor<8xf32>, !rows) -> !rows
  return %6, %2 : !rows, !one
}

// CHECK: func.func @rms
// CHECK: [[N:%.*]] = ttir.rms_norm(%x, %w) {epsilon = 1.000000e-06 : f64}
// CHECK: func.return [[N]],

// The rows are widened, and what is multiplied with the weight is rounded: one operation, one type.
func.func @bfloat16(%x: tensor<4x8xbf16>, %w: tensor<8xbf16>) -> tensor<4x8xbf16> {
  %part = ttir.full() {fill_value = 0.125 : f64, shape = []} : () -> tensor<f32>
  %small = ttir.full() {fill_value = 1.0e-05 : f64, shape = []} : () -> tensor<f32>
  %two = ttir.full() {fill_value = 2.0 : f64, shape = []} : () -> tensor<f32>
  %wide = ttir.typecast(%x) : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %0 = ttir.pow(%wide, %two) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = ttir.sum(%0) {dim_arg = array<i64: 1>, keep_dim = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = ttir.multiply(%1, %part) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %3 = ttir.add(%2, %small) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %4 = ttir.rsqrt(%3) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = ttir.multiply(%wide, %4) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %6 = ttir.typecast(%5) : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  %7 = ttir.multiply(%w, %6) : (tensor<8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %7 : tensor<4x8xbf16>
}

// CHECK:      func.func @bfloat16
// CHECK-NEXT: ttir.rms_norm(%x, %w) {epsilon = 1.000000e-05 : f64} : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
// CHECK-NEXT: func.return

func.func @layer(%x: !rows, %w: tensor<8xf32>, %b: tensor<8xf32>) -> !rows {
  %eight = ttir.full() {fill_value = 8.0 : f64, shape = []} : () -> tensor<f32>
  %small = ttir.full() {fill_value = 1.0e-05 : f64, shape = []} : () -> tensor<f32>
  %0 = ttir.sum(%x) {dim_arg = array<i64: 2>, keep_dim = true} : (!rows) -> !one
  %1 = ttir.div(%0, %eight) : (!one, tensor<f32>) -> !one
  %2 = ttir.subtract(%x, %1) : (!rows, !one) -> !rows
  %3 = ttir.multiply(%2, %2) : (!rows, !rows) -> !rows
  %4 = ttir.sum(%3) {dim_arg = array<i64: 2>, keep_dim = true} : (!rows) -> !one
  %5 = ttir.div(%4, %eight) : (!one, tensor<f32>) -> !one
  %6 = ttir.add(%5, %small) : (!one, tensor<f32>) -> !one
  %7 = ttir.rsqrt(%6) : (!one) -> !one
  %8 = ttir.multiply(%2, %7) : (!rows, !one) -> !rows
  %9 = ttir.multiply(%8, %w) : (!rows, tensor<8xf32>) -> !rows
  %10 = ttir.add(%9, %b) : (!rows, tensor<8xf32>) -> !rows
  return %10 : !rows
}

// CHECK:      func.func @layer
// CHECK-NEXT: ttir.layer_norm(%x, %w, %b) {epsilon = 1.000000e-05 : f64}
// CHECK-NEXT: func.return

// Along another dimension it is no normalization of rows.
func.func @columns(%x: tensor<8x8xf32>, %w: tensor<8xf32>) -> tensor<8x8xf32> {
  %eight = ttir.full() {fill_value = 8.0 : f64, shape = []} : () -> tensor<f32>
  %0 = ttir.multiply(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = ttir.sum(%0) {dim_arg = array<i64: 0>, keep_dim = true} : (tensor<8x8xf32>) -> tensor<1x8xf32>
  %2 = ttir.div(%1, %eight) : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %3 = ttir.add(%2, %eight) : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %4 = ttir.rsqrt(%3) : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %5 = ttir.multiply(%x, %4) : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  %6 = ttir.multiply(%5, %w) : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  return %6 : tensor<8x8xf32>
}

// CHECK:     func.func @columns
// CHECK-NOT: norm
// CHECK:     func.return
