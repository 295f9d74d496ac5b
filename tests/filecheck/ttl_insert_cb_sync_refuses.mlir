// RUN: not ttl opt %s -p ttl-insert-cb-sync 2>&1 | filecheck %s

!tile = !ttcore.tile<32 : i64, 32 : i64, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  // One after the other, and both ends of a buffer at once, are fine.
  func.func @fine() attributes {ttl.kernel_thread = "compute"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %0 = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %1 = "ttl.dfb_reserve"(%a_dfb) : (!dfb) -> !block
    "ttl.scope_end"(%0, %1) : (!block, !block) -> ()
    %2 = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    "ttl.scope_end"(%2) : (!block) -> ()
    func.return
  }
  func.func @wrong() attributes {ttl.kernel_thread = "reader"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %0 = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %1 = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    "ttl.scope_end"(%0, %1) : (!block, !block) -> ()
    func.return
  }
}

// CHECK: error[TTL7001]: the compiler does not translate two blocks of one dataflow buffer held at once yet
// CHECK: = help: release the first block before the next one, or use larger blocks
