// RUN: ttl opt %s -p ttl-name-block-values,ttl-annotate-l1-acc-loops,ttl-insert-intermediate-dfbs,convert-ttl-to-compute | filecheck %s --check-prefix=COMPUTE
// RUN: ttl opt %s -p ttl-name-block-values,ttl-annotate-l1-acc-loops,ttl-insert-intermediate-dfbs,convert-ttl-to-compute,ttl-set-compute-kernel-config,ttl-assign-dst,ttl-subblock-compute-for-dst,ttl-lower-to-loops,ttl-finalize-dfb-indices,convert-ttl-to-ttkernel,ttkernel-insert-inits,ttkernel-insert-l1-accumulation | filecheck %s --check-prefix=CALLS

!word = !ttcore.tile<32x32, ui32>
!word_dfb = !ttl.dfb<[1 : i64, 1 : i64], !word, 2 : i64>
!words = tensor<1x1x!word>

!short = !ttcore.tile<32x32, ui16>
!short_dfb = !ttl.dfb<[1 : i64, 1 : i64], !short, 2 : i64>
!shorts = tensor<1x1x!short>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "n_dfb", type = !word_dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "s_dfb", type = !short_dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "out_dfb", type = !short_dfb}> : () -> ()

  // Calls name the type; the matrix unit is not for integers.
  // CALLS-LABEL: func.func @words
  // CALLS: "ttkernel.fill_tile_int"(%{{.*}}) <{template = "DataFormat::UInt32", literals = ["7u"]}>
  // CALLS: "ttkernel.mul_int_tile_init"() <{template = "DataFormat::UInt32"}>
  // CALLS-NEXT: "ttkernel.mul_int_tile"(%{{.*}}) <{template = "DataFormat::UInt32"}>
  // CALLS: "ttkernel.binary_max_uint32_tile"
  func.func @words() attributes {ttkernel.thread = #ttkernel.thread<compute>, ttl.crta_indices = []} {
    %n_dfb = "ttl.bind_dfb"() <{buffer = @n_dfb}> : () -> !word_dfb
    %n = "ttl.dfb_wait"(%n_dfb) : (!word_dfb) -> !words
    %seven = "ttl.fill"() <{value = 7.0 : f64}> : () -> !words
    %product = "ttl.mul"(%n, %seven) : (!words, !words) -> !words
    %larger = "ttl.max"(%product, %n) : (!words, !words) -> !words
    "ttl.dfb_pop"(%n_dfb) : (!word_dfb) -> ()
    %out = "ttl.dfb_reserve"(%n_dfb) : (!word_dfb) -> !words
    "ttl.store"(%larger, %out) : (!words, !words) -> ()
    "ttl.dfb_push"(%n_dfb) : (!word_dfb) -> ()
    func.return
  }

  // A uint16 is converted on its way in and out, and its sums are cut off.
  // COMPUTE-LABEL: func.func @shorts
  // COMPUTE: %[[COPY:.*]] = "ttl.tile_copy"(%s)
  // COMPUTE-NEXT: %[[WORD:.*]] = "ttl.tile_uint16_to_int32"(%[[COPY]])
  // COMPUTE: %[[SUM:.*]] = "ttl.tile_add"(%{{.*}}, %{{.*}}) <{element_type = "uint16"}>
  // COMPUTE-NEXT: %[[SHORT:.*]] = "ttl.tile_int32_to_uint16"(%[[SUM]])
  // COMPUTE-NEXT: "ttl.tile_store"(%[[SHORT]], %out)
  // CALLS-LABEL: func.func @shorts
  // CALLS: "ttkernel.typecast_tile_init"() <{template = "(uint32_t)DataFormat::UInt16, (uint32_t)DataFormat::Int32"}>
  // CALLS: "ttkernel.add_int_tile"(%{{.*}}) <{template = "DataFormat::Int32"}>
  // CALLS: "ttkernel.bitwise_and_tile"(%{{.*}}) <{template = "DataFormat::Int32", literals = ["65535u"]}>
  // CALLS: "ttkernel.typecast_tile_init"() <{template = "(uint32_t)DataFormat::Int32, (uint32_t)DataFormat::UInt16"}>
  func.func @shorts() attributes {ttkernel.thread = #ttkernel.thread<compute>, ttl.crta_indices = []} {
    %s_dfb = "ttl.bind_dfb"() <{buffer = @s_dfb}> : () -> !short_dfb
    %out_dfb = "ttl.bind_dfb"() <{buffer = @out_dfb}> : () -> !short_dfb
    %s = "ttl.dfb_wait"(%s_dfb) : (!short_dfb) -> !shorts
    %out = "ttl.dfb_reserve"(%out_dfb) : (!short_dfb) -> !shorts
    %sum = "ttl.add"(%s, %s) : (!shorts, !shorts) -> !shorts
    "ttl.store"(%sum, %out) : (!shorts, !shorts) -> ()
    "ttl.dfb_push"(%out_dfb) : (!short_dfb) -> ()
    "ttl.dfb_pop"(%s_dfb) : (!short_dfb) -> ()
    func.return
  }
}
