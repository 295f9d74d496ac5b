// RUN: ttl opt %s -p ttl-name-block-values,ttl-annotate-l1-acc-loops,ttl-insert-intermediate-dfbs,convert-ttl-to-compute | filecheck %s

!tile = !ttcore.tile<32x32, f32>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %b_blk = "ttl.dfb_wait"(%b_dfb) : (!dfb) -> !block
    %y_blk = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
    %s = "ttl.add"(%a_blk, %b_blk) : (!block, !block) -> !block
    "ttl.store"(%s, %y_blk) : (!block, !block) -> ()
    func.return
  }
}

// rule BUFFER: 32-bit floats would lose bits on the way through the matrix unit.
// CHECK:      [[A:%a_blk_[0-9]+]] = "ttl.tile_copy"(%a_blk)
// CHECK-NEXT: [[B:%b_blk_[0-9]+]] = "ttl.tile_copy"(%b_blk)
// CHECK-NEXT: %s = "ttl.tile_add"([[A]], [[B]]) : (!ttl.dst<
