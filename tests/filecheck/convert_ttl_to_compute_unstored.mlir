// RUN: ttl opt %s -p ttl-name-block-values,ttl-annotate-l1-acc-loops,ttl-insert-intermediate-dfbs,convert-ttl-to-compute | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %e = "ttl.exp"(%a_blk) : (!block) -> !block
    "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
    func.return
  }
}

// A value that is never stored is never computed.
// CHECK:      func.func @compute
// CHECK:      "ttl.dfb_wait"
// CHECK-NEXT: "ttl.dfb_pop"
// CHECK-NOT:  ttl.compute
// CHECK-NOT:  "ttl.exp"
