// RUN: ttl opt %s -p ttl-name-block-values,ttl-annotate-l1-acc-loops,ttl-insert-intermediate-dfbs,convert-ttl-to-compute | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %y_blk = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
    %e = "ttl.exp"(%a_blk) : (!block) -> !block
    %p = "ttl.matmul"(%e, %a_blk) : (!block, !block) -> !block
    "ttl.store"(%p, %y_blk) : (!block, !block) -> ()
    func.return
  }
}

// rule KEEP: the matrix unit reads buffers, so the operand goes to one, in the format of the registers.
// CHECK:      sym_name = "e_kept", type = !ttl.dfb<[1 : i64, 1 : i64], !ttcore.tile<32x32, f32>, 1 : i64>, compiler_allocated
// CHECK:      [[VIEW:%e_kept_[0-9]+]] = "ttl.dfb_reserve"(%e_kept)
// CHECK:      %e = "ttl.tile_exp"
// CHECK-NEXT: "ttl.tile_store"(%e, [[VIEW]])
// CHECK:      "ttl.dfb_push"(%e_kept)
// CHECK-NEXT: [[HELD:%e_kept_[0-9]+]] = "ttl.dfb_wait"(%e_kept)
// CHECK:      %p = "ttl.tile_matmul"([[HELD]], %a_blk,
// CHECK:      "ttl.dfb_pop"(%e_kept)
// CHECK-NEXT: func.return
