// RUN: not ttl opt %s -p 'ttl-assign-dst{dst_capacity=3}' 2>&1 | filecheck %s

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
      %end = scf.for %i = %zero to %one step %one iter_args(%carried = %x) -> (!dst) {
        %z = "ttl.tile_copy"(%a) : (!block) -> !dst
        %s = "ttl.tile_add"(%carried, %z) : (!dst, !dst) -> !dst
        scf.yield %s : !dst
      }
      "ttl.tile_store"(%end, %a) : (!dst, !block) -> ()
    }) : () -> ()
    func.return
  }
}

// rule WHOLE: a loop reads its inputs once, so there are no sub-blocks.
// CHECK: error[TTL7001]: the compiler does not translate an expression in a loop that needs 4 of the 3 DST registers yet
// CHECK: = help: use smaller blocks
