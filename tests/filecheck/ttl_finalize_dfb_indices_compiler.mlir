// RUN: ttl opt %s -p ttl-finalize-dfb-indices | filecheck %s

!tile = !ttcore.tile<32x32, f32>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 1 : i64>
!block = tensor<1x1x!tile>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "first_kept", type = !dfb, compiler_allocated}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "second_kept", type = !dfb, compiler_allocated}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "third_kept", type = !dfb, unpack_to_dest_fp32 = true, compiler_allocated}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>, ttl.base_cta_index = 1 : i64} {
    %first = "ttl.bind_dfb"() <{buffer = @first_kept}> : () -> !dfb
    %second = "ttl.bind_dfb"() <{buffer = @second_kept}> : () -> !dfb
    %third = "ttl.bind_dfb"() <{buffer = @third_kept}> : () -> !dfb
    %a = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    "ttl.dfb_push"(%first) : (!dfb) -> ()
    "ttl.dfb_pop"(%first) : (!dfb) -> ()
    "ttl.dfb_push"(%second) : (!dfb) -> ()
    "ttl.dfb_pop"(%second) : (!dfb) -> ()
    "ttl.dfb_push"(%third) : (!dfb) -> ()
    "ttl.dfb_pop"(%third) : (!dfb) -> ()
    func.return
  }
}

// The user's buffers come first; rule REUSE: the second is the first again, the third is unpacked
// in another way.
// CHECK:      sym_name = "first_kept", {{.*}}index = 1 : i64
// CHECK-NEXT: sym_name = "third_kept", {{.*}}index = 2 : i64
// CHECK-NEXT: sym_name = "a_dfb", {{.*}}index = 0 : i64
// Accessor arguments begin behind all of them.
// CHECK:      ttl.base_cta_index = 3 : i64
// CHECK:      "ttl.dfb_pop"(%first)
// CHECK-NEXT: "ttl.dfb_push"(%first)
