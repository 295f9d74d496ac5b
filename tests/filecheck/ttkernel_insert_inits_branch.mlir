// RUN: ttl opt %s -p ttkernel-insert-inits | filecheck %s

!a = !ttkernel.cb<"a_dfb", "BFloat16">

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute(%go: i1) attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a = "ttkernel.get_compile_time_arg"() <{index = 0 : i64}> : () -> !a
    %zero = arith.constant 0 : index
    "ttkernel.add_tiles"(%a, %a, %zero, %zero, %zero) : (!a, !a, index, index, index) -> ()
    "ttkernel.exp_tile"(%zero) : (index) -> ()
    scf.if %go {
      "ttkernel.sub_reuse_dest_tiles"(%a, %zero, %zero) <{template = "EltwiseBinaryReuseDestType::DEST_TO_SRCB"}> : (!a, index, index) -> ()
      "ttkernel.exp_tile"(%zero) : (index) -> ()
    } else {
      "ttkernel.add_tiles"(%a, %a, %zero, %zero, %zero) : (!a, !a, index, index, index) -> ()
    }
    "ttkernel.exp_tile"(%zero) : (index) -> ()
    "ttkernel.add_tiles"(%a, %a, %zero, %zero, %zero) : (!a, !a, index, index, index) -> ()
    "ttkernel.pack_tile"(%zero, %a, %zero) <{template = "true"}> : (index, !a, index) -> ()
    func.return
  }
}

// CHECK:      "ttkernel.add_init"(%a, %a)
// CHECK-NEXT: "ttkernel.add_tiles"
// CHECK-NEXT: "ttkernel.exp_tile_init"()
// CHECK-NEXT: "ttkernel.exp_tile"
// CHECK-NEXT: scf.if
// An init has the template arguments of its call.
// CHECK-NEXT: "ttkernel.sub_reuse_dest_init"(%a) <{template = "EltwiseBinaryReuseDestType::DEST_TO_SRCB"}>
// CHECK-NEXT: "ttkernel.sub_reuse_dest_tiles"
// CHECK-NEXT: "ttkernel.exp_tile"
// CHECK-NEXT: } else {
// The other side begins with what held before the branch.
// CHECK-NEXT: "ttkernel.add_tiles"
// CHECK-NEXT: }
// rule BRANCH: the vector unit is as it was on both sides, the matrix unit is not.
// CHECK-NEXT: "ttkernel.exp_tile"
// CHECK-NEXT: "ttkernel.add_init"(%a, %a)
// CHECK-NEXT: "ttkernel.add_tiles"
