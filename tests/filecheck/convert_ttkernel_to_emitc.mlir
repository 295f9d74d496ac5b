// RUN: ttl opt %s -p convert-ttkernel-to-emitc | filecheck %s

!a = !ttkernel.cb<"a_dfb", "BFloat16">
!z = !ttkernel.accessor<"z">

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader", ttl.tensor_names = ["x", "z"], ttl.base_cta_index = 3 : i64} {
    %z = "ttkernel.tensor_accessor"() <{tensor = 1 : i64, argument = 0 : i64}> : () -> !z
    %a = "ttkernel.get_compile_time_arg"() <{index = 2 : i64}> : () -> !a
    %row = "ttkernel.get_absolute_logical_y"() : () -> index
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %eight = arith.constant 8 : index
    scf.for %i = %zero to %eight step %one {
      %0 = arith.muli %row, %eight : index
      %page = arith.addi %0, %i : index
      %1 = "ttkernel.get_write_ptr"(%a) : (!a) -> index
      "ttkernel.noc_async_read_page"(%page, %z, %1) : (index, !z, index) -> ()
      scf.yield
    }
    func.return
  }
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %d = arith.constant 3 : index
    "ttkernel.fill_tile"(%d) <{value = 2.5 : f32}> : (index) -> ()
    "ttkernel.add_binary_tile"(%d, %d, %d) <{template = "ckernel::DstRoundingMode::NearestEven"}> : (index, index, index) -> ()
    "ttkernel.fill_tile"(%d) <{value = 0xFF800000 : f32}> : (index) -> ()
    func.return
  }
}

// CHECK:      "emitc.file"() <{id = "read"}> ({
// CHECK-NEXT: "emitc.include"() <{include = "cstdint", is_standard_include}>
// CHECK-NEXT: "emitc.include"() <{include = "api/dataflow/dataflow_api.h"}>
// CHECK-NEXT: "emitc.func"() <{sym_name = "kernel_main"
// The accessor arguments of earlier tensors are declared too: those of z come behind them.
// CHECK-NEXT: "constexpr auto x_args = TensorAccessorArgs<3>();"
// CHECK-NEXT: "constexpr auto z_args = TensorAccessorArgs<x_args.next_compile_time_args_offset()>();"
// CHECK-NEXT: "auto z_accessor = TensorAccessor(z_args, get_common_arg_val<uint32_t>(0));"
// CHECK-NEXT: [[Z:%[0-9]+]] = "emitc.literal"() <{value = "z_accessor"}>
// CHECK-NEXT: "constexpr uint32_t a_dfb = get_compile_time_arg_val(2);"
// CHECK:      %row = emitc.call_opaque "get_absolute_logical_y"() : () -> i32
// Arithmetic becomes one expression.
// CHECK:      "emitc.for"
// CHECK-NEXT: ^bb0(%i: i32):
// CHECK-NEXT: %page = "emitc.expression"(%row, [[EIGHT:%[0-9]+]], %i) <{do_not_inline}> ({
// CHECK:      "emitc.mul"
// CHECK-NEXT: "emitc.add"
// CHECK:      emitc.call_opaque "noc_async_read_page"(%page, [[Z]],
// The attributes of the function go to the file.
// CHECK:      ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader"

// CHECK:      "emitc.file"() <{id = "compute"}>
// CHECK:      "api/compute/eltwise_binary_sfpu.h"
// CHECK-NEXT: "api/compute/eltwise_unary/fill.h"
// CHECK:      [[D:%[0-9]+]] = "emitc.literal"() <{value = "3"}>
// CHECK-NEXT: [[VALUE:%[0-9]+]] = "emitc.literal"() <{value = "2.5f"}>
// CHECK-NEXT: emitc.call_opaque "fill_tile"([[D]], [[VALUE]])
// CHECK-NEXT: emitc.call_opaque "add_binary_tile"([[D]], [[D]], [[D]]) {template_args = [#emitc.opaque<"ckernel::DstRoundingMode::NearestEven">]}
// CHECK-NEXT: {{%[0-9]+}} = "emitc.literal"() <{value = "-__builtin_inff()"}>
// CHECK-NOT: "ttkernel.
