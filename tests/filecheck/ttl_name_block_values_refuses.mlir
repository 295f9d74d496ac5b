// RUN: not ttl opt %s -p ttl-name-block-values 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>
!open = tensor<1x0x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %b = "ttl.broadcast"(%a_blk) <{parameters = {dims = [1 : i64]}}> : (!block) -> !open
    "ttl.print"(%b) <{before = "", after = "", shows = "block", heading = "b", position = 0 : i64, num_pages = 1 : i64}> : (!open) -> ()
    func.return
  }
}

// CHECK: error[TTL7001]: the compiler does not translate a broadcast here without a shape yet
// CHECK: = help: give it one: shape=(2, 2)
