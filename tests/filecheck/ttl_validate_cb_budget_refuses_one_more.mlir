// RUN: not ttl opt %s -p ttl-validate-cb-budget 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, f32>
!dfb = !ttl.dfb<[8 : i64, 8 : i64], !tile, 2 : i64>

// CHECK: error[TTL4001]: the dataflow buffers need 524288 bytes of L1; a node of wormhole_b0 has 524287 for them
builtin.module attributes {ttl.target_arch = "wormhole_b0", ttl.l1_budget = 524287 : i64} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    func.return
  }
}
