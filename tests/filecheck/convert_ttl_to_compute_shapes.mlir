// RUN: ttl opt %s -p ttl-name-block-values,ttl-annotate-l1-acc-loops,ttl-insert-intermediate-dfbs,convert-ttl-to-compute | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[2 : i64, 3 : i64], !tile, 2 : i64>
!block = tensor<2x3x!tile>
!column_dfb = !ttl.dfb<[2 : i64, 1 : i64], !tile, 2 : i64>
!column = tensor<2x1x!tile>
!one = tensor<1x1x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  // x * broadcast(recip(reduce_sum(exp(x)))) in a loop.
  func.func @normalize() attributes {fp32_dest_acc_en = false, ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    scf.for %k = %zero to %four step %one {
      %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
      %y_blk = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
      %e = "ttl.exp"(%a_blk) : (!block) -> !block
      %s = "ttl.fill"() <{value = 1.0 : f32}> : () -> !one
      %r = "ttl.reduce_sum"(%e, %s) <{parameters = {dims = [-1 : i64]}}> : (!block, !one) -> !column
      %i = "ttl.recip"(%r) : (!column) -> !column
      %b = "ttl.broadcast"(%i) <{parameters = {dims = [1 : i64]}}> : (!column) -> !block
      %q = "ttl.mul"(%e, %b) : (!block, !block) -> !block
      "ttl.store"(%q, %y_blk) : (!block, !block) -> ()
      "ttl.dfb_push"(%y_dfb) : (!dfb) -> ()
      "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
    }
    func.return
  }
  // A reduction that is stored goes to the user's block, with nothing in between.
  func.func @stored() attributes {fp32_dest_acc_en = false, ttkernel.thread = #ttkernel.thread<compute>} {
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !dfb
    %z_dfb = "ttl.bind_dfb"() <{buffer = @z_dfb}> : () -> !column_dfb
    %b_blk = "ttl.dfb_wait"(%b_dfb) : (!dfb) -> !block
    %z_blk = "ttl.dfb_reserve"(%z_dfb) : (!column_dfb) -> !column
    %t = "ttl.fill"() <{value = 1.0 : f32}> : () -> !one
    %m = "ttl.reduce_max"(%b_blk, %t) <{parameters = {dims = [-1 : i64]}}> : (!block, !one) -> !column
    "ttl.store"(%m, %z_blk) : (!column, !column) -> ()
    func.return
  }
}

// CHECK:      func.func @normalize
// rule SCALER: before the loop.
// CHECK:      "ttl.tile_fill"() <{value = 1.000000e+00 : f32}>
// CHECK:      [[SCALER:%[a-z0-9_]+]] = "ttl.dfb_wait"
// CHECK:      scf.for
// CHECK:      %e = "ttl.tile_exp"
// CHECK:      [[E:%[a-z0-9_]+]] = "ttl.dfb_wait"(%e_kept
// The reduction has a section of its own: rule MASK.
// CHECK:      "ttl.compute"() ({
// CHECK-NEXT: %r = "ttl.tile_reduce_sum"([[E]], [[SCALER]]) <{parameters = {dims = [-1 : i64], strides = [3 : i64, 0 : i64], offset = [0 : i64], steps = [3 : i64, 1 : i64]}}>
// CHECK-NEXT: "ttl.tile_store"(%r,
// CHECK-NEXT: }) :
// CHECK:      "ttl.tile_recip"
// What is broadcast is read in a buffer, and expanded on the way.
// CHECK:      "ttl.compute"() ({
// CHECK-NEXT: %q = "ttl.tile_mul"([[E]], {{.*}}) <{parameters = {dims = [-1 : i64], strides = [1 : i64, 0 : i64], offset = [0 : i64], steps = []}}>
// CHECK-NEXT: "ttl.tile_store"(%q, %y_blk)

// CHECK:      func.func @stored
// CHECK:      %m = "ttl.tile_reduce_max"(%b_blk,
// CHECK-NEXT: "ttl.tile_store"(%m, %z_blk)
