// RUN: ttl opt %s -p ttkernel-insert-inits | filecheck %s

!a = !ttkernel.cb<"a_dfb", "BFloat16">
!w = !ttkernel.cb<"w_dfb", "Float32">

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a = "ttkernel.get_compile_time_arg"() <{index = 0 : i64}> : () -> !a
    %w = "ttkernel.get_compile_time_arg"() <{index = 1 : i64}> : () -> !w
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    scf.for %i = %zero to %two step %one {
      affine.for %tile = 0 to 2 {
        "ttkernel.mul_tiles"(%a, %a, %tile, %tile, %tile) : (!a, !a, index, index, index) -> ()
        affine.yield
      }
      affine.for %tile = 0 to 2 {
        "ttkernel.copy_tile"(%w, %tile, %tile) : (!w, index, index) -> ()
        affine.yield
      }
      affine.for %tile = 0 to 2 {
        "ttkernel.exp_tile"(%tile) : (index) -> ()
        affine.yield
      }
      affine.for %tile = 0 to 2 {
        "ttkernel.pack_tile"(%tile, %a, %tile) <{template = "true"}> : (index, !a, index) -> ()
        affine.yield
      }
    }
    func.return
  }
  func.func @product() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a = "ttkernel.get_compile_time_arg"() <{index = 0 : i64}> : () -> !a
    %w = "ttkernel.get_compile_time_arg"() <{index = 1 : i64}> : () -> !w
    affine.for %k = 0 to 2 {
      %zero = arith.constant 0 : index
      %two = arith.constant 2 : index
      "ttkernel.matmul_block"(%a, %w, %k, %k, %zero, %zero, %two, %two, %two) : (!a, !w, index, index, index, index, index, index, index) -> ()
      "ttkernel.pack_tile"(%k, %a, %k) <{template = "true"}> : (index, !a, index) -> ()
      affine.yield
    }
    func.return
  }
  func.func @nothing() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    func.return
  }
}

// rule STARTUP: once, with the formats of the first calls.
// CHECK:      func.func @compute
// CHECK:      "ttkernel.compute_kernel_hw_startup"(%a, %a, %a) :
// rule HOIST: nothing else uses the vector unit in the loop.
// CHECK:      "ttkernel.exp_tile_init"()
// CHECK-NEXT: scf.for
// rule LOOP: the last iteration ended with another format and another init.
// CHECK-NEXT: "ttkernel.reconfig_data_format_srca"(%a)
// CHECK-NEXT: "ttkernel.mul_init"(%a, %a)
// CHECK-NEXT: affine.for
// CHECK-NEXT: "ttkernel.mul_tiles"
// CHECK-NEXT: }
// CHECK-NEXT: "ttkernel.reconfig_data_format_srca"(%w)
// CHECK-NEXT: "ttkernel.copy_init"(%w)
// CHECK-NEXT: affine.for
// CHECK-NOT:  _init
// CHECK-NOT:  reconfig

// The product's left operand feeds the second source, hence the reversed order.
// CHECK:      func.func @product
// CHECK:      "ttkernel.compute_kernel_hw_startup"(%a, %w, %a) <{template = "SrcOrder::Reverse"}>
// CHECK:      "ttkernel.matmul_block_init"(%a, %w,
// CHECK-NEXT: affine.for
// CHECK-NOT:  reconfig
// CHECK:      func.func @nothing
// CHECK-NEXT: func.return
