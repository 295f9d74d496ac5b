// RUN: ttl opt %s -p ttir-fuse-linear | filecheck %s

func.func @main(%x: tensor<2x4x8xf32>, %w: tensor<3x8xf32>, %v: tensor<3x5xf32>, %b: tensor<3xf32>, %c: tensor<2x4x5xf32>) -> (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x5xf32>) {
  %0 = ttir.permute(%w) {permutation = array<i64: 1, 0>} : (tensor<3x8xf32>) -> tensor<8x3xf32>
  %1 = ttir.matmul(%x, %0) : (tensor<2x4x8xf32>, tensor<8x3xf32>) -> tensor<2x4x3xf32>
  %2 = ttir.add(%1, %b) : (tensor<2x4x3xf32>, tensor<3xf32>) -> tensor<2x4x3xf32>
  %3 = ttir.matmul(%x, %0) : (tensor<2x4x8xf32>, tensor<8x3xf32>) -> tensor<2x4x3xf32>
  // A sum with a whole tensor is no bias.
  %4 = ttir.matmul(%3, %v) : (tensor<2x4x3xf32>, tensor<3x5xf32>) -> tensor<2x4x5xf32>
  %5 = ttir.add(%4, %c) : (tensor<2x4x5xf32>, tensor<2x4x5xf32>) -> tensor<2x4x5xf32>
  return %2, %3, %5 : tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x5xf32>
}

// CHECK:      func.func @main
// CHECK-NEXT: [[A:%.*]] = ttir.linear(%x, %w, %b) {transpose_b = true}
// CHECK-NEXT: [[B:%.*]] = ttir.linear(%x, %w) {transpose_b = true}
// CHECK-NEXT: [[C:%.*]] = ttir.matmul([[B]], %v)
// CHECK-NEXT: [[D:%.*]] = ttir.add([[C]], %c)
// CHECK-NEXT: func.return [[A]], [[B]], [[D]]
