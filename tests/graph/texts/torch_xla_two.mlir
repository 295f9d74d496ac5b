module @SyncTensorsGraph.12 attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [], mhlo.is_dynamic = false, mhlo.use_auto_spmd_partitioning = false} {
  func.func @main(%arg0: tensor<64x32xbf16>, %arg1: tensor<64x32xbf16>) -> (tensor<64x32xbf16>, tensor<64x32xbf16>) {
    %0 = stablehlo.multiply %arg0, %arg1 : tensor<64x32xbf16>
    %1 = stablehlo.custom_call @tt.tt_lang_op(%arg0, %arg1, %0) {api_version = 0 : i32, backend_config = "", mhlo.frontend_attributes = {arg_roles = "in,in,in,out,out", kernel_id = "tests.gradients", shard_spec = "", version_tag = "<two tag>"}, xla_shape = "(bf16[64,32]{1,0}, bf16[64,32]{1,0})"} : (tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>) -> tuple<tensor<64x32xbf16>, tensor<64x32xbf16>>
    %2 = stablehlo.get_tuple_element %1[0] : (tuple<tensor<64x32xbf16>, tensor<64x32xbf16>>) -> tensor<64x32xbf16>
    %3 = stablehlo.get_tuple_element %1[1] : (tuple<tensor<64x32xbf16>, tensor<64x32xbf16>>) -> tensor<64x32xbf16>
    %4 = stablehlo.subtract %2, %3 : tensor<64x32xbf16>
    return %4, %3 : tensor<64x32xbf16>, tensor<64x32xbf16>
  }
}
