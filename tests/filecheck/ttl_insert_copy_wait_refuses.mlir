// RUN: not ttl opt %s -p ttl-insert-copy-wait 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>
!transfer = !ttl.transfer_handle<"write">

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @write(%y : !block) attributes {ttl.kernel_thread = "writer"} {
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %y_blk = "ttl.dfb_wait"(%y_dfb) : (!dfb) -> !block
    %0 = "ttl.copy"(%y_blk, %y) {implicit_wait = "end of body"} : (!block, !block) -> !transfer
    "ttl.scope_end"(%y_blk) : (!block) -> ()
    func.return
  }
}

// CHECK: error[TTL3001]: the block of this copy is released before the copy is waited for
// CHECK: = help: call wait() on the transfer before the end of the `with`
