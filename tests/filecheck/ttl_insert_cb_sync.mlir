// RUN: ttl opt %s -p ttl-insert-cb-sync | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %y_blk = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
    "ttl.store"(%a_blk, %y_blk) : (!block, !block) -> ()
    "ttl.scope_end"(%a_blk, %y_blk) : (!block, !block) -> ()
    func.return
  }
}

// A waited block is popped, a reserved one pushed, in the order of acquisition.
// CHECK:      "ttl.store"(%a_blk, %y_blk)
// CHECK-NEXT: "ttl.dfb_pop"(%a_dfb)
// CHECK-NEXT: "ttl.dfb_push"(%y_dfb)
// CHECK-NEXT: func.return
// CHECK-NOT:  ttl.scope_end
