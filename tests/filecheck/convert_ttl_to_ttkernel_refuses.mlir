// RUN: not ttl opt %s -p convert-ttl-to-ttkernel 2>&1 | filecheck %s

// The buffer has no index yet: ttl-finalize-dfb-indices has not run.
!dfb = !ttl.dfb<[1 : i64, 2 : i64], !ttcore.tile<32x32, bf16>, 2 : i64>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>, ttl.crta_indices = []} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    func.return
  }
}

// CHECK: error[TTL800{{[13]}}]:
