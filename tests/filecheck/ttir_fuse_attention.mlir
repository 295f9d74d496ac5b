// RUN: ttl opt %s -p ttir-fuse-attention | filecheck %s

!q = tensor<1x4x8x16xf32>
!k = tensor<1x2x8x16xf32>
!t = tensor<1x4x16x8xf32>
!p = tensor<1x4x8x8xf32>

// Keys and values of two heads, repeated for four; a mask that depends on nothing and is causal.
func.func @causal(%q: !q, %k: !k, %v: !k) -> !q {
  %scale = ttir.full() {fill_value = 0.5 : f64, shape = []} : () -> tensor<f32>
  %zero = ttir.full() {fill_value = 0.0 : f64, shape = []} : () -> tensor<f32>
  %below = ttir.full() {fill_value = 0xFFF0000000000000 : f64, shape = []} : () -> tensor<f32>
  %0 = ttir.reshape(%k) {shape = array<i64: 1, 2, 1, 8, 16>} : (!k) -> tensor<1x2x1x8x16xf32>
  %1 = ttir.broadcast(%0) {shape = array<i64: 1, 2, 2, 8, 16>} : (tensor<1x2x1x8x16xf32>) -> tensor<1x2x2x8x16xf32>
  %2 = ttir.reshape(%1) {shape = array<i64: 1, 4, 8, 16>} : (tensor<1x2x2x8x16xf32>) -> !q
  %3 = ttir.reshape(%v) {shape = array<i64: 1, 2, 1, 8, 16>} : (!k) -> tensor<1x2x1x8x16xf32>
  %4 = ttir.broadcast(%3) {shape = array<i64: 1, 2, 2, 8, 16>} : (tensor<1x2x1x8x16xf32>) -> tensor<1x2x2x8x16xf32>
  %5 = ttir.reshape(%4) {shape = array<i64: 1, 4, 8, 16>} : (tensor<1x2x2x8x16xf32>) -> !q
  %6 = ttir.multiply(%q, %scale) : (!q, tensor<f32>) -> !q
  %7 = ttir.permute(%2) {permutation = array<i64: 0, 1, 3, 2>} : (!q) -> !t
  %8 = ttir.multiply(%7, %scale) : (!t, tensor<f32>) -> !t
  %9 = ttir.matmul(%6, %8) : (!q, !t) -> !p
  %i = ttir.arange() {dim = 0 : i64, shape = array<i64: 8, 1>} : () -> tensor<8x1xi32>
  %j = ttir.arange() {dim = 0 : i64, shape = array<i64: 8>} : () -> tensor<8xi32>
  %seen = ttir.ge(%i, %j) : (tensor<8x1xi32>, tensor<8xi32>) -> tensor<8x8xi1>
  %mask = ttir.where(%seen, %zero, %below) : (tensor<8x8xi1>, tensor<f32>, tensor<f32>) -> tensor<8x8xf32>
  %10 = ttir.add(%9, %mask) : (!p, tensor<8x8xf32>) -> !p
  %11 = ttir.softmax(%10) {dim = 3 : i64} : (!p) -> !p
  %12 = ttir.matmul(%11, %5) : (!p, !q) -> !q
  return %12 : !q
}

// CHECK:      func.func @causal
// CHECK-NEXT: ttir.scaled_dot_product_attention(%q, %k, %v) {is_causal = true, scale = 2.500000e-01 : f64}
// CHECK-NEXT: func.return

// What is given as a mask stays one.
func.func @masked(%q: !q, %k: !q, %v: !q, %mask: tensor<1x1x8x8xf32>) -> !q {
  %scale = ttir.full() {fill_value = 0.25 : f64, shape = []} : () -> tensor<f32>
  %0 = ttir.permute(%k) {permutation = array<i64: 0, 1, 3, 2>} : (!q) -> !t
  %1 = ttir.matmul(%q, %0) : (!q, !t) -> !p
  %2 = ttir.multiply(%1, %scale) : (!p, tensor<f32>) -> !p
  %3 = ttir.add(%2, %mask) : (!p, tensor<1x1x8x8xf32>) -> !p
  %4 = ttir.softmax(%3) {dim = 3 : i64} : (!p) -> !p
  %5 = ttir.matmul(%4, %v) : (!p, !q) -> !q
  return %5 : !q
}

// CHECK:      func.func @masked
// CHECK-NEXT: ttir.scaled_dot_product_attention(%q, %k, %v, %mask) {is_causal = false, scale = 2.500000e-01 : f64}
// CHECK-NEXT: func.return

// Rows that such a mask may hide altogether are 0: that is no operation of the chip.
func.func @guarded(%q: !q, %k: !q, %v: !q, %mask: tensor<1x1x8x8xf32>) -> !q {
  %zero = ttir.full() {fill_value = 0.0 : f64, shape = []} : () -> tensor<f32>
  %below = ttir.full() {fill_value = 0xFFF0000000000000 : f64, shape = []} : () -> tensor<f32>
  %0 = ttir.permute(%k) {permutation = array<i64: 0, 1, 3, 2>} : (!q) -> !t
  %1 = ttir.matmul(%q, %0) : (!q, !t) -> !p
  %2 = ttir.add(%1, %mask) : (!p, tensor<1x1x8x8xf32>) -> !p
  %3 = ttir.softmax(%2) {dim = 3 : i64} : (!p) -> !p
  %4 = ttir.gt(%2, %below) : (!p, tensor<f32>) -> tensor<1x4x8x8xi1>
  %5 = ttir.max(%4) {dim_arg = array<i64: 3>, keep_dim = true} : (tensor<1x4x8x8xi1>) -> tensor<1x4x8x1xi1>
  %6 = ttir.logical_not(%5) : (tensor<1x4x8x1xi1>) -> tensor<1x4x8x1xi1>
  %7 = ttir.where(%6, %zero, %3) : (tensor<1x4x8x1xi1>, tensor<f32>, !p) -> !p
  %8 = ttir.matmul(%7, %v) : (!p, !q) -> !q
  return %8 : !q
}

// CHECK:     func.func @guarded
// CHECK-NOT: scaled_dot
// CHECK:     func.return

func.func @rotary(%x: tensor<1x2x32x64xf32>, %c: tensor<1x1x32x64xf32>, %s: tensor<1x1x32x64xf32>) -> tensor<1x2x32x64xf32> {
  %0 = ttir.multiply(%x, %c) : (tensor<1x2x32x64xf32>, tensor<1x1x32x64xf32>) -> tensor<1x2x32x64xf32>
  %1 = ttir.slice(%x) {begins = array<i64: 0, 0, 0, 0>, ends = array<i64: 1, 2, 32, 32>, step = array<i64: 1, 1, 1, 1>} : (tensor<1x2x32x64xf32>) -> tensor<1x2x32x32xf32>
  %2 = ttir.slice(%x) {begins = array<i64: 0, 0, 0, 32>, ends = array<i64: 1, 2, 32, 64>, step = array<i64: 1, 1, 1, 1>} : (tensor<1x2x32x64xf32>) -> tensor<1x2x32x32xf32>
  %3 = ttir.neg(%2) : (tensor<1x2x32x32xf32>) -> tensor<1x2x32x32xf32>
  %4 = ttir.concat(%3, %1) {dim = 3 : i64} : (tensor<1x2x32x32xf32>, tensor<1x2x32x32xf32>) -> tensor<1x2x32x64xf32>
  %5 = ttir.multiply(%4, %s) : (tensor<1x2x32x64xf32>, tensor<1x1x32x64xf32>) -> tensor<1x2x32x64xf32>
  %6 = ttir.add(%0, %5) : (tensor<1x2x32x64xf32>, tensor<1x2x32x64xf32>) -> tensor<1x2x32x64xf32>
  return %6 : tensor<1x2x32x64xf32>
}

// CHECK:      func.func @rotary
// CHECK-NEXT: ttir.rotary_embedding(%x, %c, %s)
// CHECK-NEXT: func.return
