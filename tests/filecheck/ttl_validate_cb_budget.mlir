// RUN: ttl opt %s -p ttl-validate-cb-budget | filecheck %s

!tile = !ttcore.tile<32x32, f32>
!dfb = !ttl.dfb<[8 : i64, 8 : i64], !tile, 2 : i64>

// What fits exactly is left alone: 2 x 64 tiles of 4096 bytes.
// CHECK: ttl.l1_budget = 524288
// CHECK: "ttl.dataflow_buffer"
builtin.module attributes {ttl.target_arch = "wormhole_b0", ttl.l1_budget = 524288 : i64} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    func.return
  }
}
