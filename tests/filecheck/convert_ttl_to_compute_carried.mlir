// RUN: ttl opt %s -p ttl-name-block-values,ttl-annotate-l1-acc-loops,ttl-insert-intermediate-dfbs,convert-ttl-to-compute | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[5 : i64, 5 : i64], !tile, 2 : i64>
!block = tensor<5x5x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  // rule SUM: 25 tiles do not fit, and the user's block has the format of the registers.
  func.func @sum() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    %y_blk = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
    scf.for %k = %zero to %four step %one {
      %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
      "ttl.store"(%a_blk, %y_blk) <{accumulate}> : (!block, !block) -> ()
      "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
    }
    "ttl.dfb_push"(%y_dfb) : (!dfb) -> ()
    func.return
  }
  // A product is summed up from zero by itself.
  func.func @products() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = false} {
    %c_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %x_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %x_blk = "ttl.dfb_reserve"(%x_dfb) : (!dfb) -> !block
    %four = arith.constant 4 : index
    scf.for %k = %zero to %four step %one {
      %c_blk = "ttl.dfb_wait"(%c_dfb) : (!dfb) -> !block
      %p = "ttl.matmul"(%c_blk, %c_blk) : (!block, !block) -> !block
      "ttl.store"(%p, %x_blk) <{accumulate}> : (!block, !block) -> ()
      "ttl.dfb_pop"(%c_dfb) : (!dfb) -> ()
    }
    "ttl.dfb_push"(%x_dfb) : (!dfb) -> ()
    func.return
  }
  // rule RING: the value changes in another way.
  func.func @ring() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %b_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %z_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    %start = "ttl.fill"() <{value = 1.0 : f32}> : () -> !block
    %end = scf.for %k = %zero to %four step %one iter_args(%x = %start) -> (!block) {
      %b_blk = "ttl.dfb_wait"(%b_dfb) : (!dfb) -> !block
      %next = "ttl.mul"(%x, %b_blk) : (!block, !block) -> !block
      "ttl.dfb_pop"(%b_dfb) : (!dfb) -> ()
      scf.yield %next : !block
    }
    %z_blk = "ttl.dfb_reserve"(%z_dfb) : (!dfb) -> !block
    "ttl.store"(%end, %z_blk) : (!block, !block) -> ()
    "ttl.dfb_push"(%z_dfb) : (!dfb) -> ()
    func.return
  }
}

// CHECK:      func.func @sum
// Zeros first: the sum of zero and -0.0 is 0.0.
// CHECK:      ttl.tile_fill
// CHECK:      "ttl.tile_store"({{.*}}, %y_blk) : {{.*}}
// CHECK:      scf.for
// CHECK:      [[COPY:%a_blk_[0-9]+]] = "ttl.tile_copy"(%a_blk)
// CHECK-NEXT: "ttl.tile_store"([[COPY]], %y_blk) <{accumulate}>
// CHECK:      "ttl.dfb_pop"(%a_dfb)
// CHECK:      "ttl.dfb_push"(%y_dfb)

// CHECK:      func.func @products
// CHECK-NOT:  "ttl.compute"
// CHECK:      scf.for
// CHECK:      "ttl.tile_store"({{.*}}, %x_blk) <{accumulate, after_first}>
// CHECK:      "ttl.dfb_push"(%x_dfb)

// CHECK:      func.func @ring
// CHECK:      "ttl.bind_dfb"() <{buffer = @end_kept}> : () -> !ttl.dfb<{{.*}}, 2 : i64>
// CHECK:      "ttl.dfb_push"(%end_kept)
// CHECK:      scf.for
// CHECK:      [[OLD:%end_kept_[0-9]+]] = "ttl.dfb_wait"(%end_kept)
// CHECK:      "ttl.dfb_reserve"(%end_kept)
// CHECK:      %next = "ttl.tile_mul"([[OLD]], %b_blk
// CHECK:      "ttl.dfb_push"(%end_kept)
// CHECK:      "ttl.dfb_pop"(%end_kept)
// CHECK:      [[END:%end_kept_[0-9]+]] = "ttl.dfb_wait"(%end_kept)
// CHECK:      "ttl.tile_copy"([[END]])
