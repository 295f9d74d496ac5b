// RUN: ttl opt %s -p convert-ttl-to-compute | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 2 : i64], !tile, 2 : i64>
!block = tensor<1x2x!tile>
!dst = !ttl.dst<!block>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = false} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %b_blk = "ttl.dfb_wait"(%b_dfb) : (!dfb) -> !block
    %y_blk = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
    %p = "ttl.mul"(%a_blk, %b_blk) : (!block, !block) -> !block
    %e = "ttl.exp"(%b_blk) : (!block) -> !block
    %s = "ttl.add"(%p, %e) : (!block, !block) -> !block
    "ttl.store"(%s, %y_blk) : (!block, !block) -> ()
    "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
    "ttl.dfb_pop"(%b_dfb) : (!dfb) -> ()
    "ttl.dfb_push"(%y_dfb) : (!dfb) -> ()
    func.return
  }
}

// The section goes from the first value to the store; releases stay behind it.
// CHECK:      %y_blk = "ttl.dfb_reserve"
// CHECK-NEXT: "ttl.compute"() ({
// rule BUFFER: the matrix unit multiplies straight from the buffers.
// CHECK-NEXT: %p = "ttl.tile_mul"(%a_blk, %b_blk) : (tensor<1x2x{{.*}}>, tensor<1x2x{{.*}}>) -> !ttl.dst<
// rule DST: exp works in registers, so its operand is copied there.
// CHECK-NEXT: [[COPY:%b_blk_[0-9]+]] = "ttl.tile_copy"(%b_blk)
// CHECK-NEXT: %e = "ttl.tile_exp"([[COPY]]) : (!ttl.dst<
// CHECK-NEXT: %s = "ttl.tile_add"(%p, %e) : (!ttl.dst<
// CHECK-NEXT: "ttl.tile_store"(%s, %y_blk)
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: "ttl.dfb_pop"(%a_dfb)
// CHECK-NOT:  "ttl.mul"
// CHECK-NOT:  "ttl.store"
