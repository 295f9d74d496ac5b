// RUN: ttl opt %s -p ttl-lower-to-loops | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 2 : i64], !tile, 2 : i64>
!block = tensor<1x2x!tile>
!dst = !ttl.dst<!block>
!left = tensor<1x3x!tile>
!left_dfb = !ttl.dfb<[1 : i64, 3 : i64], !tile, 2 : i64>
!right = tensor<3x2x!tile>
!right_dfb = !ttl.dfb<[3 : i64, 2 : i64], !tile, 2 : i64>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @elementwise() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = false} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %a = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %y = "ttl.dfb_reserve"(%a_dfb) : (!dfb) -> !block
    "ttl.compute"() ({
      %f = "ttl.tile_fill"() <{value = 0.3 : f32}> {dst_slot = [0 : i64]} : () -> !dst
      %x = "ttl.tile_copy"(%a) {dst_slot = [1 : i64]} : (!block) -> !dst
      %s = "ttl.tile_add"(%f, %x) {dst_slot = [0 : i64]} : (!dst, !dst) -> !dst
      "ttl.tile_store"(%s, %y) : (!dst, !block) -> ()
    }) {subblock = [2 : i64]} : () -> ()
    func.return
  }
  func.func @product() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = true} {
    %l_dfb = "ttl.bind_dfb"() <{buffer = @l_dfb}> : () -> !left_dfb
    %r_dfb = "ttl.bind_dfb"() <{buffer = @r_dfb}> : () -> !right_dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb}> : () -> !dfb
    %l = "ttl.dfb_wait"(%l_dfb) : (!left_dfb) -> !left
    %r = "ttl.dfb_wait"(%r_dfb) : (!right_dfb) -> !right
    %y = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
    "ttl.compute"() ({
      %f = "ttl.tile_fill"() <{value = 0.0 : f32}> {dst_slot = [0 : i64]} : () -> !dst
      %p = "ttl.tile_matmul"(%l, %r, %f) {dst_slot = [0 : i64]} : (!left, !right, !dst) -> !dst
      "ttl.tile_store"(%p, %y) : (!dst, !block) -> ()
    }) {subblock = [1 : i64, 2 : i64]} : () -> ()
    func.return
  }
  func.func @zeros() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = false} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %a = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %y = "ttl.dfb_reserve"(%a_dfb) : (!dfb) -> !block
    "ttl.compute"() ({
      %f = "ttl.tile_fill"() <{value = 0.0 : f32}> {dst_slot = [0 : i64]} : () -> !dst
      %s = "ttl.tile_add"(%f, %a) {dst_slot = [0 : i64]} : (!dst, !block) -> !dst
      "ttl.tile_store"(%s, %y) : (!dst, !block) -> ()
    }) {subblock = [2 : i64]} : () -> ()
    func.return
  }
}

// CHECK:      func.func @elementwise
// CHECK:      "ttl.tile_regs"() <{step = "acquire"}>
// One loop over the tiles for each operation.
// CHECK-NEXT: affine.for %tile = 0 to 2 {
// The constant is rounded to the format of the registers: the chip would truncate it.
// CHECK-NEXT: "ttl.tile_call"(%tile) <{action = "fill", value = 0.30078125 : f32, operandSegmentSizes = array<i32: 0, 0, 1, 0>}>
// CHECK-NEXT: }
// CHECK-NEXT: affine.for [[T:%tile[_0-9]*]] = 0 to 2 {
// CHECK-NEXT: [[FIRST:%[0-9]+]] = arith.constant 2 : index
// CHECK-NEXT: [[D:%dst[_0-9]*]] = arith.addi [[T]], [[FIRST]] : index
// CHECK-NEXT: "ttl.tile_call"(%a, [[T]], [[D]]) <{action = "copy",
// CHECK:      affine.for [[U:%tile[_0-9]*]] = 0 to 2 {
// CHECK-NEXT: [[FIRST:%[0-9]+]] = arith.constant 2 : index
// CHECK-NEXT: [[E:%dst[_0-9]*]] = arith.addi [[U]], [[FIRST]] : index
// Registers: the two operands, then the result.
// CHECK-NEXT: "ttl.tile_call"([[U]], [[E]], [[U]]) <{action = "add", operandSegmentSizes = array<i32: 0, 0, 3, 0>}>
// CHECK:      "ttl.tile_regs"() <{step = "commit"}>
// CHECK-NEXT: "ttl.tile_regs"() <{step = "wait"}>
// CHECK:      "ttl.tile_call"(%y, [[V:%tile[_0-9]*]], [[V]]) <{action = "store",
// CHECK:      "ttl.tile_regs"() <{step = "release"}>
// CHECK-NOT:  ttl.compute

// One call for each step along k: tile k of the left row, row k of the right block.
// CHECK:      func.func @product
// CHECK:      affine.for %k_tile = 0 to 3 {
// CHECK-NEXT: [[COLUMNS:%[0-9]+]] = arith.constant 2 : index
// CHECK-NEXT: %right_tile = arith.muli %k_tile, [[COLUMNS]] : index
// CHECK-NEXT: [[FIRST:%[0-9]+]] = arith.constant 0 : index
// CHECK-NEXT: "ttl.tile_call"(%l, %r, %k_tile, %right_tile, [[FIRST]]) <{action = "matmul", sizes = [2 : i64, 1 : i64], operandSegmentSizes = array<i32: 2, 2, 1, 0>}>

// Only the matrix unit takes registers that nothing was written to for zeros as it adds to them.
// CHECK:      func.func @zeros
// CHECK:      "ttl.tile_call"({{.*}}) <{action = "fill", value = 0.000000e+00 : f32,
// CHECK:      "ttl.tile_call"({{.*}}) <{action = "add",
