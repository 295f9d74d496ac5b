// RUN: ttl opt %s -p ttl-name-block-values,ttl-annotate-l1-acc-loops,ttl-insert-intermediate-dfbs,convert-ttl-to-compute | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[2 : i64, 2 : i64], !tile, 2 : i64>
!block = tensor<2x2x!tile>
!wide_dfb = !ttl.dfb<[3 : i64, 3 : i64], !tile, 2 : i64>
!wide_block = tensor<3x3x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %e = "ttl.exp"(%a_blk) : (!block) -> !block
    "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
    %b_blk = "ttl.dfb_wait"(%b_dfb) : (!dfb) -> !block
    %y_blk = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
    %s = "ttl.add"(%e, %b_blk) : (!block, !block) -> !block
    "ttl.store"(%s, %y_blk) : (!block, !block) -> ()
    "ttl.dfb_push"(%y_dfb) : (!dfb) -> ()
    "ttl.dfb_pop"(%b_dfb) : (!dfb) -> ()
    func.return
  }
  func.func @too_large() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %c_dfb = "ttl.bind_dfb"() <{buffer = @c_dfb}> : () -> !wide_dfb
    %z_dfb = "ttl.bind_dfb"() <{buffer = @z_dfb}> : () -> !wide_dfb
    %c_blk = "ttl.dfb_wait"(%c_dfb) : (!wide_dfb) -> !wide_block
    %f = "ttl.exp"(%c_blk) : (!wide_block) -> !wide_block
    "ttl.dfb_pop"(%c_dfb) : (!wide_dfb) -> ()
    %z_blk = "ttl.dfb_reserve"(%z_dfb) : (!wide_dfb) -> !wide_block
    "ttl.store"(%f, %z_blk) : (!wide_block, !wide_block) -> ()
    "ttl.dfb_push"(%z_dfb) : (!wide_dfb) -> ()
    func.return
  }
}

// rule OPEN: the pop, the wait and the reserve stand inside the section; e never leaves its registers.
// CHECK:      func.func @compute
// CHECK:      "ttl.compute"() ({
// CHECK:      %e = "ttl.tile_exp"
// CHECK-NEXT: "ttl.dfb_pop"(%a_dfb)
// CHECK-NEXT: %b_blk = "ttl.dfb_wait"(%b_dfb)
// CHECK-NEXT: %y_blk = "ttl.dfb_reserve"(%y_dfb)
// CHECK-NEXT: %s = "ttl.tile_add"(%e, %b_blk)
// CHECK-NEXT: "ttl.tile_store"(%s, %y_blk)
// CHECK-NEXT: })
// CHECK-NEXT: "ttl.dfb_push"(%y_dfb)

// Nine tiles do not fit in eight registers: a compiler buffer holds them.
// CHECK:      func.func @too_large
// CHECK:      "ttl.tile_store"(%f, %f_kept_
// CHECK-NEXT: })
// CHECK:      "ttl.dfb_pop"(%c_dfb)
// CHECK:      "ttl.tile_store"(%f{{.*}}, %z_blk)
