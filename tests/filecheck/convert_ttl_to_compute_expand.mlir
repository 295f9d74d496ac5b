// RUN: ttl opt %s -p ttl-name-block-values,ttl-annotate-l1-acc-loops,ttl-insert-intermediate-dfbs,convert-ttl-to-compute | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[2 : i64, 3 : i64], !tile, 2 : i64>
!block = tensor<2x3x!tile>
!column_dfb = !ttl.dfb<[2 : i64, 1 : i64], !tile, 2 : i64>
!column = tensor<2x1x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "c_dfb", type = !column_dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "y_dfb", type = !dfb}> : () -> ()

  // rule EXPAND: the broadcast is read as the second operand, on whichever side it stands.
  // CHECK-LABEL: func.func @sum
  // CHECK:      "ttl.compute"
  // CHECK-NEXT: "ttl.tile_add"(%a, %c) <{parameters = {dims = [-1 : i64], strides = [1 : i64, 0 : i64], offset = [0 : i64], steps = []}}>
  // CHECK-NOT:  tile_broadcast
  func.func @sum() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %c_dfb = "ttl.bind_dfb"() <{buffer = @c_dfb}> : () -> !column_dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %a = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %c = "ttl.dfb_wait"(%c_dfb) : (!column_dfb) -> !column
    %y = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
    %wide = "ttl.broadcast"(%c) <{parameters = {dims = [-1 : i64]}}> : (!column) -> !block
    %sum = "ttl.add"(%wide, %a) : (!block, !block) -> !block
    "ttl.store"(%sum, %y) : (!block, !block) -> ()
    "ttl.dfb_push"(%y_dfb) : (!dfb) -> ()
    "ttl.dfb_pop"(%c_dfb) : (!column_dfb) -> ()
    "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
    func.return
  }

  // A difference cannot be turned round, and the chip expands the second operand only.
  // CHECK-LABEL: func.func @difference
  // CHECK:      %[[WIDE:.*]] = "ttl.tile_broadcast"(%c)
  // CHECK-NEXT: "ttl.tile_sub"(%[[WIDE]], %a)
  func.func @difference() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %c_dfb = "ttl.bind_dfb"() <{buffer = @c_dfb}> : () -> !column_dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %a = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %c = "ttl.dfb_wait"(%c_dfb) : (!column_dfb) -> !column
    %y = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
    %wide = "ttl.broadcast"(%c) <{parameters = {dims = [-1 : i64]}}> : (!column) -> !block
    %rest = "ttl.sub"(%wide, %a) : (!block, !block) -> !block
    "ttl.store"(%rest, %y) : (!block, !block) -> ()
    "ttl.dfb_push"(%y_dfb) : (!dfb) -> ()
    "ttl.dfb_pop"(%c_dfb) : (!column_dfb) -> ()
    "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
    func.return
  }
}
