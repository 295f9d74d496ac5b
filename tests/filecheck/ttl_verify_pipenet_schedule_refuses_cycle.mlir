// RUN: not ttl opt %s -p ttl-verify-pipenet-schedule 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

// `read` fills a_dfb with five blocks before b_dfb; `write` wants one of b_dfb first. The help says how
// many blocks are enough, which is not one more.
// CHECK: error[TTL5001]: deadlock: 2 kernels on 1 node wait for each other
// CHECK: = cycle: read -> a_dfb -> write -> b_dfb -> read
// CHECK: = help: fill `b_dfb` before `a_dfb` in `read`, or declare `a_dfb` with block_count=5
builtin.module attributes {ttl.launch_grid = [1 : i64, 1 : i64], ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "b_dfb", type = !dfb}> : () -> ()
  func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %five = arith.constant 5 : index
    scf.for %i = %zero to %five step %one {
      %blk = "ttl.dfb_reserve"(%a_dfb) : (!dfb) -> !block
      "ttl.dfb_push"(%a_dfb) : (!dfb) -> ()
    }
    scf.for %i = %zero to %five step %one {
      %blk = "ttl.dfb_reserve"(%b_dfb) : (!dfb) -> !block
      "ttl.dfb_push"(%b_dfb) : (!dfb) -> ()
    }
    func.return
  }
  func.func @write() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "writer"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %five = arith.constant 5 : index
    scf.for %i = %zero to %five step %one {
      %b_blk = "ttl.dfb_wait"(%b_dfb) : (!dfb) -> !block
      "ttl.dfb_pop"(%b_dfb) : (!dfb) -> ()
      %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
      "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
    }
    func.return
  }
}
