// RUN: not ttl opt %s -p ttir-to-ttir-decomposition 2>&1 | filecheck %s
// CHECK: `ttir.all_reduce` is read, but not computed
func.func @f(%a: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %0 = "ttir.all_reduce"(%a) <{cluster_axis = 1 : ui32, reduce_type = #ttcore.reduce_type<sum>}> : (tensor<32x64xf32>) -> tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}
