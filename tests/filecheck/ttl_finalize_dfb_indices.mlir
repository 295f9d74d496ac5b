// RUN: ttl opt %s -p ttl-finalize-dfb-indices | filecheck %s

!dfb = !ttl.dfb<[1 : i64, 1 : i64], !ttcore.tile<32x32, bf16>, 2 : i64>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "z_dfb", type = !dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %z_dfb = "ttl.bind_dfb"() <{buffer = @z_dfb}> : () -> !dfb
    func.return
  }
}

// In order of declaration; the kernels' handles agree with it.
// CHECK:      "ttl.dataflow_buffer"() <{sym_name = "z_dfb", type = {{.*}}, index = 0 : i64}>
// CHECK-NEXT: "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = {{.*}}, index = 1 : i64}>
// CHECK:      %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb, index = 1 : i64}>
// CHECK-NEXT: %z_dfb = "ttl.bind_dfb"() <{buffer = @z_dfb, index = 0 : i64}>
