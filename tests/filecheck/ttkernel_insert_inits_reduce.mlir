// RUN: ttl opt %s -p ttkernel-insert-inits | filecheck %s

!a = !ttkernel.cb<"a_dfb", "Float32">
!s = !ttkernel.cb<"s_dfb", "BFloat16">

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a = "ttkernel.get_compile_time_arg"() <{index = 0 : i64}> : () -> !a
    %s = "ttkernel.get_compile_time_arg"() <{index = 1 : i64}> : () -> !s
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    scf.for %i = %zero to %two step %one {
      affine.for %k = 0 to 2 {
        "ttkernel.reduce_tile"(%a, %s, %k, %zero, %zero) <{template = "PoolType::SUM, ReduceDim::REDUCE_ROW"}> : (!a, !s, index, index, index) -> ()
        affine.yield
      }
      "ttkernel.pack_tile"(%zero, %a, %zero) <{template = "true"}> : (index, !a, index) -> ()
      "ttkernel.reduce_uninit"() : () -> ()
    }
    affine.for %k = 0 to 2 {
      "ttkernel.reduce_tile"(%a, %s, %k, %zero, %zero) <{template = "PoolType::MAX, ReduceDim::REDUCE_COL"}> : (!a, !s, index, index, index) -> ()
      affine.yield
    }
    "ttkernel.pack_tile"(%zero, %s, %zero) <{template = "true"}> : (index, !s, index) -> ()
    "ttkernel.reduce_uninit"() : () -> ()
    "ttkernel.unary_bcast"(%s, %zero, %zero) <{template = "BroadcastType::COL"}> : (!s, index, index) -> ()
    "ttkernel.pack_tile"(%zero, %s, %zero) <{template = "true"}> : (index, !s, index) -> ()
    func.return
  }
}

// A sum over rows has the scaler in source A.
// CHECK:      "ttkernel.compute_kernel_hw_startup"(%s, %a, %a) :
// rule MASK: the init is repeated in the loop, because the mask is taken away there.
// CHECK:      scf.for
// CHECK-NEXT: "ttkernel.reduce_init"(%a, %s, %a) <{template = "PoolType::SUM, ReduceDim::REDUCE_ROW"}>
// CHECK-NEXT: affine.for
// CHECK-NEXT: "ttkernel.reduce_tile"
// CHECK:      "ttkernel.pack_tile"
// CHECK-NEXT: "ttkernel.reduce_uninit"
// CHECK:      "ttkernel.reconfig_data_format_srca"(%a)
// CHECK-NEXT: "ttkernel.reconfig_data_format_srcb"(%s)
// CHECK-NEXT: "ttkernel.reduce_init"(%a, %s, %s) <{template = "PoolType::MAX, ReduceDim::REDUCE_COL"}>
// CHECK-NEXT: affine.for
// CHECK:      "ttkernel.reduce_uninit"
// A broadcast reads through either source.
// CHECK-NEXT: "ttkernel.reconfig_data_format_srca"(%s)
// CHECK-NEXT: "ttkernel.unary_bcast_init"(%s) <{template = "BroadcastType::COL"}>
// CHECK-NEXT: "ttkernel.unary_bcast"
