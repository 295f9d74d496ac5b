// RUN: not ttl opt %s -p convert-ttl-to-compute 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute(%go: i1) attributes {ttl.kernel_thread = "compute"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %y_blk = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
    %end = scf.while (%x = %a_blk) : (!block) -> !block {
      scf.condition(%go) %x : !block
    } do {
    ^bb0(%x: !block):
      %e = "ttl.exp"(%x) : (!block) -> !block
      scf.yield %e : !block
    }
    "ttl.store"(%end, %y_blk) : (!block, !block) -> ()
    func.return
  }
}

// CHECK: error[TTL7001]: the compiler does not translate a block value that such a loop carries yet
// CHECK: = help: use for and range()
