// RUN: ttl opt %s -p ttl-flush-writes | filecheck %s

!dfb = !ttl.dfb<[1 : i64, 1 : i64], !ttcore.tile<32x32, bf16>, 2 : i64>
!tiles = tensor<1x1x!ttcore.tile<32x32, bf16>>
!pair = tensor<1x2x!ttcore.tile<32x32, bf16>>

// Of the two tensors that a kernel writes, another one reads the second: only the write of the first
// need not have arrived. A kernel that reads waits for all that it writes.
builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "dfb", type = !dfb, index = 0}> : () -> ()
  func.func @write(%y: !pair, %z: !pair) attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "writer", ttl.crta_indices = [0 : i64, 1 : i64]} {
    %dfb = "ttl.bind_dfb"() <{buffer = @dfb, index = 0}> : () -> !dfb
    %zero = arith.constant 0 : index
    %block = "ttl.dfb_wait"(%dfb) : (!dfb) -> !tiles
    %to_y = "ttl.tensor_slice"(%y, %zero, %zero) : (!pair, index, index) -> !tiles
    %first = "ttl.copy"(%block, %to_y) : (!tiles, !tiles) -> !ttl.transfer_handle<"write">
    "ttl.wait"(%first) : (!ttl.transfer_handle<"write">) -> ()
    %to_z = "ttl.tensor_slice"(%z, %zero, %zero) : (!pair, index, index) -> !tiles
    %second = "ttl.copy"(%block, %to_z) : (!tiles, !tiles) -> !ttl.transfer_handle<"write">
    "ttl.wait"(%second) : (!ttl.transfer_handle<"write">) -> ()
    "ttl.dfb_pop"(%dfb) : (!dfb) -> ()
    func.return
  }
  func.func @move(%z: !pair, %y: !pair) attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader", ttl.crta_indices = [1 : i64, 0 : i64]} {
    %dfb = "ttl.bind_dfb"() <{buffer = @dfb, index = 0}> : () -> !dfb
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %block = "ttl.dfb_reserve"(%dfb) : (!dfb) -> !tiles
    %of_z = "ttl.tensor_slice"(%z, %zero, %one) : (!pair, index, index) -> !tiles
    %third = "ttl.copy"(%of_z, %block) : (!tiles, !tiles) -> !ttl.transfer_handle<"read">
    "ttl.wait"(%third) : (!ttl.transfer_handle<"read">) -> ()
    %to_y = "ttl.tensor_slice"(%y, %zero, %one) : (!pair, index, index) -> !tiles
    %fourth = "ttl.copy"(%block, %to_y) : (!tiles, !tiles) -> !ttl.transfer_handle<"write">
    "ttl.wait"(%fourth) : (!ttl.transfer_handle<"write">) -> ()
    "ttl.dfb_push"(%dfb) : (!dfb) -> ()
    func.return
  }
}

// CHECK: "ttl.wait"(%first) {ttl.flush}
// CHECK-NOT: ttl.flush
