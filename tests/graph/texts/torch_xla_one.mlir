module @SyncTensorsGraph.10 attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [], mhlo.is_dynamic = false, mhlo.use_auto_spmd_partitioning = false} {
  func.func @main(%arg0: tensor<64x32xbf16>, %arg1: tensor<64x32xbf16>, %arg2: tensor<64x32xbf16>, %arg3: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
    %0 = stablehlo.add %arg3, %arg2 : tensor<64x32xbf16>
    %1 = stablehlo.custom_call @tt.tt_lang_op(%0, %arg1) {api_version = 0 : i32, backend_config = "", mhlo.frontend_attributes = {arg_roles = "in,in,out", kernel_id = "tests.add", shard_spec = "", version_tag = "<add tag>"}} : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
    %2 = stablehlo.add %1, %arg0 : tensor<64x32xbf16>
    return %2 : tensor<64x32xbf16>
  }
}
