// RUN: ttl opt %s -p ttl-lower-to-loops | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[2 : i64, 3 : i64], !tile, 2 : i64>
!block = tensor<2x3x!tile>
!turned_dfb = !ttl.dfb<[3 : i64, 2 : i64], !tile, 2 : i64>
!turned = tensor<3x2x!tile>
!column_dfb = !ttl.dfb<[2 : i64, 1 : i64], !tile, 2 : i64>
!column = tensor<2x1x!tile>
!one_dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!one = tensor<1x1x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @reduce() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = false} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %s_dfb = "ttl.bind_dfb"() <{buffer = @s_dfb}> : () -> !one_dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !column_dfb
    %a = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %s = "ttl.dfb_wait"(%s_dfb) : (!one_dfb) -> !one
    %y = "ttl.dfb_reserve"(%y_dfb) : (!column_dfb) -> !column
    "ttl.compute"() ({
      %r = "ttl.tile_reduce_sum"(%a, %s) <{parameters = {dims = [-1 : i64], strides = [3 : i64, 0 : i64], offset = [0 : i64], steps = [3 : i64, 1 : i64]}}> {dst_slot = [0 : i64]} : (!block, !one) -> !ttl.dst<!column>
      "ttl.tile_store"(%r, %y) : (!ttl.dst<!column>, !column) -> ()
    }) {subblock = [2 : i64, 1 : i64]} : () -> ()
    func.return
  }
  func.func @transpose() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = false} {
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb}> : () -> !dfb
    %z_dfb = "ttl.bind_dfb"() <{buffer = @z_dfb}> : () -> !turned_dfb
    %b = "ttl.dfb_wait"(%b_dfb) : (!dfb) -> !block
    %z = "ttl.dfb_reserve"(%z_dfb) : (!turned_dfb) -> !turned
    "ttl.compute"() ({
      %t = "ttl.tile_transpose"(%b) <{parameters = {dims = [-2 : i64, -1 : i64], strides = [1 : i64, 3 : i64], offset = [0 : i64], steps = []}}> {dst_slot = [0 : i64]} : (!block) -> !ttl.dst<!turned>
      "ttl.tile_store"(%t, %z) : (!ttl.dst<!turned>, !turned) -> ()
    }) {subblock = [3 : i64, 2 : i64]} : () -> ()
    func.return
  }
}

// CHECK:      func.func @reduce
// CHECK:      "ttl.tile_regs"() <{step = "acquire"}>
// CHECK:      affine.for [[I:%tile_row[_0-9]*]] = 0 to 2 {
// One register for all the tiles of a row.
// CHECK:      affine.for [[K:%step[_0-9]*]] = 0 to 3 {
// CHECK:      [[ROW:%[0-9]+]] = arith.muli [[I]],
// CHECK:      [[TILE:%tile_of_operand[_0-9]*]] = arith.addi [[ROW]], [[K]]
// CHECK:      [[FIRST:%[0-9]+]] = arith.constant 0 : index
// CHECK-NEXT: "ttl.tile_call"(%a, %s, [[TILE]], [[FIRST]], [[I]]) <{action = "reduce_sum",
// CHECK:      "ttl.tile_call"(%y, {{.*}}) <{action = "store",
// The packer masks nothing any more behind the section.
// CHECK:      "ttl.tile_regs"() <{step = "unmask"}>
// CHECK-NEXT: "ttl.tile_regs"() <{step = "release"}>

// CHECK:      func.func @transpose
// CHECK:      affine.for [[I:%tile_row[_0-9]*]] = 0 to 3 {
// CHECK:      affine.for [[J:%tile_column[_0-9]*]] = 0 to 2 {
// CHECK:      [[COLUMN:%[0-9]+]] = arith.muli [[J]], {{.*}}
// CHECK:      [[TILE:%tile_of_operand[_0-9]*]] = arith.addi [[I]], [[COLUMN]]
// CHECK-NEXT: "ttl.tile_call"(%b, [[TILE]], {{.*}}) <{action = "transpose",
// CHECK-NOT:  unmask
