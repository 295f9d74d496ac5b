// RUN: ttl opt %s -p ttl-verify-pipenet-schedule | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

// A block that is left over does no harm, which is worth a warning of a compilation.
// CHECK: "ttl.dfb_push"
// CHECK: "ttl.dfb_pop"
builtin.module attributes {ttl.launch_grid = [2 : i64, 2 : i64], ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %three = arith.constant 3 : index
    scf.for %i = %zero to %three step %one {
      %blk = "ttl.dfb_reserve"(%a_dfb) : (!dfb) -> !block
      "ttl.dfb_push"(%a_dfb) : (!dfb) -> ()
    }
    func.return
  }
  func.func @write() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "writer"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    scf.for %i = %zero to %two step %one {
      %blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
      "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
    }
    func.return
  }
}
