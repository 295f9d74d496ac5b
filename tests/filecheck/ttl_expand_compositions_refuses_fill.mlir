// RUN: not ttl opt %s -p ttl-expand-compositions 2>&1 | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>
!words = tensor<1x1x!ttcore.tile<32x32, si32>>

// CHECK: error[TTL7001]: the compiler does not translate integers in DST registers of 16 bits yet
// CHECK: help: write @ttl.operation(..., fp32_dest_acc_en=True)
builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  func.func @narrow() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = false} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %a = "ttl.dfb_reserve"(%a_dfb) : (!dfb) -> !block
    %n = "ttl.fill"() <{value = 3.0 : f32}> : () -> !words
    func.return
  }
}
