// RUN: ttl opt %s -p ttl-assign-dst | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 2 : i64], !tile, 2 : i64>
!block = tensor<1x2x!tile>
!dst = !ttl.dst<!block>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = false, dst_full_sync_en = false} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %a = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    "ttl.compute"() ({
      %x = "ttl.tile_copy"(%a) : (!block) -> !dst
      %z = "ttl.tile_copy"(%a) : (!block) -> !dst
      %e = "ttl.tile_exp"(%z) : (!dst) -> !dst
      %s = "ttl.tile_add"(%x, %e) : (!dst, !dst) -> !dst
      %again = "ttl.tile_copy"(%a) : (!block) -> !dst
      %p = "ttl.tile_mul"(%a, %a) : (!block, !block) -> !dst
      %end = scf.for %i = %zero to %one step %one iter_args(%carried = %again) -> (!dst) {
        %next = "ttl.tile_add"(%p, %carried) : (!dst, !dst) -> !dst
        scf.yield %next : !dst
      }
      "ttl.tile_store"(%s, %a) : (!dst, !block) -> ()
      "ttl.tile_store"(%end, %a) : (!dst, !block) -> ()
    }) : () -> ()
    func.return
  }
}

// A slot is a register for each tile of a sub-block: here both tiles, so there are four sub-blocks
// of them in the eight registers, and three slots are needed.
// CHECK:      %x = "ttl.tile_copy"(%a) {dst_slot = [0 : i64]}
// CHECK-NEXT: %z = "ttl.tile_copy"(%a) {dst_slot = [1 : i64]}
// rule IN PLACE
// CHECK-NEXT: %e = "ttl.tile_exp"(%z) {dst_slot = [1 : i64]}
// CHECK-NEXT: %s = "ttl.tile_add"(%x, %e) {dst_slot = [0 : i64]}
// The slot of %e is free again; that of the stored %s is not.
// CHECK-NEXT: %again = "ttl.tile_copy"(%a) {dst_slot = [1 : i64]}
// rule ZERO: a multiplication from buffers accumulates, so it takes a slot nobody has used.
// CHECK-NEXT: %p = "ttl.tile_mul"(%a, %a) {dst_slot = [2 : i64]}
// rule CARRIED: in place on the carried operand, though it is the second one.
// CHECK:      %next = "ttl.tile_add"(%p, %carried) {dst_slot = [1 : i64]}
// rule WHOLE
// CHECK:      {dst_slots = [3 : i64]}
