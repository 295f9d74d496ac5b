// RUN: ttl opt %s -p convert-ttl-to-ttkernel | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 4 : i64>
!block = tensor<1x1x!tile>
!tensor = tensor<4x4x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @read(%x : !tensor) attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader", ttl.crta_indices = [0 : i64]} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb, index = 0 : i64}> : () -> !dfb
    %b_dfb = "ttl.bind_dfb"() <{buffer = @b_dfb, index = 1 : i64}> : () -> !dfb
    %arg = "ttl.runtime_arg"() <{index = 0 : i64, arg_name = "arg"}> : () -> index
    %one = arith.constant 1 : index
    %first = "ttl.dfb_reserve"(%a_dfb) : (!dfb) -> !block
    %second = "ttl.dfb_reserve"(%a_dfb) : (!dfb) -> !block
    %group = "ttl.group"() : () -> !ttl.transfer_group
    %part = "ttl.tensor_slice"(%x, %arg, %one) : (!tensor, index, index) -> !block
    %t = "ttl.copy"(%part, %first) : (!block, !block) -> !ttl.transfer_handle<"read">
    "ttl.group_add"(%group, %t) : (!ttl.transfer_group, !ttl.transfer_handle<"read">) -> ()
    %u = "ttl.copy"(%part, %second) : (!block, !block) -> !ttl.transfer_handle<"read">
    "ttl.group_add"(%group, %u) : (!ttl.transfer_group, !ttl.transfer_handle<"read">) -> ()
    "ttl.group_wait"(%group) : (!ttl.transfer_group) -> ()
    %target = "ttl.dfb_reserve"(%b_dfb) : (!dfb) -> !block
    %v = "ttl.copy"(%second, %target) : (!block, !block) -> !ttl.transfer_handle<"read">
    "ttl.wait"(%v) : (!ttl.transfer_handle<"read">) -> ()
    "ttl.dfb_push"(%a_dfb) : (!dfb) -> ()
    "ttl.dfb_push"(%a_dfb) : (!dfb) -> ()
    "ttl.dfb_push"(%b_dfb) : (!dfb) -> ()
    func.return
  }
}

// CHECK:      %arg = "ttkernel.get_arg"() <{index = 0 : i64}> : () -> index
// The second reservation is for both blocks.
// CHECK:      [[ONE:%[0-9]+]] = arith.constant 1 : index
// CHECK-NEXT: "ttkernel.cb_reserve_back"(%a_dfb, [[ONE]])
// CHECK-NEXT: [[TWO:%[0-9]+]] = arith.constant 2 : index
// CHECK-NEXT: "ttkernel.cb_reserve_back"(%a_dfb, [[TWO]])
// CHECK:      "ttkernel.noc_async_read_page"
// The second block stands a block of 2048 bytes behind the first.
// CHECK:      [[AT:%a_dfb_address[_0-9]*]] = "ttkernel.get_write_ptr"(%a_dfb)
// CHECK-NEXT: [[OFFSET:%[0-9]+]] = arith.constant 2048 : index
// CHECK-NEXT: [[ADDRESS:%a_dfb_address[_0-9]*]] = arith.addi [[AT]], [[OFFSET]]
// CHECK:      "ttkernel.noc_async_read_page"({{.*}}, %x, [[ADDRESS]])
// One barrier for the group.
// CHECK-NEXT: "ttkernel.noc_async_read_barrier"
// CHECK-NOT:  barrier
// A copy to a block of the same node.
// CHECK:      [[NOC:%[a-z_0-9]+]] = "ttkernel.get_noc_addr"
// CHECK:      "ttkernel.noc_async_read"([[NOC]], %b_dfb_address, {{%[0-9]+}})
// CHECK-NEXT: "ttkernel.noc_async_read_barrier"
// CHECK-NOT:  ttl.
