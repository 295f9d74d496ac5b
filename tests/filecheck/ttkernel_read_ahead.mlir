// RUN: ttl opt %s -p ttkernel-read-ahead | filecheck %s

!dfb = !ttkernel.cb<"dfb", "BFloat16">
!single = !ttkernel.cb<"single", "BFloat16">
!x = !ttkernel.accessor<"x">

// The first loop has room for two blocks; the buffer of the second has none.
builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "dfb", type = !ttl.dfb<[1 : i64, 2 : i64], !ttcore.tile<32x32, bf16>, 2 : i64>, index = 0 : i64}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "single", type = !ttl.dfb<[1 : i64, 2 : i64], !ttcore.tile<32x32, bf16>, 1 : i64>, index = 1 : i64}> : () -> ()
  func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader", ttl.crta_indices = [0 : i64]} {
    %x = "ttkernel.tensor_accessor"() <{tensor = 0 : i64, argument = 0 : i64}> : () -> !x
    %dfb = "ttkernel.get_compile_time_arg"() <{index = 0 : i64}> : () -> !dfb
    %single = "ttkernel.get_compile_time_arg"() <{index = 1 : i64}> : () -> !single
    %zero = arith.constant 0 : index
    %two = arith.constant 2 : index
    %eight = arith.constant 8 : index
    scf.for %i = %zero to %eight step %two {
      %0 = arith.constant 2 : index
      "ttkernel.cb_reserve_back"(%dfb, %0) : (!dfb, index) -> ()
      %dfb_address = "ttkernel.get_write_ptr"(%dfb) : (!dfb) -> index
      affine.for %tile_column = 0 to 2 {
        %3 = arith.constant 2048 : index
        %4 = arith.muli %tile_column, %3 : index
        %page = arith.addi %i, %tile_column : index
        %address = arith.addi %dfb_address, %4 : index
        "ttkernel.noc_async_read_page"(%page, %x, %address) : (index, !x, index) -> ()
      }
      "ttkernel.noc_async_read_barrier"() : () -> ()
      %5 = arith.constant 2 : index
      "ttkernel.cb_push_back"(%dfb, %5) : (!dfb, index) -> ()
    }
    scf.for %j = %zero to %eight step %two {
      %6 = arith.constant 2 : index
      "ttkernel.cb_reserve_back"(%single, %6) : (!single, index) -> ()
      %single_address = "ttkernel.get_write_ptr"(%single) : (!single) -> index
      affine.for %tile_column_1 = 0 to 2 {
        %9 = arith.constant 2048 : index
        %10 = arith.muli %tile_column_1, %9 : index
        %page_1 = arith.addi %j, %tile_column_1 : index
        %address_1 = arith.addi %single_address, %10 : index
        "ttkernel.noc_async_read_page"(%page_1, %x, %address_1) : (index, !x, index) -> ()
      }
      "ttkernel.noc_async_read_barrier"() : () -> ()
      %11 = arith.constant 2 : index
      "ttkernel.cb_push_back"(%single, %11) : (!single, index) -> ()
    }
    func.return
  }
}

// CHECK: %dfb_start = "ttkernel.get_write_ptr"
// CHECK: scf.for %i = {{.*}} iter_args(%[[ID:.*]] = {{.*}})
// CHECK: %is_later = arith.cmpi ne, %i
// CHECK: "ttkernel.cb_pages_reservable_at_back"(%dfb, %{{.*}})
// CHECK: scf.if
// CHECK-NEXT: "ttkernel.noc_async_read_barrier_with_trid"(%other)
// CHECK: "ttkernel.cb_push_back"
// CHECK: "ttkernel.noc_async_read_set_trid"(%[[ID]])
// CHECK: %[[TILES:.*]] = arith.select %is_second
// CHECK: "ttkernel.cb_reserve_back"(%dfb, %[[TILES]])
// CHECK: %dfb_address_own = arith.select %is_second
// CHECK: affine.for
// CHECK: "ttkernel.noc_async_read_page"
// CHECK: scf.if %is_second
// CHECK-NEXT: "ttkernel.noc_async_read_barrier_with_trid"(%other)
// CHECK: scf.yield %other
// CHECK: "ttkernel.noc_async_read_barrier_with_trid"(%last)
// CHECK: "ttkernel.cb_push_back"
// CHECK: "ttkernel.noc_async_read_set_trid"
// CHECK: scf.for %j
// CHECK-NOT: trid
// CHECK: "ttkernel.noc_async_read_barrier"()
