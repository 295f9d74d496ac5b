// RUN: ttl opt %s -p ttir-fold-shapes | filecheck %s

func.func @chains(%a: tensor<2x12xf32>) -> (tensor<4x6xf32>, tensor<2x12xf32>, tensor<2x12xf32>) {
  %0 = ttir.reshape(%a) {shape = array<i64: 2, 3, 4>} : (tensor<2x12xf32>) -> tensor<2x3x4xf32>
  %1 = ttir.reshape(%0) {shape = array<i64: 4, 6>} : (tensor<2x3x4xf32>) -> tensor<4x6xf32>
  %2 = ttir.reshape(%0) {shape = array<i64: 2, 12>} : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  %3 = ttir.permute(%a) {permutation = array<i64: 1, 0>} : (tensor<2x12xf32>) -> tensor<12x2xf32>
  %4 = ttir.permute(%3) {permutation = array<i64: 1, 0>} : (tensor<12x2xf32>) -> tensor<2x12xf32>
  return %1, %2, %4 : tensor<4x6xf32>, tensor<2x12xf32>, tensor<2x12xf32>
}

// CHECK:      func.func @chains
// CHECK-NEXT: [[R:%.*]] = ttir.reshape(%a) {shape = array<i64: 4, 6>}
// CHECK-NEXT: func.return [[R]], %a, %a

func.func @loose(%a: tensor<2x3x4xf32>, %row: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %0 = ttir.reshape(%row) {shape = array<i64: 1, 1, 4>} : (tensor<4xf32>) -> tensor<1x1x4xf32>
  %1 = ttir.broadcast(%0) {shape = array<i64: 2, 3, 4>} : (tensor<1x1x4xf32>) -> tensor<2x3x4xf32>
  %2 = ttir.multiply(%a, %1) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %one = ttir.full() {fill_value = 1.0 : f64, shape = []} : () -> tensor<f32>
  %ones = ttir.broadcast(%one) {shape = array<i64: 2, 3, 4>} : (tensor<f32>) -> tensor<2x3x4xf32>
  %3 = ttir.multiply(%2, %ones) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // Both operands are expanded: one of them must stay.
  %4 = ttir.add(%1, %ones) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %5 = ttir.add(%3, %4) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %5 : tensor<2x3x4xf32>
}

// CHECK:      func.func @loose
// CHECK-NEXT: [[M:%.*]] = ttir.multiply(%a, %row)
// CHECK-NOT:  ttir.multiply
// CHECK:      [[X:%.*]] = ttir.broadcast
// CHECK:      [[S:%.*]] = ttir.add({{.*}}[[X]]
// CHECK-NEXT: ttir.add([[M]], [[S]])

func.func @kept(%a: tensor<2x3x4xf32>) -> tensor<2x3x1xf32> {
  %0 = ttir.sum(%a) {dim_arg = array<i64: 2>, keep_dim = false} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  %1 = ttir.reshape(%0) {shape = array<i64: 2, 3, 1>} : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
  return %1 : tensor<2x3x1xf32>
}

// CHECK:      func.func @kept
// CHECK-NEXT: [[K:%.*]] = ttir.sum(%a) {dim_arg = array<i64: 2>, keep_dim = true}
// CHECK-NEXT: func.return [[K]]

func.func @products(%a: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %q: tensor<1x2x3x4xf32>, %k: tensor<1x2x4x3xf32>) -> (tensor<2x3x5xf32>, tensor<1x2x3x3xf32>) {
  %0 = ttir.reshape(%a) {shape = array<i64: 6, 4>} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %1 = ttir.matmul(%0, %w) : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %2 = ttir.reshape(%1) {shape = array<i64: 2, 3, 5>} : (tensor<6x5xf32>) -> tensor<2x3x5xf32>
  %3 = ttir.reshape(%q) {shape = array<i64: 2, 3, 4>} : (tensor<1x2x3x4xf32>) -> tensor<2x3x4xf32>
  %4 = ttir.reshape(%k) {shape = array<i64: 2, 4, 3>} : (tensor<1x2x4x3xf32>) -> tensor<2x4x3xf32>
  %5 = ttir.matmul(%3, %4) : (tensor<2x3x4xf32>, tensor<2x4x3xf32>) -> tensor<2x3x3xf32>
  %6 = ttir.reshape(%5) {shape = array<i64: 1, 2, 3, 3>} : (tensor<2x3x3xf32>) -> tensor<1x2x3x3xf32>
  return %2, %6 : tensor<2x3x5xf32>, tensor<1x2x3x3xf32>
}

// CHECK:      func.func @products
// CHECK-NEXT: [[A:%.*]] = ttir.matmul(%a, %w)
// CHECK-NEXT: [[B:%.*]] = ttir.matmul(%q, %k)
// CHECK-NEXT: func.return [[A]], [[B]]

// Of two empty tensors each is a buffer of its own; equal operations are one.
func.func @once(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = ttir.exp(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ttir.exp(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = ttir.empty() {shape = array<i64: 4>} : () -> tensor<4xf32>
  %3 = ttir.empty() {shape = array<i64: 4>} : () -> tensor<4xf32>
  %4 = ttir.sin(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK:      func.func @once
// CHECK-NEXT: [[E:%.*]] = ttir.exp(%a)
// CHECK-NEXT: [[F:%.*]] = ttir.empty
// CHECK-NEXT: [[G:%.*]] = ttir.empty
// CHECK-NEXT: func.return [[E]], [[E]], [[F]], [[G]]
