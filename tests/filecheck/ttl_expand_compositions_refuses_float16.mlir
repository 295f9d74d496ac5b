// RUN: not ttl opt %s -p ttl-expand-compositions 2>&1 | filecheck %s

!dfb = !ttl.dfb<[1 : i64, 1 : i64], !ttcore.tile<32x32, f16>, 2 : i64>

// CHECK: error[TTL7001]: {{.*}}float16 in DST registers of 16 bits
// CHECK: help: write @ttl.operation(..., fp32_dest_acc_en=True)
builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  func.func @narrow() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = false} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    func.return
  }
}
