// RUN: ttl opt %s -p ttir-to-ttir-decomposition | filecheck %s
// CHECK-LABEL: func.func @buffers
// CHECK-NOT: ttir.empty
// CHECK: [[A:%.*]] = ttir.add(%a, %a)
// CHECK: [[T:%.*]] = ttir.permute(%a) {permutation = array<i64: 1, 0>}
// CHECK: ttir.matmul([[A]], [[T]])
func.func @buffers(%a: tensor<32x64xf32>) -> tensor<32x32xf32> {
  %0 = ttir.empty() : tensor<32x64xf32>
  %1 = "ttir.add"(%a, %a, %0) : (tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %2 = ttir.empty() : tensor<32x32xf32>
  %3 = "ttir.matmul"(%1, %a, %2) <{transpose_b = true}> : (tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %3 : tensor<32x32xf32>
}
// CHECK-LABEL: func.func @mean
// CHECK: ttir.sum({{.*}}) {dim_arg = array<i64: 1>, keep_dim = true}
// CHECK: fill_value = 1.562500e-02
// CHECK: ttir.multiply
// CHECK-NOT: ttir.mean
func.func @mean(%a: tensor<32x64xf32>) -> tensor<32xf32> {
  %0 = "ttir.mean"(%a) <{dim_arg = [-1 : i32], keep_dim = false}> : (tensor<32x64xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
