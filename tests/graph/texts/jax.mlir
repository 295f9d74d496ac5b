module @jit_model attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x32xbf16>, %arg1: tensor<64x32xbf16>) -> (tensor<64x32xbf16> {jax.result_info = "result"}) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<64x32xbf16>
    %1 = stablehlo.custom_call @tt.tt_lang_op(%0, %arg1) {backend_config = "", mhlo.frontend_attributes = {arg_roles = "in,in,out", kernel_id = "tests.add", shard_spec = "", version_tag = "<add tag>"}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
    %2:2 = stablehlo.custom_call @tt.tt_lang_op(%1, %arg1, %arg1) {backend_config = "", mhlo.frontend_attributes = {arg_roles = "in,in,in,out,out", kernel_id = "tests.gradients", shard_spec = "", version_tag = "<two tag>"}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>) -> (tensor<64x32xbf16>, tensor<64x32xbf16>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %3 = call @clip(%2#0, %c, %c_0) : (tensor<64x32xbf16>, tensor<i32>, tensor<i32>) -> tensor<64x32xbf16>
    %4 = stablehlo.multiply %2#1, %1 : tensor<64x32xbf16>
    %5 = stablehlo.add %3, %4 : tensor<64x32xbf16>
    return %5 : tensor<64x32xbf16>
  }
  func.func private @clip(%arg0: tensor<64x32xbf16>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<64x32xbf16> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<64x32xbf16>
    %2 = stablehlo.maximum %1, %arg0 : tensor<64x32xbf16>
    %3 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<bf16>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<bf16>) -> tensor<64x32xbf16>
    %5 = stablehlo.minimum %4, %2 : tensor<64x32xbf16>
    return %5 : tensor<64x32xbf16>
  }
}
