// RUN: ttl opt %s -p ttl-name-block-values | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 2 : i64], !tile, 2 : i64>
!block = tensor<1x2x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  // What `+=` changes is a value that the loop carries, from zeros on, and is stored at the push.
  // CHECK-LABEL: func.func @summed
  // CHECK:         [[ZEROS:%[0-9]+]] = "ttl.fill"() <{value = 0.000000e+00 : f32}>
  // CHECK-NEXT:    [[SUM:%[a-z0-9_]+]] = scf.for {{.*}} iter_args([[BEFORE:%[a-z0-9_]+]] = [[ZEROS]])
  // CHECK:         [[AFTER:%[a-z0-9_]+]] = "ttl.add"([[BEFORE]], %a_blk)
  // CHECK:         scf.yield [[AFTER]]
  // CHECK-NOT:     accumulate
  // CHECK:         "ttl.store"([[SUM]], %y_blk)
  // CHECK-NEXT:    "ttl.dfb_push"(%y_dfb)
  func.func @summed() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
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

  // Equal operations on equal operands are one.
  // CHECK-LABEL: func.func @shared
  // CHECK:         %e = "ttl.exp"
  // CHECK-NOT:     "ttl.exp"
  // CHECK:         %s = "ttl.add"(%e, %e)
  func.func @shared() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %a_blk = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %y_blk = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
    %e = "ttl.exp"(%a_blk) : (!block) -> !block
    %f = "ttl.exp"(%a_blk) : (!block) -> !block
    %s = "ttl.add"(%e, %f) : (!block, !block) -> !block
    "ttl.store"(%s, %y_blk) : (!block, !block) -> ()
    "ttl.dfb_push"(%y_dfb) : (!dfb) -> ()
    "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
    func.return
  }
}
