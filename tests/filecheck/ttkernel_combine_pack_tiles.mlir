// RUN: ttl opt %s -p ttkernel-combine-pack-tiles | filecheck %s

!a = !ttkernel.cb<"a_dfb", "BFloat16">

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @packs() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a = "ttkernel.get_compile_time_arg"() <{index = 0 : i64}> : () -> !a
    %zero = arith.constant 0 : index
    %four = arith.constant 4 : index
    affine.for %t = 0 to 4 {
      %dst = arith.addi %t, %four : index
      "ttkernel.pack_tile"(%dst, %a, %t) <{template = "true"}> {in_order} : (index, !a, index) -> ()
    }
    "ttkernel.pack_tile"(%zero, %a, %four) <{template = "true"}> {in_order} : (index, !a, index) -> ()
    affine.for %u = 0 to 4 {
      "ttkernel.pack_tile"(%u, %a, %u) <{template = "true"}> : (index, !a, index) -> ()
    }
    func.return
  }
}

// The registers from 4 on, by one call.
// CHECK:      [[FIRST:%[0-9]+]] = arith.constant 4 : index
// CHECK-NEXT: [[TILES:%[0-9]+]] = arith.constant 4 : index
// CHECK-NEXT: "ttkernel.pack_block"([[FIRST]], %a, [[TILES]])
// A tile alone goes on where that one ended.
// CHECK-NEXT: [[ONE:%[0-9]+]] = arith.constant 1 : index
// CHECK-NEXT: "ttkernel.pack_block"(%zero, %a, [[ONE]])
// Others go where they are told.
// CHECK-NEXT: affine.for
// CHECK-NEXT: "ttkernel.pack_tile"
// CHECK-NOT:  pack_block
