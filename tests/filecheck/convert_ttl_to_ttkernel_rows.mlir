// RUN: ttl opt %s -p ttl-finalize-dfb-indices,convert-ttl-to-ttkernel | filecheck %s

!element = !ttcore.tile<1x1, bf16>
!dfb = !ttl.dfb<[2 : i64, 3 : i64], !element, 2 : i64>
!line = !ttl.dfb<[4 : i64], !element, 2 : i64>
!block = tensor<2x3x!element>
!column = tensor<4x1x!element>
!four = tensor<4x!element>
!tensor = tensor<4x12x!element>

// Only where a copy needs it is there room behind the rows.
// CHECK:      sym_name = "direct", {{.*}}index = 0 : i64}>
// CHECK-NEXT: sym_name = "shifted", {{.*}}row_room}>
// CHECK-NEXT: sym_name = "gathered", {{.*}}row_room}>
builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "direct", type = !dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "shifted", type = !dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "gathered", type = !line}> : () -> ()

  // CHECK-LABEL: @straight
  // CHECK:       affine.for
  // CHECK:       [[OFFSET:%.*]] = "ttkernel.page_noc_addr"
  // CHECK-NEXT:  "ttkernel.noc_async_read"([[OFFSET]]
  // CHECK:       "ttkernel.noc_async_read_barrier"()
  // CHECK-NOT:   move_bytes
  func.func @straight(%x: !tensor) attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader", ttl.crta_indices = [0 : i64]} {
    %dfb = "ttl.bind_dfb"() <{buffer = @direct}> : () -> !dfb
    %zero = arith.constant 0 : index
    %a = "ttl.dfb_reserve"(%dfb) : (!dfb) -> !block
    %part = "ttl.tensor_slice"(%x, %zero, %zero) : (!tensor, index, index) -> !block
    %transfer = "ttl.copy"(%part, %a) : (!block, !block) -> !ttl.transfer_handle<"read">
    "ttl.wait"(%transfer) : (!ttl.transfer_handle<"read">) -> ()
    "ttl.dfb_push"(%dfb) : (!dfb) -> ()
    func.return
  }

  // A write: the rows move back, are written, and move to the front again.
  // CHECK-LABEL: @unaligned
  // CHECK:       "ttkernel.noc_async_write_barrier"()
  // CHECK:       "ttkernel.move_bytes"
  // CHECK:       "ttkernel.noc_async_write"
  // CHECK:       "ttkernel.noc_async_write_barrier"()
  // CHECK:       "ttkernel.move_bytes"
  func.func @unaligned(%x: !tensor) attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "writer", ttl.crta_indices = [0 : i64]} {
    %dfb = "ttl.bind_dfb"() <{buffer = @shifted}> : () -> !dfb
    %zero = arith.constant 0 : index
    %column = "ttl.node_index"() <{dimension = 0 : i64}> : () -> index
    %a = "ttl.dfb_wait"(%dfb) : (!dfb) -> !block
    %part = "ttl.tensor_slice"(%x, %zero, %column) : (!tensor, index, index) -> !block
    %transfer = "ttl.copy"(%a, %part) : (!block, !block) -> !ttl.transfer_handle<"write">
    "ttl.wait"(%transfer) : (!ttl.transfer_handle<"write">) -> ()
    "ttl.dfb_pop"(%dfb) : (!dfb) -> ()
    %gathered = "ttl.bind_dfb"() <{buffer = @gathered}> : () -> !line
    %line = "ttl.dfb_reserve"(%gathered) : (!line) -> !four
    %other = "ttl.tensor_slice"(%x, %zero, %column) : (!tensor, index, index) -> !column
    // CHECK:       affine.for
    // CHECK:       "ttkernel.noc_async_read"
    // CHECK-NEXT:  "ttkernel.noc_async_read_barrier"()
    // CHECK:       "ttkernel.move_bytes"
    %read = "ttl.copy"(%other, %line) : (!column, !four) -> !ttl.transfer_handle<"read">
    "ttl.wait"(%read) : (!ttl.transfer_handle<"read">) -> ()
    "ttl.dfb_push"(%gathered) : (!line) -> ()
    func.return
  }
}
