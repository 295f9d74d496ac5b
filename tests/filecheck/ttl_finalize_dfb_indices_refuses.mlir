// RUN: not ttl opt %s -p ttl-finalize-dfb-indices 2>&1 | filecheck %s

!dfb = !ttl.dfb<[1 : i64, 1 : i64], !ttcore.tile<32x32, bf16>, 2 : i64>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    func.return
  }
}

// CHECK: error[TTL8003]: pass `ttl-finalize-dfb-indices` cannot work on this IR: `a_dfb` is missing
