// RUN: ttl opt %s -p ttl-insert-copy-wait | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>
!transfer = !ttl.transfer_handle<"write">

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @write(%y : !block) attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "writer"} {
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %y_blk = "ttl.dfb_wait"(%y_dfb) : (!dfb) -> !block
    %first = "ttl.copy"(%y_blk, %y) : (!block, !block) -> !transfer
    %second = "ttl.copy"(%y_blk, %y) : (!block, !block) -> !transfer
    "ttl.wait"(%second) : (!transfer) -> ()
    "ttl.scope_end"(%first) : (!transfer) -> ()
    "ttl.scope_end"(%y_blk) : (!block) -> ()
    func.return
  }
}

// Where the frontend says. Releases are left for ttl-insert-cb-sync.
// CHECK:      "ttl.wait"(%second)
// CHECK-NEXT: "ttl.wait"(%first)
// CHECK-NEXT: "ttl.scope_end"(%y_blk)
// CHECK-NEXT: func.return
// CHECK-NOT:  ttl.scope_end
