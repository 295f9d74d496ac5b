// RUN: ttl opt %s -p ttl-peel-l1-acc-loops | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[4 : i64, 4 : i64], !tile, 2 : i64>
!block = tensor<4x4x!tile>
!small = tensor<1x1x!tile>
!small_dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  // 16 tiles do not fit in eight registers: the last step stands after the loop, and what is stored
  // of it is computed before its block is popped.
  // CHECK-LABEL: func.func @large
  // CHECK:         [[LAST:%[0-9]+]] = arith.constant 3 : index
  // CHECK:         [[SUM:%[a-z0-9_]+]] = scf.for %k = %zero to [[LAST]] step %one
  // CHECK:         scf.yield
  // CHECK:         [[BLOCK:%[a-z0-9_]+]] = "ttl.dfb_wait"(%a_dfb)
  // CHECK-NEXT:    [[PRODUCT:%[a-z0-9_]+]] = "ttl.matmul"([[BLOCK]], [[BLOCK]])
  // CHECK-NEXT:    [[TOTAL:%[a-z0-9_]+]] = "ttl.add"([[SUM]], [[PRODUCT]])
  // CHECK-NEXT:    "ttl.store"([[TOTAL]], %y_blk)
  // CHECK-NEXT:    "ttl.dfb_pop"(%a_dfb)
  // CHECK-NEXT:    "ttl.dfb_push"(%y_dfb)
  func.func @large() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = true} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    %y_blk = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
    %start = "ttl.fill"() <{value = 0.0 : f32}> : () -> !block
    %sum = scf.for %k = %zero to %four step %one iter_args(%x = %start) -> (!block) {
      %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
      %m = "ttl.matmul"(%a_blk, %a_blk) : (!block, !block) -> !block
      %p = "ttl.add"(%x, %m) : (!block, !block) -> !block
      "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
      scf.yield %p : !block
    } {l1_acc = [0 : i64]}
    "ttl.store"(%sum, %y_blk) : (!block, !block) -> ()
    "ttl.dfb_push"(%y_dfb) : (!dfb) -> ()
    func.return
  }

  // One tile stays in its register.
  // CHECK-LABEL: func.func @small
  // CHECK:         scf.for %k = %zero to %four step %one
  // CHECK:         scf.yield
  // CHECK-NOT:     "ttl.dfb_wait"
  func.func @small() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = true} {
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !small_dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    %start = "ttl.fill"() <{value = 0.0 : f32}> : () -> !small
    %sum = scf.for %k = %zero to %four step %one iter_args(%x = %start) -> (!small) {
      %b_blk = "ttl.dfb_wait"(%b_dfb) : (!small_dfb) -> !small
      %p = "ttl.add"(%x, %b_blk) : (!small, !small) -> !small
      "ttl.dfb_pop"(%b_dfb) : (!small_dfb) -> ()
      scf.yield %p : !small
    } {l1_acc = [0 : i64]}
    func.return
  }
}
