// RUN: ttl opt %s -p 'ttl-assign-dst{dst_capacity=2}' | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[5 : i64, 5 : i64], !tile, 2 : i64>
!block = tensor<5x5x!tile>
!dst = !ttl.dst<!block>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  func.func @elementwise() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = false, dst_full_sync_en = false} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %a = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    "ttl.compute"() ({
      %w = "ttl.tile_copy"(%a) : (!block) -> !dst
      %e = "ttl.tile_exp"(%w) : (!dst) -> !dst
      %x = "ttl.tile_copy"(%a) : (!block) -> !dst
      %r = "ttl.tile_relu"(%x) : (!dst) -> !dst
      %z = "ttl.tile_copy"(%a) : (!block) -> !dst
      %s = "ttl.tile_add"(%r, %z) : (!dst, !dst) -> !dst
      %p = "ttl.tile_mul"(%e, %s) : (!dst, !dst) -> !dst
      "ttl.tile_store"(%p, %a) : (!dst, !block) -> ()
    }) : () -> ()
    func.return
  }
}

// The rule that spills, with two registers, a value waits in a compiler buffer.
// CHECK:      compiler_allocated
// CHECK:      func.func @elementwise
// CHECK:      [[VIEW:%[a-z0-9_]+]] = "ttl.dfb_reserve"(%{{[a-z]+}}_kept)
// CHECK-NEXT: "ttl.compute"
// CHECK:      "ttl.tile_store"(%{{[a-z0-9]+}}, [[VIEW]])
// CHECK:      "ttl.dfb_push"
// CHECK-NEXT: "ttl.dfb_wait"
// CHECK-NEXT: "ttl.compute"
// CHECK:      "ttl.dfb_pop"
