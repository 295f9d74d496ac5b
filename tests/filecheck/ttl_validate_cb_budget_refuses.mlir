// RUN: not ttl opt %s -p ttl-validate-cb-budget 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, f32>
!dfb = !ttl.dfb<[16 : i64, 16 : i64], !tile, 1 : i64>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "t_kept", type = !dfb, compiler_allocated}> : () -> ()
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    func.return
  }
}

// CHECK: error[TTL4001]: the dataflow buffers need 2097152 bytes of L1; a node of wormhole_b0 has 1466368 for them
// CHECK: = buffer  shape     block_count  dtype    bytes
// CHECK: = t_kept  (16, 16)  1            float32  1048576
