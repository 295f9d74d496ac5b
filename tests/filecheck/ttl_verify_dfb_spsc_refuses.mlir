// RUN: not ttl opt %s -p ttl-verify-dfb-spsc 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

// Two consumers, but only on node (1, 0).
// CHECK: error[TTL3007]: two kernels call wait() on `a_dfb`; the other one is `read`
// CHECK: = on node (1, 0)
// CHECK-NOT: error
builtin.module attributes {ttl.launch_grid = [2 : i64, 1 : i64], ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
    func.return
  }
  func.func @write() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "writer"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %x = "ttl.node_index"() <{dimension = 0 : i64}> : () -> index
    %zero = arith.constant 0 : index
    %is_other = arith.cmpi sgt, %x, %zero : index
    scf.if %is_other {
      %blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
      "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
    }
    func.return
  }
}
