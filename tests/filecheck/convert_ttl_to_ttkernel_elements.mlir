// RUN: ttl opt %s -p ttl-finalize-dfb-indices,convert-ttl-to-ttkernel | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!element = !ttcore.tile<1x1, f32>
!tiles = !ttl.dfb<[2 : i64, 2 : i64], !tile, 2 : i64>
!rows = !ttl.dfb<[4 : i64, 6 : i64], !element, 2 : i64>
!tiled = tensor<2x2x!tile>
!plain = tensor<4x6x!element>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "tiles", type = !tiles}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "rows", type = !rows}> : () -> ()

  // Element (40, 20): the third tile, its second face, row 8, column 4.
  // CHECK-LABEL: @in_face_order
  // CHECK:       [[TILES:%.*]] = "ttkernel.get_read_ptr"
  // CHECK:       [[OFFSET:%.*]] = arith.constant 4872 : index
  // CHECK-NEXT:  [[PLACE:%.*]] = arith.addi [[TILES]], [[OFFSET]]
  // CHECK-NEXT:  [[VALUE:%.*]] = "ttkernel.read_bfloat16"([[PLACE]]) : (index) -> f64
  // The second row starts at the next page, which is aligned.
  // CHECK:       [[ROWS:%.*]] = "ttkernel.get_write_ptr"
  // CHECK:       [[OFFSET:%.*]] = arith.constant 76 : index
  // CHECK-NEXT:  [[PLACE:%.*]] = arith.addi [[ROWS]], [[OFFSET]]
  // CHECK-NEXT:  "ttkernel.write_float32"([[PLACE]], [[VALUE]]) : (index, f64) -> ()
  func.func @in_face_order() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader", ttl.crta_indices = []} {
    %tiles = "ttl.bind_dfb"() <{buffer = @tiles}> : () -> !tiles
    %rows = "ttl.bind_dfb"() <{buffer = @rows}> : () -> !rows
    %one = arith.constant 1 : index
    %three = arith.constant 3 : index
    %row = arith.constant 40 : index
    %column = arith.constant 20 : index
    %a = "ttl.dfb_wait"(%tiles) : (!tiles) -> !tiled
    %b = "ttl.dfb_reserve"(%rows) : (!rows) -> !plain
    %value = "ttl.raw_element_read"(%a, %row, %column) : (!tiled, index, index) -> f64
    "ttl.raw_element_write"(%b, %one, %three, %value) : (!plain, index, index, f64) -> ()
    "ttl.dfb_pop"(%tiles) : (!tiles) -> ()
    "ttl.dfb_push"(%rows) : (!rows) -> ()
    func.return
  }
}
