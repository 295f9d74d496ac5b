// RUN: ttl opt %s -p ttl-subblock-compute-for-dst | filecheck %s

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
    }) {dst_slots = [3 : i64]} : () -> ()
    func.return
  }
  func.func @product() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = true, dst_full_sync_en = false} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %a = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    "ttl.compute"() ({
      %f = "ttl.tile_fill"() <{value = 0.0 : f32}> : () -> !dst
      %p = "ttl.tile_matmul"(%a, %a, %f) : (!block, !block, !dst) -> !dst
      "ttl.tile_store"(%p, %a) : (!dst, !block) -> ()
    }) {dst_slots = [1 : i64]} : () -> ()
    func.return
  }
}

// Three slots: two tiles at a time in the eight registers, and one is left over.
// CHECK:      func.func @elementwise
// CHECK:      subblock = [2 : i64]
// A product wants rows and columns: nine sections of up to 2 x 2 tiles, not ten of 1 x 4.
// CHECK:      func.func @product
// CHECK:      subblock = [2 : i64, 2 : i64]
// Registers are assigned already.
// CHECK-NOT:  dst_slot =
