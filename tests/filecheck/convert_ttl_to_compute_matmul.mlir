// RUN: ttl opt %s -p ttl-name-block-values,ttl-annotate-l1-acc-loops,ttl-insert-intermediate-dfbs,convert-ttl-to-compute | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  // rule MATMUL: a product accumulates on the value it is added to, which a loop carries.
  func.func @accumulate() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    %start = "ttl.fill"() <{value = 0.0 : f32}> : () -> !block
    %total = scf.for %k = %zero to %four step %one iter_args(%sum = %start) -> (!block) {
      %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
      %product = "ttl.matmul"(%a_blk, %a_blk) : (!block, !block) -> !block
      %next = "ttl.add"(%sum, %product) : (!block, !block) -> !block
      "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
      scf.yield %next : !block
    }
    %y_blk = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
    "ttl.store"(%total, %y_blk) : (!block, !block) -> ()
    func.return
  }
  // Two products: the second accumulates on the first, the first on zeros.
  func.func @two_products() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !dfb
    %z_dfb = "ttl.bind_dfb"() <{buffer = @z_dfb}> : () -> !dfb
    %b_blk = "ttl.dfb_wait"(%b_dfb) : (!dfb) -> !block
    %c_blk = "ttl.dfb_wait"(%b_dfb) : (!dfb) -> !block
    %z_blk = "ttl.dfb_reserve"(%z_dfb) : (!dfb) -> !block
    %first = "ttl.matmul"(%b_blk, %c_blk) : (!block, !block) -> !block
    %second = "ttl.matmul"(%c_blk, %b_blk) : (!block, !block) -> !block
    %both = "ttl.add"(%first, %second) : (!block, !block) -> !block
    "ttl.store"(%both, %z_blk) : (!block, !block) -> ()
    func.return
  }
}

// CHECK:      func.func @accumulate
// CHECK:      "ttl.compute"() ({
// CHECK-NEXT: %start = "ttl.tile_fill"() <{value = 0.000000e+00 : f32}>
// CHECK-NEXT: %total = scf.for {{.*}} iter_args([[SUM:%[a-z0-9_]+]] = %start) -> (!ttl.dst<
// CHECK:      %next = "ttl.tile_matmul"(%a_blk, %a_blk, [[SUM]])
// CHECK:      scf.yield %next : !ttl.dst<
// CHECK:      "ttl.tile_store"(%total, %y_blk)

// CHECK:      func.func @two_products
// CHECK:      [[ZEROS:%[a-z0-9_]+]] = "ttl.tile_fill"() <{value = 0.000000e+00 : f32}>
// CHECK-NEXT: %first = "ttl.tile_matmul"(%b_blk, %c_blk, [[ZEROS]])
// CHECK-NEXT: %both = "ttl.tile_matmul"(%c_blk, %b_blk, %first)
// CHECK-NEXT: "ttl.tile_store"(%both, %z_blk)
// CHECK-NOT:  ttl.tile_add
