// RUN: ttl opt %s -p ttir-fuse-softmax | filecheck %s

func.func @rows(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = ttir.max(%x) {dim_arg = array<i64: 1>, keep_dim = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %1 = ttir.subtract(%x, %0) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %2 = ttir.exp(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = ttir.sum(%2) {dim_arg = array<i64: 1>, keep_dim = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %4 = ttir.div(%2, %3) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// CHECK:      func.func @rows
// CHECK-NEXT: [[S:%.*]] = ttir.softmax(%x) {dim = 1 : i64}
// CHECK-NEXT: func.return [[S]]

// The largest of one dimension, the sum of another: no softmax.
func.func @mixed(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = ttir.max(%x) {dim_arg = array<i64: 0>, keep_dim = true} : (tensor<8x8xf32>) -> tensor<1x8xf32>
  %1 = ttir.subtract(%x, %0) : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  %2 = ttir.exp(%1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = ttir.sum(%2) {dim_arg = array<i64: 1>, keep_dim = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %4 = ttir.div(%2, %3) : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}

// CHECK:     func.func @mixed
// CHECK-NOT: softmax
// CHECK:     func.return
