// RUN: ttl opt %s -p convert-ttl-to-ttkernel | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 2 : i64], !tile, 2 : i64>
!block = tensor<1x2x!tile>
!tensor = tensor<4x8x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>, ttl.crta_indices = []} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb, index = 0 : i64}> : () -> !dfb
    %y_dfb = "ttl.bind_dfb"() <{buffer = @y_dfb, index = 3 : i64}> : () -> !dfb
    %a = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %y = "ttl.dfb_reserve"(%y_dfb) : (!dfb) -> !block
    %t = arith.constant 1 : index
    %d = arith.constant 5 : index
    "ttl.tile_regs"() <{step = "acquire"}> : () -> ()
    "ttl.tile_call"(%d) <{action = "fill", value = 2.5 : f32, operandSegmentSizes = array<i32: 0, 0, 1, 0>}> : (index) -> ()
    "ttl.tile_call"(%a, %t, %d) <{action = "copy", operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (!block, index, index) -> ()
    "ttl.tile_call"(%a, %a, %t, %t, %d) <{action = "mul", operandSegmentSizes = array<i32: 2, 2, 1, 0>}> : (!block, !block, index, index, index) -> ()
    "ttl.tile_call"(%t, %d, %t) <{action = "sub", operandSegmentSizes = array<i32: 0, 0, 3, 0>}> : (index, index, index) -> ()
    "ttl.tile_call"(%t, %t) <{action = "exp", operandSegmentSizes = array<i32: 0, 0, 2, 0>}> : (index, index) -> ()
    "ttl.tile_call"(%y, %t, %d) <{action = "store", operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (!block, index, index) -> ()
    "ttl.tile_regs"() <{step = "release"}> : () -> ()
    "ttl.dfb_pop"(%a_dfb) : (!dfb) -> ()
    "ttl.dfb_push"(%y_dfb) : (!dfb) -> ()
    func.return
  }
  func.func @read(%x: !tensor, %z: !tensor) attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader", ttl.crta_indices = [1 : i64, 4 : i64]} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb, index = 0 : i64}> : () -> !dfb
    %column = "ttl.node_index"() <{dimension = 0 : i64}> : () -> index
    %row = "ttl.node_index"() <{dimension = 1 : i64}> : () -> index
    %a = "ttl.dfb_reserve"(%a_dfb) : (!dfb) -> !block
    %part = "ttl.tensor_slice"(%z, %row, %column) : (!tensor, index, index) -> !block
    %transfer = "ttl.copy"(%part, %a) : (!block, !block) -> !ttl.transfer_handle<"read">
    %other = "ttl.copy"(%part, %a) : (!block, !block) -> !ttl.transfer_handle<"read">
    "ttl.wait"(%transfer) : (!ttl.transfer_handle<"read">) -> ()
    "ttl.wait"(%other) : (!ttl.transfer_handle<"read">) -> ()
    "ttl.dfb_push"(%a_dfb) : (!dfb) -> ()
    func.return
  }
}

// CHECK:      func.func @compute() attributes
// CHECK-NEXT: %a_dfb = "ttkernel.get_compile_time_arg"() <{index = 0 : i64}> : () -> !ttkernel.cb<"a_dfb", "BFloat16">
// CHECK-NEXT: %y_dfb = "ttkernel.get_compile_time_arg"() <{index = 3 : i64}>
// A block is two tiles.
// CHECK-NEXT: [[TILES:%[0-9]+]] = arith.constant 2 : index
// CHECK-NEXT: "ttkernel.cb_wait_front"(%a_dfb, [[TILES]])
// CHECK:      "ttkernel.cb_reserve_back"(%y_dfb,
// CHECK:      "ttkernel.tile_regs_acquire"()
// CHECK-NEXT: "ttkernel.fill_tile"(%d) <{value = 2.500000e+00 : f32}>
// CHECK-NEXT: "ttkernel.copy_tile"(%a_dfb, %t, %d)
// CHECK-NEXT: "ttkernel.mul_tiles"(%a_dfb, %a_dfb, %t, %t, %d)
// CHECK-NEXT: "ttkernel.sub_binary_tile"(%t, %d, %t) <{template = "ckernel::DstRoundingMode::NearestEven"}>
// CHECK-NEXT: "ttkernel.exp_tile"(%t)
// CHECK-NEXT: "ttkernel.pack_tile"(%d, %y_dfb, %t) <{template = "true"}>
// CHECK-NEXT: "ttkernel.tile_regs_release"()
// CHECK:      "ttkernel.cb_pop_front"(%a_dfb,
// CHECK:      "ttkernel.cb_push_back"(%y_dfb,

// Tensors are no arguments any more; their addresses are the common arguments 0 and 1.
// CHECK:      func.func @read() attributes
// CHECK-NEXT: %x = "ttkernel.tensor_accessor"() <{tensor = 1 : i64, argument = 0 : i64}> : () -> !ttkernel.accessor<"x">
// CHECK-NEXT: %z = "ttkernel.tensor_accessor"() <{tensor = 4 : i64, argument = 1 : i64}> : () -> !ttkernel.accessor<"z">
// CHECK:      %column = "ttkernel.get_absolute_logical_x"()
// CHECK-NEXT: %row = "ttkernel.get_absolute_logical_y"()
// CHECK:      %a_dfb_address = "ttkernel.get_write_ptr"(%a_dfb)
// The tensor has rows of eight tiles; a tile has 2048 bytes.
// CHECK-NEXT: [[EIGHT:%[0-9]+]] = arith.constant 8 : index
// CHECK-NEXT: [[ROWS:%[0-9]+]] = arith.muli %row, [[EIGHT]]
// CHECK-NEXT: %first_page = arith.addi [[ROWS]], %column
// CHECK:      affine.for %tile_column = 0 to 2 {
// CHECK:      [[BYTES:%[0-9]+]] = arith.constant 2048 : index
// CHECK-NEXT: arith.muli %tile_column, [[BYTES]] : index
// CHECK:      %page = arith.addi %first_page, %tile_column
// CHECK:      "ttkernel.noc_async_read_page"(%page, %z, %address)
// One barrier for two waits in a row.
// CHECK:      "ttkernel.noc_async_read_barrier"()
// CHECK-NOT:  "ttkernel.noc_async_read_barrier"()
// CHECK-NOT:  "ttl.
