// RUN: not ttl opt %s -p ttl-set-compute-kernel-config 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, f32>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>
!dst = !ttl.dst<!block>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    "ttl.compute"() ({
      %x = "ttl.tile_copy"(%blk) : (!block) -> !dst
      %p = "ttl.tile_matmul"(%blk, %blk, %x) : (!block, !block, !dst) -> !dst
      "ttl.tile_store"(%p, %blk) : (!dst, !block) -> ()
    }) : () -> ()
    func.return
  }
}

// CHECK: error[TTL7001]: the compiler does not translate f32 buffer `a_dfb` read both by the matrix unit and by copies yet
// CHECK: = help: copy the tensor into a second dataflow buffer
