// RUN: ttl opt %s -p ttl-name-block-values,ttl-annotate-l1-acc-loops,ttl-insert-intermediate-dfbs,convert-ttl-to-compute | filecheck %s

// A value that a `while` carries goes through a buffer of two blocks (rule RING).

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute(%go: i1) attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %y_blk = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
    %end = scf.while (%x = %a_blk) : (!block) -> !block {
      scf.condition(%go) %x : !block
    } do {
    ^bb0(%x: !block):
      %e = "ttl.exp"(%x) : (!block) -> !block
      scf.yield %e : !block
    }
    "ttl.store"(%end, %y_blk) : (!block, !block) -> ()
    func.return
  }
}

// CHECK: sym_name = "a_blk_kept"
// CHECK: %[[RING:.*]] = "ttl.bind_dfb"() <{buffer = @a_blk_kept}>
// CHECK: "ttl.dfb_push"(%[[RING]])
// CHECK: scf.while () : () -> ()
// CHECK: %[[BEFORE:.*]] = "ttl.dfb_wait"(%[[RING]])
// CHECK: %[[AFTER:.*]] = "ttl.dfb_reserve"(%[[RING]])
// CHECK: "ttl.tile_copy"(%[[BEFORE]])
// CHECK: "ttl.tile_store"(%{{.*}}, %[[AFTER]])
// CHECK: "ttl.dfb_push"(%[[RING]])
// CHECK: "ttl.dfb_pop"(%[[RING]])
// CHECK: %[[END:.*]] = "ttl.dfb_wait"(%[[RING]])
// CHECK: "ttl.tile_copy"(%[[END]])
